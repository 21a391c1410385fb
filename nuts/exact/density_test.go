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
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
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
	nig := must.Get(conjugate.NewNIG(normals(s.Q()), positive(s.Q()), 1.5+rng.Float64(), 0.3+rng.Float64()))(t)
	niw := must.Get(conjugate.NewNIW(normals(s.P), 0.3+rng.Float64(), positive(s.P), float64(s.P)+2*rng.Float64()))(t)
	return &model.Prior{Theta: nig, Covariates: niw}
}

// mixedPrior has free scales of σ, of the sd of the first covariate and of the spread of
// the last slopes, and θ without a factor σ.
func mixedPrior(t testing.TB, s model.Shape, rng *rand.Rand) *model.Prior {
	prior := randomPrior(t, s, rng)
	p, q := s.P, s.Q()
	first := q - p
	prior.Unscaled = true
	for range s.P {
		prior.MeanSD = append(prior.MeanSD, 0.1+rng.Float64())
	}
	prior.Scales = []model.Scale{{SD: 0.5 + rng.Float64(), Sigma: true}, {SD: 0.5 + rng.Float64(), Covariates: []int{0}}}
	for j := 1; j < p; j++ {
		prior.Covariates.Scale[j], prior.Covariates.Scale[j*p] = 0, 0
	}
	free := model.Scale{SD: 0.5 + rng.Float64(), Dof: 1 + 3*rng.Float64()}
	from := max(first, q-2)
	for k := from; k < q; k++ {
		free.Coefficients = append(free.Coefficients, k)
		for l := first; l < q; l++ {
			if l < from {
				prior.Theta.Precision[k*q+l], prior.Theta.Precision[l*q+k] = 0, 0
			}
		}
	}
	for k := from; k < q; k++ {
		free.Precision = append(free.Precision, prior.Theta.Precision[k*q+from:(k+1)*q]...)
	}
	if s.Intercept { // at a centre of x
		alpha, centre := prior.Theta.Precision[0], make([]float64, q)
		centre[0] = 1
		for j := 1; j < q; j++ {
			centre[j] = 0.3 * rng.NormFloat64()
			prior.Theta.Precision[j], prior.Theta.Precision[j*q] = 0, 0
		}
		for i, u := range centre {
			for j, v := range centre {
				if i+j > 0 {
					prior.Theta.Precision[i*q+j] += alpha * u * v
				}
			}
		}
	}
	prior.Scales = append(prior.Scales, free)
	return prior
}

// cases are shapes, noises and priors, n public and latent, and a frame in which z tells the scatter.
func cases(t testing.TB, f func(name string, c *modeltest.Simulation)) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, p := range []int{1, 2, 3}[:testsize.Of(2, 3)] {
		for _, intercept := range []bool{true, false} {
			for _, kind := range []release.Kind{release.Laplace, release.Gaussian, release.Ball} {
				for _, count := range []float64{0, 3} {
					s := model.Shape{P: p, Intercept: intercept}
					for which, prior := range []*model.Prior{randomPrior(t, s, rng), mixedPrior(t, s, rng)} {
						f(fmt.Sprintf("p=%d intercept=%t %s count%+g prior %d", p, intercept, kind, count, which), &modeltest.Simulation{
							Shape: s, Prior: prior, N: 20, Kind: kind, Scale: 2, Count: count, Continuous: true, Tilted: kind == release.Ball || p == 2 && count == 0})
					}
				}
			}
			s := model.Shape{P: p, Intercept: intercept}
			for _, scale := range []float64{0.01, 0.1, 0.3} { // of the last two some in columns of the frame, and not clear
				f(fmt.Sprintf("p=%d intercept=%t told to %g", p, intercept, scale), &modeltest.Simulation{
					Shape: s, Prior: mixedPrior(t, s, rng), N: 20, Kind: release.Gaussian, Scale: scale, Continuous: true, Tilted: true})
			}
		}
	}
}

// at writes a random point, near z where that tells the scatter, and returns the number of rows there.
func at(f *density, psi []float64, rng *rand.Rand) float64 {
	for i := range psi {
		psi[i] = 0.7 * rng.NormFloat64()
	}
	for i := range f.own.m { // V of about r, where rounding does not show in differences
		psi[diagonal(f.own.m, i)]++
	}
	if f.coordinates.clear {
		f.start(psi, rng)
	}
	return f.rows.of(psi)
}

