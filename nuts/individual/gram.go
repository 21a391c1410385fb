package individual

import (
	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/internal/dense"
)

// gram has the statistics from the residuals' mean and scatter, which is all that
// they need of the rows: the quadratic sums are LSLᵀ + n v̄v̄ᵀ, the linear n v̄.
type gram struct {
	*frame
	ls   []float64 // LS, by column
	work []float64
}

func newGram(f *frame) *gram {
	return &gram{f, make([]float64, f.m*f.m), make([]float64, f.m*f.m)}
}

func (g *gram) write(s []float64) {
	m, n := g.m, float64(g.n)
	for j := range m {
		dense.MulLowerVec(g.ls[j*m:(j+1)*m], g.l, m, g.scatter[j*m:(j+1)*m])
	}
	at := m
	for j := range m {
		nv := n * g.mean[j]
		s[j] = nv
		for k := j; k < m; k++ {
			v := nv * g.mean[k]
			for i, l := range g.l[j*m : j*m+j+1] {
				v += l * g.ls[i*m+k]
			}
			s[at] = v
			at++
		}
	}
}

// pull: with g the gradient in the linear sums and E that in the quadratic ones,
//
//	∂v̄ = n(g + 2Ev̄),   ∂L = 2ELS,   ∂S = LᵀEL.
func (g *gram) pull(line, quad []float64) {
	m, n := g.m, float64(g.n)
	for i := range m {
		v := line[i]
		for j, e := range quad[i*m : (i+1)*m] {
			v += 2 * e * g.mean[j]
		}
		g.gMean[i] += n * v
		for j := range m {
			el, els := 0.0, 0.0
			for k, e := range quad[i*m : (i+1)*m] {
				els += e * g.ls[j*m+k]
				if k >= j {
					el += e * g.l[k*m+j]
				}
			}
			g.work[i*m+j] = el
			if j <= i {
				g.gL[i*m+j] += 2 * els
			}
		}
	}
	for i := range m {
		for j := range m {
			v := 0.0
			for k := i; k < m; k++ {
				v += g.l[k*m+i] * g.work[k*m+j]
			}
			g.gS[i*m+j] += v
		}
	}
}

// pullRows has nothing to add: s depends on the rows through v̄, L and S alone.
func (g *gram) pullRows([]float64) {}

// The loops over rows. Columns are contiguous. Of two one pass takes less than gonum's, one a pair.

// scatter writes UᵀU of a matrix of n rows and m columns, both triangles.
func scatter(dst, u []float64, m, n int) {
	if m == 2 {
		dst[0], dst[1], dst[3] = products(u[:n], u[n:2*n])
		dst[2] = dst[1]
		return
	}
	for i := range m {
		for j := range i + 1 {
			v := floats.Dot(u[i*n:(i+1)*n], u[j*n:(j+1)*n])
			dst[i*m+j], dst[j*m+i] = v, v
		}
	}
}

// times writes UG, G symmetric m×m.
func times(dst, u, g []float64, m, n int) {
	if m == 2 {
		a, b, c := g[0], g[1], g[3]
		x, y := u[:n], u[n:][:n]
		dx, dy := dst[:n], dst[n:][:n]
		for i, v := range x {
			w := y[i]
			dx[i] = a*v + b*w
			dy[i] = b*v + c*w
		}
		return
	}
	for j := range m {
		to := dst[j*n : (j+1)*n]
		floats.ScaleTo(to, g[j*m+j], u[j*n:(j+1)*n])
		for k := range m {
			if k != j {
				floats.AddScaled(to, g[j*m+k], u[k*n:(k+1)*n])
			}
		}
	}
}

// products returns Σx², Σxy, Σy².
func products(x, y []float64) (xx, xy, yy float64) {
	y = y[:len(x)]
	var xx1, xy1, yy1 float64
	i := 0
	for ; i+1 < len(x); i += 2 {
		a, b, c, d := x[i], y[i], x[i+1], y[i+1]
		xx += a * a
		xy += a * b
		yy += b * b
		xx1 += c * c
		xy1 += c * d
		yy1 += d * d
	}
	if i < len(x) {
		a, b := x[i], y[i]
		xx += a * a
		xy += a * b
		yy += b * b
	}
	return xx + xx1, xy + xy1, yy + yy1
}
