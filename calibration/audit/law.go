package audit

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg/release"
)

// law is that of the noise on one entry, which is a whole number of units.
type law struct {
	kind        release.Kind
	scale, unit float64 // scale in scaled units, as unit
}

// survival returns P(Y > k) for the law of k ≥ 0 units: with q = e^{−1/t}, t the scale
// in units, q^{k+1}/(1+q) for discrete Laplace noise; Q((k+½)/σ) for a rounded normal.
func (l law) survival(k float64) float64 {
	t := l.scale / l.unit
	if l.kind == release.Gaussian {
		return math.Erfc((k+0.5)/t/math.Sqrt2) / 2
	}
	return math.Exp(-(k+1)/t) / (1 + math.Exp(-1/t))
}

// cdf returns P(Y ≤ k).
func (l law) cdf(k float64) float64 {
	if k < 0 {
		return l.survival(-k - 1)
	}
	return 1 - l.survival(k)
}

// quantile returns the u-quantile of the law's continuous counterpart, in units: a place
// to divide at, no more.
func (l law) quantile(u float64) float64 {
	t := l.scale / l.unit
	if l.kind == release.Gaussian {
		return distuv.Normal{Sigma: t}.Quantile(u)
	}
	return distuv.Laplace{Scale: t}.Quantile(u)
}

// coarse is the scale, in units, above which a rounded normal's probabilities have the
// ratio of densities: they differ by a relative (k/σ²)²/24, far below rounding.
const coarse = 1 << 20

// logRatio returns log P(noise = a)/P(noise = b), times the scale for Laplace noise: in
// that form sums over entries are exact, and the largest is reached, not approached.
func (l law) logRatio(a, b float64) float64 {
	switch {
	case l.kind == release.Laplace:
		return math.Abs(b) - math.Abs(a)
	case l.scale/l.unit > coarse:
		return (b - a) / l.scale * ((b + a) / l.scale) / 2
	}
	return l.logMass(a/l.unit) - l.logMass(b/l.unit)
}

// logMass is log P(Y = k) of a rounded normal, from the tail, where nothing cancels.
func (l law) logMass(k float64) float64 {
	if k = math.Abs(k); k == 0 {
		return math.Log1p(-2 * l.survival(0))
	}
	return math.Log(l.survival(k-1) - l.survival(k))
}

// cells are intervals of noise: (−∞, edge₀], (edge₀, edge₁], …, in units.
type cells struct {
	edges, probability []float64
}

// cells divides the law in at most so many cells of about the same probability, none of
// less than half of that.
func (l law) cells(most int) cells {
	var c cells
	least := 0.5 / float64(most)
	below := 0.0
	for i := 1; i < most; i++ {
		edge := math.Floor(l.quantile(float64(i) / float64(most)))
		if p := l.cdf(edge); p-below >= least && 1-p >= least {
			c.edges, c.probability = append(c.edges, edge), append(c.probability, p-below)
			below = p
		}
	}
	c.probability = append(c.probability, 1-below)
	return c
}

func (c cells) find(k float64) int { return sort.SearchFloat64s(c.edges, k) }

// with are the probabilities of cells of two independent laws.
func (c cells) with(other cells) (joint []float64) {
	for _, x := range c.probability {
		for _, y := range other.probability {
			joint = append(joint, x*y)
		}
	}
	return joint
}
