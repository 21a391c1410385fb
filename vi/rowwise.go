package vi

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/internal/parallel"
)

// product is y = Wx of all rows x of X and y of Y, on all cores. A row y is a function of W and of its own x to
// the last bit, whatever the other rows and how many cores there are, as differential privacy of a sum over rows
// needs. W is the matrix and x the vector of gonum's products of a matrix with a vector, which go on with four rows
// of W at a time and have twice the speed of its products of two matrices (BenchmarkProduct). Parts are of fours, so
// that a row of W is among the four, or behind the last four, wherever parts end.
type product struct{ X, W, Y blas64.General }

// part is how many items are worth a part, of so many multiplications each.
func part(multiplications int) int { return (1<<18/max(1, multiplications) + 4) &^ 3 }

// Forth writes Y.
func (p product) Forth() { parallel.Share(p, p.W.Rows, part(p.X.Rows*p.W.Cols), product.forth) }

func (p product) forth(from, to int) {
	w := p.W
	if w.Rows == 1 { // in a fourth of Gemv's time
		for i, x := 0, p.X.Data; i < p.X.Rows; i, x = i+1, x[p.X.Stride:] {
			p.Y.Data[i*p.Y.Stride] = floats.Dot(x[:w.Cols], w.Data)
		}
		return
	}
	w.Rows, w.Data = to-from, w.Data[from*w.Stride:]
	for i := range p.X.Rows {
		blas64.Gemv(blas.NoTrans, 1, w, row(p.X, i), 0, vector(row(p.Y, i).Data[from:to]))
	}
}

// Back adds Wᵀy to x in each row.
func (p product) Back() { parallel.Share(p, p.X.Rows, part(p.W.Rows*p.W.Cols), product.back) }

func (p product) back(from, to int) {
	for i := from; i < to; i++ {
		blas64.Gemv(blas.Trans, 1, p.W, row(p.Y, i), 1, row(p.X, i))
	}
}

// Sum adds Σ yxᵀ over all rows to W.
func (p product) Sum() {
	if p.X.Rows > 0 {
		parallel.Share(p, p.W.Rows, part(p.X.Rows*p.W.Cols), product.sum)
	}
}

func (p product) sum(from, to int) {
	for l := from; l < to; l++ {
		blas64.Gemv(blas.Trans, 1, p.X, blas64.Vector{N: p.Y.Rows, Inc: p.Y.Stride, Data: p.Y.Data[l:]}, 1, row(p.W, l))
	}
}

func row(of blas64.General, i int) blas64.Vector {
	return vector(of.Data[i*of.Stride : i*of.Stride+of.Cols])
}

func vector(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Inc: 1, Data: x} }
