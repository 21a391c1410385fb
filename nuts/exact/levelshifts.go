package exact

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/release"
)

// levelShifts moves rows between levels given all parameters, at a cost of O(d³): of the d columns v = (x, y),
// with means m_l and covariance Σ within levels, sums S_l and scatter W have
//
//	S_l ~ N(n_lm_l, n_lΣ),   W ~ Wishart(n − L, Σ),   P = W + Σ_l S_lS_lᵀ/n_l,
//
// and z is about n_l, S_l and P. Levels of no rows, whose S is 0, stay.
type levelShifts struct {
	*byLevel
	d               int
	counts, sums, w []float64 // n_l; S, a row of d a level; W
	products        []float64 // P, as told
	root            []float64 // of T
	logDet          float64   // log|W|

	try, factor, dev []float64
}

func newLevelShifts(f *byLevel) *levelShifts {
	d, first := f.q+1, len(f.obs.Told.Counts)
	end := first + f.levels*d
	s := &levelShifts{byLevel: f, d: d, counts: slices.Clone(f.counts), sums: slices.Clone(f.told[first:end]), products: slices.Clone(f.told[end:]),
		root: slices.Clone(f.tau), w: make([]float64, d*d), try: make([]float64, d*d), factor: make([]float64, d*d), dev: make([]float64, f.q)}
	for i, v := range f.within.w {
		s.w[i] = f.obs.N * v
	}
	dense.Cholesky(s.root, f.q)
	s.logDet, _ = s.logDetOf(s.w)
	return s
}

func (s *levelShifts) logDetOf(w []float64) (float64, bool) {
	copy(s.factor, w)
	if !dense.Cholesky(s.factor, s.d) {
		return 0, false
	}
	return dense.LogDet(s.factor, s.d), true
}

// length is eᵀΣ⁻¹e of e = by·v̄ − m_l, where v̄ = S_l/n_l: in x and in y − β_xᵀx.
func (s *levelShifts) length(l int, by float64) float64 {
	q, theta := s.q, s.params.Theta
	v := s.sums[l*s.d : (l+1)*s.d]
	by /= s.counts[l]
	rest := by*v[q] - theta[0]
	for c, b := range theta[1 : 1+s.k] {
		if rest += b; c == l-1 {
			rest -= 2 * b
		}
	}
	for j, mu := range s.law.mu[l] {
		s.dev[j] = by*v[j] - mu
		rest -= by * theta[1+s.k+j] * v[j]
	}
	dense.SolveLower(s.root, q, s.dev)
	return dot(s.dev, s.dev) + rest*rest/s.params.Sigma2
}

// after is the count of one of two levels, at i.
func (s *levelShifts) after(i, l int, rows float64) float64 {
	if i == 0 {
		rows = -rows
	}
	return s.counts[l] + rows
}

// holdSums holds S and P, which noise tells: W follows, and
//
//	log p(n_1 … n_L | all else) = Σ_l (−½ n_l m_lᵀΣ⁻¹m_l − ½d log n_l + log p(z_l | n_l)) + ½(n − L − d − 1) log|W|.
func (s *levelShifts) holdSums(from, to int, rows float64, rng *rand.Rand) bool {
	d, change := s.d, 0.0
	copy(s.try, s.w)
	for i, l := range [2]int{from, to} {
		now, after := s.counts[l], s.after(i, l, rows)
		change += s.countNoise(l, after) - s.countNoise(l, now) - 0.5*((after-now)*s.length(l, 0)+float64(d)*math.Log(after/now))
		sums := s.sums[l*d : (l+1)*d]
		for i, v := range sums {
			addScaled(s.try[i*d:i*d+i+1], v*(1/now-1/after), sums[:i+1])
		}
	}
	after, ok := s.logDetOf(s.try)
	if !ok || !(rng.Float64() < math.Exp(change+0.5*(s.obs.N-float64(s.levels+d+1))*(after-s.logDet))) {
		return false
	}
	s.move(from, to, rows)
	s.w, s.try, s.logDet = s.try, s.w, after
	return true
}

// holdMeans holds W and the means v̄_l = S_l/n_l: S and P follow, and
//
//	log p(n_1 … n_L | all else) = Σ_l (½d log n_l − ½ n_l(v̄_l − m_l)ᵀΣ⁻¹(v̄_l − m_l)) + log p(z | n, S, P).
func (s *levelShifts) holdMeans(from, to int, rows float64, rng *rand.Rand) bool {
	d, change, first := s.d, 0.0, len(s.obs.Told.Counts)
	moved := s.try[:len(s.products)]
	copy(moved, s.products)
	for i, l := range [2]int{from, to} {
		now, after := s.counts[l], s.after(i, l, rows)
		change += s.countNoise(l, after) - s.countNoise(l, now) + 0.5*(float64(d)*math.Log(after/now)-(after-now)*s.length(l, 1))
		sums, at := s.sums[l*d:(l+1)*d], 0
		for j, v := range sums {
			change += s.noiseAt(first+l*d+j, v*after/now) - s.noiseAt(first+l*d+j, v)
			for _, u := range sums[j:] {
				moved[at] += (after - now) / (now * now) * v * u
				at++
			}
		}
	}
	for i, v := range moved {
		at := first + s.levels*d + i
		change += s.noiseAt(at, v) - s.noiseAt(at, s.products[i])
	}
	if !(rng.Float64() < math.Exp(change)) {
		return false
	}
	for i, l := range [2]int{from, to} {
		by := s.after(i, l, rows) / s.counts[l]
		for j := range d {
			s.sums[l*d+j] *= by
		}
	}
	copy(s.products, moved)
	s.move(from, to, rows)
	return true
}

func (s *levelShifts) move(from, to int, rows float64) {
	s.counts[from], s.counts[to] = s.counts[from]-rows, s.counts[to]+rows
}

// countNoise is log p(z_l | n_l), but for a constant; 0 where n, which is public, and another level's tell.
func (s *levelShifts) countNoise(l int, count float64) float64 {
	if at := l - s.levels + len(s.obs.Told.Counts); at >= 0 {
		return s.noiseAt(at, count)
	}
	return 0
}

// noiseAt is log p(z | value) of one of what is told, but for a constant.
func (s *levelShifts) noiseAt(at int, value float64) float64 {
	u := (s.obs.Told.Z[at] - value) / s.obs.Scale[0]
	if s.obs.Kind == release.Laplace {
		return -math.Abs(u)
	}
	return -0.5 * u * u
}
