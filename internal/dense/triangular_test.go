package dense

import (
	"fmt"
	"testing"
)

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
