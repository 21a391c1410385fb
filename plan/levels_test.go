package plan_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/plan"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// leveledDesign has a factor of some levels, and x and y on [-1, 1].
func leveledDesign(levels int) *schema.Design {
	d := &schema.Design{Response: schema.Column{Name: "y", Lower: -1, Upper: 1}, Intercept: true, Covariates: []schema.Column{{Name: "x", Lower: -1, Upper: 1}}, Factors: []schema.Factor{{Name: "f"}}}
	for l := range levels {
		name := fmt.Sprint(l)
		if d.Factors[0].Levels = append(d.Factors[0].Levels, name); l > 0 {
			d.Covariates = append(d.Covariates, schema.Column{Name: "f" + name, Upper: 1, Factor: "f", Level: name})
		}
	}
	return d
}

// TestByLevelIsForeseen: intervals of releases by the levels of a factor, of rows that are not normal and whose levels
// differ, are as wide as foreseen, or 1.3 times wider or narrower at most: 200 draws leave the mean width of eight an error of
// 2 %. -v prints by how much:
//
//	go test ./plan -run TestByLevelIsForeseen -v
func TestByLevelIsForeseen(t *testing.T) {
	testsize.Full(t, "infers from 56 releases")
	for _, c := range []struct{ levels, steps, releases int }{{2, 1, 8}, {3, 3, 40}, {10, 1, 8}} {
		const n = 2000
		levels := c.levels
		neighbours := release.ReplaceOne
		if levels == 10 {
			neighbours = release.AddRemove
		}
		d, _, err := release.LevelsFirst(leveledDesign(levels), "f")
		must.Do(t, err)
		rng := rand.New(rand.NewPCG(7, uint64(levels)))
		var flat []float64
		var x, y, e moments
		for range n {
			row := make([]float64, levels+1)
			for c := range levels - 1 {
				row[c] = -1
			}
			l := rng.IntN(levels)
			if l > 0 {
				row[l-1] = 1
			}
			shift := 0.1 * math.Cos(float64(2*l))
			row[levels-1] = 0.4*(2*rng.Float64()-1) + shift
			rest := 0.15 * min(4, rng.ExpFloat64()) // skewed
			row[levels] = 0.3*row[levels-1] + shift + rest - 0.15
			e.add(rest)
			x.add(row[levels-1])
			y.add(row[levels])
			flat = append(flat, row...)
		}
		f := must.Get(plan.Foresee(context.Background(), plan.Options{Design: d, ByLevel: "f", Neighbours: neighbours, Steps: c.steps, Epsilons: []float64{1}, Ns: []int64{n}, Releases: c.releases, Seed: 1, R2: 1 - e.sd()*e.sd()/(y.sd()*y.sd()),
			Means: map[string]float64{"x": x.mean(), "y": y.mean()}, SDs: map[string]float64{"x": x.sd(), "y": y.sd()}}))(t)
		widths := realised(t, c.releases, custody.Order{Design: d, ByLevel: "f", Steps: c.steps, Privacy: release.Privacy{Epsilon: 1, Neighbours: neighbours}}, flat, model.Normal, rng)
		foreseen, dummies := 0.0, 0.0 // over dummies, which are alike
		for j, w := range widths[:levels-1] {
			foreseen += f.Points[0].Slopes[j].Width / float64(levels-1)
			dummies += w / float64(levels-1)
		}
		slope := f.Points[0].Slopes[levels-1]
		t.Logf("%d levels, %d looks: dummies %.3f foreseen, %.3f realised; %s %.3f foreseen, %.3f realised", levels, c.steps, foreseen, dummies, slope.Name, slope.Width, widths[levels-1])
		for _, ratio := range []float64{dummies / foreseen, widths[levels-1] / slope.Width} {
			if !(ratio < 1.3 && ratio > 1/1.3) {
				t.Errorf("%d levels: realised over foreseen %.2f", levels, ratio)
			}
		}
	}
}

// realised are the mean widths of 95 % intervals of slopes over so many releases of rows, as ordered, with noise by rng.
func realised(t *testing.T, releases int, o custody.Order, rows []float64, family model.Family, rng *rand.Rand) (widths []float64) {
	t.Helper()
	widths = make([]float64, len(o.Design.Covariates))
	for range releases {
		o.Rows, o.Entropy, o.NoLedger = custody.Scaled{Name: "rows", Rows: rows}, mechanisms.Simulated(rng), true
		r := must.Get(must.Get(custody.Publish(context.Background(), o))(t).Select(""))(t)
		fit := must.Get(dpreg.Infer(context.Background(), dpreg.One(r), dpreg.Options{Family: family, Plan: mcmc.Plan{Chains: 1, Warmup: 200, Draws: 200, Seed: 1}}))(t)
		for j, p := range fit.Summary(dpreg.Original, 0.95).Parameters[1 : 1+len(widths)] {
			widths[j] += (p.Upper - p.Lower) / float64(releases)
		}
	}
	return widths
}

// asForeseen asks whether widths of each slope are.
func asForeseen(t *testing.T, what string, widths []float64, slopes []plan.SlopeForecast) {
	t.Helper()
	for j, s := range slopes {
		ratio := widths[j] / s.Width
		t.Logf("%s%s: %.3f foreseen, %.3f realised", what, s.Name, s.Width, widths[j])
		if !(ratio < 1.3 && ratio > 1/1.3) {
			t.Errorf("%s%s: realised over foreseen %.2f", what, s.Name, ratio)
		}
	}
}

