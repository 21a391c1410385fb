package gibbs

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
)

// latent draws statistics of the CLT's law N(nμ_t, nΣ_t)·N(z, diag ω²) part by part, in O(m⁴)
// where one draw of all factors a matrix of their number, in O(m⁶). ω is of each entry its own,
// so that no basis of columns makes both covariances diagonal; a part costs a factor of m×m.
//
// With V = LLᵀ, P = V⁻¹, δ = s₁ − nμ and E = S − μs₁ᵀ − s₁μᵀ + nμμᵀ − nV the CLT's law is
//
//	−2 log p_CLT = δᵀPδ/n + tr(PEPE)/2n + const,
//
// and a step Δ that takes E to E + aΔᵀ + Δaᵀ adds to its second term
//
//	(2Δᵀ PEPa + Δᵀ(hhᵀ + cP)Δ)/n,   h = Pa, c = aᵀPa.
//
// Each part is drawn given all else, its step from a law N(Q⁻¹b, Q⁻¹):
//
//	s₁ with E held: S goes along by μΔᵀ + Δμᵀ;
//	s₁ with S held: a = −μ;
//	row i of S, and column i with it: a = e_i, S_ii moves by 2Δ_i.
//
// The first moves s₁ where noise hides S, the second where z pins it. These m + 2 draws in this
// order or in the reverse one, with equal probability, are reversible.
type latent struct {
	*state
	law *model.Moments
	m   int

	p    []float64 // P, m×m
	r    []float64 // L⁻¹EL⁻ᵀ, m×m, lower triangle
	e    []float64 // L⁻¹δ
	next []float64 // s′
	to   []float64 // z − s, then z − s′
	per  []float64 // 1/ω²
	q, b []float64 // Q and b; b is then Δ

	a, g, h, step []float64 // L⁻¹a, L⁻¹EPa, h and L⁻¹Δ
}

func newLatent(c *state, law *model.Moments) *latent {
	m := c.obs.Shape.M()
	vec := func(n int) []float64 { return make([]float64, n) }
	return &latent{state: c, law: law, m: m, p: vec(m * m), r: vec(m * m), e: vec(m), next: vec(c.q), to: vec(c.q), per: vec(c.q), q: vec(m * m), b: vec(m), a: vec(m), g: vec(m), h: vec(m), step: vec(m)}
}

// draw draws next of s, after Factor of the law. It reports false where rounding leaves some Q
// indefinite.
func (t *latent) draw(rng *rand.Rand) bool {
	t.hold()
	last, forth := t.m+1, rng.Uint64()&1 == 0
	for k := range last + 1 {
		if !forth {
			k = last - k
		}
		t.load(k)
		if !t.turn(rng) {
			return false
		}
		t.take(k)
	}
	floats.SubTo(t.next, t.obs.Z, t.to)
	return true
}

// hold takes what the parts need of s and ω.
func (t *latent) hold() {
	m := t.m
	dense.InverseFromCholesky(t.p, t.law.Chol, m)
	dense.Symmetrise(t.p, m)
	copy(t.to, t.resid)
	for i, w := range t.omega2 {
		t.per[i] = 1 / w
	}
	for i, v := range t.law.Mean {
		t.e[i] = t.s[i] - t.n*v
	}
	dense.SolveLower(t.law.Chol, m, t.e)
	model.Scatter(t.r, t.s, m, t.n)
	whiten(t.r, t.law.Chol, m)
	for i := range m {
		floats.AddScaled(t.r[i*m:i*m+i+1], t.e[i]/t.n, t.e[:i+1])
		t.r[i*m+i] -= t.n
	}
}

// load writes Q and b of part k in the order.
func (t *latent) load(k int) {
	switch {
	case k == 0:
		t.loadAlong()
	case k == 1:
		t.loadAlone()
	default:
		t.loadRow(k - 2)
	}
}

// turn draws Δ of Q and b.
func (t *latent) turn(rng *rand.Rand) bool {
	if !dense.Cholesky(t.q, t.m) {
		return false
	}
	dense.SolveLower(t.q, t.m, t.b)
	for i := range t.b {
		t.b[i] += rng.NormFloat64()
	}
	dense.SolveLowerT(t.q, t.m, t.b)
	copy(t.step, t.b)
	dense.SolveLower(t.law.Chol, t.m, t.step)
	return true
}

// take moves by Δ of part k.
func (t *latent) take(k int) {
	if k == 0 {
		t.takeAlong()
		return
	}
	for i, d := range t.b {
		at := i // of the part in which S is held
		if k > 1 {
			at = release.Index(t.m, k-2, i)
		}
		if i == k-2 {
			d *= 2
		}
		t.to[at] -= d
	}
	if k == 1 {
		floats.Add(t.e, t.step)
	}
	for i, a := range t.a {
		row := t.r[i*t.m : i*t.m+i+1]
		floats.AddScaled(row, a, t.step[:i+1])
		floats.AddScaled(row, t.step[i], t.a[:i+1])
	}
}

// prior starts Q = (hhᵀ + cP)/n and b = −L⁻ᵀg/n.
func (t *latent) prior(c float64) {
	copy(t.b, t.g)
	dense.SolveLowerT(t.law.Chol, t.m, t.b)
	for i, h := range t.h {
		t.b[i] /= -t.n
		p, q := t.p[i*t.m:i*t.m+i+1], t.q[i*t.m:i*t.m+i+1]
		for j, v := range p {
			q[j] = (h*t.h[j] + c*v) / t.n
		}
	}
}

// observe adds to Q and b that entry k moves by f·Δ_i.
func (t *latent) observe(i, k int, f float64) {
	t.q[i*t.m+i] += f * f * t.per[k]
	t.b[i] += f * t.per[k] * t.to[k]
}

func (t *latent) loadAlong() {
	copy(t.g, t.e)
	clear(t.h)
	t.prior(1)
	at, mean := t.m, t.law.Mean
	for i := range t.m {
		t.observe(i, i, 1)
		t.observe(i, at, 2*mean[i])
		at++
		for j := i + 1; j < t.m; j++ {
			t.observe(i, at, mean[j])
			t.observe(j, at, mean[i])
			t.q[j*t.m+i] += t.per[at] * mean[i] * mean[j]
			at++
		}
	}
}

func (t *latent) takeAlong() {
	at, mean := t.m, t.law.Mean
	for i, d := range t.b {
		t.to[i] -= d
		t.e[i] += t.step[i]
		for j := i; j < t.m; j++ {
			t.to[at] -= mean[i]*t.b[j] + mean[j]*d
			at++
		}
	}
}

func (t *latent) loadAlone() {
	for i, v := range t.law.Mean {
		t.a[i] = -v
	}
	dense.SolveLower(t.law.Chol, t.m, t.a)
	c := t.towards()
	floats.Add(t.g, t.e)
	t.prior(1 + c)
	for i := range t.m {
		t.observe(i, i, 1)
	}
}

func (t *latent) loadRow(i int) {
	clear(t.a)
	t.a[i] = 1
	dense.SolveLower(t.law.Chol, t.m, t.a)
	t.prior(t.towards())
	for j := range t.m {
		f := 1.0
		if j == i {
			f = 2
		}
		t.observe(j, release.Index(t.m, i, j), f)
	}
}

// towards takes g and h of a, and returns c.
func (t *latent) towards() (c float64) {
	dense.SymMulVec(t.g, t.r, t.m, t.a)
	copy(t.h, t.a)
	dense.SolveLowerT(t.law.Chol, t.m, t.h)
	return dense.Dot(t.a, t.a)
}
