package main

import (
	"slices"
	"strings"

	"github.com/dpreg/dpreg/calibration"
)

// comparedClients are those of dp-pvi, who share the rows.
const comparedClients = 10

func runCompare(f *flags, tables []string) error {
	f.population = strings.Join(tables, "")
	s := newStudy(f, compares)
	return s.run(s.comparison)
}

// comparison is what the flags say, and the rows of the table.
func (s *study) comparison() (*calibration.Design, *calibration.Rows, error) {
	if s.epsilon == "" {
		return nil, nil, usagef("--eps is missing: say how much privacy methods may spend, as in --eps 1 or --eps 0.3,1,3")
	}
	if err := s.onlyFor("as in dpreg compare --eps 1 data.csv", "bounds schema formula missing na test i-hold-the-data", "n p data"); err != nil {
		return nil, nil, err
	}
	d := &calibration.Design{
		Format: calibration.ComparisonFormat, Data: calibration.Unclamped, X: calibration.NormalX, Ps: []int{2},
		Prior: calibration.PriorSpec{Name: calibration.BoxPrior}, Clients: comparedClients, Trials: s.trials, Seed: s.seed,
	}
	if err := s.grid(d); err != nil {
		return nil, nil, err
	}
	methods := splitWords(strings.Join(s.methods, ","))
	if methods == nil {
		methods = calibration.DefaultCompared()
		if d.Delta == 0 {
			methods = slices.DeleteFunc(methods, calibration.NeedsDelta)
			s.note("without --delta the methods whose noise is Gaussian are left out: %s, %s and %s", calibration.DPVI, calibration.DPPVI, calibration.AdaSSP)
		}
	}
	d.Arms = calibration.ComparisonArms(methods)
	if s.population == "" && s.n == "" {
		return nil, nil, usagef("say what to compare on: a table, as in dpreg compare --eps 1 data.csv, or --n for simulated rows, as in --n 1000")
	}
	if s.population == "" {
		return d, nil, nil
	}
	of, rows, err := s.readTable()
	if err != nil {
		return nil, nil, err
	}
	of.Test = s.test
	d.Data, d.X, d.Ps, d.Population = calibration.Split, "", nil, of
	return d, rows, nil
}
