package model

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/internal/dense"
)

// Pooled is the regression of one custodian, w = (θ_j, log σ_j²) ~ N(u, BBᵀ) about
// u = (θ, log σ²), of a family w = θ_j and u = θ, B = diag(τ)C of Spread. In w = u + Bη, η standard normal, η would follow
// u and B along a funnel where z tells much of w, and w would where it tells little. So
// the coordinates are c of
//
//	w = u + δ,   δ = Λ⁻¹P(g − u) + R⁻ᵀc,
//
// what a Guess N(g, P⁻¹) from z leaves open. Any guess gives the same posterior. With
// η = B⁻¹δ
//
//	log p(c) = −½|η|² − log|B| − log|R|.
//
// A Pooled holds a workspace, so each chain needs its own.
type Pooled struct {
	Own   []float64 // w
	Theta []float64 // θ_j, a part of it
	Slope []float64 // in η: −η, that of the density

	hub   *Hub
	guess *Guess
	ok    bool // Λ is positive definite

	delta, eta   []float64 // δ, η
	pull, spread []float64 // the gradient in δ, B⁻ᵀg_η
	root         []float64 // B
	scratch      []float64
}

// Link takes θ of a line of y in [−1, 1] to the scale of a family's link, of rows whose covariates have the law in x.
// It returns by what a slope there times this is the line's, about, and the variance of y.
type Link func(x *Params) (per, variance float64)

// NewPooled guesses from the release of s. The hub, whose pooling is partial, holds u and B; link is that of a family,
// else nil.
func NewPooled(s *Site, hub *Hub, link Link) *Pooled {
	k := len(hub.Centre)
	vec := func() []float64 { return make([]float64, k) }
	t := &Pooled{hub: hub, guess: NewGuess(k), Own: vec(), Slope: vec(),
		delta: vec(), eta: vec(), pull: vec(), spread: vec(), root: make([]float64, k*k), scratch: vec()}
	t.Theta = t.Own[:s.Shape.Q()]
	t.rough(s, link)
	return t
}

// Sigma is σ_j, and σ of a family, which nothing depends on.
func (t *Pooled) Sigma() float64 {
	if len(t.Own) == len(t.Theta) {
		return math.Sqrt(t.hub.Params.Sigma2)
	}
	return math.Exp(0.5 * t.Own[len(t.Theta)])
}

// Take takes w of parameters.
func (t *Pooled) Take(x *Params) {
	if at := copy(t.Theta, x.Theta); at < len(t.Own) {
		t.Own[at] = math.Log(x.Sigma2)
	}
}

// Write writes θ_j and σ_j, and returns the number written.
func (t *Pooled) Write(dst []float64) int {
	at := copy(dst, t.Theta)
	if at < len(t.Own) {
		dst[at] = t.Sigma()
	}
	return len(t.Own)
}

