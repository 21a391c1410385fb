package dpreg_test

import (
	"context"
	"flag"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/check"
	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// slopesByLevel are rows of three levels, the second rare, with slopes of their own: dummies, x, w and y in scaled units; and
// their release with products per level.
func slopesByLevel(t *testing.T, n int, pr release.Privacy) (rows [][]float64, r *release.Release) {
	t.Helper()
	d := &schema.Design{Response: schema.Column{Name: "y", Lower: -1, Upper: 3}, Intercept: true,
		Covariates: []schema.Column{{Name: "x", Lower: 0, Upper: 4}, {Name: "w", Lower: -1, Upper: 1}}, Factors: []schema.Factor{{Name: "f", Levels: []string{"a", "b", "c"}}}}
	for _, level := range []string{"b", "c"} {
		d.Covariates = append(d.Covariates, schema.Column{Name: "f" + level, Upper: 1, Factor: "f", Level: level})
	}
	d, _, err := release.LevelsFirst(d, "f")
	must.Do(t, err)
	rng := rand.New(rand.NewPCG(9, 7))
	var flat []float64
	for i := range n {
		row := []float64{-1, -1, 0.3 * rng.NormFloat64(), 0.25 * rng.NormFloat64(), 0}
		slope := 0.3
		switch {
		case i%8 == 0:
			row[0], slope = 1, -0.2
		case i%3 == 0:
			row[1], slope = 1, 0.8
		}
		row[2] += 0.2 * row[1]
		row[4] = 0.1 + slope*row[2] + 0.4*row[3] + 0.1*row[0] + 0.15*rng.NormFloat64()
		for j := range row {
			row[j] = max(-1, min(1, row[j]))
		}
		rows, flat = append(rows, row), append(flat, row...)
	}
	r, err = custody.Publish(context.Background(), custody.Order{Rows: custody.Scaled{Name: "rows", Rows: flat}, Design: d, ByLevel: "f", PerLevel: true,
		Privacy: pr, Entropy: mechanisms.Simulated(rng), NoLedger: true})
	must.Do(t, err)
	return rows, r
}

// TestPerLevelIsLeastSquares: where noise is little, slopes by level are those of gonum's least squares, with its standard
// errors, and so are those of fewer columns, of other ones, and of another response.
func TestPerLevelIsLeastSquares(t *testing.T) {
	testsize.Full(t, "TestByLevelIsLeastSquaresWithoutNoise has slopes in common")
	for _, nb := range []release.Neighbours{release.ReplaceOne, release.AddRemove} {
		rows, r := slopesByLevel(t, 20_000, release.Privacy{Epsilon: 60, Neighbours: nb})
		for formula, terms := range map[string]func(b, c, x, w, y float64) (response float64, terms []float64){
			"y ~ f * x + w": func(b, c, x, w, y float64) (float64, []float64) { return y, []float64{1, b, c, x, w, b * x, c * x} },
			"y ~ f * x + f * w": func(b, c, x, w, y float64) (float64, []float64) {
				return y, []float64{1, b, c, x, w, b * x, c * x, b * w, c * w}
			},
			"w ~ f + x": func(b, c, x, w, y float64) (float64, []float64) { return w, []float64{1, b, c, x} },
			"y ~ w":     func(b, c, x, w, y float64) (float64, []float64) { return y, []float64{1, w} },
		} {
			if formula != "y ~ f * x + w" && nb == release.AddRemove {
				continue
			}
			model := must.Get(r.Select(formula))(t)
			f := must.Get(dpreg.Infer(context.Background(), dpreg.One(model), dpreg.Options{Plan: mcmc.Plan{Chains: 2, Warmup: 300, Draws: 400, Seed: 1}}))(t)
			var x, y []float64
			for _, row := range rows {
				response, own := terms((row[0]+1)/2, (row[1]+1)/2, 2+2*row[2], row[3], 1+2*row[4])
				x, y = append(x, own...), append(y, response)
			}
			theta, se := ordinary(t, x, y)
			for k, p := range f.Summary(dpreg.Original, 0.95).Parameters[:len(theta)] {
				if off := (p.Mean - theta[k]) / se[k]; math.Abs(off) > 0.3 || math.Abs(p.SD/se[k]-1) > 0.2 {
					t.Errorf("%s, %s, %s: mean %v ± %v, least squares %v ± %v", formula, nb, p.Label, p.Mean, p.SD, theta[k], se[k])
				}
			}
		}
	}
}

// ordinary are least squares: coefficients of rows, and their standard errors.
func ordinary(t *testing.T, x, y []float64) (theta, se []float64) {
	t.Helper()
	n := len(y)
	p := len(x) / n
	rows, response := mat.NewDense(n, p, x), mat.NewVecDense(n, y)
	var gram, inverse mat.Dense
	var fit, left mat.VecDense
	must.Do(t, fit.SolveVec(rows, response))
	gram.Mul(rows.T(), rows)
	must.Do(t, inverse.Inverse(&gram))
	left.MulVec(rows, &fit)
	left.SubVec(response, &left)
	for k := range p {
		theta, se = append(theta, fit.AtVec(k)), append(se, math.Sqrt(mat.Dot(&left, &left)/float64(n-p)*inverse.At(k, k)))
	}
	return theta, se
}

// TestPerLevelRefused: what has no law of products per level says so.
func TestPerLevelRefused(t *testing.T) {
	_, r := slopesByLevel(t, 300, replaced(1))
	for formula, says := range map[string]string{
		"y ~ x + fb":       "as a whole",
		"y ~ f + f:x":      "no column fa:x",
		"y ~ f + w + fb:x": "fb:x is no product of a level",
		"`fb:x` ~ f + w":   "fb:x is no product of a level",
	} {
		if _, err := r.Select(formula); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", formula, err)
		}
	}
	two := []dpreg.Custodian{{Name: "a", Release: r}, {Name: "b", Release: r}}
	for says, of := range map[string]struct {
		custodians []dpreg.Custodian
		options    dpreg.Options
	}{
		"publish all with --by-level alone": {two, dpreg.Options{}},
		"mcmc-exact alone":                  {two[:1], dpreg.Options{Method: "mcmc-ind"}},
	} {
		must.Fail(t, dpreg.Can(of.custodians, of.options), says)
	}
	if err := check.Can(two[:1]); err == nil {
		t.Error("a check of products per level")
	}
}

