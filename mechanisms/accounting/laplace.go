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

// renyi is Mironov (2017), Proposition 6.
func (l laplace) renyi(order float64) float64 {
	a := math.Log(order/(2*order-1)) + (order-1)/l.scale
	b := math.Log((order-1)/(2*order-1)) - order/l.scale
	return logSum(a, b) / (order - 1)
}

// logSum is log(e^a + e^b).
func logSum(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	return a + math.Log1p(math.Exp(b-a))
}
