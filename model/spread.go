package model

import (
	"math"
	"math/rand/v2"
)

// Spread is the covariance Ω of the custodians' coefficients about their mean,
// θ_j ~ N(θ, Ω) in common units, under the prior
//
//	Ω = diag(τ) R diag(τ),   τ_k half-normal of sd ½,   R ~ LKJ(2),
//
// in coordinates (log τ, y), y_ik for i > k row by row: tanh y_ik is the partial
// correlation of coefficients i and k given those before k. Under LKJ(η) these are
// independent, with density ∝ (1 − ρ²)^{α−1}, α = η + ½(q − 2 − k), k from 0
// (Lewandowski, Kurowicka & Joe 2009, J. Multivariate Analysis 100, C-vine), so that
//
//	log p(log τ_k) = log τ_k − 2τ_k²,   log p(y_ik) = −2α log cosh y_ik.
//
// R = CCᵀ with C_ik = tanh y_ik ∏_{l<k} sech y_il, C_ii = ∏_{l<i} sech y_il.
type Spread struct {
	Tau    []float64 // τ, length q
	Factor []float64 // C, q×q, lower triangular

	// GTau and GFactor take the gradient of a function in τ and C, for Pull.
	GTau, GFactor []float64

	tanh []float64 // of y_ik, q×q
}

// The prior of Ω.
const (
	SpreadSD  = 0.5 // of the half-normal law of τ, in common units
	SpreadLKJ = 2.0 // η

	halfPrecision = 1 / (2 * SpreadSD * SpreadSD) // of τ
)

// NewSpread allocates for q coefficients.
func NewSpread(q int) *Spread {
	vec := func(n int) []float64 { return make([]float64, n) }
	return &Spread{Tau: vec(q), Factor: vec(q * q), GTau: vec(q), GFactor: vec(q * q), tanh: vec(q * q)}
}

// Dim returns q + q(q−1)/2.
func (s *Spread) Dim() int { return len(s.Tau) * (len(s.Tau) + 1) / 2 }

// Constrain takes Ω of its coordinates.
func (s *Spread) Constrain(phi []float64) {
	q := len(s.Tau)
	for k := range q {
		s.Tau[k] = math.Exp(phi[k])
	}
	at := q
	for i := range q {
		left := 1.0 // ∏ sech
		for k := range i {
			t := math.Tanh(phi[at])
			s.tanh[i*q+k], s.Factor[i*q+k] = t, t*left
			left /= math.Cosh(phi[at])
			at++
		}
		s.Factor[i*q+i] = left
	}
}

// LogPrior returns log p(φ) up to a constant, and writes its gradient, at the point
// of the last Constrain.
func (s *Spread) LogPrior(grad, phi []float64) float64 {
	q, logp := len(s.Tau), 0.0
	for k, t := range s.Tau {
		logp += phi[k] - halfPrecision*t*t
		grad[k] = 1 - 2*halfPrecision*t*t
	}
	at := q
	for i := range q {
		for k := range i {
			power := 2*SpreadLKJ + float64(q-2-k)
			logp -= power * logCosh(phi[at])
			grad[at] = -power * s.tanh[i*q+k]
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
	q := len(s.Tau)
	for k, t := range s.Tau {
		grad[k] += t * s.GTau[k]
	}
	at := q
	for i := range q {
		left := 1.0
		for k := range i {
			t := s.tanh[i*q+k]
			g := s.GFactor[i*q+k] * (1 - t*t) * left
			for l := k + 1; l <= i; l++ {
				g -= s.GFactor[i*q+l] * t * s.Factor[i*q+l]
			}
			grad[at] += g
			left *= math.Sqrt(1 - t*t)
			at++
		}
	}
}

// Write writes the upper triangle of Ω row by row and returns the number written.
func (s *Spread) Write(dst []float64) int {
	q, at := len(s.Tau), 0
	for k := range q {
		for l := k; l < q; l++ {
			r := 0.0
			for i := range k + 1 {
				r += s.Factor[k*q+i] * s.Factor[l*q+i]
			}
			dst[at] = s.Tau[k] * s.Tau[l] * r
			at++
		}
	}
	return at
}

// Root writes B = diag(τ)C, q×q and lower triangular: Ω = BBᵀ.
func (s *Spread) Root(dst []float64) {
	q := len(s.Tau)
	for k, tau := range s.Tau {
		for l := range k + 1 {
			dst[k*q+l] = tau * s.Factor[k*q+l]
		}
	}
}

// Start draws coordinates that a chain starts from: τ about 0.4, correlations small.
func (s *Spread) Start(phi []float64, rng *rand.Rand) {
	for k := range phi {
		phi[k] = 0.5 * rng.NormFloat64()
		if k < len(s.Tau) {
			phi[k]--
		}
	}
}

// Draw draws N(theta, Ω) after Constrain; dst must not be theta.
func (s *Spread) Draw(dst, theta []float64, rng *rand.Rand) {
	q := len(s.Tau)
	clear(dst)
	for l := range q {
		eta := rng.NormFloat64()
		for k := l; k < q; k++ {
			dst[k] += s.Factor[k*q+l] * eta
		}
	}
	for k, tau := range s.Tau {
		dst[k] = theta[k] + tau*dst[k]
	}
}
