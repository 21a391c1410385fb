package dense

import (
	"fmt"
	"testing"
)

func benchmark(b *testing.B, f func(n int, a, l, dst, x []float64)) {
	for _, n := range []int{2, 3, 5, 9, 11, 27, 77} {
		b.Run(fmt.Sprint("n=", n), func(b *testing.B) {
			rng := source()
			a := positive(n, rng)
			l := append([]float64(nil), a...)
			if !Cholesky(l, n) {
				b.Fatal("not positive definite")
			}
			dst, x := make([]float64, n*n), normals(n, rng)
			b.ReportAllocs()
			for b.Loop() {
				f(n, a, l, dst, x)
			}
		})
	}
}

// BenchmarkCholesky includes a copy of the matrix, 8 ns at n=5.
func BenchmarkCholesky(b *testing.B) {
	benchmark(b, func(n int, a, l, dst, x []float64) {
		copy(dst, a)
		Cholesky(dst, n)
	})
}

func BenchmarkInverseFromCholesky(b *testing.B) {
	benchmark(b, func(n int, a, l, dst, x []float64) { InverseFromCholesky(dst, l, n) })
}

func BenchmarkInvertLower(b *testing.B) {
	benchmark(b, func(n int, a, l, dst, x []float64) { InvertLower(dst, l, n) })
}

func BenchmarkSolveLower(b *testing.B) {
	benchmark(b, func(n int, a, l, dst, x []float64) {
		copy(dst[:n], x)
		SolveLower(l, n, dst)
	})
}

func BenchmarkSolveLowerT(b *testing.B) {
	benchmark(b, func(n int, a, l, dst, x []float64) {
		copy(dst[:n], x)
		SolveLowerT(l, n, dst)
	})
}

func BenchmarkMulLowerVec(b *testing.B) {
	benchmark(b, func(n int, a, l, dst, x []float64) { MulLowerVec(dst, l, n, x) })
}

func BenchmarkMulLowerTVec(b *testing.B) {
	benchmark(b, func(n int, a, l, dst, x []float64) { MulLowerTVec(dst, l, n, x) })
}

func BenchmarkSymMulVec(b *testing.B) {
	benchmark(b, func(n int, a, l, dst, x []float64) { SymMulVec(dst, a, n, x) })
}

func BenchmarkQuadForm(b *testing.B) {
	benchmark(b, func(n int, a, l, dst, x []float64) { QuadForm(a, n, x) })
}

func BenchmarkLogDet(b *testing.B) {
	benchmark(b, func(n int, a, l, dst, x []float64) { LogDet(l, n) })
}

func BenchmarkMulABt(b *testing.B) {
	benchmark(b, func(n int, a, l, dst, x []float64) { MulABt(dst, a, l, n, n, n) })
}

func BenchmarkSymEigen(b *testing.B) {
	work, values := make([]float64, 77*77), make([]float64, 77)
	benchmark(b, func(n int, a, l, dst, x []float64) { SymEigen(values, dst, a, n, work) })
}
