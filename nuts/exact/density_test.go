package exact

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmat"
	"gonum.org/v1/gonum/stat/distmv"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/release"
)

// randomPrior has no zeros and no symmetry that could hide a fault.
func randomPrior(t testing.TB, s model.Shape, rng *rand.Rand) *model.Prior {
	t.Helper()
	normals := func(n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = 0.5 * rng.NormFloat64()
		}
		return x
	}
	positive := func(n int) []float64 {
		a, l := make([]float64, n*n), normals(n*n)
		for i := range n {
			for j := range n {
				for k := range n {
					a[i*n+j] += l[i*n+k] * l[j*n+k]
				}
			}
			a[i*n+i] += 0.3
		}
		return a
	}
	nig, err := conjugate.NewNIG(normals(s.Q()), positive(s.Q()), 1.5+rng.Float64(), 0.3+rng.Float64())
	if err != nil {
		t.Fatal(err)
	}
	niw, err := conjugate.NewNIW(normals(s.P), 0.3+rng.Float64(), positive(s.P), float64(s.P)+2*rng.Float64())
	if err != nil {
		t.Fatal(err)
	}
	return &model.Prior{Theta: nig, Covariates: niw}
}

// cases are shapes and noises, n public and latent.
func cases(f func(name string, c *modeltest.Simulation)) {
	for _, p := range []int{1, 2, 3} {
		for _, intercept := range []bool{true, false} {
			for _, kind := range []release.Kind{release.Laplace, release.Gaussian} {
				for _, count := range []float64{0, 3} {
					f(fmt.Sprintf("p=%d intercept=%t %s count%+g", p, intercept, kind, count), &modeltest.Simulation{
						Shape: model.Shape{P: p, Intercept: intercept}, N: 20, Kind: kind, Scale: 2, Count: count, Continuous: true})
				}
			}
		}
	}
}

// at writes a random point and returns the number of rows there.
func at(f *density, psi []float64, rng *rand.Rand) float64 {
	for i := range psi {
		psi[i] = 0.7 * rng.NormFloat64()
	}
	if f.obs.Count.Latent() {
		psi[len(psi)-1] = 4*rng.Float64() - 1
	}
	return f.rows(psi)
}

// TestGradient compares with central differences of h = 1e-6: their error is about
// h²|f‴|/6 + 1e-16|f|/h. Laplace's slope is that of a smoother function, which therefore
// stands in the difference for the noise's log density.
func TestGradient(t *testing.T) {
	const h = 1e-6
	cases(func(name string, c *modeltest.Simulation) {
		rng := rand.New(rand.NewPCG(1, 2))
		c.Prior = randomPrior(t, c.Shape, rng)
		_, obs := c.Draw(rng)
		f := newDensity(obs, c.Prior)
		psi, grad, unused := make([]float64, f.Dim()), make([]float64, f.Dim()), make([]float64, f.Dim())
		s := make([]float64, len(obs.Z))
		smooth := func() float64 {
			logp, err := f.LogDensity(unused, psi)
			if err != nil {
				t.Fatal(name, err)
			}
			n := f.rows(psi)
			f.statistics.vector(s)
			for i, v := range s {
				exact, _ := model.NewNoise(obs).LogDensity(i, v)
				logp += modeltest.SmoothNoise(obs.Kind, (obs.Z[i]-v)/obs.Scale[i], len(obs.Z)) - exact
			}
			if obs.Count.Latent() && obs.Kind == release.Laplace {
				exact, _ := model.NewNoise(obs).LogCount(n)
				logp += modeltest.SmoothNoise(obs.Kind, (obs.Count.Noisy-n)/obs.Count.Scale, 1) - exact
			}
			return logp
		}
		for range 20 {
			n := at(f, psi, rng)
			f.statistics.set(psi, n)
			f.statistics.vector(s)
			f.noise.Reach(s)
			if obs.Count.Latent() {
				obs.Count.Noisy = math.Round(n + 3*obs.Count.Scale*(2*rng.Float64()-1))
			}
			if _, err := f.LogDensity(grad, psi); err != nil {
				t.Fatal(name, err)
			}
			for i, x := range psi {
				psi[i] = x + h
				after := smooth()
				psi[i] = x - h
				before := smooth()
				psi[i] = x
				if want := (after - before) / (2 * h); !(math.Abs(grad[i]-want) < 1e-5*(1+math.Abs(want)+math.Abs(after)/100)) {
					t.Errorf("%s: derivative %d is %.10g, differences give %.10g", name, i, grad[i], want)
				}
			}
		}
	})
}

