package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"slices"
	"strings"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/calibration"
	"github.com/dpreg/dpreg/gibbs"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts/individual"
)

func runCalibrate(f *flags, _ []string) error {
	s := newStudy(f, calibrates)
	return s.run(s.calibration)
}

// presets are the studies that have names.
var presets = map[string]func() *calibration.Design{"fig3": calibration.Fig3, "fig4": calibration.Fig4}

// ownTrials is the number of trials of a study of one's own.
const ownTrials = 100

// calibration is a preset or a study of one's own, with the changes that flags make.
func (s *study) calibration() (*calibration.Design, error) {
	d, err := s.base()
	if err != nil {
		return nil, err
	}
	if s.covariateLaw != "" {
		d.X = calibration.XLaw(s.covariateLaw)
	}
	if s.given("trials") {
		d.Trials = s.trials
	}
	d.Seed = s.seed
	for _, change := range []func(*calibration.Design) error{s.resampled, s.grid, s.simulated, s.statePrior, s.arms, s.runs} {
		if err := change(d); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// resampled takes --population: its columns and its rows.
func (s *study) resampled(d *calibration.Design) error {
	err := s.onlyFor("by --population", "bounds missing na i-hold-the-data split", "preset p data x")
	if err != nil || s.population == "" {
		return err
	}
	of, err := s.readTable()
	if err != nil {
		return err
	}
	d.Prior, d.Parts = calibration.PriorSpec{Name: calibration.DefaultPrior}, s.split
	d.Data, d.X, d.Ps, d.Population, d.Arms = calibration.Resampled, "", nil, of, calibration.PopulationArms([]string{calibration.PopulationMethod}, exactKernel, exactNoise)
	return nil
}

// exactKernel and exactNoise are those of a study of one's own.
var exactKernel, exactNoise = []string{string(gibbs.Exact)}, []string{calibration.ExactSensitivity}

// base is a preset, or a study of one's own.
func (s *study) base() (*calibration.Design, error) {
	if s.preset != "" {
		return presets[s.preset](), nil
	}
	if s.n == "" || s.epsilon == "" {
		return nil, usagef("say what to study: --preset fig3 or fig4, or --n and --eps, as in --n 200 --eps 0.5")
	}
	return &calibration.Design{
		Format: calibration.DesignFormat, Data: calibration.Unclamped, X: calibration.NormalX, Ps: []int{1},
		Prior: calibration.PriorSpec{Name: calibration.BoxPrior}, Trials: ownTrials,
		Arms: calibration.Arms(calibration.PaperMethods(), exactKernel, exactNoise),
	}, nil
}

// simulated takes --schema and --formula, of columns that are simulated.
func (s *study) simulated(d *calibration.Design) (err error) {
	switch {
	case s.population != "":
	case s.schema == "" && s.formula != "":
		return usagef("--formula names columns of a schema: give --schema FILE")
	case s.schema != "":
		d.Columns, err = s.plannedDesign()
		d.Ps = nil
	}
	return err
}

// statePrior takes the flags of the prior. A file alone is read for each design of the study;
// words are of one.
func (s *study) statePrior(d *calibration.Design) error {
	p := s.prior
	s.reads = p.File
	switch {
	case p.Stated != nil && s.population != "":
		return usagef("a prior in words is the default with changes, which depends on the release: --population takes a prior file")
	case p.Stated == nil && p.File == "":
		return nil
	case p.Stated == nil:
		text, err := os.ReadFile(p.File)
		if err != nil {
			return usagef("--prior: %w", err)
		}
		if !json.Valid(bytes.TrimSpace(text)) {
			return usagef("--prior %s: not JSON", p.File)
		}
		d.Prior = calibration.PriorSpec{File: bytes.TrimSpace(text)}
		return nil
	}
	columns := d.Columns
	if columns == nil && len(d.Ps) != 1 {
		return usagef("a prior in words is of one design: give one --p, or --schema FILE")
	}
	if columns == nil {
		columns = dpreg.UnitDesign(d.Ps[0])
	}
	prior, err := p.Over(model.Normal.BoxPrior(model.DesignShape(columns)).Unscale(), columns, "")
	if err != nil {
		return usage(err)
	}
	text, err := json.Marshal(prior)
	d.Prior = calibration.PriorSpec{File: text}
	return err
}

// modelsClamping is the method that can.
var modelsClamping = individual.Method{}.Name()

func (s *study) arms(d *calibration.Design) error {
	if s.method == "" && s.kernel == "" && s.sensitivity == "" {
		return nil
	}
	var methods, kernels, sensitivities []string
	for _, a := range d.Arms {
		methods, kernels, sensitivities = addNew(methods, a.Method), addNew(kernels, a.Kernel), addNew(sensitivities, a.Sensitivity)
	}
	var err error
	if s.method != "" { // a design says itself what it may be: `choose` would send non-private to fit
		methods = splitWords(s.method)
	}
	if kernels == nil { // no method has a choice yet
		kernels = exactKernel
	}
	if kernels, err = chooseList("kernel", s.kernel, []string{string(gibbs.Exact), string(gibbs.Plain)}, kernels); err != nil {
		return err
	}
	if sensitivities, err = chooseList("sensitivity", s.sensitivity, []string{calibration.ExactSensitivity, calibration.PaperSensitivity}, sensitivities); err != nil {
		return err
	}
	d.Arms = calibration.Arms(methods, kernels, sensitivities)
	if d.Population != nil {
		d.Arms = calibration.PopulationArms(methods, kernels, sensitivities)
	}
	return nil
}

// runs takes --chains, --warmup, --draws, --ess and --model-clamping.
func (f *flags) runs(d *calibration.Design) error {
	if f.clamping && !slices.ContainsFunc(d.Arms, func(a calibration.Arm) bool { return a.Method == modelsClamping }) {
		return usagef("--model-clamping: %s alone can; give --method %s", modelsClamping, modelsClamping)
	}
	if f.given("draws") && f.given("ess") {
		return usagef("--draws and --ess exclude each other: one fixes the number of draws, the other finds it")
	}
	for i := range d.Arms {
		a := &d.Arms[i]
		a.ModelClamping = f.clamping && a.Method == modelsClamping
		a.Chains = cmp.Or(f.chains, a.Chains)
		if f.given("warmup") {
			a.Warmup = f.warmup
		}
		if f.given("draws") {
			a.Draws, a.ESS = f.draws, 0
		}
		if f.given("ess") {
			a.Draws, a.ESS = 0, f.ess
		}
	}
	return nil
}

// comparedClients are those of dp-pvi, who share the rows.
const comparedClients = 10

func runCompare(f *flags, tables []string) error {
	f.population = strings.Join(tables, "")
	s := newStudy(f, compares)
	return s.run(s.comparison)
}

func (s *study) comparison() (*calibration.Design, error) {
	if s.epsilon == "" {
		return nil, usagef("--eps is missing: say how much privacy methods may spend, as in --eps 1 or --eps 0.3,1,3")
	}
	if err := s.onlyFor("as in dpreg compare --eps 1 data.csv", "bounds schema formula missing na test i-hold-the-data", "n p data"); err != nil {
		return nil, err
	}
	d := &calibration.Design{
		Format: calibration.ComparisonFormat, Data: calibration.Unclamped, X: calibration.NormalX, Ps: []int{2},
		Prior: calibration.PriorSpec{Name: calibration.BoxPrior}, Clients: comparedClients, Trials: s.trials, Seed: s.seed,
	}
	if d.Family = model.Family(s.family); d.Family != model.Normal && s.looks == "auto" {
		s.looks = "1"
	}
	if err := s.grid(d); err != nil {
		return nil, err
	}
	methods := splitWords(strings.Join(s.methods, ","))
	if methods == nil {
		methods = calibration.DefaultCompared(d.Family)
		if d.Delta == 0 {
			methods = slices.DeleteFunc(methods, calibration.NeedsDelta)
			s.note("without --delta the methods whose noise is Gaussian are left out: %s, %s and %s", calibration.DPVI, calibration.DPPVI, calibration.AdaSSP)
		}
	}
	d.Arms = calibration.ComparisonArms(methods)
	if s.population == "" && s.n == "" {
		return nil, usagef("say what to compare on: a table, as in dpreg compare --eps 1 data.csv, or --n for simulated rows, as in --n 1000")
	}
	if s.population == "" {
		return d, nil
	}
	of, err := s.readTable()
	if err != nil {
		return nil, err
	}
	of.Test = s.test
	d.Data, d.X, d.Ps, d.Population = calibration.Split, "", nil, of
	return d, nil
}

// chooseList parses a list of some words.
func chooseList(flag, text string, words, otherwise []string) ([]string, error) {
	if text == "" {
		return otherwise, nil
	}
	list := splitWords(text)
	for _, word := range list {
		if !slices.Contains(words, word) {
			return nil, usagef("--%s %q: choose one of %s", flag, word, strings.Join(words, ", "))
		}
	}
	return list, nil
}

// splitWords are words between commas, each once.
func splitWords(text string) (list []string) {
	for word := range strings.SplitSeq(text, ",") {
		list = addNew(list, strings.TrimSpace(word))
	}
	return list
}

// addNew appends a word that is neither empty nor there.
func addNew(list []string, word string) []string {
	if word == "" || slices.Contains(list, word) {
		return list
	}
	return append(list, word)
}
