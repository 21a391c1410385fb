package exact

import (
	"math"

	"github.com/dpreg/dpreg/model"
)

// index is the law of the sums Σ_(l)y within the L levels of a factor and Σxy over all rows of a response between 0
// and 1 that depends on p covariates by an index. Rows of level l, of which there are n_l, have
//
//	x ~ N(μ_l, T),   E[y | x] = g(η),   E[y² | x] = g₂(η),   η = α_l + βᵀx,
//
// given the covariates' sums: means x̄_l, and the scatter nD_xD_xᵀ that levels leave. With η̄_l = α_l + βᵀx̄_l,
// f = D_xᵀβ, s = |f| and e = f/s, η = η̄_l + sv in which v has Σ_(l)v = 0 in each level and Σv² = n over all rows
// exactly. The sums are told by F_l = Σ_(l)y/√n_l and h = D_x⁻¹Σ(x − x̄_l)y/n, with h∥ = eᵀh = Σvy/n. Rows without a
// factor are of one level.
//
//   - (F_l, h∥) are normal in the limit. Levels are independent, so that mean and covariance of sums add over levels.
//     Of moments at (η̄_l, s), the mean of y and vy is (M_0, M_1); and since Σ_(l)1 and Σ_(l)v are fixed in each level, what
//     these explain is projected out of the covariance of (y, vy, (v²−1)/√2) within it: model.Along's (K A B; A V C; B C 1).
//     Given F_l, with d_l = F_l − √n_lM_0 and r the mean, (h∥, w), w = Σ(v²−1)/(√2n), has the covariance R/n,
//
//     R = Σ_l n_l/n (V − A²/K, C − AB/K; C − AB/K, 1 − B²/K),   r = Σ_l (n_lM_1 + √n_l d_l A/K, √n_l d_l B/K)/n,
//
//     and w is 0, as Σv² is n over all rows.
//
//   - Of the normal rows' other directions, n×(p−1) and orthonormal but for √n, nothing is known
//     but that they are orthogonal to each level's 1 and to v: they are uniform so, and independent of y. What
//     these leave of y has n−L−1 dimensions and, with κ_l of Σ_(l)y² = κ_lΣ_(l)y, the mean square
//     Q = Σ_l (κ_l√n_lF_l − F_l²)/n − h∥². Hence h⊥ is √Q times p−1 coordinates of a uniform unit vector:
//
//     p(h⊥ | F, h∥) ∝ (1 − |h⊥|²/Q)^{(n−L−p−2)/2} Q^{−(p−1)/2},   |h⊥|² < Q.
//
// κ is 1 of a response that is 0 or 1, and the law of h⊥ exact; of counts κ is S_0/M_0, from which it is 1/√n, S_0 has
// their dispersion, and of Σy² dispersion has what z tells.
//
// Together, with Q′ = Q + h∥² − |h|² and ρ = (h∥, 0) − r,
//
//	log p(F, h | η̄, s, e) = −½Σ_l (log K + d_l²/K) − ½ log|R| − ½n ρᵀR⁻¹ρ + ½(n−L−p−2) log Q′ − ½(n−L−3) log Q.
type index struct {
	of family
	n  float64
	p  int
	at []ofLevel

	dispersion *dispersion // nil of a response that is 0 or 1

	s                      float64   // s
	f, e                   []float64 // f and e
	h                      []float64
	along                  float64    // h∥
	rest, left             float64    // Q and Q′
	hh, hb, bb             float64    // R⁻¹
	r, pulled              [2]float64 // ρ and R⁻¹ρ
	byH, byE               []float64  // gradients, where slope was last
	byRest, byLeft, square float64    // and ρᵀR⁻¹ρ with Σd²/K
}

// ofLevel is what index has of a level.
type ofLevel struct {
	*model.Along
	eta, root, sum float64 // η̄_l, √n_l, F_l
	kappa, d       float64

	bySum, byEta            float64 // gradients, where slope, and pull, was last
	byK, byA, byB, byV, byC float64
	byM                     [4]float64
	bySquares               [3]float64 // in S
	byDispersion            float64    // in φ, where pull was last
}

func newIndex(of family, n float64, p, levels int) *index {
	t := &index{of: of, n: n, p: p, at: make([]ofLevel, levels), f: vec(p), e: vec(p), h: vec(p), byH: vec(p), byE: vec(p)}
	for l := range t.at {
		t.at[l].Along = model.NewAlong(of.mean, of.most)
	}
	return t
}

// direct takes f, which the caller has written, to s and e, and the moments at each η̄_l, which it has, too, and at φ.
func (t *index) direct() {
	t.s = math.Sqrt(dot(t.f, t.f))
	clear(t.e)
	t.e[0] = 1
	for l, v := range t.f {
		if t.s > 0 {
			t.e[l] = v / t.s
		}
	}
	for i := range t.at {
		l := &t.at[i]
		if t.dispersion != nil {
			l.Dispersion = t.dispersion.phi
		}
		l.Set(l.eta, t.s)
		l.kappa = l.S[0] / l.M[0]
	}
}

