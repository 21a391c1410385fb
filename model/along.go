package model

import "math"

// Along are moments along the index η = η̄ + sv, v ~ N(0, 1), of a response y of a family in [0, 1]:
// of g = E[y | η] and g₂ = E[y² | η] at it,
//
//	M_j = E[g v^j],   S_j = E[g₂ v^j],   ∂M_j/∂η̄ = E[g′ v^j] = N_j,   ∂M_j/∂s = N_{j+1}, and so of S by NS,
//
// and of (1, v)y the mean (M_0, M_1), and of (y, vy, (v²−1)/√2) what the covariance has that 1 and v do not explain,
//
//	(K A B; A V C; B C 1):   K = S_0 − M_0² − M_1²,   A = S_1 − M_0M_1 − M_1M_2,   B = (M_2 − M_0)/√2,
//	                         V = S_2 − M_1² − M_2²,   C = (M_3 − M_1)/√2.
//
// Sums are over evenly spaced v: of a function that is analytic within d of the real line they
// err by exp(−2πd/step), d = π/s of logit, where Gauss and Hermite's nodes, few in the middle,
// miss a steep one; one that bends at K within 1/(s√K) needs them closer.
type Along struct {
	M             [4]float64
	S             [3]float64
	N             [5]float64
	NS            [4]float64
	K, A, B, V, C float64

	mean  func(eta float64) (g, slope, square, squareSlope float64)
	nodes [][2]float64
}

// NewAlong prepares moments of a response of mean, see Family.Moments, that is 0 or 1 or a count over
// its bound most.
func NewAlong(mean func(eta float64) (g, slope, square, squareSlope float64), most float64) *Along {
	step := 0.2
	if most > 1 {
		step = 0.1
	}
	return &Along{mean: mean, nodes: evenly(step)}
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

// leastVariance keeps K above what rounding leaves of it where g is 0 or 1 wherever v is.
const leastVariance = 1e-10

// Set computes all at (η̄, s).
func (f *Along) Set(eta, s float64) {
	var m [4]float64
	var sq [3]float64
	var n [5]float64
	var ns [4]float64
	for _, node := range f.nodes {
		v, w := node[0], node[1]
		g, slope, square, squareSlope := f.mean(eta + s*v)
		g, slope, square, squareSlope = w*g, w*slope, w*square, w*squareSlope
		for j := range 3 {
			m[j], n[j], sq[j], ns[j] = m[j]+g, n[j]+slope, sq[j]+square, ns[j]+squareSlope
			g, slope, square, squareSlope = g*v, slope*v, square*v, squareSlope*v
		}
		m[3], n[3], ns[3] = m[3]+g, n[3]+slope, ns[3]+squareSlope
		n[4] += slope * v
	}
	f.M, f.S, f.N, f.NS = m, sq, n, ns
	f.K, f.A, f.B = sq[0]-m[0]*m[0]-m[1]*m[1]+leastVariance, sq[1]-m[0]*m[1]-m[1]*m[2], (m[2]-m[0])/math.Sqrt2
	f.V, f.C = sq[2]-m[1]*m[1]-m[2]*m[2], (m[3]-m[1])/math.Sqrt2
}
