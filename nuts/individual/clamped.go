package individual

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// clamped has the statistics from the rows as they were clamped to [−1, 1], or in a frame
// clipped to its radius, ũ = u min(1, R/‖u‖): the model's rows are unbounded, and what was
// released is the sums of the clamped ones. That is censoring: the law of the rows needs no
// normaliser, and a value outside the box has no gradient by the statistics, nor a row beyond
// R one along itself.
//
// The rows are v_i = v̄ + L ẽ_i with ẽ = H (0, u_2, …, u_n)ᵀ. With t = Σ_{i≥2} u_i,
//
//	ẽ_1 = t/√n,   ẽ_i = u_i − t/(n − √n)  for i ≥ 2.
type clamped struct {
	*frame
	e, v []float64 // ẽ and the clamped rows, by column, m×n
	r    []float64 // gradient in the rows, then in ẽ

	radius float64   // R; 0: the box
	short  []float64 // min(1, R/‖u‖) of each row
}

func newClamped(f *frame, radius float64) *clamped {
	table := func() []float64 { return make([]float64, f.m*f.n) }
	return &clamped{f, table(), table(), table(), radius, make([]float64, f.n)}
}

func column(table []float64, j, n int) []float64 { return table[j*n : (j+1)*n : (j+1)*n] }

func (c *clamped) write(s []float64) {
	m, n := c.m, c.n
	c.residuals()
	for j := range m {
		v := column(c.v, j, n)
		for i := range v {
			v[i] = c.mean[j]
		}
		for k, l := range c.l[j*m : j*m+j+1] {
			floats.AddScaled(v, l, column(c.e, k, n))
		}
	}
	if c.radius > 0 {
		c.clip()
	}
	for j := range m {
		v := column(c.v, j, n)
		if c.radius == 0 {
			clamp(v)
		}
		s[j] = total(v)
	}
	at := m
	for j := range m {
		for k := j; k < m; k++ {
			s[at] = floats.Dot(column(c.v, j, n), column(c.v, k, n))
			at++
		}
	}
}

// residuals writes ẽ.
func (c *clamped) residuals() {
	n := c.n
	if n == 1 {
		clear(c.e)
		return
	}
	first, rest := c.weights()
	for j := range c.m {
		u, e := column(c.rows, j, n-1), column(c.e, j, n)
		t := total(u)
		e[0] = first * t
		shift, to := rest*t, e[1:]
		for i, v := range u {
			to[i] = v - shift
		}
	}
}

// weights are those of t in ẽ_1 and in the others.
func (c *clamped) weights() (first, rest float64) {
	n := float64(c.n)
	return 1 / math.Sqrt(n), 1 / (n - math.Sqrt(n))
}

// clamp clamps v to the box.
func clamp(v []float64) {
	for i, x := range v {
		v[i] = min(1, max(-1, x))
	}
}

// clip moves rows beyond R onto it.
func (c *clamped) clip() {
	clear(c.short)
	for j := range c.m {
		for i, x := range column(c.v, j, c.n) {
			c.short[i] += x * x
		}
	}
	for i, square := range c.short {
		c.short[i] = min(1, c.radius/math.Sqrt(square))
	}
	for j := range c.m {
		floats.Mul(column(c.v, j, c.n), c.short)
	}
}

// pullClip takes the gradient in rows ũ of length R to that in u: f(r − ũ(ũᵀr)/R²), f = R/‖u‖.
func (c *clamped) pullClip() {
	for i, f := range c.short {
		if f == 1 {
			continue
		}
		along := 0.0
		for at := i; at < len(c.r); at += c.n {
			along += c.v[at] * c.r[at]
		}
		along /= c.radius * c.radius
		for at := i; at < len(c.r); at += c.n {
			c.r[at] = f * (c.r[at] - along*c.v[at])
		}
	}
}

func total(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum
}

func (c *clamped) pull(line, quad []float64) {
	m, n := c.m, c.n
	for j := range m {
		r := column(c.r, j, n)
		for i := range r {
			r[i] = line[j]
		}
		for k, g := range quad[j*m : (j+1)*m] {
			floats.AddScaled(r, 2*g, column(c.v, k, n))
		}
		for i, v := range column(c.v, j, n) {
			if c.radius == 0 && (v <= -1 || v >= 1) {
				r[i] = 0
			}
		}
	}
	if c.radius > 0 {
		c.pullClip()
	}
	for j := range m {
		r := column(c.r, j, n)
		c.gMean[j] += total(r)
		for k := range j + 1 {
			c.gL[j*m+k] += floats.Dot(r, column(c.e, k, n))
		}
	}
}

// pullRows adds H Lᵀr.
func (c *clamped) pullRows(grad []float64) {
	m, n := c.m, c.n
	if n == 1 {
		return
	}
	first, rest := c.weights()
	for k := range m {
		g := column(c.r, k, n) // r of column k is not needed once its own gradient is made
		floats.Scale(c.l[k*m+k], g)
		for j := k + 1; j < m; j++ {
			floats.AddScaled(g, c.l[j*m+k], column(c.r, j, n))
		}
		shift := first*g[0] - rest*total(g[1:])
		to := column(grad, k, n-1)
		for i, v := range g[1:] {
			to[i] += v + shift
		}
	}
}
