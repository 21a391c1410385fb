package model

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmat"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
)

// variousPriors are a conjugate prior, the default, and ones whose scales are free in every
// way: the last slopes share a spread, with θ scaled by σ and not, Λ₀ couples the
// intercept with slopes, and covariates have free scales together.
func variousPriors(s Shape, rng *rand.Rand) []*Prior {
	p, q := s.P, s.Q()
	niw := conjugate.NIW{Mean: randomVector(p, rng), Kappa: 0.5, Scale: wishart(p, rng), Dof: float64(p) + 3}
	nig := conjugate.NIG{Mean: randomVector(q, rng), Precision: wishart(q, rng), Shape: 2.5, Scale: 1.5}
	standard := DefaultPrior(s)
	standard.Theta.Mean, standard.Covariates.Mean = nig.Mean, niw.Mean

	block := min(2, p)
	spread := Scale{SD: 0.7, Dof: 3, Precision: wishart(block, rng)}
	coupled := nig.Clone() // λvvᵀ, v = (1, c), a block of the first slopes, and one of the others
	clear(coupled.Precision)
	first, apart := q-p, wishart(p-block, rng)
	if v := append([]float64{1}, randomVector(p, rng)...); s.Intercept {
		dense.MulABt(coupled.Precision, v, v, q, q, 1)
	}
	for i := range p - block {
		for j := range p - block {
			coupled.Precision[(first+i)*q+first+j] += apart[i*(p-block)+j]
		}
	}
	for i := range block {
		spread.Coefficients = append(spread.Coefficients, q-block+i)
		for j := range block {
			coupled.Precision[(q-block+i)*q+q-block+j] += spread.Precision[i*block+j]
		}
	}
	sds := Scale{SD: 2}
	own := DefaultPrior(s).Covariates
	for j := range p {
		sds.Covariates = append(sds.Covariates, j)
	}
	scales, sdsOfMeans := []Scale{spread, sds, {SD: 1.3, Sigma: true}}, []float64{0.5, 2, 0.8, 1, 3, 0.7}
	return []*Prior{
		{Theta: nig.Clone(), Covariates: niw.Clone()}, standard,
		{Theta: coupled, Covariates: own, Scales: scales}, {Theta: coupled, Unscaled: true, Covariates: own, Scales: scales},
		{Theta: nig.Clone(), Covariates: niw.Clone(), MeanSD: sdsOfMeans[:p]},
		{Theta: coupled, Unscaled: true, Covariates: niw.Clone(), Scales: scales[:1]},
	}
}

func randomVector(n int, rng *rand.Rand) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = rng.NormFloat64()
	}
	return v
}

// wishart is a random positive definite matrix.
func wishart(n int, rng *rand.Rand) []float64 {
	rows, a := randomVector(n*(n+2), rng), make([]float64, n*n)
	dense.MulABt(a, rows, rows, n, n, n+2)
	return a
}

// logNormal is the log density of x ~ N(mean, (c·precision)⁻¹).
func logNormal(x, mean []float64, c float64, precision []float64) float64 {
	p := mat.NewSymDense(len(x), append([]float64(nil), precision...))
	p.ScaleSym(c, p)
	normal, ok := distmv.NewNormalPrecision(mean, p, nil)
	if !ok {
		panic("gonum refused")
	}
	return normal.LogProb(x)
}