// rough guesses w from z as if it were s. With Mθ = XY the normal equations, each with
// the noise of one sum and q products, of variance v together v(1 + |θ|²), the covariance
// of θ_j is about M⁻¹(σ²M + v(1 + |θ|²)I)M⁻¹. The residual sum of squares nσ² is a
// quadratic form of the sums in (−θ, 1), whose noise has a variance of at most
// 2v(1 + |θ|²)², so that the variance of log σ_j² is about 2/n + 2v(1 + |θ|²)²/(nσ²)². What a family's line is
// at the mean of x, and its slopes, are about in proportion to those on the link's scale, and y has the variance σ².
func (t *Pooled) rough(s *Site, link Link) {
	shape, q := s.Shape, s.Shape.Q()
	n := math.Max(s.N, s.Count.Least)
	z, _ := s.projected(n)
	sums, prior := NewSums(shape), roughPrior(q)
	sums.Set(z, n)
	k := len(t.Own)
	for i := range k {
		t.guess.Precision[i*k+i] = 1 // no guess: that of the prior's mean
	}
	if k > q {
		t.guess.Mean[q] = math.Log(prior.Scale / (prior.Shape - 1))
	}
	given := prior.Clone()
	if !conjugate.NewNIGSampler(q).Update(given, prior, sums.XX, sums.XY, sums.YY, n) {
		return
	}
	size, noise := 1.0, 0.0
	for _, v := range given.Mean {
		size += v * v
	}
	for j := range shape.M() {
		noise = math.Max(noise, s.Scale[0]/(s.Units.Scale(j)*s.Units.Scale(shape.P)))
	}
	sigma2, per, half := given.Scale/(given.Shape-1), 1.0, make([]float64, q*q)
	if link != nil {
		per, sigma2 = link(lineOf(given.Mean, z, shape, n))
	}
	for i, v := range given.Precision {
		half[i] = sigma2 * v
	}
	for i := range q {
		half[i*q+i] += noise * noise * size
	}
	if !dense.Cholesky(half, q) {
		return
	}
	rows := append([]float64(nil), given.Precision...) // M half⁻ᵀ, M being symmetric, row by row
	for i := range q {
		dense.SolveLower(half, q, rows[i*q:(i+1)*q])
	}
	dense.MulABt(half, rows, rows, q, q, q)
	for i := range q {
		row := t.guess.Precision[i*k : i*k+q]
		copy(row, half[i*q:])
		floats.Scale(per*per, row)
	}
	copy(t.guess.Mean, given.Mean)
	if k > q {
		relative := noise * size / (n * sigma2)
		t.guess.Mean[q], t.guess.Precision[k*k-1] = math.Log(sigma2), 1/(2/n+2*relative*relative)
	}
}

// lineOf is a line beside the law of x that sums of n rows have.
func lineOf(theta, s []float64, shape Shape, n float64) *Params {
	m, x := shape.M(), NewParams(shape)
	x.Theta = theta
	scatter := make([]float64, m*m)
	Scatter(scatter, s, m, n)
	for i := range shape.P {
		x.MuX[i] = s[i] / n
		floats.AddScaled(x.Tau[i*shape.P:(i+1)*shape.P], 1/n, scatter[i*m:i*m+shape.P])
	}
	return x
}

// roughPrior is a vague conjugate prior, for a guess.
func roughPrior(q int) *conjugate.NIG {
	d := &conjugate.NIG{Mean: make([]float64, q), Precision: make([]float64, q*q), Shape: 3, Scale: 0.15}
	for k := range q {
		d.Precision[k*q+k] = 0.1
	}
	return d
}

// Set takes w of x, whose first coordinates are c, at the parameters of the hub's last
// Constrain.
func (t *Pooled) Set(x []float64) {
	q := len(t.Own)
	t.law()
	t.guess.Law.Set(t.delta, x[:q])
	floats.AddTo(t.Own, t.hub.Centre, t.delta)
	dense.MulLowerVec(t.eta, t.guess.Inverse, q, t.delta)
	for k, e := range t.eta {
		t.Slope[k] = -e
	}
}

// Coordinates writes c of w, which stays where u or B moved, to the first of x.
func (t *Pooled) Coordinates(x []float64) {
	q := len(t.Own)
	t.law()
	floats.SubTo(t.scratch, t.Own, t.hub.Centre)
	t.guess.Law.Coordinates(x[:q], t.scratch)
}

// law takes u and B of the hub.
func (t *Pooled) law() {
	t.hub.Spread.Root(t.root)
	t.ok = t.guess.At(t.root, t.hub.Centre)
}

// Add returns log p(c); it writes its gradient in c, of what has a gradient given in w, too, and adds that in
// the hub. It reports false where rounding leaves Λ without a root.
//
// The gradient in δ is g_w + B⁻ᵀg_η, g_η = −η, see Conditional, and with d that in P(g − u), that in u
// is g_w − Pd.
func (t *Pooled) Add(grad, x, gOwn []float64) (logp float64, ok bool) {
	if !t.ok {
		return 0, false
	}
	q := len(t.Own)
	dense.MulLowerTVec(t.spread, t.guess.Inverse, q, t.Slope)
	floats.AddTo(t.pull, gOwn, t.spread)
	law := t.guess.Law
	law.Pull(grad[:q], t.pull, x[:q])
	t.guess.weigh(t.scratch, law.Linear)
	for k, g := range gOwn {
		t.hub.GTheta[k] += g - t.scratch[k]
		logp += math.Log(t.guess.Inverse[k*q+k]/law.Root[k*q+k]) - 0.5*t.eta[k]*t.eta[k]
	}
	t.pullSpread()
	return logp, true
}

