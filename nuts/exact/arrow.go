package exact

import "github.com/dpreg/dpreg/internal/dense"

// arrow is a linear map x = Fy of the coordinates of the hub and of all spokes that
// makes y standard where x has the precision H = (FFᵀ)⁻¹. There spokes are tied to the
// hub and not to one another,
//
//	[ H_hh  H_hj ]      H_jj = R_jR_jᵀ,  K_j = H_jj⁻¹H_jh,  H_hh − Σ_j H_hjK_j = CCᵀ,
//	[ H_jh  H_jj ]      x_h = C⁻ᵀy_h,    x_j = R_j⁻ᵀy_j − K_jx_h.
type arrow struct {
	at     []int // where the spokes begin, and the end
	c      []float64
	spokes []struct{ r, k []float64 } // R_j, and K_jᵀ row by row
}

func newArrow(at []int) *arrow {
	h := at[0]
	a := &arrow{at: at, c: vec(h * h), spokes: make([]struct{ r, k []float64 }, len(at)-1)}
	for j := range a.spokes {
		size := at[j+1] - at[j]
		a.spokes[j].r, a.spokes[j].k = vec(size*size), vec(h*size)
	}
	return a
}

// factor takes the precision whose lower triangles stand in c and r, and its H_hj in k.
// It reports false where that is not positive definite.
func (a *arrow) factor() bool {
	h := a.at[0]
	for j := range a.spokes {
		r, k, size := a.spokes[j].r, a.spokes[j].k, a.at[j+1]-a.at[j]
		if !dense.Cholesky(r, size) {
			return false
		}
		for i := range h { // R⁻¹H_jh
			dense.SolveLower(r, size, k[i*size:(i+1)*size])
			for l := range i + 1 {
				a.c[i*h+l] -= dot(k[i*size:(i+1)*size], k[l*size:(l+1)*size])
			}
		}
		for i := range h {
			dense.SolveLowerT(r, size, k[i*size:(i+1)*size])
		}
	}
	return dense.Cholesky(a.c, h)
}

// toX writes x = Fy.
func (a *arrow) toX(x, y []float64) {
	copy(x, y)
	h := a.at[0]
	dense.SolveLowerT(a.c, h, x[:h])
	for j, s := range a.spokes {
		own := x[a.at[j]:a.at[j+1]]
		dense.SolveLowerT(s.r, len(own), own)
		for i, v := range x[:h] {
			addScaled(own, -v, s.k[i*len(own):])
		}
	}
}

// toY writes y = F⁻¹x.
func (a *arrow) toY(y, x []float64) {
	h := a.at[0]
	dense.MulLowerTVec(y[:h], a.c, h, x[:h])
	for j, s := range a.spokes {
		own := y[a.at[j]:a.at[j+1]]
		size := len(own)
		copy(own, x[a.at[j]:a.at[j+1]])
		for i, v := range x[:h] {
			addScaled(own, v, s.k[i*size:])
		}
		dense.MulLowerTVec(own, s.r, size, own)
	}
}

// pull takes a gradient in x to that in y, Fᵀg.
func (a *arrow) pull(g []float64) {
	h := a.at[0]
	for j, s := range a.spokes {
		own := g[a.at[j]:a.at[j+1]]
		for i := range h {
			g[i] -= dot(own, s.k[i*len(own):(i+1)*len(own)])
		}
		dense.SolveLower(s.r, len(own), own)
	}
	dense.SolveLower(a.c, h, g[:h])
}

func dot(a, b []float64) (sum float64) {
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

func addScaled(dst []float64, c float64, v []float64) {
	for i := range dst {
		dst[i] += c * v[i]
	}
}

// vec allocates.
func vec(n int) []float64 { return make([]float64, n) }
