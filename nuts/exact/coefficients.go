package exact

import (
	"math"

	"github.com/dpreg/dpreg/model"
)

// coefficients are the prior of an intercept α at a centre c of x and of slopes, given free scales
// a, λ = log a:
//
//	α = θ₀ + cᵀβ ~ N(m_α, 1/Λ_α),   β ~ N(μ_β, Λ_β(a)⁻¹).
type coefficients struct {
	p         int
	intercept bool
	alpha     float64   // Λ_α
	level     float64   // m_α
	centre    []float64 // c
	mean      []float64 // μ_β
	precision []float64 // Λ_β, with free scales at 1
	free      []freeBlock

	given []float64 // Λ_β(a)
}

// freeBlock is a block of Λ_β that a free scale divides.
type freeBlock struct {
	at        int // of λ
	slopes    []int
	precision []float64
}

func newCoefficients(s model.Shape, prior *model.Prior) *coefficients {
	p, q, d := s.P, s.Q(), prior.Theta
	c := &coefficients{p: p, intercept: s.Intercept, centre: vec(p), mean: vec(p), precision: vec(p * p), given: vec(p * p)}
	first := q - p
	copy(c.mean, d.Mean[first:])
	if s.Intercept {
		c.alpha, c.level = d.Precision[0], d.Mean[0]
		for j := range p {
			c.centre[j] = d.Precision[1+j] / c.alpha
			c.level += c.centre[j] * c.mean[j]
		}
	}
	for i := range p {
		for j := range p {
			c.precision[i*p+j] = d.Precision[(first+i)*q+first+j] - c.alpha*c.centre[i]*c.centre[j]
		}
	}
	for at, f := range latentScales(prior) {
		if len(f.Coefficients) > 0 {
			b := freeBlock{at: at, precision: f.Precision}
			for _, k := range f.Coefficients {
				b.slopes = append(b.slopes, k-first)
			}
			c.free = append(c.free, b)
		}
	}
	return c
}

// take writes Λ_β(a), and adds to a log density ½ log of what its determinant has of a.
func (c *coefficients) take(logp float64, lambda []float64) float64 {
	copy(c.given, c.precision)
	for _, b := range c.free {
		k, factor := len(b.slopes), math.Expm1(-lambda[b.at])
		logp -= 0.5 * float64(k) * lambda[b.at]
		for i, row := range b.slopes {
			for j, column := range b.slopes {
				c.given[row*c.p+column] += factor * b.precision[i*k+j]
			}
		}
	}
	return logp
}
