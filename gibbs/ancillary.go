package gibbs

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/model"
)

// ancillary is the density of one release's parameters φ with what its statistics owe to
// chance alone held. Rows are v ~ N(μ, LLᵀ), and by Bartlett their mean and scatter are
//
//	v̄ = μ + Lf,   scatter about v̄ W = n DDᵀ,  D = LA,
//
// where (f, A), A lower triangular, has a law that does not know of φ: it is ancillary.
// So given z and (f, A), whatever the law of these,
//
//	p(φ | f, A, z) ∝ p(φ) p(z | s),   s = s(φ; f, A).
//
// No law of s is needed, nor a correction, nor a factor of the size of Σ_t.
type ancillary struct {
	*state
	law rowSource

	phi, grad []float64
	mean, l   []float64 // μ and L in common units
	f, a      []float64 // f, and A, m×m
	v, d      []float64 // v̄ and D in the release's units
	gMean, gD []float64 // gradients in v̄, or μ, and in D
	gFactor   []float64 // and in L
	at, slope []float64 // statistics of v̄ and D, and the noise's slope in them
}

func newAncillary(c *state, law rowSource) *ancillary {
	m, dim := c.obs.Shape.M(), law.Dim()
	vec := func(n int) []float64 { return make([]float64, n) }
	return &ancillary{state: c, law: law, phi: vec(dim), grad: vec(dim),
		mean: vec(m), l: vec(m * m), f: vec(m), a: vec(m * m), v: vec(m), d: vec(m * m), gMean: vec(m), gD: vec(m * m), gFactor: vec(m * m), at: vec(c.q), slope: vec(c.q)}
}

// hold takes φ and (f, A) of the parameters and statistics. It reports false where rounding
// forbids that, or s lies at the border of what data can have.
func (t *ancillary) hold(phi []float64) bool {
	if !t.law.Unconstrain(phi, t.params) {
		return false
	}
	t.rows(phi)
	return t.of()
}

// of takes (f, A) of the statistics, at μ and L; see hold.
func (t *ancillary) of() bool {
	m, s := t.obs.Shape.M(), t.statistics()
	model.Scatter(t.a, s, m, t.n)
	if !dense.Cholesky(t.a, m) {
		return false
	}
	root := math.Sqrt(t.n)
	for i := range m {
		t.f[i] = s[i]/t.n - t.mean[i]
		row, li := t.a[i*m:i*m+i+1], t.l[i*m:i*m+i+1]
		for k := range row { // row i of A = L⁻¹D, those above being done
			row[k] /= root
			for h := k; h < i; h++ {
				row[k] -= li[h] * t.a[h*m+k]
			}
			row[k] /= li[i]
		}
	}
	dense.SolveLower(t.l, m, t.f)
	return true
}

// rows takes the parameters of φ, and μ and L with them.
func (t *ancillary) rows(phi []float64) {
	t.law.Constrain(t.params, phi)
	t.law.Rows(t.mean, t.l, t.params)
}

// move takes the parameters of φ, and v̄ and D with them.
func (t *ancillary) move(phi []float64) {
	t.rows(phi)
	t.place()
}

// place takes v̄ and D of μ, L and (f, A).
func (t *ancillary) place() {
	m := t.obs.Shape.M()
	dense.MulLower(t.d, t.l, t.a, m)
	for i := range m {
		v := t.mean[i]
		li := t.l[i*m : i*m+i+1]
		for k, f := range t.f[:i+1] {
			v += li[k] * f
		}
		t.v[i] = v
	}
	t.units.Mean(t.v)
	t.units.Factor(t.d)
}

// density returns log p(φ | f, A, z) up to a constant, and leaves its slope, in the sense
// of model.Noise, in grad.
func (t *ancillary) density(phi []float64, noise *model.Noise) float64 {
	t.move(phi)
	return t.law.LogPrior(t.grad, t.params) + t.likelihood(noise)
}

// likelihood returns log p(z | s) and adds its slope to grad.
func (t *ancillary) likelihood(noise *model.Noise) float64 {
	logp := t.fit(noise)
	t.pull()
	return logp
}

// fit returns log p(z | s) and leaves its slope in v̄ and D, over n, in gMean and gD.
func (t *ancillary) fit(noise *model.Noise) float64 {
	m := t.obs.Shape.M()
	clear(t.gD)
	clear(t.gMean)
	t.write(t.at)
	logp, at := noise.LogDensity(t.slope, t.at), m
	for i, vi := range t.v {
		g, di, gi := t.slope[i], t.d[i*m:i*m+i+1], t.gD[i*m:i*m+i+1]
		for j := i; j < m; j++ {
			dj, gj := t.d[j*m:j*m+i+1], t.gD[j*m:j*m+i+1]
			slope := t.slope[at]
			g += slope * t.v[j]
			t.gMean[j] += slope * vi
			for k, d := range di {
				gi[k] += slope * dj[k]
				gj[k] += slope * d
			}
			at++
		}
		t.gMean[i] += g
	}
	return logp
}

// pull takes the gradient in v̄ and D to φ: ∂L = ∂v̄ fᵀ + ∂D Aᵀ.
func (t *ancillary) pull() {
	m := t.obs.Shape.M()
	t.units.PullMean(t.gMean)
	t.units.PullFactor(t.gD)
	for i := range m {
		t.gMean[i] *= t.n
		gi := t.gD[i*m : i*m+i+1]
		for k := range i + 1 {
			t.gFactor[i*m+k] = t.n*dense.Dot(t.a[k*m:k*m+k+1], gi) + t.gMean[i]*t.f[k]
		}
	}
	t.law.PullRows(t.grad, t.params, t.gMean, t.gFactor)
}

// write writes the statistics of v̄ and D.
func (t *ancillary) write(s []float64) {
	m := t.obs.Shape.M()
	at := m
	for i, vi := range t.v {
		s[i] = t.n * vi
		di := t.d[i*m : i*m+i+1]
		for j := i; j < m; j++ {
			sum := vi * t.v[j]
			for k, d := range di {
				sum += d * t.d[j*m+k]
			}
			s[at] = t.n * sum
			at++
		}
	}
}

// settle moves the state to the statistics of v̄ and D.
func (t *ancillary) settle() {
	t.write(t.s)
	floats.SubTo(t.resid, t.obs.Z, t.s)
}
