package gibbs

import (
	"math"
	"math/rand/v2"
)

// count moves the number of rows n where the release noised it, and takes φ along its regression
// on n:
//
//	n′ = n + k,  φ′ = φ + k·slope.
//
// More rows with the same sums mean smaller moments of a row, so that n and φ
// depend on one another closely, and neither moves far alone. The shear has
// Jacobian 1 and −k undoes it; k is symmetric, of a size drawn between a fifth
// and three times the noise's scale, so that some size fits. So Metropolis on
// a density of (φ, n), for the CLT's law
//
//	π(φ, n | ω) ∝ p(φ) p(n) p(z_n | n) N(z; nμ_t, nΣ_t + diag ω²),
//
// for the exact one that of chance, is reversible, and so are several such steps in a row, a power
// of one. The slope is 0 until warm-up has estimated it. A density may write φ, where n leaves no choice.
type count struct {
	*state
	density func(phi []float64) float64 // log π but for what is of n alone
	prop    []float64
	slope   []float64
	still   int // leading coordinates that are not moved

	draws      float64 // the window's so far; moments by Welford's recursion
	mean       float64 // of n
	total      float64 // its squares about the mean
	meanPhi    []float64
	covariance []float64 // of φ and n, times draws
}

// newCount returns the move on a density, or nil where n is public.
func newCount(c *state, density func(phi []float64) float64) *count {
	if !c.obs.Count.Latent() {
		return nil
	}
	vec := func() []float64 { return make([]float64, c.law.Dim()) }
	return &count{state: c, density: density, prop: vec(), slope: vec(), meanPhi: vec(), covariance: vec()}
}

// countShare is how often the move takes the place of HMC where n is latent, and
// countSteps how many steps it has: they cost a density each, and no gradient.
const (
	countShare = 0.25
	countSteps = 5
)

func (c *count) step(phi []float64, rng *rand.Rand) transition {
	t := transition{logDensity: c.at(c.n, phi)}
	for range countSteps {
		old := c.n
		size := c.obs.Count.Scale * math.Exp(2.6*rng.Float64()-1.6)
		k := math.Copysign(math.Ceil(size*rng.ExpFloat64()), rng.Float64()-0.5)
		copy(c.prop, phi)
		axpy(c.prop, k, c.slope)
		after := c.at(old+k, c.prop)
		accept := math.Min(1, math.Exp(after-t.logDensity))
		t.accept += accept / countSteps
		if rng.Float64() < accept {
			copy(phi, c.prop)
			t.logDensity, t.accepted = after, true
		} else {
			c.n = old
		}
	}
	return t
}

// at sets n and returns log π(φ, n | ω).
func (c *count) at(n float64, phi []float64) float64 {
	c.n = n
	prior := c.obs.Count.LogDensity(n)
	if math.IsInf(prior, -1) {
		return prior
	}
	return prior + c.density(phi)
}

// add takes a draw into the window of warm-up.
func (c *count) add(phi []float64) {
	c.draws++
	d := c.n - c.mean
	c.mean += d / c.draws
	c.total += d * (c.n - c.mean)
	for i, v := range phi {
		c.meanPhi[i] += (v - c.meanPhi[i]) / c.draws
		c.covariance[i] += d * (v - c.meanPhi[i])
	}
}

// update takes the window's slope and starts a new one.
func (c *count) update() {
	if c.total > 0 {
		for i, v := range c.covariance {
			c.slope[i] = v / c.total
		}
		clear(c.slope[:c.still])
	}
	c.draws, c.mean, c.total = 0, 0, 0
	clear(c.meanPhi)
	clear(c.covariance)
}
