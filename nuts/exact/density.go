package exact

import (
	"math"

	"github.com/dpreg/dpreg/model"
)

// density is the posterior of the statistics alone, p(s, μ_x, σ, λ | z), λ the logarithms of
// the free scales of the prior, in coordinates. θ and T are integrated out in closed form. For
// n rows v ~ N(μ, V), the mean v̄ ~ N(μ, V/n) and the scatter nW ~ Wishart(n−1, V) are
// independent, and their joint density is that of the rows, but for a factor without parameters:
//
//	p(v̄, W | φ) = c(n) |W|^{(n−m−2)/2} ∏_i p(v_i | φ)
//
// (m columns; the product depends on the rows by v̄ and W alone). With W = DDᵀ, whose
// Jacobian is 2^m ∏_i D_ii^{m−i}, i = 0, …, m−1,
//
//	log p(v̄, D, μ_x, σ, λ | z) = Σ_i (n−2−i) log D_ii + log p(x, μ_x | λ) + log p(y | x, σ, λ) + log p(σ)
//	                        + log p(λ) + log p(z | s),
//
// see covariates and response; a ~ InvGamma(½, 1/A²) is −½λ − e^{−λ}/A² in λ = log a.
// φ given (s, μ_x, σ, λ) is then drawn from its law: draws of it are as good as those of s or
// better, and the space that NUTS has to explore is half as large as that of φ and s.
//
// What depends on n alone, beside what covariates and response have, is the noise of the count, and what
// the integral over T leaves with c(n) and the powers of n in W and the Jacobian,
//
//	log p(noisy count | n) + log Γ_p(½ν_n) − log Γ_m(½(n−1)) + ½mn log n − ½n log 2.
type density struct {
	obs         *model.Observation // in own units
	own         *statistics        // in those of the coordinates: the noise's, or byColumns'
	common      *view              // in those of the prior
	noisy       *view              // in those of the noise; common where all are the same
	logScale    []float64          // log of each D_ii in common units less that in own ones
	coordinates *coordinates
	covariates  *covariates
	response    *response
	params      *model.Params // see draw
	noise       *model.Noise
	rows        *rowCount
	ell         float64
	byN         float64 // of the noise, at fixed v̄ and D
	logJ        float64 // of coordinates
}

func newDensity(site *model.Site, prior *model.Prior) *density {
	shape, m := site.Shape, site.Shape.M()
	f := &density{own: newStatistics(m), logScale: vec(m), covariates: newCovariates(prior), response: newResponse(shape, prior),
		params: model.NewParams(shape), noise: model.NewNoise(site.Observation)}
	f.rows = newRowCount(site.Observation, f.noise)
	f.rows.a, f.rows.b = 0.5*float64(m), 0.5*math.Ln2
	f.rows.covariance(shape.P, f.covariates.dof)
	f.rows.scatter(0, m)
	clear := farFromSingular(site.Observation)
	f.common = newView(f.own, nil)
	f.noisy = f.common
	if site.Frame != nil {
		var toNoise *model.Units
		if !inFrame(site.Observation) {
			site, toNoise = byColumns(site)
		}
		f.common, f.noisy = newView(f.own, site.Units.Inverse()), newView(f.own, toNoise)
		for i := range m {
			f.logScale[i] = math.Log(f.common.units.Scale(i))
		}
	}
	f.obs = site.Observation
	f.coordinates = newCoordinates(site, prior, f.response, clear)
	return f
}

// Dim returns the number of coordinates.
func (f *density) Dim() int { return f.coordinates.dim() + f.rows.dim() }

// LogDensity returns the log density at x up to a constant, and its gradient.
func (f *density) LogDensity(grad, x []float64) (float64, error) {
	return logDensity(f, grad, x)
}

// set takes v̄, D, λ and ℓ of x; see coordinates.take.
func (f *density) set(x []float64) (logJ float64, ok bool) {
	f.own.n = f.rows.of(x)
	f.ell, logJ, ok = f.coordinates.take(f.own, x)
	f.ell += f.logScale[f.obs.Shape.P]
	f.common.see(f.own)
	if f.noisy != f.common {
		f.noisy.see(f.own)
	}
	if f.coordinates.slopes == nil {
		f.coordinates.scales.set(x[f.coordinates.zeta():], f.common.statistics)
	}
	return logJ, ok
}

// value returns the log density alone, and leaves the noise's gradient in noisy.
func (f *density) value(x []float64) (logp float64, ok bool) {
	t, c := f.common.statistics, f.coordinates
	f.logJ, ok = f.set(x)
	if !ok || !f.rows.within(t.n) {
		return 0, false
	}
	byX, ok := f.covariates.value(t, x[c.end():c.zeta()], c.scales.lambda)
	if !ok {
		return 0, false
	}
	byY, ok := f.response.value(t, f.ell, c.scales.lambda)
	if !ok {
		return 0, false
	}
	f.own.clear()
	t.clear()
	f.noisy.clear()
	noise, byN := f.noisy.addNoise(f.noise)
	f.byN = byN
	logp = f.logJ + (byX + byY + noise)
	for i, log := range c.logSquare {
		logp += f.power(i) * (0.5*log + f.logScale[i])
	}
	logp = c.scales.addPrior(logp)
	return logp + f.rows.value(t.n), true
}

// power is that of D_ii, the Jacobian of ξ counted in.
func (f *density) power(i int) float64 {
	if i < f.obs.Shape.P {
		return f.own.n - float64(1+i)
	}
	return f.own.n - float64(2+i)
}

// slope writes the gradient where value was last.
func (f *density) slope(grad, x []float64) {
	t, c := f.common.statistics, f.coordinates
	lambda, gLambda, xi, zeta := c.scales.lambda, c.scales.gLambda, c.end(), c.zeta()
	c.scales.slope()
	byN := f.byN + f.covariates.slope(t, grad[xi:zeta], gLambda, x[xi:zeta], lambda)
	byEll, d := f.response.slope(t, gLambda, f.ell, lambda)
	byN += d
	t.pull()
	if c.slopes == nil {
		c.scales.pull(grad[zeta:], t)
	}
	if f.noisy != f.common {
		f.noisy.pull()
	}
	f.common.give(f.own)
	f.noisy.give(f.own)
	for i, log := range c.logSquare {
		byN += 0.5*log + f.logScale[i]
		f.own.gD[i*(f.own.m+1)] += f.power(i) / f.own.d[i*(f.own.m+1)]
	}
	c.pull(grad, f.own, byEll, x)
	f.rows.pull(grad, t.n, byN)
}
