package model

import "math"

// Along are moments along the index η = η̄ + sv, v ~ N(0, 1), of a response y of a family in [0, 1]:
// of g = E[y | η] and g₂ = E[y² | η] at it,
//
//	M_j = E[g v^j],   S_j = E[(g₂ + (φ − 1)(g₂ − g²)) v^j],   ∂M_j/∂η̄ = E[g′ v^j] = N_j,   ∂M_j/∂s = N_{j+1}, and so of S by NS,
//
// φ the dispersion of counts, by which their variance is more than Poisson's,
// and of (1, v)y the mean (M_0, M_1), and of (y, vy, (v²−1)/√2) what the covariance has that 1 and v do not explain,
//
//	(K A B; A V C; B C 1):   K = S_0 − M_0² − M_1²,   A = S_1 − M_0M_1 − M_1M_2,   B = (M_2 − M_0)/√2,
//	                         V = S_2 − M_1² − M_2²,   C = (M_3 − M_1)/√2.
//
// Sums are over evenly spaced v, where Gauss and Hermite's nodes, few in the middle, miss a steep function. They err by
// exp(d²/2 − 2πd/step) of one that is analytic within d of the real line: φ(v + id) is φ(v) times exp(d²/2), and
// logit has d = π/s. So the step is the widest of which s·step is at most 0.6, and s√(K+2)·step of counts, which bend at K
// within 1/(s√K): then sums err no more than by what lies beyond farthest.
type Along struct {
	M             [4]float64
	S             [3]float64
	N             [5]float64
	NS            [4]float64
	K, A, B, V, C float64

	Dispersion float64    // φ, 1 unless it is set
	Excess     [3]float64 // ∂S_j/∂φ = E[(g₂−g²)v^j], of counts

	mean   func(eta, exp float64) (g, slope, square, squareSlope float64)
	counts bool
	most   float64 // s·step
	grids  []grid
	eta, s float64 // where Set was last

	poisson      [3]float64 // S, where φ is 1
	poissonSlope [4]float64 // NS there
	excessSlope  [4]float64 // and ∂NS/∂φ
}

// NewAlong prepares moments of a response of mean, see Family.Moments, that is 0 or 1 or a count over
// its bound most.
func NewAlong(mean func(eta, exp float64) (g, slope, square, squareSlope float64), most float64) *Along {
	f := &Along{mean: mean, counts: most > 1, most: 0.6, grids: grids[:len(grids)-2], eta: math.NaN(), Dispersion: 1}
	if f.counts {
		f.most, f.grids = 0.6/math.Sqrt(most+2), grids
	}
	return f
}

// grids are from the widest to the closest, of which the last two are of counts alone.
var grids = []grid{evenly(0.5), evenly(0.4), evenly(0.3), evenly(0.2), evenly(0.15), evenly(0.1)}

// grid are v and the weights of sums of a step.
type grid struct {
	step  float64
	nodes []node
}

// node is v and its weight times v^j.
type node struct {
	v float64
	w [5]float64
}

// atMean has the moments of v, where g does not depend on it.
var atMean = []node{{0, [5]float64{1, 0, 1, 0, 3}}}

// farthest is the largest v of the sums.
const farthest = 7

func evenly(step float64) grid {
	g := grid{step: step}
	reach := int(math.Round(farthest / step))
	for i := -reach; i <= reach; i++ {
		v := step * float64(i)
		w := step * math.Exp(-0.5*v*v) / math.Sqrt(2*math.Pi)
		g.nodes = append(g.nodes, node{v, [5]float64{w, w * v, w * v * v, w * v * v * v, w * v * v * v * v}})
	}
	return g
}

// at is the widest grid that does at s, or the closest.
func (f *Along) at(s float64) grid {
	for _, g := range f.grids {
		if s*g.step <= f.most {
			return g
		}
	}
	return f.grids[len(f.grids)-1]
}

// leastVariance keeps K above what rounding leaves of it where g is 0 or 1 wherever v is.
const leastVariance = 1e-10

// Set computes all at (η̄, s) and φ.
func (f *Along) Set(eta, s float64) {
	if f.eta != eta || f.s != s {
		f.eta, f.s = eta, s
		f.sum()
	}
	more := f.Dispersion - 1
	for j, v := range f.Excess {
		f.S[j] = f.poisson[j] + more*v
	}
	for j, v := range f.excessSlope {
		f.NS[j] = f.poissonSlope[j] + more*v
	}
	m, sq := f.M, f.S
	f.K, f.A, f.B = sq[0]-m[0]*m[0]-m[1]*m[1]+leastVariance, sq[1]-m[0]*m[1]-m[1]*m[2], (m[2]-m[0])/math.Sqrt2
	f.V, f.C = sq[2]-m[1]*m[1]-m[2]*m[2], (m[3]-m[1])/math.Sqrt2
}

// sum takes moments over v.
func (f *Along) sum() {
	var m0, m1, m2, m3, n0, n1, n2, n3, n4, s0, s1, s2, ns0, ns1, ns2, ns3, e0, e1, e2, ne0, ne1, ne2, ne3 float64
	eta, s := f.eta, f.s
	g, exp := f.at(s), 0.
	nodes, more := g.nodes, math.Exp(s*g.step)
	if s == 0 {
		nodes = atMean
	}
	for i := range nodes {
		v, w := nodes[i].v, &nodes[i].w
		if exp *= more; i%4 == 0 || more > 2 { // where K is small, digits that products lose are seen
			exp = math.Exp(eta + s*v)
		}
		g, slope, square, squareSlope := f.mean(eta+s*v, exp)
		m0, m1, m2, m3 = m0+g*w[0], m1+g*w[1], m2+g*w[2], m3+g*w[3]
		n0, n1, n2, n3, n4 = n0+slope*w[0], n1+slope*w[1], n2+slope*w[2], n3+slope*w[3], n4+slope*w[4]
		if f.counts {
			s0, s1, s2 = s0+square*w[0], s1+square*w[1], s2+square*w[2]
			ns0, ns1, ns2, ns3 = ns0+squareSlope*w[0], ns1+squareSlope*w[1], ns2+squareSlope*w[2], ns3+squareSlope*w[3]
			variance, by := square-g*g, squareSlope-2*g*slope
			e0, e1, e2 = e0+variance*w[0], e1+variance*w[1], e2+variance*w[2]
			ne0, ne1, ne2, ne3 = ne0+by*w[0], ne1+by*w[1], ne2+by*w[2], ne3+by*w[3]
		}
	}
	f.M, f.N = [4]float64{m0, m1, m2, m3}, [5]float64{n0, n1, n2, n3, n4}
	f.poisson, f.poissonSlope = [3]float64{s0, s1, s2}, [4]float64{ns0, ns1, ns2, ns3}
	f.Excess, f.excessSlope = [3]float64{e0, e1, e2}, [4]float64{ne0, ne1, ne2, ne3}
	if !f.counts { // y² is y
		f.poisson, f.poissonSlope = [3]float64{m0, m1, m2}, [4]float64{n0, n1, n2, n3}
	}
}
