package vi

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

func random(rows, columns int, rng *rand.Rand) blas64.General {
	of := blas64.General{Rows: rows, Cols: columns, Stride: columns, Data: make([]float64, rows*columns)}
	for i := range of.Data {
		of.Data[i] = rng.NormFloat64()
	}
	return of
}

func clone(of blas64.General) blas64.General {
	of.Data = slices.Clone(of.Data)
	return of
}

// Products are gonum's of two matrices, up to rounding, in one part and in many.
func TestProducts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	for _, size := range [][3]int{{0, 3, 4}, {1, 1, 1}, {7, 5, 1}, {7, 1, 5}, {30, 6, 7}, {70, 301, 203}, {70, 1003, 1}, {200, 1, 2001}} {
		p := product{random(size[0], size[1], rng), random(size[2], size[1], rng), random(size[0], size[2], rng)}
		want, of := product{clone(p.X), clone(p.W), clone(p.Y)}, product{clone(p.X), clone(p.W), clone(p.Y)}
		gemm := func(a, b blas.Transpose, x, y blas64.General, beta float64, to blas64.General) {
			if size[0] > 0 {
				blas64.Gemm(a, b, 1, x, y, beta, to)
			}
		}
		gemm(blas.NoTrans, blas.Trans, of.X, of.W, 0, want.Y)
		gemm(blas.NoTrans, blas.NoTrans, of.Y, of.W, 1, want.X)
		gemm(blas.Trans, blas.NoTrans, of.Y, of.X, 1, want.W)
		product{clone(of.X), of.W, p.Y}.Forth()
		product{p.X, of.W, of.Y}.Back()
		product{of.X, p.W, of.Y}.Sum()
		for k, got := range []blas64.General{p.X, p.W, p.Y} {
			for i, v := range []blas64.General{want.X, want.W, want.Y}[k].Data {
				if !(math.Abs(got.Data[i]-v) <= 1e-11) {
					t.Fatalf("%v, matrix %d, entry %d: %v, want %v", size, k, i, got.Data[i], v)
				}
			}
		}
	}
}

// A row is the same to the bit alone, among others, and on any number of cores: of W there are
// fours and a rest, of the rows of X one part and many.
func TestRowsStandAlone(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	rng := rand.New(rand.NewPCG(2, 0))
	for _, size := range [][2]int{{5, 1}, {5, 3}, {64, 10}, {501, 103}, {103, 501}, {2001, 1}} {
		x, w, y := random(300, size[0], rng), random(size[1], size[0], rng), random(300, size[1], rng)
		one := func(of blas64.General, i int) blas64.General {
			return blas64.General{Rows: 1, Cols: of.Cols, Stride: of.Stride, Data: row(of, i).Data}
		}
		forth, back := clone(y), clone(x)
		for i := range x.Rows {
			product{one(x, i), w, one(forth, i)}.Forth()
			product{one(back, i), w, one(y, i)}.Back()
		}
		for _, cores := range []int{1, 3} {
			runtime.GOMAXPROCS(cores)
			for _, rows := range []int{1, 2, 3, 4, 5, 30, 64, 127, 300} {
				to, into := clone(y), clone(x)
				head := func(of blas64.General) blas64.General { of.Rows = rows; return of }
				product{head(x), w, head(to)}.Forth()
				product{head(into), w, head(y)}.Back()
				if !slices.Equal(to.Data[:rows*size[1]], forth.Data[:rows*size[1]]) || !slices.Equal(into.Data[:rows*size[0]], back.Data[:rows*size[0]]) {
					t.Fatalf("%v: %d rows on %d cores differ from rows alone", size, rows, cores)
				}
			}
		}
	}
}

// BenchmarkProduct is of 128 rows on one core, beside gonum's product of two matrices, in 10⁹
// operations a second.
func BenchmarkProduct(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	rng := rand.New(rand.NewPCG(3, 0))
	for _, size := range [][2]int{{784, 400}, {400, 50}, {50, 400}, {400, 784}} {
		p := product{random(128, size[0], rng), random(size[1], size[0], rng), random(128, size[1], rng)}
		for name, f := range map[string]func(){
			"forth": p.Forth, "back": p.Back, "sum": p.Sum,
			"forth by Gemm": func() { blas64.Gemm(blas.NoTrans, blas.Trans, 1, p.X, p.W, 0, p.Y) },
			"back by Gemm":  func() { blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, p.Y, p.W, 1, p.X) },
			"sum by Gemm":   func() { blas64.Gemm(blas.Trans, blas.NoTrans, 1, p.Y, p.X, 1, p.W) },
		} {
			b.Run(fmt.Sprint(size[0], "×", size[1], " ", name), func(b *testing.B) {
				for b.Loop() {
					f()
				}
				b.ReportMetric(2*128*float64(size[0]*size[1]*b.N)/b.Elapsed().Seconds()/1e9, "GF/s")
			})
		}
	}
}