// logJoint is log p(a) + log p(x | a) − log p(a | x), with respect to dx, up to a constant.
func (m *Mixture) logJoint(x *Params) float64 {
	law, covariates, q, p := m.Theta, m.Covariates, len(x.Theta), len(x.MuX)
	c := 1 / x.Sigma2
	if m.prior.Unscaled {
		c = 1
	}
	logp := distuv.InverseGamma{Alpha: law.Shape, Beta: law.Scale}.LogProb(x.Sigma2) + logNormal(x.Theta, law.Mean, c, law.Precision)
	e, inverse, l := make([]float64, q), make([]float64, p*p), append([]float64(nil), x.Tau...)
	dense.Cholesky(l, p)
	psi, scale := make([]float64, p*p), append([]float64(nil), covariates.Scale...)
	dense.Cholesky(scale, p)
	dense.InverseFromCholesky(psi, scale, p)
	dense.InverseFromCholesky(inverse, l, p)
	wishart, _ := distmat.NewWishart(mat.NewSymDense(p, psi), covariates.Dof, nil)
	logp += wishart.LogProbSym(mat.NewSymDense(p, append([]float64(nil), inverse...))) - float64(p+1)*dense.LogDet(l, p)
	if m.prior.MeanSD == nil {
		logp += logNormal(x.MuX, covariates.Mean, covariates.Kappa, inverse)
	}
	for j, sd := range m.prior.MeanSD {
		logp += distuv.Normal{Mu: covariates.Mean[j], Sigma: sd}.LogProb(x.MuX[j])
	}
	for k, v := range m.prior.Theta.Mean {
		e[k] = x.Theta[k] - v
	}
	for i := range m.prior.Scales {
		s, a := &m.prior.Scales[i], m.A[i]
		rate, energy := 1/(s.SD*s.SD), 0.0
		switch {
		case s.Sigma:
			energy = m.prior.Theta.Scale / x.Sigma2
		case len(s.Coefficients) > 0:
			if energy = 0.5 * s.square(e); !m.prior.Unscaled {
				energy /= x.Sigma2
			}
		}
		for _, j := range s.Covariates {
			energy += 0.5 * m.prior.Covariates.Scale[j*p+j] * inverse[j*p+j]
		}
		logp += distuv.InverseGamma{Alpha: s.Shape(), Beta: rate}.LogProb(a) - distuv.InverseGamma{Alpha: m.prior.Exponent(s), Beta: rate + energy}.LogProb(a)
	}
	return logp
}

// TestHalfT: under the default prior σ is half-t of 3 degrees of freedom and scale A, and
// each sd of x of 2: their squares over A² are F of 1 and that many. A correlation of two
// covariates is uniform. A slope with a free scale is t.
func TestHalfT(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	s := Shape{P: 2, Intercept: true}
	prior := DefaultPrior(s)
	prior.Scales[0].SD, prior.Scales[2].SD = 0.4, 3
	prior.Scales = append(prior.Scales, prior.apart().student(1, 4))
	c, x := NewConditionals(s, prior, true), NewParams(s)
	const draws = 20_000
	var sigma, first, second, correlation, slope []float64
	for range draws {
		c.DrawPrior(x, rng)
		sigma, first, second = append(sigma, x.Sigma2/0.16), append(first, x.Tau[0]), append(second, x.Tau[3]/9)
		correlation, slope = append(correlation, x.Tau[1]/math.Sqrt(x.Tau[0]*x.Tau[3])), append(slope, x.Theta[2])
	}
	for name, k := range map[string]struct {
		x   []float64
		cdf func(float64) float64
	}{
		"sigma":       {sigma, distuv.F{D1: 1, D2: 3}.CDF},
		"sd of x1":    {first, distuv.F{D1: 1, D2: 2}.CDF},
		"sd of x2":    {second, distuv.F{D1: 1, D2: 2}.CDF},
		"correlation": {correlation, distuv.Uniform{Min: -1, Max: 1}.CDF},
		"slope":       {slope, distuv.StudentsT{Sigma: defaultSlopeSD, Nu: 4}.CDF},
	} {
		must.Follows(t, name, k.x, k.cdf, 1e-7)
	}
}

