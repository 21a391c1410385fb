package exact

import (
	"math"

	"github.com/dpreg/dpreg/model"
)

// family is the law of a response y ∈ {0, 1/K, …, 1}, a count over its bound K, given η: what tells
// one from another.
type family struct {
	// mean is of η and e^η: g = E[y | η] and g′, and g₂ = E[y² | η] and g₂′: of a response that is 0 or
	// 1 the same.
	mean func(eta, exp float64) (g, slope, square, squareSlope float64)
	most float64 // K
	// η̄ = η_a√(1 + ks²) − ½ls² makes E g(η̄ + sv) ≈ g(η_a), v ~ N(0, 1), of k and l: k of
	// g(η) ≈ Φ(η√k), which is exact for probit; l is 1 of exp. They shape coordinates alone.
	steep, lift float64
	// outset guesses of ȳ and of |h|² (see index) η_a, g′ there, E g′ and the variance of y.
	outset func(y, told float64) (eta, slope, along, variance float64)
}

// familyOf is the family of a name, of a response whose bound is most.
func familyOf(name model.Family, most float64) family {
	switch name {
	case model.Binomial:
		return of01(name.Moments(1), 0.346)
	case model.Probit:
		return of01(name.Moments(1), 1)
	}
	return ofCounts(most)
}

// of01 is that of a response that is 0 or 1.
func of01(mean func(eta, exp float64) (g, slope, square, squareSlope float64), steep float64) family {
	return family{most: 1, steep: steep, mean: mean, outset: func(y, told float64) (eta, slope, along, variance float64) {
		root := math.Sqrt(steep)
		at := math.Sqrt2 * math.Erfinv(2*y-1) // Φ⁻¹(y)
		density := math.Exp(-0.5*at*at) / math.Sqrt(2*math.Pi)
		t := min(math.Sqrt(told)/density, mostTold) // s√k/√(1 + ks²)
		return at / root, root * density, root * density * math.Sqrt(1-t*t), y * (1 - y)
	}}
}

// ofCounts is that of min(N, K)/K, N ~ Poisson(e^η).
func ofCounts(most float64) family {
	mean := model.Poisson.Moments(most)
	return family{most: most, lift: 1, mean: mean, outset: func(y, told float64) (eta, slope, along, variance float64) {
		low, high := math.Log(y*most), math.Log(most)+2 // clamped, counts are fewer: η is above log yK
		for range 40 {
			eta = 0.5 * (low + high)
			if g, _, _, _ := mean(eta, math.Exp(eta)); g < y {
				low = eta
			} else {
				high = eta
			}
		}
		g, slope, square, _ := mean(eta, math.Exp(eta))
		return eta, slope, slope, square - g*g + y*y*math.Expm1(min(told/(y*y), 1))
	}}
}
