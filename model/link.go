package model

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// Moments returns a function of η and e^η with g = E[y | η], g₂ = E[y² | η] and their derivatives, of a response
// that is 0 or 1, or of min(N, K)/K, N ~ Poisson(e^η), K = most.
func (f Family) Moments(most float64) func(eta, exp float64) (g, slope, square, squareSlope float64) {
	if f == Poisson {
		lgamma, _ := math.Lgamma(most)
		log := math.Log(most)
		return func(eta, exp float64) (g, slope, square, squareSlope float64) {
			return clamped(eta, exp, most, log, lgamma)
		}
	}
	mean := logistic
	if f == Probit {
		mean = phi
	}
	return func(eta, exp float64) (g, slope, square, squareSlope float64) {
		g, slope = mean(eta, exp)
		return g, slope, g, slope
	}
}

// clamped has the moments of min(N, K)/K, N ~ Poisson(λ), λ = e^η, log = log K, lgamma = log Γ(K). With F the distribution
// function of N and E[N(N−1)…(N−j+1); N < K] = λ^j F(K−1−j),
//
//	E min(N, K)  = λF(K−2) + K(1 − F(K−1)),            d/dλ = F(K−1),
//	E min(N, K)² = λ²F(K−3) + λF(K−2) + K²(1 − F(K−1)), d/dλ = 2λF(K−2) + F(K−1),
//
// since d/dλ E f(N) = E[f(N + 1) − f(N)].
func clamped(eta, rate, most, log, lgamma float64) (g, slope, square, squareSlope float64) {
	f1, f2, f3, above := 1.0, 1.0, 1.0, 0.0 // F(K−1), F(K−2), F(K−3), 1 − F(K−1)
	// Chernoff: the tail of N beyond K is at most exp(−(K log(K/λ) − K + λ)).
	if most*(log-eta)-most+rate > 40 {
		if rate > most {
			return 1, 0, 1, 0
		}
	} else {
		mass := 0.0 // P(N = K−1)
		f1, mass = below(eta, rate, most, lgamma)
		above, f2 = max(1-f1, 0), max(f1-mass, 0)
		f3 = max(f2-mass*(most-1)/rate, 0)
	}
	g = (rate*f2)/most + above
	slope = rate * f1 / most
	square = rate*(rate*f3+f2)/(most*most) + above
	squareSlope = rate * (2*rate*f2 + f1) / (most * most)
	return g, slope, square, squareSlope
}

// mostSummed is the largest K of which a sum takes less time than a continued fraction.
const mostSummed = 60

// below returns F(K−1) and P(N = K−1) of N ~ Poisson(λ).
func below(eta, rate, most, lgamma float64) (f, mass float64) {
	if most > mostSummed {
		return mathext.GammaIncRegComp(most, rate), math.Exp((most-1)*eta - rate - lgamma)
	}
	mass = math.Exp(-rate)
	f = mass
	for k := 1.0; k < most; k++ {
		mass *= rate / k
		f += mass
	}
	return f, mass
}

func logistic(_, exp float64) (g, slope float64) {
	if exp > math.MaxFloat64/2 {
		return 1, 0
	}
	less := 1 / (1 + exp) // 1 − g
	g = exp * less
	return g, g * less
}

func phi(eta, _ float64) (g, slope float64) {
	return 0.5 * math.Erfc(-eta/math.Sqrt2), math.Exp(-0.5*eta*eta) / math.Sqrt(2*math.Pi)
}