// TestConditionalsInvariant: x from the prior and s of rows given x are such a pair again once
// Draw has moved x given s. Means of bounded functions of pairs before and after
// differ by 5.5 standard errors in one case of 4e-8 each, 4e-5 in all.
func TestConditionalsInvariant(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 1))
	const n = 8
	pairs := testsize.Of(6000, 20_000)
	for _, s := range shapes[:4] {
		for which, prior := range variousPriors(s, rng) {
			c, x, moments, stats := NewConditionals(s, prior, true), NewParams(s), NewMoments(s), make([]float64, s.Statistics())
			var before, after, sum, square []float64
			for range pairs {
				for ok := false; !ok; ok = moments.Factor() {
					c.DrawPrior(x, rng)
					moments.Set(x)
				}
				moments.RandExact(stats, n, rng)
				before = pairFunctions(before[:0], s, x, stats, n)
				if !c.Draw(x, stats, n, rng) || !c.DrawCovariates(x, stats, n, rng) {
					t.Fatalf("%+v, prior %d: no draw", s, which)
				}
				after = pairFunctions(after[:0], s, x, stats, n)
				if sum == nil {
					sum, square = make([]float64, len(after)), make([]float64, len(after))
				}
				for i, v := range after {
					sum[i] += v - before[i]
					square[i] += (v - before[i]) * (v - before[i])
				}
			}
			for i, v := range sum {
				if z := v / math.Sqrt(square[i]); !(math.Abs(z) < 5.5) {
					t.Errorf("%+v, prior %d: function %d is %.1f standard errors off", s, which, i, z)
				}
			}
		}
	}
}

// pairFunctions appends bounded functions of parameters, and of parameters with the
// statistics of n rows: how these fit them.
func pairFunctions(dst []float64, s Shape, x *Params, stats []float64, n float64) []float64 {
	add := func(v float64) {
		u := v / (1 + math.Abs(v))
		dst = append(dst, u, u*u)
	}
	sums := NewSums(s)
	sums.Set(stats, n)
	rss := sums.YY + dense.QuadForm(sums.XX, s.Q(), x.Theta)
	for k, v := range x.Theta {
		add(v)
		rss -= 2 * v * sums.XY[k]
	}
	add(math.Log(x.Sigma2))
	add(rss/(n*x.Sigma2) - 1)
	for j, v := range x.MuX {
		tau := x.Tau[j*s.P+j]
		mean := sums.SX[j] / n
		add(v)
		add(math.Log(tau))
		add((mean - v) / math.Sqrt(tau/n))
		add(math.Log((sums.SXX[j*s.P+j]/n - mean*mean) / tau))
		if j > 0 {
			add(2 * x.Tau[j] / math.Sqrt(x.Tau[0]*tau))
		}
		add(x.Theta[s.Q()-s.P+j] * math.Sqrt(tau/x.Sigma2))
	}
	return dst
}

// TestConditionalsAtBorder: statistics that leave no residuals, or no spread of a covariate,
// have no posterior under free scales, but a law to draw from that does not run away; and x
// that has not been drawn is moved to the data at once. Nothing allocates.
func TestConditionalsAtBorder(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	s := Shape{P: 2, Intercept: true}
	const n = 1000
	// y = 0.5 + 0.2x₁, x₂ = 0.1: sums of x₁ 0, of squares 100.
	stats := []float64{0, 100, 500, 100, 0, 20, 10, 50, 254}
	c, x, y := NewConditionals(s, DefaultPrior(s), true), NewParams(s), NewParams(s)
	if !c.Draw(x, stats, n, rng) {
		t.Fatal("no draw")
	}
	if d := math.Abs(x.Theta[1] - 0.2); d > 0.1 {
		t.Errorf("the first draw has the slope %g, the data 0.2", x.Theta[1])
	}
	if allocations := testing.AllocsPerRun(1000, func() { c.Draw(x, stats, n, rng); c.DrawPrior(y, rng) }); allocations != 0 {
		t.Errorf("%g allocations", allocations)
	}
	if sigma2, tau := x.Sigma2*n, x.Tau[3]*n; !(sigma2 > 0.5 && sigma2 < 20 && tau > 0.5 && tau < 20) {
		t.Errorf("σ² = %g/n and T_22 = %g/n, of 3/n and 2/n about that the prior adds", sigma2, tau)
	}
}