// TestSlopeIsTheDerivative: where chains are after warm-up, on normal rows, the goldens and
// releases that no rows explain, the gradient that trajectories follow is the density's
// own, along a random direction, in 99 draws of a hundred at least. The error of
// differences of h is h²|f‴|/6 + 10⁻¹⁶|f|/h.
func TestSlopeIsTheDerivative(t *testing.T) {
	problems := map[string]*model.Problem{"normal rows, p=1": normalRows(1, 1000), "normal rows, p=5": normalRows(5, 100_000), "normal rows, p=10": normalRows(10, 1000)}
	maps.Copy(problems, gaussianGoldens(t))
	maps.Copy(problems, beyondRows())
	for name, p := range problems {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			obs, err := p.Single()
			if err != nil {
				t.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(1, 6))
			k, err := newKernel(obs, p.Prior, rng)
			if err != nil {
				t.Fatal(err)
			}
			dim := k.density.Dim()
			grad, unused, direction, psi := make([]float64, dim), make([]float64, dim), make([]float64, dim), make([]float64, dim)
			const warmup, draws, h = 400, 300, 1e-6
			along := func(step float64) float64 {
				for i, d := range direction {
					psi[i] = k.Position()[i] + step*d
				}
				logp, err := k.density.LogDensity(unused, psi)
				if err != nil {
					t.Fatal(err)
				}
				return logp
			}
			off := 0
			for i := range warmup + draws {
				k.Step(rng)
				if i < warmup {
					k.Adapt(i, warmup)
					continue
				}
				logp, _ := k.density.LogDensity(grad, k.Position())
				slope, size := 0.0, 0.0
				for j, g := range grad {
					direction[j] = rng.NormFloat64()
					slope += g * direction[j]
					size += math.Abs(g * direction[j])
				}
				difference := (along(h) - along(-h)) / (2 * h)
				if !(math.Abs(slope-difference) < 1e-4*(1+size+math.Abs(logp))) {
					off++
				}
			}
			if off > draws/100 {
				t.Errorf("the slope is not the derivative in %d of %d draws", off, draws)
			}
		})
	}
}

// TestDensity compares log p(ψ | z) with Bayes' theorem, at any parameters φ
//
//	p(s | z) ∝ p(z | s) p(s | φ) p(φ) / p(φ | s),
//
// with gonum's densities of v̄ ~ N(μ, V/n) and W ~ Wishart(n−1, V), and conjugate's
// of φ before and after the rows; in ψ by the determinant of ∂s/∂ψ, from
// differences. Both sides differ by one number, whatever ψ, n and φ.
func TestDensity(t *testing.T) {
	cases(func(name string, c *modeltest.Simulation) {
		f, spread := againstBayes(t, c, nil)
		if !(spread < 1e-5) {
			t.Errorf("%s: log densities of %d coordinates differ by a constant only up to %g", name, f.Dim(), spread)
		}
	})
}

// againstBayes returns the range over random ψ and φ of the difference of the two
// sides of TestDensity, fault being added to the left one.
func againstBayes(t *testing.T, c *modeltest.Simulation, fault func(f *density, psi []float64) float64) (*density, float64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 4))
	c.Prior = randomPrior(t, c.Shape, rng)
	_, obs := c.Draw(rng)
	f, b := newDensity(obs, c.Prior), newBayes(c.Shape, c.Prior)
	psi, grad := make([]float64, f.Dim()), make([]float64, f.Dim())
	low, high := math.Inf(1), math.Inf(-1)
	for range 20 {
		n := at(f, psi, rng)
		logp, err := f.LogDensity(grad, psi)
		if err != nil {
			t.Fatal(err)
		}
		if fault != nil {
			logp += fault(f, psi)
		}
		f.statistics.set(psi, n)
		f.statistics.vector(b.s)
		logp -= b.logJacobian(f, psi, n)
		for i, v := range b.s {
			noise, _ := model.NewNoise(obs).LogDensity(i, v)
			logp -= noise
		}
		if obs.Count.Latent() {
			noise, _ := model.NewNoise(obs).LogCount(n)
			logp -= noise + math.Log(n-f.leastRows())
		}
		for range 3 {
			d := logp - b.logEvidence(t, n, rng)
			low, high = min(low, d), max(high, d)
		}
	}
	return f, high - low
}

// bayes is the independent side.
type bayes struct {
	shape        model.Shape
	prior        *model.Prior
	conditionals *model.Conditionals
	s            []float64
	x            *model.Params
	law          *model.Moments
}

