package exact

import (
	"math"
	"slices"
)

// The ascent ends after so many steps, or with one that gains less than this.
const (
	ascents = 30
	gain    = 0.1
)

// fit puts the map where it belongs at the mode that the steps of Gauss and Newton,
// halved until they gain, reach from x: starts are dispersed, and at x itself it
// would make another law standard. A draw is about half as many below the mode as there are
// coordinates; from four times that, trajectories may not find back, and x moves to the
// first point of the ascent that is nearer. It reports false where not even x has a map.
func (f *joint) fit(x []float64) bool {
	if !f.standardise(x) {
		return false
	}
	y, next, grad := make([]float64, f.Dim()), make([]float64, f.Dim()), make([]float64, f.Dim())
	path, heights := [][]float64{slices.Clone(x)}, []float64{math.Inf(-1)}
	for range ascents {
		last := len(path) - 1
		f.frame.toY(y, path[last])
		logp, err := f.LogDensity(grad, y)
		if err != nil {
			break
		}
		heights[last] = logp
		height := f.climb(next, y, grad)
		if height < logp+gain {
			break
		}
		mode := make([]float64, f.Dim())
		f.frame.toX(mode, next)
		if !f.standardise(mode) {
			return f.standardise(x)
		}
		path, heights = append(path, mode), append(heights, height)
	}
	enough := heights[len(heights)-1] - 2*float64(f.Dim())
	copy(x, path[slices.IndexFunc(heights, func(h float64) bool { return h >= enough })])
	return true
}

// climb writes the point y + cg, c = 1, ½, …, that is above y, g being the gradient at
// y, and returns its log density, or that of the last c.
func (f *joint) climb(next, y, g []float64) (logp float64) {
	unused := make([]float64, len(y))
	before, _ := f.LogDensity(unused, y)
	for c := 1.0; c > 1e-6; c /= 2 {
		copy(next, y)
		addScaled(next, c, g)
		var err error
		if logp, err = f.LogDensity(unused, next); err == nil && logp > before {
			return logp
		}
	}
	return before
}

// standardise puts the map at the inverse root of the information at x,
//
//	diag(prior) + Σ_j J_jᵀ D_j⁻¹ J_j,
//
// J_j the derivatives of s_j and D_j the squares of its noise's scales: 1/D_j is Fisher's
// information of a location under either noise. η of model.Pooled, standard normal, counts as
// statistics with D = 1. Rough precisions before z serve as prior, 1 in common units for
// most. It reports false where rounding forbids.
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
		for i := range len(s.Scale) + s.lead() {
			scale := 1.0
			if i < len(s.Scale) {
				scale = s.Scale[i]
			}
			if !f.slope(hub, own, x, j, i) {
				return false
			}
			for l := range hub {
				hub[l] = (hub[l] - base[l]) / scale
			}
			for l := range own {
				own[l] = (own[l] - zero[l]) / scale
			}
			addOuter(f.frame.c, hub, hub)
			addOuter(r, own, own)
			addOuter(k, hub, own)
		}
	}
	return f.frame.factor()
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
