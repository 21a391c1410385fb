package model

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/dpreg/dpreg/internal/variate"
	"github.com/dpreg/dpreg/schema"
)

// Spread is the law of the custodians' regressions about a common one, in common units,
//
//	θ_j ~ N(θ, Ω),   log σ_j ~ N(log σ, υ²),
//
// independent of one another. With w_j = (θ_j, log σ_j²) it is one normal law,
//
//	w_j ~ N((θ, log σ²), BBᵀ),   B = diag(τ)C,   τ_q = 2υ,   C = [C_θ 0; 0 1],
//
// of which σ² and θ have the prior of one release, σ being the median of σ_j. The prior of the spread is
//
//	Ω = diag(τ) R diag(τ),   τ_k half-normal of sd ½,   R = C_θC_θᵀ ~ LKJ(2),
//	υ half-normal of sd 0.3.
//
// Of a family there is no σ_j, w_j = θ_j, and τ_k is half-normal of 0.4 of the scale of the default prior: of sd 1 of
// the intercept, and 0.7/(√p ŝ_x) of slopes.
//
// It leaves σ_j nearly the prior that one release's σ has. A half-t σ of 2a₀ degrees of
// freedom has a log σ of variance ¼(ψ′(½) + ψ′(a₀)), 1.21² by default; that of log σ_j is
// greater by E υ² = 0.3² and makes 1.25². The median stays, and E σ_j² = E σ² E exp(2υ²) =
// E σ²/√(1 − 4·0.3²) = 1.25 E σ².
//
// The coordinates are (log τ, y), y_ik for q > i > k row by row: tanh y_ik is the partial
// correlation of coefficients i and k given those before k. Under LKJ(η) these are
// independent, with density ∝ (1 − ρ²)^{α−1}, α = η + ½(q − 2 − k), k from 0
// (Lewandowski, Kurowicka & Joe 2009, J. Multivariate Analysis 100, C-vine), so that
//
//	log p(log τ_k) = log τ_k − ½(τ_k/sd_k)²,   log p(y_ik) = −2α log cosh y_ik,
//
// sd_k = ½, and sd_q = 0.6 of τ_q = 2υ. C_ik = tanh y_ik ∏_{l<k} sech y_il, C_ii = ∏_{l<i} sech y_il.
type Spread struct {
	Tau    []float64 // τ, length k = q + 1, or of a family q
	Factor []float64 // C, k×k, lower triangular

	// GTau and GFactor take the gradient of a function in τ and C, for Pull.
	GTau, GFactor []float64

	tanh []float64 // of y_ik, k×k
	sd   []float64 // sd_k
	q    int
}

// The prior of the spread.
const (
	SpreadSD         = 0.5 // of the half-normal law of τ_k, in common units
	SpreadLKJ        = 2.0 // η
	SpreadLogSigmaSD = 0.3 // of the half-normal law of υ, the sd of log σ_j
	linkSpread       = 0.4 // of a family, by the scale of the default prior
)

// NewSpread allocates for q coefficients and σ, or, given sds of τ of a family, for these alone.
func NewSpread(q int, sd []float64) *Spread {
	if sd == nil {
		sd = append(slices.Repeat([]float64{SpreadSD}, q), 2*SpreadLogSigmaSD)
	}
	k := len(sd)
	vec := func(n int) []float64 { return make([]float64, n) }
	s := &Spread{Tau: vec(k), Factor: vec(k * k), GTau: vec(k), GFactor: vec(k * k), tanh: vec(k * k), sd: sd, q: q}
	s.Factor[k*k-1] = 1 // that of σ; of a family Constrain writes it
	return s
}

// NewSpread is that of the problem's custodians, of a design in common units.
func (p *Problem) NewSpread(d *schema.Design) (*Spread, error) {
	sd, err := p.Family.spreadSDs(d, p.Releases)
	return NewSpread(DesignShape(d).Q(), sd), err
}

// Dim returns k + q(q−1)/2.
func (s *Spread) Dim() int { return len(s.Tau) + s.q*(s.q-1)/2 }

// Constrain takes the spread of its coordinates.
func (s *Spread) Constrain(phi []float64) {
	for i := range s.Tau {
		s.Tau[i] = math.Exp(phi[i])
	}
	k, at := len(s.Tau), len(s.Tau)
	for i := range s.q {
		left := 1.0 // ∏ sech
		for l := range i {
			t := math.Tanh(phi[at])
			s.tanh[i*k+l], s.Factor[i*k+l] = t, t*left
			left /= math.Cosh(phi[at])
			at++
		}
		s.Factor[i*k+i] = left
	}
}

