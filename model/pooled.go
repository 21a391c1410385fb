package model

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/internal/dense"
)

// Pooled is the regression of one custodian, w = (θ_j, log σ_j²) ~ N(u, BBᵀ) about
// u = (θ, log σ²), of a family w = θ_j and u = θ, B = diag(τ)C of Spread, in which σ_j is independent of θ_j. In
// w = u + Bη, η standard normal, η would follow u and B along a funnel where z tells much of w, and w would where it tells
// little. So the coordinates, first of log σ_j² and given it of θ_j, are what a Guess leaves open. Any guess gives the same
// posterior; that of θ_j may hang on σ_j, and on what else is known before θ_j.
//
// A Pooled holds a workspace, so each chain needs its own.
type Pooled struct {
	Own   []float64 // w
	Theta []float64 // θ_j, a part of it
	Slope []float64 // in η: −η, that of the density
	Guess *Guess    // of θ_j

	hub          *Hub
	theta, sigma *pooledPart // sigma is nil of a family
}

// pooledPart is θ_j or log σ_j², in coordinates c of
//
//	w = u + δ,   δ = Λ⁻¹b + R⁻ᵀc   of Guess.
//
// With B its block of B, and η = B⁻¹δ,
//
//	log p(c) = −½|η|² − log|B| − log|R|.
type pooledPart struct {
	*Guess
	at, n             int // where it begins, and how many
	hub               *Hub
	own, slope        []float64
	ok                bool      // Λ is positive definite
	delta, eta        []float64 // δ, η
	pull, spread, byU []float64 // gradients: in δ, B⁻ᵀg_η, and K times that in b
	root, turned      []float64 // B; the gradient in Λ, turned
}

// Link takes θ of a line of y in [−1, 1] to the scale of a family's link, of rows whose covariates have the law in x.
// It returns by what a slope there times this is the line's, about, and the variance of y.
type Link func(x *Params) (per, variance float64)

// NewPooled guesses from the release of s. The hub, whose pooling is partial, holds u and B; link is that of a family,
// else nil.
func NewPooled(s *Site, hub *Hub, link Link) *Pooled {
	k, q := len(hub.Centre), s.Shape.Q()
	t := &Pooled{hub: hub, Own: make([]float64, k), Slope: make([]float64, k)}
	t.theta = t.part(0, q)
	t.Theta, t.Guess = t.theta.own, t.theta.Guess
	if k > q {
		t.sigma = t.part(q, k)
	}
	t.rough(s, link)
	return t
}

func (t *Pooled) part(from, to int) *pooledPart {
	n := to - from
	vec := func(n int) []float64 { return make([]float64, n) }
	return &pooledPart{Guess: NewGuess(n), at: from, n: n, hub: t.hub, own: t.Own[from:to], slope: t.Slope[from:to], delta: vec(n), eta: vec(n),
		pull: vec(n), spread: vec(n), byU: vec(n), root: vec(n * n), turned: vec(n * n)}
}