func newBayes(s model.Shape, prior *model.Prior) *bayes {
	return &bayes{s, prior, model.NewConditionals(s, prior, true), make([]float64, s.Statistics()), model.NewParams(s), model.NewMoments(s)}
}

// logJacobian returns log|det ∂s/∂ψ| at n rows.
func (b *bayes) logJacobian(f *density, psi []float64, n float64) float64 {
	const h = 1e-5
	q := len(b.s)
	after, before, d := make([]float64, q), make([]float64, q), mat.NewDense(q, q, nil)
	for i := range q {
		x := psi[i]
		for _, side := range []struct {
			at  float64
			dst []float64
		}{{x + h, after}, {x - h, before}} {
			psi[i] = side.at
			f.statistics.set(psi, n)
			f.statistics.vector(side.dst)
		}
		psi[i] = x
		for j := range q {
			d.Set(j, i, (after[j]-before[j])/(2*h))
		}
	}
	logDet, _ := mat.LogDet(d)
	return logDet
}

// logEvidence returns log p(s | φ) + log p(φ) − log p(φ | s) at a random φ.
func (b *bayes) logEvidence(t *testing.T, n float64, rng *rand.Rand) float64 {
	t.Helper()
	b.conditionals.DrawPrior(b.x, rng)
	b.law.Set(b.x)
	m, p := b.shape.M(), b.shape.P
	cov, scaled := mat.NewSymDense(m, b.law.Cov), mat.NewSymDense(m, nil)
	scaled.ScaleSym(1/n, cov)
	normal, ok := distmv.NewNormal(b.law.Mean, scaled, nil)
	wishart, ok2 := distmat.NewWishart(cov, n-1, nil)
	if !ok || !ok2 {
		t.Fatal("gonum refused")
	}
	mean, scatter := make([]float64, m), mat.NewSymDense(m, nil)
	for j := range m {
		mean[j] = b.s[j] / n
	}
	for j := range m {
		for k := j; k < m; k++ {
			scatter.SetSym(j, k, b.s[release.Index(m, j, k)]-n*mean[j]*mean[k])
		}
	}
	// The Jacobian of (v̄, W) in s is n^−m.
	log := normal.LogProb(mean) + wishart.LogProbSym(scatter) - float64(m)*math.Log(n)

	sums, nig, niw := model.NewSums(b.shape), conjugate.NewNIGSampler(b.shape.Q()), conjugate.NewNIWSampler(p)
	sums.Set(b.s, n)
	nig.Set(b.prior.Theta)
	niw.Set(b.prior.Covariates)
	log += nig.LogDensity(b.x.Theta, b.x.Sigma2) + niw.LogDensity(b.x.MuX, b.x.Tau)
	if !nig.Update(b.prior.Theta.Clone(), b.prior.Theta, sums.XX, sums.XY, sums.YY, n) ||
		!niw.Update(b.prior.Covariates.Clone(), b.prior.Covariates, n, sums.SX, sums.SXX) {
		t.Fatal("improper")
	}
	return log - nig.LogDensity(b.x.Theta, b.x.Sigma2) - niw.LogDensity(b.x.MuX, b.x.Tau)
}

// TestDensityFindsFaults plants faults that TestDensity must find.
func TestDensityFindsFaults(t *testing.T) {
	for name, fault := range map[string]func(f *density, psi []float64) float64{
		"|W| to another power": func(f *density, psi []float64) float64 {
			log := 0.0
			for i := range f.obs.Shape.M() {
				log += psi[diagonal(f.obs.Shape.M(), i)]
			}
			return log
		},
		"the Jacobian of another order": func(f *density, psi []float64) float64 { return psi[diagonal(f.obs.Shape.M(), 0)] },
		"κ_n to another power":          func(f *density, _ []float64) float64 { return math.Log(f.evidence[0].chol[0]) },
		"b_n to the power a_n + ½": func(f *density, _ []float64) float64 {
			e := f.evidence[1]
			return -math.Log(e.chol[e.k*e.k-1])
		},
		"|Λ_n| to the power −1": func(f *density, _ []float64) float64 { return -math.Log(f.evidence[1].chol[0]) },
		"c(n) with n^m":         func(f *density, psi []float64) float64 { return math.Log(f.rows(psi)) },
	} {
		cases(func(which string, c *modeltest.Simulation) {
			if _, spread := againstBayes(t, c, fault); c.Count > 0 && spread < 1e-2 {
				t.Errorf("%s: %s went unnoticed: %g", which, name, spread)
			}
		})
	}
}
