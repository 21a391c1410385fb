package dense

import (
	"math"
	"math/rand/v2"
	"testing"
)

const eps = 0x1p-53

// dims covers the scalar kernels (pairs, with and without a last odd row), the
// vector kernels, and the switch between them.
var dims = []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 14, 15, 16, 27, 30, 77}

func source() *rand.Rand { return rand.New(rand.NewPCG(20, 26)) }

func normals(n int, rng *rand.Rand) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	return x
}

// product returns A B for A m×k, B k×n, by the definition.
func product(a, b []float64, m, k, n int) []float64 {
	c := make([]float64, m*n)
	for i := range m {
		for j := range n {
			for t := range k {
				c[i*n+j] += a[i*k+t] * b[t*n+j]
			}
		}
	}
	return c
}

func transposed(a []float64, m, n int) []float64 {
	b := make([]float64, m*n)
	for i := range m {
		for j := range n {
			b[j*m+i] = a[i*n+j]
		}
	}
	return b
}

func lower(a []float64, n int) []float64 {
	l := make([]float64, n*n)
	for i := range n {
		copy(l[i*n:i*n+i+1], a[i*n:])
	}
	return l
}

// positive returns a Wishart-like matrix, away from singular.
func positive(n int, rng *rand.Rand) []float64 {
	g := normals(n*n, rng)
	a := product(g, transposed(g, n, n), n, n, n)
	for i := range n {
		a[i*n+i] += 1
	}
	return a
}

func norm(a []float64) float64 {
	var s float64
	for _, v := range a {
		s = math.Hypot(s, v)
	}
	return s
}

// near fails if ‖a − b‖ exceeds tol. Rounding bounds of the form c·n·2⁻⁵³·size
// are deterministic: no false alarm is possible where c holds.
func near(t *testing.T, what string, a, b []float64, tol float64) {
	t.Helper()
	d := make([]float64, len(a))
	for i := range d {
		d[i] = a[i] - b[i]
	}
	if !(norm(d) <= tol) {
		t.Errorf("%s: off by %g, tolerance %g", what, norm(d), tol)
	}
}

// poison fills the strict upper triangle, which lower kernels must not read.
func poison(a []float64, n int) []float64 {
	b := append([]float64(nil), a...)
	for i := range n {
		for j := i + 1; j < n; j++ {
			b[i*n+j] = math.NaN()
		}
	}
	return b
}

func factor(t *testing.T, a []float64, n int) []float64 {
	t.Helper()
	l := append([]float64(nil), a...)
	if !Cholesky(l, n) {
		t.Fatalf("n=%d: refused a positive definite matrix", n)
	}
	return lower(l, n)
}

func TestCholesky(t *testing.T) {
	rng := source()
	for _, n := range dims {
		a := positive(n, rng)
		p := poison(a, n)
		if !Cholesky(p, n) {
			t.Fatalf("n=%d: refused", n)
		}
		for i := range n {
			for j := i + 1; j < n; j++ {
				if !math.IsNaN(p[i*n+j]) {
					t.Fatalf("n=%d: wrote above the diagonal", n)
				}
			}
		}
		l := lower(p, n)
		// Backward error (n+1)ε|L||Lᵀ| (Higham 2002, theorem 10.3), whose
		// norm is at most n times that of A; doubled for the reciprocals.
		tol := 2 * float64(n*(n+1)) * eps * norm(a)
		near(t, "LLᵀ", product(l, transposed(l, n, n), n, n, n), a, tol)
	}
}

func TestCholeskyRefuses(t *testing.T) {
	rng := source()
	for _, n := range dims {
		for k := range n {
			if testing.Short() && k%3 > 0 && k < n-1 {
				continue
			}
			for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1)} {
				a := positive(n, rng)
				a[k*n+k] = bad
				if Cholesky(a, n) {
					t.Fatalf("n=%d: accepted %v on the diagonal at %d", n, bad, k)
				}
			}
			if k > 0 {
				a := positive(n, rng)
				a[k*n] = math.NaN()
				if Cholesky(a, n) {
					t.Fatalf("n=%d: accepted NaN below the diagonal", n)
				}
			}
		}
	}
}