// Sigma is σ_j, and σ of a family, which nothing depends on.
func (t *Pooled) Sigma() float64 {
	if t.sigma == nil {
		return math.Sqrt(t.hub.Params.Sigma2)
	}
	return math.Exp(0.5 * t.sigma.own[0])
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
	for i := range q {
		t.Guess.Precision[i*q+i] = 1 // no guess: that of the prior's mean
	}
	if t.sigma != nil {
		t.sigma.Precision[0], t.sigma.Mean[0] = 1, math.Log(prior.Scale/(prior.Shape-1))
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
		noise = math.Max(noise, math.Sqrt(s.Variance(0))/(s.Units.Scale(j)*s.Units.Scale(shape.P)))
	}
	sigma2, per, half := given.Scale/(given.Shape-1), 1.0, make([]float64, q*q)
	if link != nil {
		per, sigma2 = link(lineOf(given.Mean, z, shape, n))
	}
	floats.ScaleTo(half, sigma2, given.Precision)
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
	floats.ScaleTo(t.Guess.Precision, per*per, half)
	copy(t.Guess.Mean, given.Mean)
	if t.sigma != nil {
		relative := noise * size / (n * sigma2)
		t.sigma.Mean[0], t.sigma.Precision[0] = math.Log(sigma2), 1/(2/n+2*relative*relative)
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

// Set takes w of x, whose first coordinates are those of θ_j and then of σ_j, at the parameters of the hub's last
// Constrain: σ_j, and then θ_j by its guess.
func (t *Pooled) Set(x []float64) {
	t.SetSigma(x)
	t.SetTheta(x)
}

// SetSigma is Set of σ_j alone, and SetTheta of θ_j.
func (t *Pooled) SetSigma(x []float64) {
	if t.sigma != nil {
		t.sigma.set(x)
	}
}

func (t *Pooled) SetTheta(x []float64) { t.theta.set(x) }

// Coordinates writes those of w, which stays where u or B moved, to the first of x.
func (t *Pooled) Coordinates(x []float64) {
	t.theta.coordinates(x)
	if t.sigma != nil {
		t.sigma.coordinates(x)
	}
}

// Add returns the log density of w's coordinates; it writes its gradient in these, of what has a gradient given in w, too,
// and adds that in the hub. It reports false where rounding leaves Λ without a root.
func (t *Pooled) Add(grad, x, gOwn []float64) (logp float64, ok bool) {
	logp, ok = t.AddTheta(grad, x, gOwn)
	byS, also := t.AddSigma(grad, x, gOwn)
	return logp + byS, ok && also
}

// AddTheta is Add of θ_j alone, after which Guess has the gradients in its own Precision and Linear. AddSigma is Add of σ_j.
func (t *Pooled) AddTheta(grad, x, gOwn []float64) (logp float64, ok bool) {
	return t.theta.add(grad, x, gOwn)
}

func (t *Pooled) AddSigma(grad, x, gOwn []float64) (logp float64, ok bool) {
	if t.sigma == nil {
		return 0, true
	}
	return t.sigma.add(grad, x, gOwn)
}

func (t *pooledPart) set(x []float64) {
	t.law()
	t.Law.Set(t.delta, x[t.at:t.at+t.n])
	floats.AddTo(t.own, t.hub.Centre[t.at:t.at+t.n], t.delta)
	dense.MulLowerVec(t.eta, t.Inverse, t.n, t.delta)
	floats.ScaleTo(t.slope, -1, t.eta)
}

func (t *pooledPart) coordinates(x []float64) {
	t.law()
	floats.SubTo(t.delta, t.own, t.hub.Centre[t.at:t.at+t.n])
	t.Law.Coordinates(x[t.at:t.at+t.n], t.delta)
}

// law takes u and B of the hub.
func (t *pooledPart) law() {
	spread, k := t.hub.Spread, len(t.hub.Centre)
	for i := range t.n {
		row := spread.Factor[(t.at+i)*k+t.at:]
		for j := range i + 1 {
			t.root[i*t.n+j] = spread.Tau[t.at+i] * row[j]
		}
	}
	t.ok = t.At(t.root, t.hub.Centre[t.at:t.at+t.n])
}

// add is Pooled.Add. The gradient in δ is g_w + B⁻ᵀg_η, g_η = −η, see Conditional, and with l that in b, that in u is
// g_w − Kl.
func (t *pooledPart) add(grad, x, gOwn []float64) (logp float64, ok bool) {
	if !t.ok {
		return 0, false
	}
	n, own := t.n, gOwn[t.at:t.at+t.n]
	dense.MulLowerTVec(t.spread, t.Inverse, n, t.slope)
	floats.AddTo(t.pull, own, t.spread)
	t.Law.Pull(grad[t.at:t.at+n], t.pull, x[t.at:t.at+n])
	t.weigh(t.byU, t.Law.Linear)
	for k, g := range own {
		t.hub.GTheta[t.at+k] += g - t.byU[k]
		logp += math.Log(t.Inverse[k*n+k]/t.Law.Root[k*n+k]) - 0.5*t.eta[k]*t.eta[k]
	}
	t.pullSpread()
	return logp, true
}

// pullSpread adds to the hub the gradient in B, with N that in Λ
//
//	−B⁻ᵀg_ηηᵀ − 2B⁻ᵀ(B⁻¹NB⁻ᵀ) − diag(1/B_kk).
func (t *pooledPart) pullSpread() {
	n, turned := t.n, t.turned
	copy(turned, t.Law.Precise)
	for range 2 { // B⁻¹N, row by row of its transpose, and again
		for k := range n {
			dense.MulLowerVec(turned[k*n:(k+1)*n], t.Inverse, n, turned[k*n:(k+1)*n])
		}
		dense.Transpose(turned, n)
	}
	for k := range n { // the transpose, row by row
		row := turned[k*n : (k+1)*n]
		dense.MulLowerTVec(row, t.Inverse, n, row)
	}
	spread, width := t.hub.Spread, len(t.hub.Centre)
	for k := range n {
		for l := range k + 1 {
			g := -t.spread[k]*t.eta[l] - 2*turned[l*n+k]
			if l == k {
				g -= t.Inverse[k*n+k]
			}
			at := (t.at+k)*width + t.at + l
			spread.GTau[t.at+k] += g * spread.Factor[at]
			spread.GFactor[at] += g * spread.Tau[t.at+k]
		}
	}
}

// Guess is a rough guess N(g + P⁻¹k, P⁻¹) of what z tells of one release's w ~ N(u, Ω), see
// Spread, and what it leaves open of w,
//
//	w = u + Λ⁻¹b + R⁻ᵀc,   b = P(g − u) + k,   Λ = Ω⁻¹ + P = RRᵀ,   Ω = BBᵀ.
//
// Were the guess right, c would be standard normal whatever Ω is: w is as wide as Ω where
// z tells little of it and as P⁻¹ where it tells much, and no one step size serves both. Λ
// and P are whole matrices: where z tells w to a thousandth of what custodians differ by,
// coordinates taken one by one, as if Ω were diagonal, lie on a sheet that thin, which Ω's
// correlations bend.
type Guess struct {
	Mean, Precision []float64 // g, q; P, q×q
	Linear          []float64 // k, q

	// At the last At:
	Inverse []float64    // B⁻¹, q×q, lower triangular
	Law     *Conditional // of w − u, Λ being its precision

	apart []float64 // g − u
}

// NewGuess allocates for a w of length q; its guess is that of none, P = 0.
func NewGuess(q int) *Guess {
	vec := func(n int) []float64 { return make([]float64, n) }
	return &Guess{Mean: vec(q), Precision: vec(q * q), Linear: vec(q), Inverse: vec(q * q), Law: NewConditional(q), apart: vec(q)}
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
	floats.Add(g.Law.Mean, g.Linear)
	_, ok := g.Law.Prepare()
	return ok
}

// Pull writes the gradient in P, and returns that in k, where those of Law were last.
func (g *Guess) Pull(byPrecision []float64) (byLinear []float64) {
	q, l := len(g.apart), g.Law.Linear
	copy(byPrecision, g.Law.Precise)
	for i, v := range l {
		for j, w := range g.apart {
			byPrecision[i*q+j] += 0.5 * v * w
			byPrecision[j*q+i] += 0.5 * v * w
		}
	}
	return l
}

// weigh writes Pv.
func (g *Guess) weigh(dst, v []float64) {
	q := len(g.Mean)
	for k := range q {
		dst[k] = dense.Dot(g.Precision[k*q:(k+1)*q], v)
	}
}