// withRows returns the density in the coordinates that newDensity takes and, where noise hides columns,
// in those of the other rowOfY and with slopesOfX or without, whichever it does not take.
func withRows(obs *model.Observation, prior *model.Prior) []*density {
	f, other := newDensity(alone(obs), prior), newDensity(alone(obs), prior)
	if c := other.coordinates; !c.clear {
		c.last.y = newToldRow(obs.Shape.P, c.r[0])
		if c.slopes != nil {
			c.slopes = nil
		} else {
			c.slopes = newSlopesOfX(min(1, c.p-1), c.scales)
		}
	}
	return []*density{f, other}
}

// near is a release whose sums are those of rows that spread over the box.
func near(c *modeltest.Simulation, rng *rand.Rand) *model.Observation {
	p, x := c.Shape.P, model.NewParams(c.Shape)
	for j := range p {
		x.MuX[j], x.Tau[j*p+j] = 0.2*rng.NormFloat64(), 0.1
	}
	for k := range x.Theta {
		x.Theta[k] = 0.3 * rng.NormFloat64()
	}
	x.Sigma2 = 0.1
	obs, _ := c.Release(x, rng)
	return obs
}

// TestGradient compares with central differences of h = 1e-6: their error is about
// h²|f‴|/6 + 1e-16|f|/h. Laplace's slope is that of a smoother function, which therefore
// stands in the difference for the noise's log density.
func TestGradient(t *testing.T) {
	const h = 1e-6
	cases(t, func(name string, c *modeltest.Simulation) {
		rng := rand.New(rand.NewPCG(1, 2))
		obs := near(c, rng)
		f := withRows(obs, c.Prior)[rng.IntN(2)]
		psi, grad, unused := make([]float64, f.Dim()), make([]float64, f.Dim()), make([]float64, f.Dim())
		smooth := func() float64 {
			logp, err := f.LogDensity(unused, psi)
			if err != nil {
				t.Fatal(name, err)
			}
			n := f.rows.of(psi)
			f.noisy.vector()
			logp += modeltest.Smoothing(obs, f.noisy.s, 1)
			if obs.Count.Latent() && obs.Count.Kind == release.Laplace {
				exact, _ := model.NewNoise(obs).LogCount(n)
				logp += modeltest.SmoothNoise(obs.Count.Kind, (obs.Count.Noisy-n)/obs.Count.Scale, 1) - exact
			}
			return logp
		}
		for range 20 {
			n := at(f, psi, rng)
			f.Reach(psi)
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
	problems := map[string]*model.Problem{"normal rows, p=1": normalRows(1, 1000, 0.3, 0, 0, release.Gaussian, 1), "normal rows, p=5": normalRows(5, 100_000, 0.3, 0, 0, release.Gaussian, 1), "normal rows, p=10": normalRows(10, 1000, 0.3, 0, 0, release.Gaussian, 1)}
	maps.Copy(problems, gaussianGoldens(t))
	maps.Copy(problems, beyondRows())
	for name, p := range problems {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name == "normal rows, p=10" {
				t.Skip("it takes as long as all others")
			}
			t.Parallel()
			obs := must.Get(p.Single())(t)
			rng := rand.New(rand.NewPCG(1, 6))
			k := must.Get(newKernel(newDensity(alone(obs), p.Prior), rng))(t)
			dim := k.Chain.Dim()
			grad, unused, direction, psi := make([]float64, dim), make([]float64, dim), make([]float64, dim), make([]float64, dim)
			const warmup, draws, h = 400, 300, 1e-6
			along := func(step float64) float64 {
				for i, d := range direction {
					psi[i] = k.Position()[i] + step*d
				}
				return must.Get(k.Chain.LogDensity(unused, psi))(t)
			}
			off := 0
			for i := range warmup + draws {
				k.Step(rng)
				if i < warmup {
					k.Adapt(i, warmup)
					continue
				}
				logp, _ := k.Chain.LogDensity(grad, k.Position())
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

// TestDensity compares log p(x | z) with Bayes' theorem, at any parameters (θ, T)
//
//	p(s, μ_x, σ, λ | z) ∝ p(z | s) p(s | φ) p(φ | λ) p(λ) / p(θ, T | s, μ_x, σ, λ),
//
// with gonum's densities of v̄ ~ N(μ, V/n), of W ~ Wishart(n−1, V) and of θ before and after the
// rows, and conjugate's of (μ_x, T); in x by the determinant of ∂(s, μ_x, log σ, λ)/∂x, from
// differences. Both sides differ by one number, whatever x, n and φ.
func TestDensity(t *testing.T) {
	cases(t, func(name string, c *modeltest.Simulation) {
		obs := near(c, rand.New(rand.NewPCG(3, 4)))
		for _, f := range withRows(obs, c.Prior) {
			if spread := againstBayes(t, c, obs, f, nil); !(spread < 1e-5) {
				t.Errorf("%s: log densities of %d coordinates with %T differ by a constant only up to %g", name, f.Dim(), f.coordinates.last.y, spread)
			}
		}
	})
}

// againstBayes returns the range over random x and φ of the difference of the two
// sides of TestDensity, fault being added to the left one.
func againstBayes(t *testing.T, c *modeltest.Simulation, obs *model.Observation, f *density, fault func(f *density, x []float64) float64) float64 {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 5))
	b, noisy := newBayes(c.Shape, c.Prior), make([]float64, len(obs.Z))
	x, grad := make([]float64, f.Dim()), make([]float64, f.Dim())
	low, high := math.Inf(1), math.Inf(-1)
	for range 20 {
		n := at(f, x, rng)
		logp := must.Get(f.LogDensity(grad, x))(t)
		if fault != nil {
			logp += fault(f, x)
		}
		logp -= b.logJacobian(f, x)
		f.set(x)
		f.common.vector()
		copy(b.s, f.common.s)
		inUnits(noisy, b.s, n, c.Shape.M(), alone(obs).Units)
		logp -= model.NewNoise(obs).LogDensity(make([]float64, len(b.s)), noisy)
		b.sigma, b.lambda = math.Exp(f.ell), f.coordinates.scales.lambda
		copy(b.x.MuX, f.covariates.mu)
		if obs.Count.Latent() {
			noise, _ := model.NewNoise(obs).LogCount(n)
			logp -= noise + math.Log(f.rows.more(n))
		}
		for range 3 {
			d := logp - b.logEvidence(t, n, rng)
			low, high = min(low, d), max(high, d)
		}
	}
	return high - low
}

// inUnits takes statistics of n rows from common units to a release's, by their matrix.
func inUnits(dst, s []float64, n float64, m int, u *model.Units) {
	row := func(i int) []float64 { // of (1, v)
		a, b := u.Row(i)
		return append([]float64{b}, a...)
	}
	sum := func(i, j int) float64 { // Σ of products of (1, v)
		switch {
		case i > 0 && j > 0:
			return s[release.Index(m, i-1, j-1)]
		case i+j > 0:
			return s[i+j-1]
		}
		return n
	}
	for j := range m {
		dst[j] = 0
		for h, a := range row(j) {
			dst[j] += a * sum(h, 0)
		}
		for l := j; l < m; l++ {
			v := 0.0
			for h, a := range row(j) {
				for g, b := range row(l) {
					v += a * b * sum(h, g)
				}
			}
			dst[release.Index(m, j, l)] = v
		}
	}
}

// bayes is the independent side.
type bayes struct {
	shape  model.Shape
	prior  *model.Prior
	s      []float64
	sigma  float64
	lambda []float64
	x      *model.Params
	law    *model.Moments
}

func newBayes(s model.Shape, prior *model.Prior) *bayes {
	return &bayes{shape: s, prior: prior, s: make([]float64, s.Statistics()), x: model.NewParams(s), law: model.NewMoments(s)}
}

// logJacobian returns log|det ∂(s, μ_x, log σ, λ)/∂x| at fixed n.
func (b *bayes) logJacobian(f *density, x []float64) float64 {
	const h = 1e-5
	q := len(b.s)
	p := b.shape.P
	size := q + p + 1 + len(f.coordinates.scales.lambda)
	unused := make([]float64, f.Dim())
	after, before, d := make([]float64, size), make([]float64, size), mat.NewDense(size, size, nil)
	for i := range size {
		v := x[i]
		for _, side := range []struct {
			at  float64
			dst []float64
		}{{v + h, after}, {v - h, before}} {
			x[i] = side.at
			f.LogDensity(unused, x)
			f.common.vector()
			copy(side.dst, f.common.s)
			copy(side.dst[q:], f.covariates.mu)
			side.dst[q+p] = f.ell
			copy(side.dst[q+p+1:], f.coordinates.scales.lambda)
		}
		x[i] = v
		for j := range size {
			d.Set(j, i, (after[j]-before[j])/(2*h))
		}
	}
	logDet, _ := mat.LogDet(d)
	return logDet
}

// given is the conjugate prior at λ, and log p(λ) + log p(log σ).
func (b *bayes) given() (theta *conjugate.NIG, x *conjugate.NIW, logp float64) {
	theta, x = b.prior.Theta.Clone(), b.prior.Covariates.Clone()
	q, p, at := b.shape.Q(), b.shape.P, 0
	inverse, shape := theta.Scale/(b.sigma*b.sigma), theta.Shape
	logp = -2*shape*math.Log(b.sigma) - inverse
	for _, s := range b.prior.Scales {
		rate := 1 / (s.SD * s.SD)
		if s.Sigma { // ∫ InvGamma(σ²; a₀, b₀/a) InvGamma(a; ½, 1/A²) da
			logp += inverse - (shape+0.5)*math.Log(rate+inverse)
			continue
		}
		a := math.Exp(b.lambda[at])
		logp += -s.Shape()*b.lambda[at] - rate/a
		at++
		for _, j := range s.Covariates {
			x.Scale[j*p+j] /= a
		}
		k := len(s.Coefficients)
		for i, row := range s.Coefficients {
			for j, column := range s.Coefficients {
				theta.Precision[row*q+column] += (1/a - 1) * s.Precision[i*k+j]
			}
		}
	}
	return theta, x, logp
}

// logEvidence returns log p(s | φ) + log p(φ | λ) + log p(λ) − log p(θ, T | s, μ_x, σ, λ)
// at random θ and T.
func (b *bayes) logEvidence(t *testing.T, n float64, rng *rand.Rand) float64 {
	t.Helper()
	theta, covariates, log := b.given()
	niw := conjugate.NewNIWSampler(b.shape.P)
	niw.Set(covariates)
	unused := make([]float64, b.shape.P)
	niw.Rand(unused, b.x.Tau, rng)
	for k := range b.x.Theta {
		b.x.Theta[k] = rng.NormFloat64()
	}
	b.x.Sigma2 = b.sigma * b.sigma
	b.law.Set(b.x)
	m := b.shape.M()
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
	log += normal.LogProb(mean) + wishart.LogProbSym(scatter) - float64(m)*math.Log(n)
	log += b.logCovariates(t, covariates, n)
	sums := model.NewSums(b.shape)
	sums.Set(b.s, n)

	q := b.shape.Q()
	unit := 1.0
	if !b.prior.Unscaled {
		unit = b.x.Sigma2
	}
	before, after := mat.NewSymDense(q, nil), mat.NewSymDense(q, nil)
	before.ScaleSym(1/unit, mat.NewSymDense(q, theta.Precision))
	after.ScaleSym(1/b.x.Sigma2, mat.NewSymDense(q, sums.XX))
	after.AddSym(after, before)
	var right, centre mat.VecDense
	right.MulVec(before, mat.NewVecDense(q, theta.Mean))
	right.AddScaledVec(&right, 1/b.x.Sigma2, mat.NewVecDense(q, sums.XY))
	must.Do(t, centre.SolveVec(after, &right))
	prior, ok := distmv.NewNormalPrecision(theta.Mean, before, nil)
	posterior, ok2 := distmv.NewNormalPrecision(centre.RawVector().Data, after, nil)
	if !ok || !ok2 {
		t.Fatal("gonum refused")
	}
	return log + prior.LogProb(b.x.Theta) - posterior.LogProb(b.x.Theta)
}

// logCovariates returns log p(μ_x, T | λ) − log p(T | s, μ_x, λ).
func (b *bayes) logCovariates(t *testing.T, prior *conjugate.NIW, n float64) float64 {
	p, after := b.shape.P, prior.Clone()
	after.Dof += n
	log := logInverseWishart(t, b.x.Tau, prior)
	mean, cov := prior.Mean, mat.NewSymDense(p, nil)
	for j, sd := range b.prior.MeanSD {
		cov.SetSym(j, j, sd*sd)
	}
	if b.prior.MeanSD == nil {
		cov.ScaleSym(1/prior.Kappa, mat.NewSymDense(p, b.x.Tau))
		after.Dof++
	}
	normal, ok := distmv.NewNormal(mean, cov, nil)
	if !ok {
		t.Fatal("gonum refused")
	}
	log += normal.LogProb(b.x.MuX)
	sums := model.NewSums(b.shape)
	sums.Set(b.s, n)
	mu := b.x.MuX
	for i := range p {
		for j := range p {
			after.Scale[i*p+j] += sums.SXX[max(i, j)*p+min(i, j)] - mu[i]*sums.SX[j] - sums.SX[i]*mu[j] + n*mu[i]*mu[j]
			if b.prior.MeanSD == nil {
				after.Scale[i*p+j] += prior.Kappa * (mu[i] - mean[i]) * (mu[j] - mean[j])
			}
		}
	}
	return log - logInverseWishart(t, b.x.Tau, after)
}

// logInverseWishart is the log density of T ~ InvWishart(Ψ, ν): Wishart's of T⁻¹ times |T|^{−(p+1)}.
func logInverseWishart(t *testing.T, tau []float64, d *conjugate.NIW) float64 {
	p := d.Dim()
	inverse := func(a []float64) (*mat.SymDense, float64) {
		var c mat.Cholesky
		out := mat.NewSymDense(p, nil)
		if !c.Factorize(mat.NewSymDense(p, append([]float64(nil), a...))) || c.InverseTo(out) != nil {
			t.Fatal("improper")
		}
		return out, c.LogDet()
	}
	psi, _ := inverse(d.Scale)
	precision, logDet := inverse(tau)
	wishart, ok := distmat.NewWishart(psi, d.Dof, nil)
	if !ok {
		t.Fatal("improper")
	}
	return wishart.LogProbSym(precision) - float64(p+1)*logDet
}

// TestDensityFindsFaults plants faults that TestDensity must find.
func TestDensityFindsFaults(t *testing.T) {
	testsize.Planted(t)
	t.Parallel()
	for name, fault := range map[string]func(f *density, x []float64) float64{
		"|W| to another power": func(f *density, _ []float64) float64 {
			log := 0.0
			for i, m := 0, f.obs.Shape.M(); i < m; i++ {
				log += math.Log(f.common.d[i*m+i])
			}
			return log
		},
		"the Jacobian of another order":   func(f *density, _ []float64) float64 { return math.Log(f.common.d[0]) },
		"a mean of another sd":            func(f *density, _ []float64) float64 { return f.covariates.delta[0] * f.covariates.delta[0] },
		"|Ψ_n| to the power −½(ν_n + 1)":  func(f *density, _ []float64) float64 { return -math.Log(f.covariates.chol[0]) },
		"σ to the power −(n + 1)":         func(f *density, _ []float64) float64 { return -f.ell },
		"|M| to the power −1":             func(f *density, _ []float64) float64 { return -math.Log(f.response.chol[0]) },
		"Q without the prior's part of θ": func(f *density, _ []float64) float64 { return 0.5 * f.response.dev[0] * f.response.dev[0] },
		"c(n) with n^m":                   func(f *density, x []float64) float64 { return math.Log(f.rows.of(x)) },
	} {
		cases(t, func(which string, c *modeltest.Simulation) {
			if c.Count == 0 {
				return // a factor of n is the same everywhere
			}
			obs := near(c, rand.New(rand.NewPCG(3, 4)))
			if spread := againstBayes(t, c, obs, newDensity(alone(obs), c.Prior), fault); spread < 1e-2 {
				t.Errorf("%s: %s went unnoticed: %g", which, name, spread)
			}
		})
	}
}
