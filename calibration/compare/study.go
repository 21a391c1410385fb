package compare

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/dpreg/dpreg/calibration"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/ssp"
)

// Study lists the cells of a design: each size, ε and method. rows are those of the design's
// table, nil where there is none; nil also serves to put shards together, of which no trial
// is run. Errors: those of Validate, rows that are not the design's.
func (d *Design) Study(rows *calibration.Rows) (*calibration.Study, error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
	switch {
	case d.Table == nil && rows != nil:
		return nil, errors.New("the rows of this comparison are simulated")
	case rows != nil:
		if err := d.Table.Check(rows); err != nil {
			return nil, err
		}
	}
	s := &calibration.Study{Trials: d.Trials, Seed: d.Seed, Description: d.Text()}
	for _, size := range d.sizes() {
		shape := model.Shape{P: len(size.columns.Covariates), Intercept: size.columns.Intercept}
		prior := model.BoxPrior(shape)
		for _, epsilon := range d.Epsilons {
			budget := release.Privacy{Epsilon: epsilon, Delta: d.Delta, Neighbours: release.ReplaceOne}
			for _, name := range d.Methods {
				m := newMethod(name, d, size, budget)
				setting := calibration.Setting{N: size.n, Epsilon: epsilon, P: shape.P, Method: name, Run: m.run()}
				s.Cells = append(s.Cells, calibration.Cell{Setting: setting, Subject: &subject{m, size, shape, prior, d.Data, d.Table, rows}})
			}
		}
	}
	return s, nil
}

// subject is a method on one of the data sets.
type subject struct {
	method method
	size   size
	shape  model.Shape
	prior  *model.Prior
	data   calibration.Data // of simulated rows
	table  *Table           // nil: rows are simulated
	rows   *calibration.Rows
}

// Trial implements calibration.Subject. Noise comes from data, after the rows: methods that
// infer from a release infer from the same one.
func (s *subject) Trial(ctx context.Context, data, sampler *rand.Rand) (*calibration.Sample, error) {
	e, err := s.example(data)
	if err != nil {
		return nil, err
	}
	if err := s.method.ready(); err != nil {
		return nil, err
	}
	begin := time.Now()
	f, err := s.method.fit(ctx, e, mechanisms.Simulated(data), sampler)
	if err != nil {
		return nil, err
	}
	seconds := time.Since(begin).Seconds()
	measures, err := e.judge(ctx, f, sampler)
	return &calibration.Sample{Measures: measures, Capped: f.capped, Clamped: e.clamped, Seconds: seconds}, err
}

// example draws the data of a trial.
func (s *subject) example(rng *rand.Rand) (*example, error) {
	e := &example{columns: s.size.columns, shape: s.shape, prior: s.prior}
	if s.table == nil {
		simulated, err := calibration.Simulate(s.prior, s.shape, s.size.n, s.data == calibration.Clamped, rng)
		if err != nil {
			return nil, err
		}
		e.rows, e.statistics, e.truth, e.clamped = simulated.Rows, simulated.Statistics, simulated.Truth.Theta, simulated.Clamped
		return e, e.infer()
	}
	if s.rows == nil {
		panic(fmt.Sprintf("compare: a trial without the rows of %s", s.table.Name))
	}
	for i, at := range rng.Perm(int(s.rows.Len())) {
		row := s.rows.At(at)
		if int64(i) < s.size.n {
			e.rows = append(e.rows, row...)
		} else {
			e.test = append(e.test, row...)
		}
	}
	sums := ssp.NewAccumulator(s.shape.M())
	if err := sums.AddRows(e.rows); err != nil {
		return nil, err
	}
	e.statistics = sums.Statistics()
	return e, e.infer()
}
