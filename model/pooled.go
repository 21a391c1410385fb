package model

import (
	"math"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/internal/dense"
)

// Pooled are the coefficients of one custodian, θ_j ~ N(θ, Ω), Ω = BBᵀ, B = diag(τ)C.
// In θ_j = θ + Bη, η standard normal, η would follow θ and Ω along a funnel where z tells
// much of θ_j, and θ_j would where it tells little. So the coordinates are c of
//
//	θ_j = θ + δ,   δ = Λ⁻¹P(g − θ) + R⁻ᵀc,
//
// what a Guess N(g, P⁻¹) from z leaves open. Any guess gives the same posterior. With
// η = B⁻¹δ
//
//	log p(c) = −½|η|² − log|B| − log|R|.
//
// A Pooled holds a workspace, so each chain needs its own.
type Pooled struct {
	Theta []float64 // θ_j
	Slope []float64 // in η: −η, that of the density

	hub   *Hub
	guess *Guess
	ok    bool // Λ is positive definite

	delta, eta           []float64 // δ, η
	pull, solved, spread []float64 // R⁻¹ and Λ⁻¹ times the gradient in δ, B⁻ᵀg_η
	square, scratch      []float64
}

// NewPooled guesses from the release of s. The hub, whose pooling is partial, holds θ and Ω.
func NewPooled(s *Site, hub *Hub) *Pooled {
	q := s.Shape.Q()
	vec := func() []float64 { return make([]float64, q) }
	t := &Pooled{hub: hub, guess: NewGuess(q), Theta: vec(), Slope: vec(),
		delta: vec(), eta: vec(), pull: vec(), solved: vec(), spread: vec(), square: make([]float64, q*q), scratch: vec()}
	t.rough(s)
	return t
}

// rough guesses θ_j from z as if it were s. With Mθ = XY the normal equations, each
// with the noise of one sum and q products, of variance v together v(1 + |θ|²), the
// covariance is about M⁻¹(σ²M + v(1 + |θ|²)I)M⁻¹.
func (t *Pooled) rough(s *Site) {
	shape, q := s.Shape, s.Shape.Q()
	n := math.Max(s.N, s.Count.Least)
	z := append([]float64(nil), s.Z...)
	NewProjection(shape.M()).Apply(z, n)
	s.Units.Common(z, z, n)
	sums, prior := NewSums(shape), DefaultPrior(shape).Theta
	sums.Set(z, n)
	for k := range q {
		t.guess.Precision[k*q+k] = 1 // no guess: that of the prior's mean
	}
	given := prior.Clone()
	if !conjugate.NewNIGSampler(q).Update(given, prior, sums.XX, sums.XY, sums.YY, n) {
		return
	}
	size, noise := 1.0, 0.0
	for _, v := range given.Mean {
		size += v * v
	}
	for _, a := range s.Units.Scale {
		noise = math.Max(noise, s.Scale[0]/(a*s.Units.Scale[shape.P]))
	}
	sigma2, half := given.Scale/(given.Shape-1), make([]float64, q*q)
	for i, v := range given.Precision {
		half[i] = sigma2 * v
	}
	for k := range q {
		half[k*q+k] += noise * noise * size
	}
	if !dense.Cholesky(half, q) {
		return
	}
	rows := append([]float64(nil), given.Precision...) // M half⁻ᵀ, M being symmetric, row by row
	for k := range q {
		dense.SolveLower(half, q, rows[k*q:(k+1)*q])
	}
	dense.MulABt(t.guess.Precision, rows, rows, q, q, q)
	copy(t.guess.Mean, given.Mean)
}

// Set takes θ_j of x, whose first coordinates are c, at the parameters of the hub's last
// Constrain.
func (t *Pooled) Set(x []float64) {
	q := len(t.Theta)
	t.law()
	copy(t.delta, x[:q])
	dense.SolveLowerT(t.guess.Root, q, t.delta)
	for k, v := range t.guess.Centre {
		t.delta[k] += v
		t.Theta[k] = t.hub.Params.Theta[k] + t.delta[k]
	}
	dense.MulLowerVec(t.eta, t.guess.Inverse, q, t.delta)
	for k, e := range t.eta {
		t.Slope[k] = -e
	}
}

