package calibration

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/vi"
)

// counted are ten rows (1, x) and counts, or whether these are above 1.
func counted(of model.Family) *vi.Rows {
	r := &vi.Rows{P: 2}
	for i, y := range []float64{0, 2, 1, 1, 3, 0, 4, 2, 6, 5} {
		r.X = append(r.X, 1, float64(i)/10)
		if of != model.Poisson {
			y = number.Indicator[float64](y > 1)
		}
		r.Y = append(r.Y, y)
	}
	return r
}

// At the mode the score is 0 by differences of the log density, for any prior, and the information
// is that of differences: of the canonical links it is the observed one.
func TestMode(t *testing.T) {
	for _, of := range model.Families() {
		most := 1.0
		if of == model.Poisson {
			most = 30
		}
		for _, precision := range []float64{0, 2} {
			rows := counted(of)
			m, err := FindMode(of, most, rows, precision)
			if err != nil {
				t.Fatal(of, err)
			}
			density := func(theta ...float64) (sum float64) {
				for i, y := range rows.Y {
					sum += of.LogProb(y, theta[0]+theta[1]*rows.X[2*i+1], most)
				}
				return sum - precision*(theta[0]*theta[0]+theta[1]*theta[1])/2
			}
			const h = 1e-4
			a, b := m.Theta[0], m.Theta[1]
			must.Near(t, string(of)+" score", (density(a+h, b)-density(a-h, b))/(2*h), 0, 1e-6)
			must.Near(t, string(of)+" score", (density(a, b+h)-density(a, b-h))/(2*h), 0, 1e-6)
			if of != model.Probit {
				must.Near(t, string(of)+" information", m.Root[0]*m.Root[0], -(density(a+h, b)-2*density(a, b)+density(a-h, b))/(h*h), 1e-4)
			}
		}
	}
}

// Probabilities add up, of counts with what is clamped, and have the means of Moments.
func TestLogProb(t *testing.T) {
	for _, of := range model.Families() {
		most := 1.0
		if of == model.Poisson {
			most = 6
		}
		for _, eta := range []float64{-3, 0.2, 2.5} {
			sum, mean := 0.0, 0.0
			for y := 0.0; y <= most; y++ {
				p := math.Exp(of.LogProb(y, eta, most))
				sum, mean = sum+p, mean+p*y/most
			}
			g, _, _, _ := of.Moments(most)(eta, math.Exp(eta))
			must.Near(t, string(of)+" sum", sum, 1, 1e-12)
			must.Near(t, string(of)+" mean", mean, g, 1e-12)
		}
	}
}

func TestModeRefuses(t *testing.T) {
	apart := &vi.Rows{P: 2, X: []float64{1, -1, 1, 1}, Y: []float64{0, 1}}
	if _, err := FindMode(model.Binomial, 1, apart, 0); err == nil {
		t.Error("rows that are told apart have a maximum")
	}
	constant := &vi.Rows{P: 2, X: []float64{1, 1, 1, 1}, Y: []float64{0, 1}}
	must.Fail(t, must.Err(FindMode(model.Binomial, 1, constant, 0)), "open")
}

// comparingFamily is a comparison of a family by its methods.
func comparingFamily(of model.Family) *Design {
	d := comparing(DefaultCompared(of)...)
	d.Family = of
	return d
}

// With next to no noise all methods of logistic regression have the mode, and others refuse.
func TestFamilyWithoutNoise(t *testing.T) {
	testsize.Full(t, "TestPopulationWithoutNoise has a study next to no noise, TestFamilyIsGLMWithoutNoise a family")
	d := comparingFamily(model.Binomial)
	n := int64(3000)
	d.Ns = []int64{n}
	s := must.Get(d.Study(nil))(t)
	e := must.Get(s.Cells[0].Subject.(*comparison).example(rand.New(rand.NewPCG(3, 3))))(t)
	f := s.Cells[0].Subject.(*comparison).fitter
	f.privacy = release.Privacy{Epsilon: 1e4, Delta: 0.1, Neighbours: release.ReplaceOne}
	e.fitter = &f
	longer := f.session(3)
	longer.Rounds = 60
	within := map[string]float64{"mcmc-exact": 0.05, DPVI: 0.05, DPPVI: 0.1, NonPrivate: 0}
	for name, tolerance := range within {
		f.arm = arm(name, "", "")
		m := newMethod(f, n, 3)
		switch name {
		case DPPVI:
			m = func() (inference, error) { return logisticPVI(f.family, longer) }
		case DPVI:
			f := f
			f.privacy.Epsilon = 100
			m = newMethod(f, viBatch, 3) // a batch of all rows
		}
		infer := must.Get(m())(t)
		got, err := infer(context.Background(), e, mechanisms.Simulated(rand.New(rand.NewPCG(1, 1))), rand.New(rand.NewPCG(2, 2)))
		if err != nil {
			t.Fatal(name, err)
		}
		if distance := rms(got.theta, e.exact.mean); distance > tolerance {
			t.Errorf("%s: %v, at the mode %v", name, got.theta, e.exact.mean)
		}
		measures, err := e.judge(context.Background(), got, rand.New(rand.NewPCG(4, 4)))
		if err != nil || len(measures) < 5 {
			t.Error(name, measures, err)
		}
	}
	f.family = model.Probit
	for _, name := range []string{DPPVI, DPVI} {
		f.arm = arm(name, "", "")
		must.Fail(t, must.Err(newMethod(f, 100, 3)()), "not probit")
	}
}

func TestFamilyDesigns(t *testing.T) {
	for _, of := range model.Families() {
		d := comparingFamily(of)
		again, err := ReadDesign(d.Text())
		if err != nil || again.Family != of {
			t.Error(of, err)
		}
	}
	d := comparingFamily(model.Poisson)
	d.Steps = 2
	must.Fail(t, d.Validate(), "one look")
}
