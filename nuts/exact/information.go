package exact

import (
	"math"

	"github.com/dpreg/dpreg/release"
)

// standardise puts the map at the inverse root of the information at x,
//
//	diag(prior) + Σ_j J_jᵀ D_j⁻¹ J_j,
//
// J_j the derivatives of s_j and D_j the variances of its noise (variance). What is
// standard normal (part.standard) counts as statistics with D = 1. Rough precisions before
// z serve as prior, 1 in common units for most. It reports false where rounding forbids.
func (f *joint) standardise(x []float64) bool {
	h := f.at[0]
	clear(f.frame.c)
	f.hub.Constrain(x[:h])
	f.hub.prior(f.frame.c)
	f.takeRest(x)
	hub, base := vec(h), vec(h)
	for j, s := range f.spokes {
		own := vec(f.at[j+1] - f.at[j])
		r, k := f.frame.spokes[j].r, f.frame.spokes[j].k
		clear(r)
		clear(k)
		s.set(x[f.at[j]:f.at[j+1]])
		s.prior(r, len(own))
		zero := vec(len(own))
		if !f.slope(base, zero, x, j, nil) {
			return false
		}
		for g, slopes := range append([][]float64{s.noised()}, s.standard()...) {
			for i := range slopes {
				sd := 1.0
				if g == 0 {
					sd = math.Sqrt(s.variance(i))
				}
				if !f.slope(hub, own, x, j, &slopes[i]) {
					return false
				}
				for l := range hub {
					hub[l] = (hub[l] - base[l]) / sd
				}
				for l := range own {
					own[l] = (own[l] - zero[l]) / sd
				}
				addOuter(f.frame.c, hub, hub)
				addOuter(r, own, own)
				addOuter(k, hub, own)
			}
		}
	}
	return f.frame.factor()
}

// variance is the inverse of what information the noise has of a statistic at a residual r: σ², or
// b max(b, |r|). 1/b² is Fisher's of a location under Laplace noise; far from z its
// density has no curvature, and the inverse is that of the parabola which touches |r|/b
// from above, as in iteratively reweighted least squares: steps with 1/b² would be of length b.
func variance(kind release.Kind, scale, residual float64) float64 {
	if kind == release.Gaussian {
		return scale * scale
	}
	return scale * math.Max(scale, math.Abs(residual))
}

// standard is η, and what y's sums leave.
func (s *spoke) standard() [][]float64 {
	if s.line == nil {
		return append(s.custodian.standard(), s.family.byR, s.family.row.byR)
	}
	return append(s.custodian.standard(), s.line.byR, s.line.row.byR, s.line.row.byA)
}

func (s *spoke) noised() []float64 { return s.noise.ByMade(s.noisy.slope) }

func (s *spoke) variance(i int) float64 {
	z, scale := s.Z, s.Scale
	if s.Told != nil {
		z, scale = s.Told.Z, s.Told.Scale
	}
	return variance(s.Kind, scale[i], z[i]-s.made[i])
}

// addOuter adds uvᵀ.
func addOuter(dst, u, v []float64) {
	for i, c := range u {
		addScaled(dst[i*len(v):(i+1)*len(v)], c, v)
	}
}

// slope writes the gradients in the hub and in spoke j of what else the density has beside the noise's, and of
// that whose slope stands at a place.
func (f *joint) slope(hub, own, x []float64, j int, at *float64) bool {
	s := f.spokes[j]
	clear(s.noised())
	if at != nil {
		*at++
		defer func() { *at-- }()
	}
	f.hub.LogPrior(hub)
	_, ok := s.through(own, x[f.at[j]:f.at[j+1]])
	f.hub.Pull(hub)
	return ok
}

// prior writes rough precisions of the hub's coordinates before z to the diagonal of c: 1,
// also of log σ, ½ log T_ii and L_ij/L_ii, and of θ what it is where that is more: a slope may be held at 0.
func (h *hub) prior(c []float64) {
	size := h.Dim()
	for i := range size {
		c[i*size+i] = 1
	}
	for k, v := range h.known {
		c[k*(size+1)] = max(1, v)
	}
	at := h.Shape.Q()
	c[at*(size+1)] = 0.25 * h.slope * h.slope
	if h.columns != nil {
		h.columns.prior(c, size, at+1)
	}
}

// prior writes to the diagonal of a matrix of so many columns, from at on, the squares of ∂v̄/∂x,
// of ½ ∂ log V/∂u, and of ∂h/∂c over the sd 1/√(p−j) that the prior of h = artanh ρ_ij has.
func (c *columns) prior(dst []float64, columns, at int) {
	for _, w := range c.wide {
		dst[at*(columns+1)] = w * w
		at++
	}
	c.priorRows(dst, columns, at)
}

// priorRows is that of the rows of D.
func (c *columns) priorRows(dst []float64, columns, at int) {
	for i := range c.rows {
		for j := range c.correlations(i) {
			dst[at*(columns+1)] = float64(c.p-j) / c.weight(i, j, c.left[i*c.m+j])
			at++
		}
		total := c.square[i] // V_i
		if c.correlations(i) > 0 {
			total = c.left[i*c.m]
		}
		rate := 0.5 * c.slope[i] * c.r[i] / total
		dst[at*(columns+1)] = rate * rate
		at++
	}
}

// prior writes rough precisions of a spoke's coordinates before z to the diagonal of
// r: 1, also as columns has them, but 2n exp 2t of t_i, and for the noisy count;
// none of c, which η has (custodian.standard), nor of those of y's sums, see part.standard.
func (s *spoke) prior(r []float64, size int) {
	for i := s.lead(); i < size; i++ {
		r[i*size+i] = 1
	}
	if s.Columns != nil {
		r[0] = 1
	}
	if s.x != nil {
		s.x.columns.prior(r, size, s.lead())
	}
	at := s.bartlett()
	for i := s.from; i < s.p; i++ {
		at += i + 1
		a := s.a[i*s.m+i]
		r[at*size+at] = 2 * s.n * max(1, a*a)
		at++
	}
	for i := at; i < at+s.sumsOfY(); i++ {
		r[i*(size+1)] = 0
	}
	if s.rows.dim() > 0 {
		relative := s.rows.more(s.n) / s.Count.Scale
		r[size*size-1] = (1 + relative*relative) / (s.rows.perLog * s.rows.perLog)
	}
}
