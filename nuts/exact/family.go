package exact

import (
	"math"

	"github.com/dpreg/dpreg/model"
)

// family is the law of a 0/1 response given η: what tells logit from probit.
type family struct {
	// mean is g(η) = P(y = 1 | η) and g′(η).
	mean func(eta float64) (g, slope float64)
	// steep is k of g(η) ≈ Φ(η√k): E g(η̄ + sv) ≈ g(η̄/√(1 + ks²)), v ~ N(0, 1); it
	// is exact for probit, and shapes coordinates alone.
	steep float64
}

// families are those of package model.
var families = map[model.Family]family{
	model.Binomial: {logistic, 0.346},
	model.Probit:   {normal, 1},
}

func logistic(eta float64) (g, slope float64) {
	e := math.Exp(-math.Abs(eta))
	g, slope = 1/(1+e), e/((1+e)*(1+e))
	if eta < 0 {
		g = e / (1 + e)
	}
	return g, slope
}

func normal(eta float64) (g, slope float64) {
	return 0.5 * math.Erfc(-eta/math.Sqrt2), math.Exp(-0.5*eta*eta) / math.Sqrt(2*math.Pi)
}

// moments are, v ~ N(0, 1) and g = g(η̄ + sv),
//
//	M_j = E[g v^j],   ∂M_j/∂η̄ = N_j,   ∂M_j/∂s = N_{j+1},   N_j = E[g′ v^j],
//
// and of (1, v)y, y ~ Bernoulli(g), the mean (M_0, M_1) and what the covariance has that 1, v and
// v² do not explain, y² = y:
//
//	C_ab = E[g ab] − Σ_{k=0,1,2} E[g a H_k] E[g b H_k],   H = 1, v, (v²−1)/√2.
//
// Sums are over evenly spaced v: of a function that is analytic within d of the real line they
// err by exp(−2πd/step), d = π/s of logit, where Gauss and Hermite's nodes, few in the middle,
// miss a steep one.
type moments struct {
	of            family
	m             [4]float64
	n             [5]float64
	c00, c01, c11 float64
}

const (
	sumStep  = 0.2
	sumReach = 35 // steps to each side
)

// nodes are v and the weights of the sums.
var nodes = func() (all [2*sumReach + 1][2]float64) {
	for i := range all {
		v := sumStep * float64(i-sumReach)
		all[i] = [2]float64{v, sumStep * math.Exp(-0.5*v*v) / math.Sqrt(2*math.Pi)}
	}
	return all
}()

// set computes all at (η̄, s). It reports false where rounding leaves C indefinite.
func (f *moments) set(eta, s float64) bool {
	var m [4]float64
	var n [5]float64
	for _, node := range &nodes {
		v, w := node[0], node[1]
		g, slope := f.of.mean(eta + s*v)
		g, slope = w*g, w*slope
		m[0], n[0] = m[0]+g, n[0]+slope
		g, slope = g*v, slope*v
		m[1], n[1] = m[1]+g, n[1]+slope
		g, slope = g*v, slope*v
		m[2], n[2] = m[2]+g, n[2]+slope
		g, slope = g*v, slope*v
		m[3], n[3] = m[3]+g, n[3]+slope
		n[4] += slope * v
	}
	f.m, f.n = m, n
	a, b := m[2]-m[0], m[3]-m[1]
	f.c00 = m[0] - m[0]*m[0] - m[1]*m[1] - 0.5*a*a
	f.c01 = m[1] - m[0]*m[1] - m[1]*m[2] - 0.5*a*b
	f.c11 = m[2] - m[1]*m[1] - m[2]*m[2] - 0.5*b*b
	return f.c00 > 0 && f.c11 > 0 && f.det() > 1e-14*f.c00*f.c11
}

func (f *moments) det() float64 { return f.c00*f.c11 - f.c01*f.c01 }

// pull takes the gradient in M and in C, of which that in C_01 is of both halves together, to
// those in η̄ and s.
func (f *moments) pull(gM [4]float64, g00, g01, g11 float64) (byEta, byS float64) {
	m := f.m
	a, b := m[2]-m[0], m[3]-m[1]
	gM[0] += g00*(1-2*m[0]+a) - g01*(m[1]-0.5*b)
	gM[1] += -2*g00*m[1] + g01*(1-m[0]-m[2]+0.5*a) + g11*(b-2*m[1])
	gM[2] += -g00*a - g01*(m[1]+0.5*b) + g11*(1-2*m[2])
	gM[3] += -0.5*g01*a - g11*b
	for j, g := range gM {
		byEta += g * f.n[j]
		byS += g * f.n[j+1]
	}
	return byEta, byS
}