func TestCholeskyScales(t *testing.T) {
	rng := source()
	for _, n := range []int{1, 2, 3, 4, 5, 14} {
		a := positive(n, rng)
		l := factor(t, a, n)
		// Powers of four scale exactly, short of the subnormal numbers.
		for _, e := range []int{-980, -500, 500, 980} {
			b := make([]float64, len(a))
			for i, v := range a {
				b[i] = math.Ldexp(v, e)
			}
			m := factor(t, b, n)
			for i, v := range l {
				if m[i] != math.Ldexp(v, e/2) {
					t.Fatalf("n=%d: factor does not scale at 2^%d", n, e)
				}
			}
		}
	}
	for _, tiny := range []float64{5e-324, 1e-310} {
		a := []float64{tiny}
		if !Cholesky(a, 1) || a[0] != math.Sqrt(tiny) {
			t.Errorf("1×1 %g: got %g", tiny, a[0])
		}
		b := []float64{tiny, 0, 0, 1}
		if !Cholesky(b, 2) || b[0] != math.Sqrt(tiny) || b[2] != 0 || b[3] != 1 {
			t.Errorf("2×2 with %g: got %v", tiny, b)
		}
	}
}

func TestSolve(t *testing.T) {
	rng := source()
	for _, n := range dims {
		l := factor(t, positive(n, rng), n)
		x := normals(n, rng)
		p := poison(l, n)
		b := product(l, x, n, n, 1)
		SolveLower(p, n, b)
		// Residual of substitution: nε|L||x| (Higham 2002, theorem 8.5).
		tol := 4 * float64(n) * eps * norm(l)
		near(t, "L x", product(l, b, n, n, 1), product(l, x, n, n, 1), tol*norm(b))
		b = product(transposed(l, n, n), x, n, n, 1)
		SolveLowerT(p, n, b)
		lt := transposed(l, n, n)
		near(t, "Lᵀx", product(lt, b, n, n, 1), product(lt, x, n, n, 1), tol*norm(b))
	}
}

func TestLogDet(t *testing.T) {
	rng := source()
	for _, n := range dims {
		l := factor(t, positive(n, rng), n)
		var want float64
		for i := range n {
			want += 2 * math.Log(l[i*n+i])
		}
		near(t, "log det", []float64{LogDet(poison(l, n), n)}, []float64{want}, 8*float64(n)*eps*(1+math.Abs(want)))
	}
	for _, v := range []float64{1e-300, 1e300} {
		const n = 1100 // mantissas alone would underflow
		l := make([]float64, n*n)
		for i := range n {
			l[i*n+i] = v
		}
		want := 2 * n * math.Log(v)
		near(t, "log det", []float64{LogDet(l, n)}, []float64{want}, 4*n*eps*math.Abs(want))
	}
}

func TestInverse(t *testing.T) {
	rng := source()
	for _, n := range dims {
		a := positive(n, rng)
		l := factor(t, a, n)
		identity := make([]float64, n*n)
		for i := range n {
			identity[i*n+i] = 1
		}
		m, inv := make([]float64, n*n), make([]float64, n*n)
		for i := range m {
			m[i], inv[i] = math.NaN(), math.NaN() // dst is written whole
		}
		InvertLower(m, poison(l, n), n)
		tol := 4 * float64(n) * eps
		near(t, "L⁻¹L", product(m, l, n, n, n), identity, tol*norm(m)*norm(l))
		near(t, "zeros", m, lower(m, n), 0)
		InverseFromCholesky(inv, poison(l, n), n)
		near(t, "A⁻¹A", product(inv, a, n, n, n), identity, 3*tol*norm(m)*norm(m)*norm(a))
		near(t, "symmetry", inv, transposed(inv, n, n), 0)
	}
}
