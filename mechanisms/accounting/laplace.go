package accounting

import "math"

// laplace is the dominating pair of noise of scale b on a number that neighbours
// move by at most 1: P the law of density e^{−|x|/b}/2b, Q that law moved by 1. The
// loss is (|x − 1| − |x|)/b: 1/b for x ≤ 0, −1/b for x ≥ 1, and (1 − 2x)/b between.
// The same pair dominates noise on a vector that neighbours move by at most 1 in L1
// (docs/accounting.md).
type laplace struct{ scale float64 }

func (l laplace) symmetric() bool   { return true }
func (l laplace) most(bool) float64 { return 1 / l.scale }
func (l laplace) span() float64     { return 2 / l.scale }

// law has atoms of P-mass e^{−1/b}/2 and ½ at −1/b and 1/b, and between them the
// density e^{(ℓ−1/b)/2}/4. In a cell, log(P/Q) is the loss in its middle.
func (l laplace) law(r resolution) *law {
	reach := 1 / l.scale
	width := r.step / fineness
	if math.IsInf(r.step, 1) {
		width = reach / 32
	}
	cells := []cell{{mass: math.Exp(-reach) / 2, loss: -reach, span: 1}}
	low, below := -reach, 0
	for i := math.Floor(-reach/width) + 1; low < reach; i++ {
		high := math.Min(reach, float64(i*width))
		cells = append(cells, cell{mass: math.Exp((low-reach)/2) * math.Expm1((high-low)/2) / 2, loss: low/2 + high/2, span: 1})
		low = high
		if i <= 0 {
			below = len(cells)
		}
	}
	return &law{symmetric: true, below: below, cells: append(cells, cell{mass: 0.5, loss: reach, span: 1})}
}

// pure is the dominating pair of all that is (ε, 0)-differentially private: a coin
// with P(heads) = e^ε/(1 + e^ε), tossed by P, and turned round by Q.
type pure struct{ epsilon float64 }

func (p pure) symmetric() bool   { return true }
func (p pure) most(bool) float64 { return p.epsilon }
func (p pure) span() float64     { return 2 * p.epsilon }

func (p pure) law(resolution) *law {
	low := 1 / (1 + math.Exp(p.epsilon))
	return &law{symmetric: true, below: 1, cells: []cell{{mass: low, loss: -p.epsilon, span: 1}, {mass: 1 - low, loss: p.epsilon, span: 1}}}
}