// TestByResponseIsForeseen is that of a family, of several looks by the levels of the response.
func TestByResponseIsForeseen(t *testing.T) {
	testsize.Full(t, "infers from 28 releases")
	const n = 3000
	d := &schema.Design{Intercept: true, Response: schema.Column{Name: "y", Upper: 1, Type: "boolean"}, Covariates: []schema.Column{{Name: "a", Lower: -1, Upper: 1}, {Name: "b", Lower: -1, Upper: 1}}}
	rng := rand.New(rand.NewPCG(7, 1))
	var flat []float64
	var a, b, y, e moments
	for range n {
		u, v := 0.25*rng.NormFloat64(), 0.4*rng.Float64()
		p := 1 / (1 + math.Exp(-2*u-v))
		one := 0.0
		if rng.Float64() < p {
			one = 1
		}
		a.add(u)
		b.add(v)
		y.add(one)
		e.add(p)
		flat = append(flat, max(-1, min(1, u)), v, 2*one-1)
	}
	f := must.Get(plan.Foresee(context.Background(), plan.Options{Design: d, Family: model.Binomial, ByLevel: "y", Steps: 3, Epsilons: []float64{1}, Ns: []int64{n}, Releases: 8, Seed: 1, R2: e.sd() * e.sd() / (y.sd() * y.sd()),
		Means: map[string]float64{"a": a.mean(), "b": b.mean(), "y": y.mean()}, SDs: map[string]float64{"a": a.sd(), "b": b.sd()}}))(t)
	widths := realised(t, 8, custody.Order{Design: d, ByLevel: "y", Steps: 3, Privacy: release.Privacy{Epsilon: 1, Neighbours: release.ReplaceOne}}, flat, model.Binomial, rng)
	asForeseen(t, "", widths, f.Points[0].Slopes)
}

// moments are those of a column.
type moments struct{ n, sum, square float64 }

func (m *moments) add(v float64) { m.n, m.sum, m.square = m.n+1, m.sum+v, m.square+v*v }
func (m *moments) mean() float64 { return m.sum / m.n }
func (m *moments) sd() float64   { return math.Sqrt(m.square/m.n - m.mean()*m.mean()) }

// TestByLevelPlanRefuses says why.
func TestByLevelPlanRefuses(t *testing.T) {
	for says, change := range map[string]func(*plan.Options){
		"takes one look": func(o *plan.Options) {
			o.Family, o.Steps = model.Poisson, 3
			o.Design.Response.Lower, o.Design.Response.Upper = 0, 9
		},
		"no column of categories": func(o *plan.Options) { o.ByLevel = "x" },
	} {
		o := plan.Options{Design: leveledDesign(3), ByLevel: "f", Steps: 1, Epsilons: []float64{1}, Ns: []int64{100}}
		change(&o)
		must.Fail(t, must.Err(plan.Foresee(context.Background(), o)), says)
	}
}

// TestCellsAreForeseen is that of categories alone: Foresee has sums by their cells, as fit has, of a line and of a family.
func TestCellsAreForeseen(t *testing.T) {
	testsize.Full(t, "infers from 10 releases")
	const n = 2000
	for _, family := range []model.Family{model.Normal, model.Binomial} {
		d := &schema.Design{Response: schema.Column{Name: "y", Lower: -1, Upper: 1}, Intercept: true, Factors: []schema.Factor{{Name: "f", Levels: []string{"a", "b"}}, {Name: "g", Levels: []string{"a", "b", "c"}}}}
		for _, f := range d.Factors {
			for _, level := range f.Levels[1:] {
				d.Covariates = append(d.Covariates, schema.Column{Name: f.Name + level, Upper: 1, Factor: f.Name, Level: level})
			}
		}
		if family != model.Normal {
			d.Response = schema.Column{Name: "y", Upper: 1, Type: "boolean"}
		}
		rng := rand.New(rand.NewPCG(8, 1))
		var flat []float64
		var y, e moments
		for range n {
			f, g := rng.IntN(10) < 3, rng.IntN(10) // of 3/10; of 5/10, 2/10 and 3/10
			row := []float64{sign(f), sign(g >= 8 || g == 7), sign(g < 2), 0}
			eta := 0.15*row[0] - 0.2*row[1] + 0.1*row[2]
			row[3] = eta + 0.15*min(4, rng.ExpFloat64()) - 0.15
			if family != model.Normal {
				p := 1 / (1 + math.Exp(-5*eta))
				eta, row[3] = 2*p-1, sign(rng.Float64() < p)
			}
			e.add(eta)
			y.add(row[3])
			flat = append(flat, row...)
		}
		o := plan.Options{Design: d, Family: family, Epsilons: []float64{1}, Ns: []int64{n}, Releases: 5, Seed: 1, R2: e.sd() * e.sd() / (y.sd() * y.sd()),
			Means: map[string]float64{"fb": 0.3, "gb": 0.3, "gc": 0.2, "y": y.mean()}, SDs: map[string]float64{"y": y.sd()}}
		if family != model.Normal {
			o.Means["y"], o.SDs = 0.5*(1+y.mean()), nil
		}
		forecast := must.Get(plan.Foresee(context.Background(), o))(t)
		widths := realised(t, 5, custody.Order{Design: d, ByLevel: "f:g", Steps: 1, Privacy: release.Privacy{Epsilon: 1, Neighbours: release.ReplaceOne}}, flat, family, rng)
		for j, s := range forecast.Points[0].Slopes {
			if forecast.ByLevel != "f:g" || s.Name != d.Covariates[j].Name {
				t.Errorf("by %s: slope %d is %s", forecast.ByLevel, j, s.Name)
			}
		}
		asForeseen(t, string(family)+" ", widths, forecast.Points[0].Slopes)
	}
}

func sign(is bool) float64 {
	if is {
		return 1
	}
	return -1
}
