package individual

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts"
)

// plainSites is the log density of partial pooling in x, from parameters, coefficients and
// rows one by one, with Jacobians by differences.
func plainSites(t *testing.T, f *sites, problem *model.Joint, x []float64, clamping bool) float64 {
	t.Helper()
	f.hub.Constrain(x[:f.lead])
	logp := plainSpread(f.hub.Spread, x[f.base:f.lead])
	coords, regression := model.NewCoordinates(problem.Shape, problem.Prior), model.NewRegressionCoordinates(problem.Prior)
	q := problem.Shape.Q()
	spread, omega := make([]float64, q*(q+1)/2+1), mat.NewSymDense(q+1, nil)
	f.hub.Spread.Write(spread)
	for k := range q {
		for l := k; l < q; l++ {
			omega.SetSym(k, l, spread[0])
			spread = spread[1:]
		}
	}
	omega.SetSym(q, q, 4*spread[0]*spread[0])
	law, ok := distmv.NewNormal(append(slices.Clone(f.hub.Params.Theta), math.Log(f.hub.Params.Sigma2)), omega, nil)
	if !ok {
		t.Fatal("Ω is not positive definite")
	}
	phi, unused := make([]float64, coords.Dim()), make([]float64, coords.Dim())
	for j, s := range f.all {
		part := f.part(x, j)
		jacobian, c := mat.NewDense(q+1, q+1, nil), append([]float64(nil), part.coefficients...)
		fd.Jacobian(jacobian, func(own, c []float64) {
			copy(part.coefficients, c)
			f.set(x, j)
			copy(own, s.pooled.Own)
		}, c, &fd.JacobianSettings{Formula: fd.Central})
		copy(part.coefficients, c)
		f.set(x, j)
		det, _ := mat.LogDet(jacobian)
		logp += det + law.LogProb(s.pooled.Own)

		params := s.hub.Params // those of φ_j, with θ
		coords.Unconstrain(phi, params)
		coords.Constrain(params, phi)
		logp += coords.LogPrior(unused, params)
		if j > 0 && problem.Shared {
			logp -= coords.LogPrior(unused, params)
		} else if j > 0 {
			logp -= regression.LogPrior(unused, params)
		}
		logp += plainRows(s, params, part, clamping)
	}
	return logp
}

// plainSpread is the log density of Spread's coordinates φ, from that of τ and the
// correlations, log p = −½Σ(τ_k/sd_k)² + (η − 1) log|R|, R bordered by 1.
func plainSpread(spread *model.Spread, phi []float64) float64 {
	q := len(spread.Tau)
	r := mat.NewDense(q, q, nil)
	parameters := func(y, phi []float64) {
		spread.Constrain(phi)
		at := copy(y, spread.Tau)
		c := mat.NewDense(q, q, spread.Factor)
		r.Mul(c, c.T())
		for k := range q - 1 {
			at += copy(y[at:], r.RawRowView(k)[:k])
		}
	}
	jacobian := mat.NewDense(len(phi), len(phi), nil)
	fd.Jacobian(jacobian, parameters, phi, &fd.JacobianSettings{Formula: fd.Central})
	logp, _ := mat.LogDet(jacobian)
	parameters(make([]float64, len(phi)), phi)
	for k, tau := range spread.Tau {
		sd := 0.5
		if k == q-1 {
			sd = 0.6
		}
		logp -= 0.5 * tau * tau / (sd * sd)
	}
	det, _ := mat.LogDet(r)
	return logp + (model.SpreadLKJ-1)*det
}

// plainRows is log p(U) + log p(z | s) of one site.
func plainRows(s *site, params *model.Params, x part, clamping bool) (logp float64) {
	n, m, p := s.n, s.m, s.p
	u := mat.NewDense(n, m, nil)
	for j := range m {
		u.Set(0, j, x.first[j])
		for i := 1; i < n; i++ {
			u.Set(i, j, x.rows[j*(n-1)+i-1])
		}
	}
	e := new(mat.Dense)
	e.Mul(reflection(n), u)
	var root mat.Cholesky
	root.Factorize(mat.NewSymDense(p, params.Tau))
	var lx mat.TriDense
	root.LTo(&lx)
	theta, first := s.pooled.Theta, len(s.pooled.Theta)-p
	sums, v := make([]float64, len(s.s)), make([]float64, m)
	for i := range n {
		row := e.RawRowView(i)
		v[p] = s.pooled.Sigma() * row[p]
		if first > 0 {
			v[p] += theta[0]
		}
		for j := range p {
			v[j] = params.MuX[j]
			for k := range j + 1 {
				v[j] += lx.At(j, k) * row[k]
			}
			v[p] += theta[first+j] * v[j]
		}
		s.release.Units.Mean(v)
		norm, frame := 0.0, s.release.Frame
		for _, x := range v {
			norm = math.Hypot(norm, x)
		}
		for j := range v {
			switch {
			case clamping && frame != nil:
				v[j] *= min(1, frame.Radius/norm)
			case clamping:
				v[j] = min(1, max(-1, v[j]))
			}
		}
		addStatistics(sums, v)
		for _, w := range row {
			logp -= 0.5 * w * w
		}
	}
	return logp + s.noise.LogDensity(make([]float64, len(sums)), sums)
}

// offBy returns how far the densities' difference varies over points near a start.
func offBy(t *testing.T, s model.Shape, v variant, fault func(*sites) nuts.Target) (off float64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(62, 1))
	problem, f, x := sitesAt(t, s, v, rng)
	target, grad, constant := fault(f), make([]float64, len(x)), math.NaN()
	for range 4 {
		for i := range x {
			x[i] += 0.3 * rng.NormFloat64()
		}
		got := must.Get(target.LogDensity(grad, x))(t)
		difference := got - plainSites(t, f, problem, x, v.clamping)
		if math.IsNaN(constant) {
			constant = difference
		}
		off = math.Max(off, math.Abs(difference-constant))
	}
	return off
}

// TestSitesDensity compares the density of partial pooling with the plain one: they differ
// by a constant. With faults they do not.
func TestSitesDensity(t *testing.T) {
	shapes := []model.Shape{{P: 1, Intercept: true}, {P: 2}, {P: 1}}
	faults := map[string]func(*sites) nuts.Target{
		"the Jacobian of τ is left out": func(f *sites) nuts.Target { return withoutTau{f} },
		"θ for θ_j at a site": func(f *sites) nuts.Target {
			f.all[1].theta = f.all[1].hub.Params.Theta
			return f
		},
	}
	for _, v := range variants() {
		if !v.partial {
			continue
		}
		for _, s := range shapes {
			if off := offBy(t, s, v, func(f *sites) nuts.Target { return f }); !(off < 1e-6) {
				t.Errorf("%+v %s: the densities' difference varies by %g", s, v, off)
			}
			for name, fault := range faults {
				if off := offBy(t, s, v, fault); off < 0.1 {
					t.Errorf("%+v %s: %s, unnoticed: %g", s, v, name, off)
				}
			}
		}
	}
}

// withoutTau is a density in which |∂τ/∂ log τ| is forgotten.
type withoutTau struct{ *sites }

func (f withoutTau) LogDensity(grad, x []float64) (float64, error) {
	logp, err := f.sites.LogDensity(grad, x)
	for k := range f.theta {
		grad[f.base+k]--
		logp -= x[f.base+k]
	}
	return logp, err
}
