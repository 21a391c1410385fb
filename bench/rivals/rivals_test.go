package rivals

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
)

// hand is a release of 200 rows of (u, v), y without an intercept, with y's box of
// half-width h; change edits its text.
func hand(t testing.TB, h float64, change ...string) *release.Release {
	t.Helper()
	text := fmt.Sprintf(`{"format":"dpreg-release/1",
		"schema":{"response":{"name":"y","lower":-%g,"upper":%g},"covariates":[{"name":"u","lower":-1,"upper":1},{"name":"v","lower":0,"upper":2}],"intercept":false},
		"n":200,"noise":{"kind":"gaussian","scale":3},
		"statistics":{"sum_x":[1,5],"sum_xx":[[60,10],[10,50]],"sum_y":3,"sum_xy":[24,-8],"sum_yy":null},"withheld":["yy"]}`, h, h)
	return must.Get(release.Read(strings.NewReader(strings.NewReplacer(change...).Replace(text))))(t)
}

func problem(releases ...*release.Release) *model.Problem {
	return &model.Problem{Releases: releases, Prior: model.DefaultPrior(model.Shape{P: 2})}
}

// As noise vanishes S_j and z_j are known, and (θ, σ²) has a conjugate law: with
// z_j ~ N(S_jθ, σ²S_j), that of p rows a party with XᵀX = ΣS_j, Xᵀy = Σz_j and
// yᵀy = Σ z_jᵀS_j⁻¹z_j. Both methods draw from it. Bounds are of 5 Monte Carlo
// errors: 6 comparisons a method, false alarms of 7e-6 in all.
func TestNoNoise(t *testing.T) {
	clear := []string{`"scale":3`, `"scale":1e-3`}
	a, b := hand(t, 1, clear...), hand(t, 1, append(clear, "[[60,10],[10,50]]", "[[20,3],[3,30]]", "[24,-8]", "[9,2]")...)
	p := problem(a, b)
	p.Prior = three(t, true).prior
	_, parties, err := read("test", p)
	must.Do(t, err)
	xx, xy, yy := make([]float64, 4), make([]float64, 2), 0.0
	for _, party := range parties {
		chol, z := append([]float64(nil), party.xx...), append([]float64(nil), party.xy...)
		if !dense.Cholesky(chol, 2) {
			t.Fatal("not positive definite")
		}
		dense.SolveLower(chol, 2, z)
		yy += floats.Dot(z, z)
		for i := range xx {
			xx[i] += party.xx[i]
		}
		for i := range xy {
			xy[i] += party.xy[i]
		}
	}
	given := p.Prior.Theta.Clone()
	if !conjugate.NewNIGSampler(2).Update(given, p.Prior.Theta, xx, xy, yy, 4) {
		t.Fatal("improper")
	}
	v := make([]float64, 2)
	given.VarTheta(v)
	means := append(append([]float64(nil), given.Mean...), given.Scale/(given.Shape-1))
	sds := []float64{math.Sqrt(v[0]), math.Sqrt(v[1])}
	for _, m := range []model.Method{NormalX, FixedS} {
		d := must.Get(m.Sample(t.Context(), p, mcmc.Plan{Chains: 2, Warmup: 500, Draws: 6000, Seed: 4}))(t)
		for j, want := range means {
			x := d.Column(j)
			mean, sd := modeltest.Pooled(x)
			if e := posterior.Of(x).MCSEMean(); !(math.Abs(mean-want) < 5*e) {
				t.Errorf("%s, %s: mean %g, want %g, error %g", m.Name(), d.Names[j], mean, want, e)
			}
			if e := posterior.Of(x).MCSESD(); j < 2 && !(math.Abs(sd-sds[j]) < 5*e) {
				t.Errorf("%s, %s: sd %g, want %g, error %g", m.Name(), d.Names[j], sd, sds[j], e)
			}
		}
	}
}

