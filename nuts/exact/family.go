package exact

import (
	"math"

	"github.com/dpreg/dpreg/model"
)

// family is the law of a response y ∈ {0, 1/K, …, 1}, a count over its bound K, given η: what tells
// one from another.
type family struct {
	// mean is g(η) = E[y | η] and g′, and g₂(η) = E[y² | η] and g₂′: of a response that is 0 or
	// 1 the same.
	mean func(eta float64) (g, slope, square, squareSlope float64)
	most float64 // K
	// η̄ = η_a√(1 + ks²) − ½ls² makes E g(η̄ + sv) ≈ g(η_a), v ~ N(0, 1), of k and l: k of
	// g(η) ≈ Φ(η√k), which is exact for probit; l is 1 of exp. They shape coordinates alone.
	steep, lift float64
	// outset guesses of ȳ and of |h|² (see index) η_a, g′ there, E g′ and the variance of y.
	outset func(y, told float64) (eta, slope, along, variance float64)
	nodes  [][2]float64
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
func of01(mean func(eta float64) (g, slope, square, squareSlope float64), steep float64) family {
	return family{most: 1, steep: steep, nodes: evenly(0.2), mean: mean, outset: func(y, told float64) (eta, slope, along, variance float64) {
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
	return family{most: most, lift: 1, nodes: evenly(0.1), mean: mean, outset: func(y, told float64) (eta, slope, along, variance float64) {
		low, high := math.Log(y*most), math.Log(most)+2 // clamped, counts are fewer: η is above log yK
		for range 40 {
			eta = 0.5 * (low + high)
			if g, _, _, _ := mean(eta); g < y {
				low = eta
			} else {
				high = eta
			}
		}
		g, slope, square, _ := mean(eta)
		return eta, slope, slope, square - g*g + y*y*math.Expm1(min(told/(y*y), 1))
	}}
}

// moments are, v ~ N(0, 1), g = g(η̄ + sv) and g₂ alike,
//
//	M_j = E[g v^j],   S_j = E[g₂ v^j],   ∂M_j/∂η̄ = E[g′ v^j] = N_j,   ∂M_j/∂s = N_{j+1}, and so of S,
//
// and of (1, v)y the mean (M_0, M_1) and what the covariance has that 1, v and v² do not explain:
//
//	C_ab = E[g₂ ab] − Σ_{k=0,1,2} E[g a H_k] E[g b H_k],   H = 1, v, (v²−1)/√2.
//
// Sums are over evenly spaced v: of a function that is analytic within d of the real line they
// err by exp(−2πd/step), d = π/s of logit, where Gauss and Hermite's nodes, few in the middle,
// miss a steep one; one that bends at K within 1/(s√K) needs them closer.
type moments struct {
	of            family
	m             [4]float64
	s             [3]float64
	n             [5]float64
	ns            [4]float64
	c00, c01, c11 float64
}

// farthest is the largest v of the sums.
const farthest = 7

// evenly are v and the weights of sums of a step.
func evenly(step float64) (all [][2]float64) {
	reach := int(math.Round(farthest / step))
	for i := -reach; i <= reach; i++ {
		v := step * float64(i)
		all = append(all, [2]float64{v, step * math.Exp(-0.5*v*v) / math.Sqrt(2*math.Pi)})
	}
	return all
}

// set computes all at (η̄, s). It reports false where rounding leaves C indefinite.
func (f *moments) set(eta, s float64) bool {
	var m [4]float64
	var sq [3]float64
	var n [5]float64
	var ns [4]float64
	for _, node := range f.of.nodes {
		v, w := node[0], node[1]
		g, slope, square, squareSlope := f.of.mean(eta + s*v)
		g, slope, square, squareSlope = w*g, w*slope, w*square, w*squareSlope
		for j := range 3 {
			m[j], n[j], sq[j], ns[j] = m[j]+g, n[j]+slope, sq[j]+square, ns[j]+squareSlope
			g, slope, square, squareSlope = g*v, slope*v, square*v, squareSlope*v
		}
		m[3], n[3], ns[3] = m[3]+g, n[3]+slope, ns[3]+squareSlope
		n[4] += slope * v
	}
	f.m, f.s, f.n, f.ns = m, sq, n, ns
	a, b := m[2]-m[0], m[3]-m[1]
	f.c00 = sq[0] - m[0]*m[0] - m[1]*m[1] - 0.5*a*a
	f.c01 = sq[1] - m[0]*m[1] - m[1]*m[2] - 0.5*a*b
	f.c11 = sq[2] - m[1]*m[1] - m[2]*m[2] - 0.5*b*b
	return f.c00 > 0 && f.c11 > 0 && f.det() > 1e-14*f.c00*f.c11
}

func (f *moments) det() float64 { return f.c00*f.c11 - f.c01*f.c01 }

// pull takes the gradient in M, S and in C, of which that in C_01 is of both halves together, to
// those in η̄ and s.
func (f *moments) pull(gM [4]float64, gS [3]float64, g00, g01, g11 float64) (byEta, byS float64) {
	m := f.m
	a, b := m[2]-m[0], m[3]-m[1]
	gM[0] += g00*(a-2*m[0]) - g01*(m[1]-0.5*b)
	gM[1] += -2*g00*m[1] + g01*(0.5*a-m[0]-m[2]) + g11*(b-2*m[1])
	gM[2] += -g00*a - g01*(m[1]+0.5*b) - 2*g11*m[2]
	gM[3] += -0.5*g01*a - g11*b
	gS[0], gS[1], gS[2] = gS[0]+g00, gS[1]+g01, gS[2]+g11
	for j, g := range gM {
		byEta += g * f.n[j]
		byS += g * f.n[j+1]
	}
	for j, g := range gS {
		byEta += g * f.ns[j]
		byS += g * f.ns[j+1]
	}
	return byEta, byS
}
