package exact

import (
	"math"

	"github.com/dpreg/dpreg/model"
)

// index is the law of the sums Σy and Σxy of a response between 0 and 1 that depends on x by an index,
//
//	x ~ N(μ, T),   E[y | x] = g(η),   E[y² | x] = g₂(η),   η = α + βᵀx,
//
// given the covariates' sums, n(x̄, D_xD_xᵀ) about the mean. With η̄ = α + βᵀx̄, f = D_xᵀβ, s = |f|
// and e = f/s, η = η̄ + sv in which v of the n rows has Σv = 0 and Σv² = n exactly. The sums are
// told by ȳ = Σy/n and h = D_x⁻¹Σ(x − x̄)y/n, with h∥ = eᵀh = Σvy/n.
//
//   - (ȳ, h∥) are means of (1, v)y, normal in the limit, of mean (M_0, M_1) and covariance C/n
//     of moments: Σ1, Σv and Σv² are fixed, so that what these explain is projected out.
//
//   - Of the normal rows' other directions, n×(p−1) and orthonormal but for √n, nothing is known
//     but that they are orthogonal to 1 and v: they are uniform so, and independent of y. What 1
//     and v leave of y has n−2 dimensions and, with κ of Σy² = κΣy, the mean square
//     Q = κȳ − ȳ² − h∥². Hence h⊥ is √Q times p−1 coordinates of a uniform unit vector of n−2:
//
//     p(h⊥ | ȳ, h∥) ∝ (1 − |h⊥|²/Q)^{(n−p−3)/2} Q^{−(p−1)/2},   |h⊥|² < Q.
//
// κ is 1 of a response that is 0 or 1, and the law exact; of counts Σy² is not read, and κ is
// S_0/M_0, from which it is 1/√n.
//
// Together, with R = κȳ − ȳ² − |h|² and d = (ȳ − M_0, h∥ − M_1),
//
//	log p(ȳ, h | η̄, s, e) = −½ log|C| − ½n dᵀC⁻¹d + ½(n−p−3) log R − ½(n−4) log Q.
type index struct {
	moments
	n float64
	p int

	eta, s     float64   // η̄ and s
	f, e       []float64 // f and e
	y          float64   // ȳ
	h          []float64
	along      float64 // h∥
	rest, left float64 // Q and R
	kappa      float64
	q0, q1     float64 // C⁻¹d
	byY        float64 // gradients, where slope was last
	byH, byE   []float64
	byM        [4]float64
	bySquares  [3]float64 // in S
	by00, by01 float64
	by11       float64
}

func newIndex(of family, n float64, p int) *index {
	vec := func() []float64 { return make([]float64, p) }
	return &index{moments: moments{model.NewAlong(of.mean, of.most), of}, n: n, p: p, f: vec(), e: vec(), h: vec(), byH: vec(), byE: vec()}
}

// direct takes f, which the caller has written, to s and e, and the moments at η̄.
func (t *index) direct(eta float64) bool {
	t.eta, t.s = eta, math.Sqrt(dot(t.f, t.f))
	clear(t.e)
	if t.e[0] = 1; t.s > 0 {
		for l, v := range t.f {
			t.e[l] = v / t.s
		}
	}
	return t.Set(t.eta, t.s)
}

// value returns the log density at ȳ and h, which the caller has written. It reports false
// where no rows have these.
func (t *index) value() (logp float64, ok bool) {
	t.along = dot(t.e, t.h)
	t.kappa = t.S[0] / t.M[0]
	most := t.y * (t.kappa - t.y)
	t.rest, t.left = most-t.along*t.along, most-dot(t.h, t.h)
	if !(t.left > 0 && t.rest > 0) {
		return 0, false
	}
	det, d0, d1 := t.Det(), t.y-t.M[0], t.along-t.M[1]
	t.q0, t.q1 = (t.C11*d0-t.C01*d1)/det, (t.C00*d1-t.C01*d0)/det
	return -0.5*math.Log(det) - 0.5*t.n*(d0*t.q0+d1*t.q1) + 0.5*(t.n-float64(t.p+3))*math.Log(t.left) - 0.5*(t.n-4)*math.Log(t.rest), true
}

// slope writes the gradient where value was last: in ȳ, h, e, M, S and C, of C_01 both halves together.
func (t *index) slope() {
	byLeft, byRest := 0.5*(t.n-float64(t.p+3))/t.left, -0.5*(t.n-4)/t.rest
	byAlong := -t.n*t.q1 - 2*byRest*t.along
	t.byY = -t.n*t.q0 + (byLeft+byRest)*(t.kappa-2*t.y)
	for l, h := range t.h {
		t.byH[l] = byAlong*t.e[l] - 2*byLeft*h
		t.byE[l] = byAlong * h
	}
	byKappa := (byLeft + byRest) * t.y
	t.byM = [4]float64{t.n*t.q0 - byKappa*t.kappa/t.M[0], t.n * t.q1}
	t.bySquares = [3]float64{byKappa / t.M[0]}
	det := t.Det()
	t.by00 = 0.5 * (t.n*t.q0*t.q0 - t.C11/det)
	t.by01 = t.n*t.q0*t.q1 + t.C01/det
	t.by11 = 0.5 * (t.n*t.q1*t.q1 - t.C00/det)
}

// byRows is the derivative in n, where slope was last.
func (t *index) byRows() float64 {
	d0, d1 := t.y-t.M[0], t.along-t.M[1]
	return 0.5 * (math.Log(t.left) - math.Log(t.rest) - d0*t.q0 - d1*t.q1)
}

// pull adds to g the gradient in f, and returns that in η̄, of those in e, M, S and C.
func (t *index) pull(g []float64) (byEta float64) {
	byEta, byS := t.moments.pull(t.byM, t.bySquares, t.by00, t.by01, t.by11)
	if t.s == 0 {
		return byEta
	}
	through := dot(t.e, t.byE)
	for l, e := range t.e {
		g[l] += byS*e + (t.byE[l]-e*through)/t.s
	}
	return byEta
}
