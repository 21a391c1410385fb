package gibbs

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
)

// TestInterweave: (c) holds all (f, A), n and ω, and the log densities that it returns are, up to
// a constant, those of where it ends: p(φ_j) p(z_j | s_j) of a site's own coordinates, where the
// shared ones then stay, and p(h) ∏ p(x_j | h) p(z_j | s_j), each afresh from parameters and statistics.
func TestInterweave(t *testing.T) {
	rng := rand.New(rand.NewPCG(55, 1))
	for _, shared := range []bool{false, true} {
		g := newJointSites(t, shared, true)
		for j := range g.Sites {
			g.Sites[j].Scale = 8 // leaves signs open
		}
		k := g.warm(rng)
		constant := map[string]float64{}
		same := func(name string, difference float64) {
			t.Helper()
			if first, ok := constant[name]; !ok {
				constant[name] = difference
			} else if !(math.Abs(difference-first) < 1e-7) {
				t.Fatalf("shared=%t: log density of %s is off by %g", shared, name, difference-first)
			}
		}
		flips, trajectories := 0, 0
		for range 600 {
			k.another(rng)
			k.drawConjugate(rng)
			var chance [][]float64
			var before []standing
			for _, s := range k.all {
				chance, before = append(chance, s.chances(t)), append(before, s.standing())
			}
			all, ok := k.interweave(rng)
			if !ok {
				t.Fatal("failed")
			}
			for j, s := range k.all {
				s.isStill(t, "interweave", before[j])
				for i, v := range s.chances(t) {
					if !(math.Abs(v-chance[j][i]) < 1e-8) {
						t.Fatalf("shared=%t, site %d: entry %d of (f, A) went from %g to %g", shared, j, i, chance[j][i], v)
					}
				}
				if s.own != nil && !all.accepted {
					same(fmt.Sprintf("site %d", j), s.own.last.logDensity-s.density(g.Prior))
				}
			}
			same("all", all.logDensity-k.density())
			switch {
			case !all.accepted:
			case k.shared.moved:
				trajectories++
			default:
				flips++
			}
		}
		if flips < 5 || trajectories < 30 {
			t.Errorf("shared=%t: too little happened: %d flips, %d trajectories", shared, flips, trajectories)
		}
	}
}

// chances are (f, A): L⁻¹(v̄ − μ), and L⁻¹D with DDᵀ the scatter over n.
func (c *state) chances(t *testing.T) []float64 {
	t.Helper()
	law := c.rows(t)
	m := len(law.Mean)
	mean, scatter := mat.NewVecDense(m, nil), mat.NewSymDense(m, nil)
	for j := range m {
		mean.SetVec(j, c.s[j]/c.n-law.Mean[j])
		for k := j; k < m; k++ {
			scatter.SetSym(j, k, c.s[release.Index(m, j, k)]/c.n-c.s[j]*c.s[k]/(c.n*c.n))
		}
	}
	var factorV, factorW mat.Cholesky
	var l, d mat.TriDense
	var f mat.VecDense
	var a mat.Dense
	if !factorV.Factorize(mat.NewSymDense(m, law.Cov)) || !factorW.Factorize(scatter) {
		t.Fatal("no factor")
	}
	factorV.LTo(&l)
	factorW.LTo(&d)
	if f.SolveVec(&l, mean) != nil || a.Solve(&l, &d) != nil {
		t.Fatal("no solution")
	}
	return append(f.RawVector().Data, a.RawMatrix().Data...)
}

// density is log p(φ) p(z | s).
func (s *site) density(prior *model.Prior) float64 {
	logp, square := 0.0, 0.0
	for i, z := range s.obs.Z {
		u := (z - s.s[i]) / s.obs.Scale[i]
		square += u * u
		if s.obs.Kind == release.Laplace {
			logp -= math.Abs(u)
		}
	}
	switch s.obs.Kind {
	case release.Gaussian:
		logp = -0.5 * square
	case release.Ball: // of one degree of freedom more than entries
		logp = -math.Sqrt(square)
	}
	c := model.NewCoordinates(s.obs.Shape, prior)
	phi := make([]float64, c.Dim())
	c.Unconstrain(phi, s.params)
	c.Constrain(model.NewParams(s.obs.Shape), phi)
	return logp + c.LogPrior(phi, s.params)
}

// density is log p(φ) ∏ p(z_j | s_j).
func (c *sites) density() float64 {
	logp, shape, prior := 0.0, c.problem.Shape, c.problem.Prior
	for _, s := range c.all {
		logp += s.density(prior)
	}
	grad := make([]float64, model.NewCoordinates(shape, prior).Dim())
	again := model.NewRegressionCoordinates(prior).LogPrior(grad, c.all[0].params)
	if c.problem.Shared {
		own := model.NewCoordinates(shape, prior)
		own.Unconstrain(grad, c.all[0].params)
		own.Constrain(model.NewParams(shape), grad)
		again = own.LogPrior(grad, c.all[0].params)
	}
	return logp - again*float64(len(c.all)-1)
}