// A release in a box of its own is one in common units whose noise differs from entry
// to entry; y's box here is half of the common one.
func TestUnits(t *testing.T) {
	_, parties, err := read("test", problem(hand(t, 2), hand(t, 1)))
	must.Do(t, err)
	a, b := parties[0], parties[1]
	if a.xy[0] != 24 || a.sdXY[0] != 3 || b.xy[0] != 12 || b.sdXY[0] != 1.5 || b.xx[1] != 10 || b.sdXX[3] != 3 || b.xx[2] != 10 {
		t.Errorf("%+v, %+v", a, b)
	}
}

// What the methods cannot use is refused by an error that says what can.
func TestRefuses(t *testing.T) {
	few := hand(t, 1, `"n":200`, `"n":1`)
	partial := problem(hand(t, 1), hand(t, 1))
	partial.PartialPooling = true
	for want, p := range map[string]*model.Problem{
		"it is for Gaussian noise":   problem(hand(t, 1, "gaussian", "laplace")),
		"release 2: ":                problem(hand(t, 1), hand(t, 1, "gaussian", "laplace")),
		"no intercept":               {Releases: []*release.Release{hand(t, 1, `"intercept":false`, `"intercept":true`)}, Prior: model.DefaultPrior(model.Shape{P: 2, Intercept: true})},
		"n = 1 rows of 2 covariates": problem(few),
		"one regression for all":     partial,
		"no release":                 problem(),
		"no prior":                   {Releases: []*release.Release{hand(t, 1)}},
		"theta has 1 coefficients":   {Releases: []*release.Release{hand(t, 1)}, Prior: model.DefaultPrior(model.Shape{P: 1})},
		"takes n for exact":          problem(hand(t, 1, `"n":200`, `"n":200,"n_noise":3,"privacy":{"epsilon":1,"delta":1e-6,"neighbours":"add-remove"}`)),
	} {
		for _, m := range []model.Method{NormalX, FixedS} {
			d, err := m.Sample(t.Context(), p, mcmc.Plan{Chains: 1, Warmup: 100, Draws: 10})
			if d != nil || err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v does not say %q", m.Name(), err, want)
			}
		}
	}
	for _, m := range []model.Method{NormalX, FixedS} {
		if _, err := m.Sample(t.Context(), problem(hand(t, 1)), mcmc.Plan{Chains: 1, Draws: 10}); err == nil {
			t.Errorf("%s: no warm-up passes", m.Name())
		}
	}
}

// A release with Σy² serves as one without; noise that leaves Ŝ indefinite does too.
func TestSample(t *testing.T) {
	plan := mcmc.Plan{Chains: 2, Warmup: 200, Draws: 200, Seed: 1}
	for _, m := range []model.Method{NormalX, FixedS} {
		without := must.Get(m.Sample(t.Context(), problem(hand(t, 1)), plan))(t)
		with := must.Get(m.Sample(t.Context(), problem(hand(t, 1, "null", "70", `,"withheld":["yy"]`, "")), plan))(t)
		for c, chain := range without.Chains {
			for i, v := range chain {
				if with.Chains[c][i] != v {
					t.Fatalf("%s: Σy² changes the draws", m.Name())
				}
			}
		}
		d := must.Get(m.Sample(t.Context(), problem(hand(t, 1, "[[60,10],[10,50]]", "[[-6,10],[10,-5]]", `"scale":3`, `"scale":400`)), plan))(t)
		for _, v := range d.Chains[0] {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("%s: draws that are not finite", m.Name())
			}
		}
	}
}

func TestNoAllocation(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	s := three(t, false)
	_, parties := s.draw(rng)
	x := must.Get(NormalX.newChain(parties, s.prior, false, rng))(t)
	f := must.Get(FixedS.newChain(parties, s.prior, false, rng))(t)
	for name, step := range map[string]func(){"normalx": func() { x.Step(rng) }, "fixeds": func() { f.Step(rng) }} {
		if got := testing.AllocsPerRun(100, step); got != 0 {
			t.Errorf("%s: %v allocations a sweep", name, got)
		}
	}
}
