package plan

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/schema"
)

// familyDesign has a covariate of wide bounds, and one that is 0 or 1.
func familyDesign(f model.Family) *schema.Design {
	d := &schema.Design{Intercept: true, Response: schema.Column{Name: "y", Upper: 1},
		Covariates: []schema.Column{{Name: "x", Lower: 0, Upper: 100}, {Name: "z", Lower: 0, Upper: 1}}}
	if f == model.Poisson {
		d.Response.Upper = 12
	}
	return d
}

// Rows that are drawn one by one as assumed have the mean, and of a line by least squares the R2, that
// were stated: of a million rows to some 0.002 and 0.005 (four standard errors), of a quarter to twice as much.
func TestAssumeFamily(t *testing.T) {
	for _, f := range model.Families() {
		d := familyDesign(f)
		a := must.Get(Assume(f, d, map[string]float64{"y": 0.3 * d.Response.Upper}, nil, 0.2))(t)
		shape, rng := model.DesignShape(d), rand.New(rand.NewPCG(1, 1))
		x := a.draw(shape, f.Design(d).Frame(), []float64{math.NaN(), math.NaN()}, rng)
		// By Cholesky's factor of T, the covariates have sds l00 and √(l10² + l11²).
		l00 := math.Sqrt(x.Tau[0])
		l10 := x.Tau[1] / l00
		l11 := math.Sqrt(x.Tau[3] - l10*l10)
		n, within := 1e6, 1.0
		if testing.Short() {
			n, within = n/4, 2
		}
		var mean, square, u, v float64 // of y, y², and y times two standard normal values that covariates are made of
		for range int(n) {
			a, b := rng.NormFloat64(), rng.NormFloat64()
			eta := x.Theta[0] + x.Theta[1]*(x.MuX[0]+l00*a) + x.Theta[2]*(x.MuX[1]+l10*a+l11*b)
			y := f.Draw(eta, d.Response.Upper, rng) / d.Response.Upper
			mean, square, u, v = mean+y/n, square+y*y/n, u+a*y/n, v+b*y/n
		}
		variance := square - mean*mean
		if r2 := (u*u + v*v) / variance; math.Abs(r2-0.2) > 0.005*within || math.Abs(mean-0.3) > 0.002*within {
			t.Errorf("%s: rows have the mean %v and R2 %v", f, mean, r2)
		}
		if sd := a.Columns[2].SD / d.Response.Upper; math.Abs(sd-math.Sqrt(variance)) > 0.002*within {
			t.Errorf("%s: the sd %v is said of rows that have %v", f, sd, math.Sqrt(variance))
		}
	}
	for says, c := range map[string]struct {
		sds map[string]float64
		r2  float64
	}{"follows from its mean": {map[string]float64{"y": 0.2}, 0}, "explains at most": {nil, 0.9}} {
		must.Fail(t, must.Err(Assume(model.Probit, familyDesign(model.Probit), nil, c.sds, c.r2)), says)
	}
}

// Of a family, too, nothing is lost without noise, and with noise alone the prior is left. Intervals
// hold a slope that was stated.
func TestForeseeFamily(t *testing.T) {
	testsize.Full(t, "TestForeseeTruth has a response of 0 and 1")
	for _, f := range model.Families() {
		d := familyDesign(f)
		made := must.Get(Foresee(t.Context(), Options{Family: f, Design: d, Epsilons: []float64{1e-5, 1e7}, Ns: []int64{2000}, Releases: 2, Truth: []float64{0.02, math.NaN()}, Seed: 3}))(t)
		blind, clear, alone := made.Points[0].Slopes[0], made.Points[1].Slopes[0], made.Alone[0]
		if math.Abs(clear.Price-1) > 0.1 || clear.Detected < 0.99 || blind.Width < 0.8*alone.Width || blind.Width > 1.2*alone.Width {
			t.Errorf("%s: %+v\n%+v\n%+v", f, blind, clear, alone)
		}
	}
	if _, err := Foresee(t.Context(), Options{Family: model.Binomial, Design: familyDesign(model.Binomial), Steps: 2, Epsilons: []float64{1}, Ns: []int64{100}}); err == nil {
		t.Error("two looks were taken")
	}
}
