package conjugate

import (
	"math"
	"math/big"
	"testing"
)

const bits = 400

func number(v float64) *big.Float { return new(big.Float).SetPrec(bits).SetFloat64(v) }

func times(a, b *big.Float) *big.Float { return new(big.Float).SetPrec(bits).Mul(a, b) }

// exactScale returns b_n from the same float64 statistics in 400 bits, by
// eliminating the bordered matrix [Λ_n, Xᵀy+Λ₀μ₀; ·, yᵀy+μ₀ᵀΛ₀μ₀].
func exactScale(prior *NIG, xx, xy []float64, yy float64) float64 {
	q := prior.Dim()
	m := make([][]*big.Float, q+1)
	for i := range m {
		m[i] = make([]*big.Float, q+1)
		for j := range m[i] {
			m[i][j] = number(0)
		}
	}
	for i := range q {
		m[i][q].SetFloat64(xy[i])
		for j := range q {
			l := number(prior.Precision[i*q+j])
			m[i][j].Add(number(xx[i*q+j]), l)
			m[i][q].Add(m[i][q], times(l, number(prior.Mean[j])))
		}
	}
	m[q][q].SetFloat64(yy)
	for i := range q {
		m[q][i].Set(m[i][q])
		lm := new(big.Float).SetPrec(bits).Sub(m[i][q], number(xy[i])) // (Λ₀μ₀)_i
		m[q][q].Add(m[q][q], times(lm, number(prior.Mean[i])))
	}
	for k := range q {
		for i := k + 1; i <= q; i++ {
			f := new(big.Float).SetPrec(bits).Quo(m[i][k], m[k][k])
			for j := k; j <= q; j++ {
				m[i][j].Sub(m[i][j], times(f, m[k][j]))
			}
		}
	}
	b, _ := m[q][q].Float64()
	return prior.Scale + b/2
}

// scaleBound is the docstring's promise: a few units in the last place of
// yᵀy + |μ|ᵀ|XᵀX||μ|, and of b_n itself.
func scaleBound(post *NIG, xx []float64, yy float64) float64 {
	q := post.Dim()
	size := yy + post.Scale
	for i := range q {
		for j := range q {
			size += math.Abs(post.Mean[i] * xx[i*q+j] * post.Mean[j])
		}
	}
	return 4 * float64(q) * 0x1p-53 * size
}

// TestNIGScalePrecision: b_n where the textbook's formula has no digit left.
func TestNIGScalePrecision(t *testing.T) {
	rng := source()
	const cell = 0x1p-20 // rows on a lattice: sums of fewer than 2¹³ products are exact
	onLattice := func() float64 { return math.Floor(rng.Float64()*2/cell)*cell - 1 }
	truth := []float64{.25, .5, -.125}
	for _, c := range []struct {
		name  string
		mean  []float64
		tight float64 // prior precision
		noise float64
		n     int
	}{
		{"usual", []float64{0, 0, 0}, 1, .1, 1000},
		{"high signal to noise", []float64{0, 0, 0}, 1e-3, 1e-6, 8000},
		{"noiseless", []float64{0, 0, 0}, 1e-6, 0, 4000},
		{"tight prior far away", []float64{1e6, -1e6, 1e6}, 1e12, .1, 100},
		{"tight prior at the truth", truth, 1e20, 1e-5, 100},
		{"loose prior far away", []float64{1e5, 1e5, 1e5}, 1e-14, .1, 1000},
		{"no data", []float64{1, 2, 3}, 1e8, .1, 0},
		{"fewer rows than coefficients", []float64{0, 0, 0}, 1e-2, .1, 2},
	} {
		prior := must(NewNIG(c.mean, []float64{c.tight, 0, 0, 0, c.tight, 0, 0, 0, c.tight}, 2, 1e-9))
		_, _, xx, xy, yy := regression(truth, c.noise, c.n, onLattice)
		s, post := NewNIGSampler(3), prior.Clone()
		if !s.Update(post, prior, xx, xy, yy, float64(c.n)) {
			t.Errorf("%s: refused, b_n = %g", c.name, post.Scale)
			continue
		}
		want := exactScale(prior, xx, xy, yy)
		if off := math.Abs(post.Scale - want); !(off <= scaleBound(post, xx, yy)) {
			t.Errorf("%s: b_n = %.17g, exactly %.17g, off by %.2g, bound %.2g", c.name, post.Scale, want, off, scaleBound(post, xx, yy))
		}
	}
}
