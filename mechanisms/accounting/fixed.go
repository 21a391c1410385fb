package accounting

import "math"

// fixed is a dominating pair of one release with normal noise of standard deviation
// σ of a sum over a batch of fixed size, drawn without replacement, of a share γ of
// all records, where neighbours differ by one record and a record adds a vector of
// norm at most 1. By Balle, Barthe & Gaboardi (Privacy Amplification by Subsampling,
// NeurIPS 2018), Theorem 11, its hockey-stick curve is at most
//
//	γ H_{1+(α−1)/γ}(N(2, σ²) ‖ N(0, σ²)) for α ≥ 1,
//
// and, neighbours being interchangeable, what H_α = 1 − α + αH_{1/α} makes of that for
// α < 1. For α ≥ 1 it is the curve of the Poisson pair (P, Q) of rate γ and multiplier
// σ/2, for α < 1 that of (Q, P): the loss is law's where it is positive, the mirrored
// law's where it is negative, and 0 with the mass that is left, (1 − γ) erf(1/√2σ).
type fixed struct{ sigma, rate float64 }

func (f fixed) symmetric() bool   { return true }
func (f fixed) most(bool) float64 { return math.Inf(1) }
func (f fixed) span() float64     { return 0 }

// poisson is the pair whose curve is taken for α ≥ 1.
func (f fixed) poisson() sampled { return sampled{sigma: f.sigma / 2, q: f.rate} }

func (f fixed) law(r resolution) *law {
	p := f.poisson()
	_, high := p.bounds(r.tail)
	const middle = 0.5 // where the loss is 0
	positive := &law{}
	if math.IsInf(r.step, 1) {
		positive.cells = p.between(nil, middle, high, 1)
	} else {
		p.cut(positive, r, middle, high)
	}
	// P's tail beyond high, and Q's, which is P's tail on the other side.
	cut := (1-f.rate)*upperTail(high/p.sigma) + float64(f.rate*upperTail((high-1)/p.sigma)) + upperTail(high/p.sigma)
	all := positive.mirrored()
	all.origin, all.symmetric, all.cutP, all.cutQ = 0, true, cut, cut
	all.below, all.atom = len(all.cells), (1-f.rate)*math.Erf(1/(math.Sqrt2*f.sigma))
	all.cells = append(all.cells, cell{mass: all.atom, span: 1})
	all.cells = append(all.cells, positive.cells...)
	return all
}
