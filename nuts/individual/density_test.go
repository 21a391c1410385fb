package individual

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
)

// invented is a release of nothing in particular.
func invented(s model.Shape, n, scale float64, kind release.Kind) *model.Observation {
	q := s.Statistics()
	obs := &model.Observation{Shape: s, N: n, Kind: kind, Z: make([]float64, q), Scale: make([]float64, q)}
	for i := range obs.Scale {
		obs.Scale[i], obs.Z[i] = scale, 0.1*n
	}
	return obs
}

// reflection is Householder's matrix with 1/√n in its first column.
func reflection(n int) *mat.Dense {
	w := mat.NewVecDense(n, nil)
	for i := range n {
		w.SetVec(i, -1/math.Sqrt(float64(n)))
	}
	w.SetVec(0, 1+w.AtVec(0))
	h := mat.NewDense(n, n, nil)
	for i := range n {
		h.Set(i, i, 1)
	}
	if norm := mat.Dot(w, w); norm > 0 {
		h.RankOne(h, -2/norm, w, w)
	}
	return h
}

// rowsOf writes the rows v_i of the frame's point, n×m, turned by an explicit
// matrix.
func rowsOf(f *frame, x []float64) *mat.Dense {
	n, m := f.n, f.m
	u := mat.NewDense(n, m, nil)
	for j := range m {
		u.Set(0, j, x[f.lead()-m+j])
		for i := 1; i < n; i++ {
			u.Set(i, j, x[f.lead()+j*(n-1)+i-1])
		}
	}
	e, v := new(mat.Dense), new(mat.Dense)
	e.Mul(reflection(n), u)
	v.Mul(e, mat.NewDense(m, m, f.l).T())
	v.Apply(func(_, j int, a float64) float64 { return a + f.mu[j] }, v)
	return v
}

// plainLogDensity is log p(φ, rows, z) in φ and the rows, from the parameters.
func plainLogDensity(f *density, rows *mat.Dense) float64 {
	x, p, s := f.params, f.p, f.shape
	logp := f.coords.LogPrior(make([]float64, f.coords.Dim()), x)
	law, _ := distmv.NewNormal(x.MuX, mat.NewSymDense(p, x.Tau), nil)
	sums := make([]float64, s.Statistics())
	for i := range f.n {
		v := rows.RawRowView(i)
		r := v[p]
		if s.Intercept {
			r -= x.Theta[0]
		}
		for j, b := range x.Theta[s.Q()-p:] {
			r -= b * v[j]
		}
		logp += law.LogProb(v[:p]) - 0.5*r*r/x.Sigma2 - 0.5*math.Log(x.Sigma2)
		addStatistics(sums, v)
	}
	return logp + f.noise.LogDensity(make([]float64, len(sums)), sums)
}

// addStatistics adds those of one row, canonical order.
func addStatistics(s, v []float64) {
	at := len(v)
	for j, a := range v {
		s[j] += a
		for _, b := range v[j:] {
			s[at] += a * b
			at++
		}
	}
}

// TestDensity compares the density with that of parameters and rows, one by one,
// times the Jacobian of their map from the coordinates by differences: the two
// differ by a constant.
func TestDensity(t *testing.T) {
	cases(t, func(t *testing.T, s model.Shape, kind release.Kind, clamping bool) {
		if clamping {
			return
		}
		rng := rand.New(rand.NewPCG(2, uint64(s.P)))
		for _, n := range []int{1, 2, 6} {
			f := newDensity(invented(s, float64(n), 3, kind), randomPrior(t, s, rng), false)
			x, grad := make([]float64, f.Dim()), make([]float64, f.Dim())
			image := func(y, x []float64) {
				f.set(x)
				copy(y[copy(y, f.phi):], rowsOf(f.frame, x).RawMatrix().Data)
			}
			constant := math.NaN()
			for range 4 {
				for i := range x {
					x[i] = 0.7 * rng.NormFloat64()
					if i < f.lead()-f.m {
						x[i] /= f.unit
					}
				}
				jacobian := mat.NewDense(len(x), len(x), nil)
				fd.Jacobian(jacobian, image, x, &fd.JacobianSettings{Formula: fd.Central, Step: 1e-5})
				det, _ := mat.LogDet(jacobian)
				got := must.Get(f.LogDensity(grad, x))(t)
				difference := got - plainLogDensity(f, rowsOf(f.frame, x)) - det
				if math.IsNaN(constant) {
					constant = difference
				}
				if !(math.Abs(difference-constant) < 1e-6*(1+math.Abs(got))) {
					t.Errorf("n = %d: the two densities differ by %g and by %g", n, constant, difference)
				}
			}
		}
	})
}

// TestClampingNothing: where all rows lie in the box, clamping them changes
// neither density nor gradient.
func TestClampingNothing(t *testing.T) {
	cases(t, func(t *testing.T, s model.Shape, kind release.Kind, clamping bool) {
		if clamping {
			return
		}
		rng := rand.New(rand.NewPCG(3, 3))
		obs, prior := invented(s, 20, 3, kind), randomPrior(t, s, rng)
		a, b := newDensity(obs, prior, false), newDensity(obs, prior, true)
		x := make([]float64, a.Dim())
		for i := range x {
			x[i] = 0.1 * rng.NormFloat64()
		}
		for i := range s.M() {
			x[a.means()+diagonal(i)] = -3 / a.unit
		}
		gradA, gradB := make([]float64, len(x)), make([]float64, len(x))
		logA, _ := a.LogDensity(gradA, x)
		logB, _ := b.LogDensity(gradB, x)
		if math.Abs(logA-logB) > 1e-9*math.Abs(logA) {
			t.Errorf("densities %g and %g", logA, logB)
		}
		for i, g := range gradA {
			if math.Abs(g-gradB[i]) > 1e-9*(1+math.Abs(g)) {
				t.Errorf("derivatives %d: %g and %g", i, g, gradB[i])
			}
		}
	})
}