// Coordinates writes c of θ_j, which stays where θ or Ω moved, to the first of x.
func (t *Pooled) Coordinates(x []float64) {
	q := len(t.Theta)
	t.law()
	for k, v := range t.Theta {
		t.scratch[k] = v - t.hub.Params.Theta[k] - t.guess.Centre[k]
	}
	dense.MulLowerTVec(x[:q], t.guess.Root, q, t.scratch)
}

// law takes θ and Ω of the hub.
func (t *Pooled) law() {
	t.hub.Spread.Root(t.square)
	t.ok = t.guess.At(t.square, t.hub.Params.Theta)
}

// Add returns log p(c); it adds its gradient, and that given in θ_j, to those in c and
// in the hub. It reports false where rounding leaves Λ without a root.
//
// With D = g_θj + B⁻ᵀg_η the gradient in δ, g_η = −η, w = R⁻¹D and u = R⁻ᵀw, that in c
// is w, in θ g_θj − Pu, and in Λ by Cholesky's adjoint
//
//	½(R⁻ᵀSR⁻¹ − uaᵀ − auᵀ),   a = Λ⁻¹P(g − θ),   S_kl = −c_k w_l for k ≥ l, less 1 for k = l.
func (t *Pooled) Add(grad, x, gTheta []float64) (logp float64, ok bool) {
	if !t.ok {
		return 0, false
	}
	q := len(t.Theta)
	dense.MulLowerTVec(t.spread, t.guess.Inverse, q, t.Slope)
	for k, g := range gTheta {
		t.pull[k] = g + t.spread[k]
	}
	dense.SolveLower(t.guess.Root, q, t.pull)
	copy(t.solved, t.pull)
	dense.SolveLowerT(t.guess.Root, q, t.solved)
	t.guess.weigh(t.scratch, t.solved)
	for k, g := range gTheta {
		grad[k] += t.pull[k]
		t.hub.GTheta[k] += g - t.scratch[k]
		logp += math.Log(t.guess.Inverse[k*q+k]/t.guess.Root[k*q+k]) - 0.5*t.eta[k]*t.eta[k]
	}
	t.pullSpread(x)
	return logp, true
}

// pullSpread adds to the hub the gradient in B, with N twice that in Λ
//
//	−B⁻ᵀg_ηηᵀ − B⁻ᵀ(B⁻¹NB⁻ᵀ) − diag(1/B_kk).
func (t *Pooled) pullSpread(c []float64) {
	q, n := len(t.Theta), t.square
	for k := range q {
		for l := range k + 1 {
			n[k*q+l] = -c[k] * t.pull[l]
		}
		n[k*q+k]--
	}
	dense.Symmetrise(n, q)
	t.congruence(func(row []float64) { dense.SolveLowerT(t.guess.Root, q, row) })
	for k := range q {
		for l := range q {
			n[k*q+l] -= t.solved[k]*t.guess.Centre[l] + t.guess.Centre[k]*t.solved[l]
		}
	}
	t.congruence(func(row []float64) { dense.MulLowerVec(row, t.guess.Inverse, q, row) })
	for k := range q { // the transpose, row by row
		row := n[k*q : (k+1)*q]
		dense.MulLowerTVec(row, t.guess.Inverse, q, row)
	}
	spread := t.hub.Spread
	for k := range q {
		for l := range k + 1 {
			g := -t.spread[k]*t.eta[l] - n[l*q+k]
			if l == k {
				g -= t.guess.Inverse[k*q+k]
			}
			spread.GTau[k] += g * spread.Factor[k*q+l]
			spread.GFactor[k*q+l] += g * spread.Tau[k]
		}
	}
}

// congruence turns N, symmetric, into ANAᵀ, A being the map of a row.
func (t *Pooled) congruence(a func(row []float64)) {
	q := len(t.Theta)
	for range 2 {
		for k := range q {
			a(t.square[k*q : (k+1)*q])
		}
		for k := range q {
			for l := range k {
				t.square[k*q+l], t.square[l*q+k] = t.square[l*q+k], t.square[k*q+l]
			}
		}
	}
}