// LogPrior returns log p(φ) up to a constant, and writes its gradient, at the point
// of the last Constrain.
func (s *Spread) LogPrior(grad, phi []float64) float64 {
	k, logp := len(s.Tau), 0.0
	for i, t := range s.Tau {
		u := t / s.sd[i]
		logp += phi[i] - 0.5*u*u
		grad[i] = 1 - u*u
	}
	at := k
	for i := range s.q {
		for l := range i {
			power := 2*SpreadLKJ + float64(s.q-2-l)
			logp -= power * logCosh(phi[at])
			grad[at] = -power * s.tanh[i*k+l]
			at++
		}
	}
	return logp
}

func logCosh(y float64) float64 {
	y = math.Abs(y)
	return y + math.Log1p(math.Exp(-2*y)) - math.Ln2
}

// Pull adds to grad, in the coordinates, the gradient in GTau and GFactor. With
// t = tanh y_ik, ∂C_ik/∂y_ik = (1 − t²)∏_{l<k} sech y_il and ∂C_il/∂y_ik = −t C_il for l > k.
func (s *Spread) Pull(grad []float64) {
	for i, t := range s.Tau {
		grad[i] += t * s.GTau[i]
	}
	k, at := len(s.Tau), len(s.Tau)
	for i := range s.q {
		left := 1.0
		for l := range i {
			t := s.tanh[i*k+l]
			g := s.GFactor[i*k+l] * (1 - t*t) * left
			for h := l + 1; h <= i; h++ {
				g -= s.GFactor[i*k+h] * t * s.Factor[i*k+h]
			}
			grad[at] += g
			left *= math.Sqrt(1 - t*t)
			at++
		}
	}
}

// Write writes the upper triangle of Ω row by row, then υ where there is one, and returns the number written.
func (s *Spread) Write(dst []float64) int {
	n, at := len(s.Tau), 0
	for k := range s.q {
		for l := k; l < s.q; l++ {
			r := 0.0
			for i := range k + 1 {
				r += s.Factor[k*n+i] * s.Factor[l*n+i]
			}
			dst[at] = s.Tau[k] * s.Tau[l] * r
			at++
		}
	}
	for _, tau := range s.Tau[s.q:] {
		dst[at] = 0.5 * tau
		at++
	}
	return at
}

// Root writes B = diag(τ)C, k×k and lower triangular.
func (s *Spread) Root(dst []float64) {
	n := len(s.Tau)
	for k, tau := range s.Tau {
		for l := range k + 1 {
			dst[k*n+l] = tau * s.Factor[k*n+l]
		}
	}
}

// DrawPrior draws coordinates from the prior: of a correlation, ρ = 2B − 1, B ~ Beta(α, α).
func (s *Spread) DrawPrior(phi []float64, rng *rand.Rand) {
	for i := range s.Tau {
		phi[i] = math.Log(s.sd[i] * math.Abs(rng.NormFloat64()))
	}
	at := len(s.Tau)
	for i := range s.q {
		for l := range i {
			alpha := SpreadLKJ + 0.5*float64(s.q-2-l)
			phi[at] = 0.5 * math.Log(variate.Gamma(alpha, rng)/variate.Gamma(alpha, rng))
			at++
		}
	}
	s.Constrain(phi)
}

// Start draws coordinates that a chain starts from: τ about 0.4, correlations small.
func (s *Spread) Start(phi []float64, rng *rand.Rand) {
	for i := range phi {
		phi[i] = 0.5 * rng.NormFloat64()
		if i < len(s.Tau) {
			phi[i]--
		}
	}
}

// Draw draws w_j about centre, (θ, log σ²), after Constrain; dst must not be centre.
func (s *Spread) Draw(dst, centre []float64, rng *rand.Rand) {
	n := len(s.Tau)
	clear(dst)
	for l := range n {
		eta := rng.NormFloat64()
		for k := l; k < n; k++ {
			dst[k] += s.Factor[k*n+l] * eta
		}
	}
	for k, tau := range s.Tau {
		dst[k] = centre[k] + tau*dst[k]
	}
}
