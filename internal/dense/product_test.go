package dense

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
)

func TestProducts(t *testing.T) {
	rng := source()
	for _, n := range dims {
		a := positive(n, rng)
		l := factor(t, a, n)
		x := normals(n, rng)
		y := make([]float64, n)
		tol := 4 * float64(n) * eps * norm(x)

		lx := product(l, x, n, n, 1)
		MulLowerVec(y, poison(l, n), n, x)
		near(t, "L x", y, lx, tol*norm(l))
		copy(y, x)
		MulLowerVec(y, l, n, y)
		near(t, "L x in place", y, lx, tol*norm(l))

		ltx := product(transposed(l, n, n), x, n, n, 1)
		MulLowerTVec(y, poison(l, n), n, x)
		near(t, "Lᵀx", y, ltx, tol*norm(l))
		copy(y, x)
		MulLowerTVec(y, l, n, y)
		near(t, "Lᵀx in place", y, ltx, tol*norm(l))

		ax := product(a, x, n, n, 1)
		SymMulVec(y, poison(a, n), n, x)
		near(t, "A x", y, ax, tol*norm(a))
		q := product(x, ax, 1, n, 1)
		near(t, "xᵀA x", []float64{QuadForm(poison(a, n), n, x)}, q, tol*norm(a)*norm(x))

		b := poison(a, n)
		Symmetrise(b, n)
		near(t, "symmetrised", b, transposed(b, n, n), 0)
	}
}

func TestLLt(t *testing.T) {
	rng := source()
	for _, n := range dims {
		l, dst := factor(t, positive(n, rng), n), make([]float64, n*n)
		LLt(dst, poison(l, n), n)
		near(t, "LLᵀ", dst, product(l, transposed(l, n, n), n, n, n), 4*float64(n)*eps*norm(l)*norm(l))
		near(t, "symmetry", dst, transposed(dst, n, n), 0)
	}
}

func TestMulLower(t *testing.T) {
	rng := source()
	for _, n := range dims {
		a, b := Lower.of(normals(n*n, rng), n), Lower.of(normals(n*n, rng), n)
		want := product(a, b, n, n, n)
		MulLower(b, poison(a, n), poison(b, n), n)
		near(t, "A B", b, want, 4*float64(n)*eps*norm(a)*norm(want))
	}
}

func TestMulABt(t *testing.T) {
	rng := source()
	for _, m := range []int{1, 2, 3, 6} {
		for _, n := range []int{1, 2, 3, 7} {
			for _, k := range []int{0, 1, 2, 5, 8} {
				a, b, dst := normals(m*k, rng), normals(n*k, rng), make([]float64, m*n)
				MulABt(dst, a, b, m, n, k)
				want := product(a, transposed(b, n, k), m, k, n)
				near(t, "ABᵀ", dst, want, 4*float64(k)*eps*norm(a)*norm(b))
			}
		}
	}
}

// checkEigen tests A V = V D, VᵀV = I, ascending values, and the values
// against gonum's tridiagonal QR; each algorithm is within c·n·ε‖A‖.
func checkEigen(t *testing.T, a []float64, n int) {
	t.Helper()
	values, v, work := make([]float64, n), make([]float64, n*n), make([]float64, n*n)
	if !SymEigen(values, v, poison(a, n), n, work) {
		t.Fatalf("n=%d: refused", n)
	}
	tol := 16 * float64(n) * eps
	av := product(a, v, n, n, n)
	vd := append([]float64(nil), v...)
	identity := make([]float64, n*n)
	for i := range vd {
		vd[i] *= values[i%n]
		if i%n == i/n {
			identity[i] = 1
		}
	}
	near(t, "AV", av, vd, tol*norm(a))
	near(t, "VᵀV", product(transposed(v, n, n), v, n, n, n), identity, tol*float64(n))
	var e mat.EigenSym
	if !e.Factorize(mat.NewSymDense(n, append([]float64(nil), a...)), false) {
		t.Fatal("gonum did not converge")
	}
	near(t, "eigenvalues", values, e.Values(nil), tol*norm(a))
	for i := 1; i < n; i++ {
		if values[i] < values[i-1] {
			t.Errorf("n=%d: values not ascending", n)
		}
	}
}

func TestSymEigen(t *testing.T) {
	rng := source()
	for _, n := range dims {
		a := positive(n, rng)
		checkEigen(t, a, n)
		for i := range n {
			a[i*n+i] -= float64(n) // indefinite
		}
		checkEigen(t, a, n)
		u := normals(n, rng)
		checkEigen(t, product(u, u, n, 1, n), n) // rank one
		clear(a)
		checkEigen(t, a, n)
		for i := range n {
			a[i*n+i] = 1e200 // repeated, large
		}
		checkEigen(t, a, n)
		a[0] = math.NaN()
		if SymEigen(u, a, a, n, make([]float64, n*n)) {
			t.Errorf("n=%d: accepted NaN", n)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	rng := source()
	for _, n := range []int{5, 27} {
		a := positive(n, rng)
		l := factor(t, a, n)
		dst, work, x := make([]float64, n*n), make([]float64, n*n), normals(n, rng)
		got := testing.AllocsPerRun(10, func() {
			copy(dst, a)
			Cholesky(dst, n)
			InverseFromCholesky(dst, l, n)
			InvertLower(dst, l, n)
			SolveLower(l, n, x)
			SolveLowerT(l, n, x)
			LLt(dst, l, n)
			SymEigen(x, dst, a, n, work)
		})
		if got != 0 {
			t.Errorf("n=%d: %v allocations", n, got)
		}
	}
}

// of has numbers of a where a shape has them, and zeros elsewhere.
func (s Shape) of(a []float64, n int) []float64 {
	b := append([]float64(nil), a...)
	for i := range n {
		for j := range n {
			if s == Lower && j > i || s == Upper && j < i {
				b[i*n+j] = 0
			}
		}
	}
	return b
}

func TestMulABtLower(t *testing.T) {
	rng := source()
	shapes := []Shape{Full, Lower, Upper}
	for _, n := range dims {
		for _, first := range shapes {
			for _, second := range shapes {
				a, b, dst := first.of(normals(n*n, rng), n), second.of(normals(n*n, rng), n), make([]float64, n*n)
				want := product(a, transposed(b, n, n), n, n, n)
				tol := 4 * float64(n) * eps * norm(a) * norm(b)
				MulABtLower(dst, a, first, b, second, n)
				near(t, fmt.Sprintf("lower triangle, n=%d, shapes %d, %d", n, first, second), dst, Lower.of(want, n), tol)
			}
		}
	}
}

func TestTransposeTo(t *testing.T) {
	rng := source()
	for _, n := range dims {
		a, dst := normals(n*n, rng), make([]float64, n*n)
		TransposeTo(dst, a, n)
		near(t, "transpose", dst, transposed(a, n, n), 0)
	}
}

func TestHalfProduct(t *testing.T) {
	rng := source()
	for _, n := range dims {
		l, s := factor(t, positive(n, rng), n), positive(n, rng)
		half, inverse := make([]float64, n*n), make([]float64, n*n)
		InvertLower(inverse, l, n)
		up := transposed(inverse, n, n)
		HalfProduct(half, up, product(up, s, n, n, n), n)
		want := product(up, product(s, inverse, n, n, n), n, n, n)
		for i := range want {
			want[i] *= 0.5
		}
		near(t, "½L⁻ᵀSL⁻¹", half, want, 8*float64(n)*eps*norm(s)*norm(inverse)*norm(inverse))
	}
}