// value returns the log density at F and h, which the caller has written. It reports false
// where no rows have these.
func (t *index) value() (logp float64, ok bool) {
	t.along, t.square = dot(t.e, t.h), 0
	hh, hb, bb, most := 0.0, 0.0, 1.0, 0.0
	if t.dispersion != nil {
		logp = t.dispersion.value(t)
	}
	t.r = [2]float64{t.along, 0}
	for i := range t.at {
		l := &t.at[i]
		w, root := l.root*l.root/t.n, l.root/t.n
		l.d = l.sum - l.root*l.M[0]
		logp -= 0.5 * math.Log(l.K)
		t.square += l.d * l.d / l.K
		hh, hb, bb = hh+w*(l.V-l.A*l.A/l.K), hb+w*(l.C-l.A*l.B/l.K), bb-w*l.B*l.B/l.K
		t.r[0] -= w*l.M[1] + root*l.d*l.A/l.K
		t.r[1] -= root * l.d * l.B / l.K
		most += l.kappa*root*l.sum - l.sum*l.sum/t.n
	}
	t.rest, t.left = most-t.along*t.along, most-dot(t.h, t.h)
	det := hh*bb - hb*hb
	if !(t.left > 0 && t.rest > 0 && hh > 0 && bb > 0 && det > 1e-14*hh*bb) {
		return 0, false
	}
	t.hh, t.hb, t.bb = bb/det, -hb/det, hh/det
	t.pulled = [2]float64{t.hh*t.r[0] + t.hb*t.r[1], t.hb*t.r[0] + t.bb*t.r[1]}
	t.square += t.n * (t.r[0]*t.pulled[0] + t.r[1]*t.pulled[1])
	levels := float64(len(t.at))
	return logp - 0.5*(math.Log(det)+t.square) + 0.5*(t.n-levels-float64(t.p+2))*math.Log(t.left) - 0.5*(t.n-levels-3)*math.Log(t.rest), true
}

// slope writes the gradient where value was last: in F, h, e, and what moments are taken for.
func (t *index) slope() {
	levels, p0, p1 := float64(len(t.at)), t.n*t.pulled[0], t.n*t.pulled[1]
	byHH, byHB, byBB := 0.5*(p0*p0/t.n-t.hh), p0*p1/t.n-t.hb, 0.5*(p1*p1/t.n-t.bb)
	t.byLeft, t.byRest = 0.5*(t.n-levels-float64(t.p+2))/t.left, -0.5*(t.n-levels-3)/t.rest
	byMost := t.byLeft + t.byRest
	byAlong := -p0 - 2*t.byRest*t.along
	for j, h := range t.h {
		t.byH[j] = byAlong*t.e[j] - 2*t.byLeft*h
		t.byE[j] = byAlong * h
	}
	for i := range t.at {
		l := &t.at[i]
		w, root := l.root*l.root/t.n, l.root/t.n
		a, b, d := l.A/l.K, l.B/l.K, l.d/l.K
		byD := -d + root*(p0*a+p1*b)
		l.bySum = byD + byMost*(l.kappa*root-2*l.sum/t.n)
		l.byV, l.byC = w*byHH, w*byHB
		l.byA = -w*(2*byHH*a+byHB*b) + root*p0*d
		l.byB = -w*(byHB*a+2*byBB*b) + root*p1*d
		l.byK = w*(byHH*a*a+byHB*a*b+byBB*b*b) - 0.5/l.K + 0.5*d*d - root*d*(p0*a+p1*b)
		byKappa := byMost * root * l.sum
		if t.dispersion != nil {
			byKappa += t.dispersion.slope(l)
		}
		l.byM = [4]float64{-l.root*byD - byKappa*l.kappa/l.M[0], w * p0}
		l.bySquares = [3]float64{byKappa / l.M[0]}
	}
}

// byRows is the derivative in n of one level's law at fixed means, where slope was last.
func (t *index) byRows() float64 {
	byRows := 0.5 * (math.Log(t.left) - math.Log(t.rest) - t.square/t.n)
	if t.dispersion != nil {
		byRows += t.dispersion.per * t.dispersion.bySum
	}
	return byRows
}

// pull adds to g the gradient in f, and writes that in each η̄_l, of those in e, M, S, K and so on.
func (t *index) pull(g []float64) {
	byS := 0.0
	for i := range t.at {
		byS += t.at[i].pull()
	}
	if t.dispersion != nil {
		t.dispersion.byLog = 0
		for i := range t.at {
			t.dispersion.byLog += t.dispersion.phi * t.at[i].byDispersion
		}
	}
	if t.s == 0 {
		return
	}
	through := dot(t.e, t.byE)
	for l, e := range t.e {
		g[l] += byS*e + (t.byE[l]-e*through)/t.s
	}
}

// pull takes the gradient to η̄_l and s.
func (l *ofLevel) pull() (byS float64) {
	m, gM, gS := l.M, l.byM, l.bySquares
	gM[0] -= 2*l.byK*m[0] + l.byA*m[1] + l.byB/math.Sqrt2
	gM[1] -= 2*l.byK*m[1] + l.byA*(m[0]+m[2]) + 2*l.byV*m[1] + l.byC/math.Sqrt2
	gM[2] += l.byB/math.Sqrt2 - l.byA*m[1] - 2*l.byV*m[2]
	gM[3] += l.byC / math.Sqrt2
	gS[0], gS[1], gS[2] = gS[0]+l.byK, gS[1]+l.byA, gS[2]+l.byV
	l.byEta = 0
	for j, g := range gM {
		l.byEta += g * l.N[j]
		byS += g * l.N[j+1]
	}
	l.byDispersion = 0
	for j, g := range gS {
		l.byEta += g * l.NS[j]
		byS += g * l.NS[j+1]
		l.byDispersion += g * l.Excess[j]
	}
	return byS
}