// pullSpread adds to the hub the gradient in B, with N that in Λ
//
//	−B⁻ᵀg_ηηᵀ − 2B⁻ᵀ(B⁻¹NB⁻ᵀ) − diag(1/B_kk).
func (t *Pooled) pullSpread() {
	q, n := len(t.Own), t.guess.Law.Precise
	for range 2 { // B⁻¹N, row by row of its transpose, and again
		for k := range q {
			dense.MulLowerVec(n[k*q:(k+1)*q], t.guess.Inverse, q, n[k*q:(k+1)*q])
		}
		dense.Transpose(n, q)
	}
	for k := range q { // the transpose, row by row
		row := n[k*q : (k+1)*q]
		dense.MulLowerTVec(row, t.guess.Inverse, q, row)
	}
	spread := t.hub.Spread
	for k := range q {
		for l := range k + 1 {
			g := -t.spread[k]*t.eta[l] - 2*n[l*q+k]
			if l == k {
				g -= t.guess.Inverse[k*q+k]
			}
			spread.GTau[k] += g * spread.Factor[k*q+l]
			spread.GFactor[k*q+l] += g * spread.Tau[k]
		}
	}
}

// Guess is a rough guess N(g, P⁻¹) of what z tells of one release's w ~ N(u, Ω), see
// Spread, and what it leaves open of w,
//
//	w = u + Λ⁻¹P(g − u) + R⁻ᵀc,   Λ = Ω⁻¹ + P = RRᵀ,   Ω = BBᵀ.
//
// Were the guess right, c would be standard normal whatever Ω is: w is as wide as Ω where
// z tells little of it and as P⁻¹ where it tells much, and no one step size serves both. Λ
// and P are whole matrices: where z tells w to a thousandth of what custodians differ by,
// coordinates taken one by one, as if Ω were diagonal, lie on a sheet that thin, which Ω's
// correlations bend.
type Guess struct {
	Mean, Precision []float64 // g, q; P, q×q

	// At the last At:
	Inverse []float64    // B⁻¹, q×q, lower triangular
	Law     *Conditional // of w − u, Λ being its precision

	apart []float64 // g − u
}

// NewGuess allocates for a w of length q; its guess is that of none, P = 0.
func NewGuess(q int) *Guess {
	vec := func(n int) []float64 { return make([]float64, n) }
	return &Guess{Mean: vec(q), Precision: vec(q * q), Inverse: vec(q * q), Law: NewConditional(q), apart: vec(q)}
}

// At takes B, q×q and lower triangular, and u. It reports false where rounding leaves Λ
// without a root.
func (g *Guess) At(root, u []float64) bool {
	q := len(g.Mean)
	dense.InvertLower(g.Inverse, root, q)
	for k := range q {
		for l := range k + 1 { // Λ = B⁻ᵀB⁻¹ + P
			sum := g.Precision[k*q+l]
			for i := k; i < q; i++ {
				sum += g.Inverse[i*q+k] * g.Inverse[i*q+l]
			}
			g.Law.Root[k*q+l] = sum
		}
	}
	floats.SubTo(g.apart, g.Mean, u)
	g.weigh(g.Law.Mean, g.apart)
	_, ok := g.Law.Prepare()
	return ok
}

// weigh writes Pv.
func (g *Guess) weigh(dst, v []float64) {
	q := len(g.Mean)
	for k := range q {
		sum := 0.0
		for l, p := range g.Precision[k*q : (k+1)*q] {
			sum += p * v[l]
		}
		dst[k] = sum
	}
}