var (
	perLevelLong = flag.Int("perlevel.long", 0, "releases of TestPerLevelCoverage")
	perLevelEps  = flag.Float64("perlevel.eps", 1, "their ε")
)

// TestPerLevelCoverage, in its long form, compares on rows of tables, drawn anew with replacement, what products per
// level tell with what columns do, of models without the factor, too: rms errors, and how many 95 % intervals hold least squares
// of the table.
//
//	go test . -run TestPerLevelCoverage -perlevel.long 40 -v -timeout 2h
func TestPerLevelCoverage(t *testing.T) {
	if *perLevelLong == 0 {
		t.Skip("takes minutes")
	}
	for _, c := range []struct{ table, factor, x, y string }{{"pums10000", "married", "educ", "income"}} {
		for _, by := range []string{" * ", " + ", ""} {
			formula := c.y + " ~ " + c.factor + by + c.x
			if by == "" { // sums of all levels
				formula = c.y + " ~ " + c.x
			}
			base, wide := open(t, c.table, c.y+" ~ "+c.factor+" + "+c.x, nil), open(t, c.table, formula, nil)
			truth, _ := leastSquares(t, wide)
			for _, kind := range []string{"products per level", "sums by levels", "columns, one look", "columns"} {
				e, o := wide, custody.Order{Design: wide.design, Steps: 1}
				switch kind {
				case "columns":
					o.Steps = custody.AutoSteps
				case "products per level":
					e, o = base, custody.Order{Design: base.design, ByLevel: c.factor, PerLevel: true}
				case "sums by levels":
					if e, o = base, (custody.Order{Design: base.design, ByLevel: c.factor, Steps: 1}); by == " * " {
						continue
					}
				}
				o.Privacy, o.NoLedger = replaced(*perLevelEps), true
				squares, held := make([]float64, len(truth)), make([]float64, len(truth))
				for trial := range *perLevelLong {
					rng := rand.New(rand.NewPCG(uint64(trial), 77))
					var flat []float64
					row, frame := make([]float64, len(e.rows[0])), e.design.Frame()
					for range e.rows {
						frame.Scale(row, e.rows[rng.IntN(len(e.rows))])
						flat = append(flat, row...)
					}
					o.Rows, o.Entropy = custody.Scaled{Name: "rows", Rows: flat}, mechanisms.Simulated(rng)
					r, err := custody.Publish(context.Background(), o)
					must.Do(t, err)
					r, err = r.Select(formula)
					must.Do(t, err)
					f := must.Get(dpreg.Infer(context.Background(), dpreg.One(r), dpreg.Options{Plan: mcmc.Plan{Chains: 2, Warmup: 300, Draws: 500, Workers: 1, Seed: uint64(trial)}}))(t)
					for k, p := range f.Summary(dpreg.Original, 0.95).Parameters[:len(truth)] {
						squares[k] += (p.Mean - truth[k]) * (p.Mean - truth[k]) / float64(*perLevelLong)
						if p.Lower <= truth[k] && truth[k] <= p.Upper {
							held[k] += 100 / float64(*perLevelLong)
						}
					}
				}
				for k := range squares {
					squares[k] = math.Sqrt(squares[k])
				}
				t.Logf("%s, %s: rms errors %.3g, intervals hold %.0f %%", formula, kind, squares, held)
			}
		}
	}
}
