package compare

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/calibration"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
)

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestRMS(t *testing.T) {
	near(t, "rms", rms([]float64{1, 2, 3}, []float64{1, 0, 6}), math.Sqrt(13./3), 1e-15)
}

// Of draws 0, 1, …, 100 the 90 % interval is from 5 to 95.
func TestIntervals(t *testing.T) {
	chain := make([]float64, 0, 303)
	for i := range 101 {
		chain = append(chain, float64(i), -2*float64(i), 1)
	}
	d := &posterior.Draws{Names: []string{"theta[0]", "theta[1]", "sigma2"}, Chains: [][]float64{chain}}
	for _, c := range []struct {
		truth []float64
		held  float64
	}{{[]float64{5, -100}, 1}, {[]float64{4, -100}, 0.5}, {[]float64{96, 1}, 0}, {nil, 0}} {
		width, held := intervals(d, 2, c.truth)
		near(t, "width", width, (90.+180)/2, 1e-12)
		near(t, "held", held, c.held, 0)
	}
}

// Two draws, of lines 1 + x and −1 + x with σ = 1 and 2.
func TestMixture(t *testing.T) {
	d := &posterior.Draws{Names: []string{"theta[0]", "theta[1]", "sigma2"}, Chains: [][]float64{{1, 1, 1}, {-1, 1, 4}}}
	below, density := newMixture(d, 2).at([]float64{1, 0.5}, 2)
	phi := func(z float64) float64 { return math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) }
	near(t, "distribution function", below, (0.5+0.5*math.Erf(0.5/math.Sqrt2)+0.5+0.5*math.Erf(1.25/math.Sqrt2))/2, 1e-15)
	near(t, "log density", density, math.Log((phi(0.5)+phi(1.25)/2)/2), 1e-14)
	// Far away a density is 0 in float64, and its logarithm is not.
	_, density = newMixture(d, 2).at([]float64{1, 0}, 1e3)
	near(t, "log density", density, -1001.*1001/8-math.Log(4)-math.Log(2*math.Pi)/2, 1e-6)
}

// One draw, the line y = 0 with σ = 1: three of four responses lie within 1.645.
func TestPredict(t *testing.T) {
	e := &example{shape: model.Shape{P: 1, Intercept: true}, test: []float64{0.3, 0, 0.1, 1.6, -0.5, -1.7, 0, -1.6}}
	held, score := e.predict(&posterior.Draws{Names: []string{"theta[0]", "theta[1]", "sigma2"}, Chains: [][]float64{{0, 0, 1}}})
	near(t, "held", held, 0.75, 0)
	near(t, "score", score, -(2*1.6*1.6+1.7*1.7)/8-math.Log(2*math.Pi)/2, 1e-14)
	near(t, "error of predictions", e.predictionError([]float64{1, 0}), math.Sqrt((1+0.36+2.7*2.7+2.6*2.6)/4), 1e-14)
}

// shrunk has the exact posterior, with deviations from its mean times a factor.
type shrunk struct{ factor float64 }

func (m shrunk) run() string  { return "" }
func (m shrunk) ready() error { return nil }

func (m shrunk) fit(_ context.Context, e *example, _ *mechanisms.Entropy, rng *rand.Rand) (*fitted, error) {
	d, err := e.sample(e.exact, rng)
	q := e.shape.Q()
	d = d.Map(d.Names, func(dst, src []float64) {
		for j := range dst {
			if dst[j] = src[j]; j < q {
				dst[j] = e.exact.Mean[j] + m.factor*(src[j]-e.exact.Mean[j])
			}
		}
	})
	return &fitted{theta: e.exact.Mean, draws: d, epsilon: 2}, err
}

// Coverage of 150 data sets of three coefficients is that of the level for the posterior, and
// lower for one that is half as wide. Hits of a data set depend on each other, so that the
// standard error is at most √(.09/150) = .0245: five of them are passed with probability 6e-7.
func TestCoverageFindsNarrowIntervals(t *testing.T) {
	shape := model.Shape{P: 2, Intercept: true}
	study := &calibration.Study{Trials: 150}
	for name, factor := range map[string]float64{"right": 1, "narrow": 0.5} {
		s := &subject{method: shrunk{factor}, size: size{50, dpreg.UnitDesign(2)}, shape: shape, prior: model.BoxPrior(shape), data: calibration.Unclamped}
		study.Cells = append(study.Cells, calibration.Cell{Setting: calibration.Setting{Method: name}, Subject: s})
	}
	trials, err := study.Run(context.Background(), calibration.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range (&Design{Trials: 150}).Summarise(study, trials).Cells {
		covered := c.Get(Coverage).Mean
		if right := math.Abs(covered-Level) < 5*0.0245; right != (c.Method == "right") {
			t.Errorf("%s: %v of the intervals hold the truth", c.Method, covered)
		}
		if c.Get(Error).Mean != 0 || c.Get(Spent).Mean != 2 || c.Get(LogScore) != nil {
			t.Errorf("%s: %+v", c.Method, c.Measures)
		}
		if mmd := math.Abs(c.Get(MMD2).Mean); mmd > 0.01 {
			t.Errorf("%s: MMD² %v", c.Method, mmd)
		}
	}
}

func TestSummarise(t *testing.T) {
	d := &Design{Trials: 3, Epsilons: []float64{1}}
	study := &calibration.Study{Cells: []calibration.Cell{{Setting: calibration.Setting{Method: "a"}}, {Setting: calibration.Setting{Method: "b"}}}}
	measure := func(v float64) []calibration.Measure { return []calibration.Measure{{Name: Width, Value: v}} }
	s := d.Summarise(study, []*calibration.Trial{
		{Cell: 0, Trial: 0, Measures: measure(1)}, {Cell: 0, Trial: 1, Measures: measure(4), Capped: true}, {Cell: 0, Trial: 2, Error: "no"},
		{Cell: 1, Trial: 0, Error: "too small"}, {Cell: 1, Trial: 1, Error: "too small"}, {Cell: 1, Trial: 2, Error: "too small"},
	})
	a, b := &s.Cells[0], &s.Cells[1]
	m := a.Get(Width)
	near(t, "mean", m.Mean, 2.5, 1e-15)
	near(t, "sd", *m.SD, math.Sqrt(4.5), 1e-15)
	if m.Of != 2 || a.Failed != 1 || a.Capped != 1 || a.Refused || a.Sound(3) {
		t.Errorf("%+v", a)
	}
	if !b.Refused || b.Error != "too small" || !b.Sound(3) || b.Get(Width) != nil {
		t.Errorf("%+v", b)
	}
	if has := s.Has(); len(has) != 1 || has[0] != Width {
		t.Error(has)
	}
}

// No two columns of a file have one name.
func TestHeadersDiffer(t *testing.T) {
	var b bytes.Buffer
	s := &Summary{}
	if err := s.WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	summary := strings.Split(strings.TrimSpace(b.String()), ",")
	b.Reset()
	if err := WriteTrials(&b, nil, nil); err != nil {
		t.Fatal(err)
	}
	for _, header := range [][]string{summary, strings.Split(strings.TrimSpace(b.String()), ",")} {
		for i, name := range header {
			if slices.Contains(header[:i], name) {
				t.Errorf("%s stands twice", name)
			}
		}
	}
}
