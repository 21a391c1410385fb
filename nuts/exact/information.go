package exact

import (
	"math"

	"github.com/dpreg/dpreg/release"
)

// standardise puts the map at the inverse root of the information at x,
//
//	diag(prior) + Σ_j J_jᵀ D_j⁻¹ J_j,
//
// J_j the derivatives of s_j and D_j the variances of its noise (spoke.variance). η of
// model.Pooled, standard normal, counts as statistics with D = 1. Rough precisions before
// z serve as prior, 1 in common units for most. It reports false where rounding forbids.
func (f *joint) standardise(x []float64) bool {
	h := f.at[0]
	clear(f.frame.c)
	for i := range h {
		f.frame.c[i*h+i] = 1
	}
	f.hub.Constrain(x[:h])
	hub, base := make([]float64, h), make([]float64, h)
	for j, s := range f.spokes {
		own := make([]float64, f.at[j+1]-f.at[j])
		r, k := f.frame.spokes[j].r, f.frame.spokes[j].k
		clear(r)
		clear(k)
		s.set(x[f.at[j]:f.at[j+1]])
		s.prior(r, len(own))
		zero := make([]float64, len(own))
		if !f.slope(base, zero, x, j, -1) {
			return false
		}
		s.vector(f.s)
		for i := range len(s.Scale) + s.lead() {
			sd := 1.0
			if i < len(s.Scale) {
				sd = math.Sqrt(s.variance(i, f.s[i]))
			}
			if !f.slope(hub, own, x, j, i) {
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
	return f.frame.factor()
}

// variance is the inverse of what information the noise has of statistic i at v: σ², or
// b max(b, |z_i − v|). 1/b² is Fisher's of a location under Laplace noise; far from z its
// density has no curvature, and the inverse is that of the parabola which touches |z_i − v|/b
// from above, as in iteratively reweighted least squares: steps with 1/b² would be of length b.
func (s *spoke) variance(i int, v float64) float64 {
	scale := s.Scale[i]
	if s.Kind == release.Gaussian {
		return scale * scale
	}
	return scale * math.Max(scale, math.Abs(s.Z[i]-v))
}

// addOuter adds uvᵀ.
func addOuter(dst, u, v []float64) {
	for i, c := range u {
		addScaled(dst[i*len(v):(i+1)*len(v)], c, v)
	}
}

// slope writes the gradients in the hub and in spoke j of statistic i, or of η
// after these, and of what else the density has beside the noise's; of that alone for
// i = −1.
func (f *joint) slope(hub, own, x []float64, j, i int) bool {
	s := f.spokes[j]
	clear(s.e)
	k, at := s.m+1, s.m
	for a := range s.m {
		if a == i {
			s.e[(a+1)*k] = 0.5
		}
		for l := a; l < s.m; l++ {
			if at == i {
				s.e[(l+1)*k+a+1] = 0.5
				if l == a {
					s.e[(l+1)*k+a+1] = 1
				}
			}
			at++
		}
	}
	if i >= at { // η
		s.pooled.Slope[i-at]++
		defer func() { s.pooled.Slope[i-at]-- }()
	}
	f.hub.LogPrior(hub, x[:f.at[0]])
	_, ok := s.through(own, x[f.at[j]:f.at[j+1]])
	f.hub.Pull(hub)
	return ok
}

// prior writes rough precisions of a spoke's coordinates before z to the diagonal of
// r: 1, but 2n exp 2t of t_i, and for the noisy count; none of c, which η has.
func (s *spoke) prior(r []float64, size int) {
	for i := s.lead(); i < size; i++ {
		r[i*size+i] = 1
	}
	at := s.lead() + s.bartlett()
	for i := s.from; i < s.m; i++ {
		at += i + 1
		a := s.a[i*s.m+i]
		r[at*size+at] = 2 * s.n * max(1, a*a)
		at++
	}
	if s.Count.Latent() {
		last, relative := size-1, s.n/s.Count.Scale
		r[last*size+last] += relative * relative
	}
}
