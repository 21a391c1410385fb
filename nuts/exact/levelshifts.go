package exact

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/dpreg/dpreg/internal/dense"
)

// levelShifts moves rows between levels, and to and from outside, given all parameters, at a cost of O(d³): of the d columns v = (x, y),
// with means m_l and covariance Σ within levels, sums S_l and scatter W have
//
//	S_l ~ N(n_lm_l, n_lΣ),   W ~ Wishart(n − L, Σ),   P = W + Σ_l S_lS_lᵀ/n_l,
//
// and z is about n_l, S_l and P. Levels of no rows, whose S is 0, stay. In a frame S and W are in the units of
// coordinates, v′, and what is told in those of noise (levelUnits). Where y is of a family its sums have the law of
// index in place of the normal one, which at other counts, but means held, is of the same moments.
type levelShifts struct {
	*levelSums
	counts, sums, w []float64 // n_l; S, a row of d a level; W
	now             []float64 // what is told of them
	root            []float64 // of T
	logDet, logCov  float64   // log|W|, log|Σ|
	n, ofRows       float64   // n, and what a latent one has
	logY            float64   // of index
	logP, triedP    []float64 // log p(z | told) of parts of the noise, now and as tried
	tried           []int     // parts that were

	try, factor, dev, moved, slope []float64
}

func newLevelShifts(f *levelSums) *levelShifts {
	s := &levelShifts{levelSums: f, counts: slices.Clone(f.counts), n: f.n, sums: slices.Clone(f.own[:f.levels*f.d]), now: slices.Clone(f.told),
		root: slices.Clone(f.tau), w: vec(f.d * f.d), try: vec(f.d * f.d), factor: vec(f.d * f.d), dev: vec(f.q),
		moved: vec(len(f.told)), slope: vec(len(f.told))}
	for i := range f.obs.Told.Parts {
		s.logP = append(s.logP, f.noise.Part(s.slope, s.now, i))
	}
	s.triedP = slices.Clone(s.logP)
	for i, v := range f.within.w {
		s.w[i] = f.n * v
	}
	dense.Cholesky(s.root, f.q)
	s.logCov = dense.LogDet(s.root, f.q) + math.Log(f.params.Sigma2)
	for _, b := range f.units.b {
		s.logCov -= 2 * math.Log(b)
	}
	s.logDet, _ = s.logDetOf(s.w)
	s.ofRows = s.rowsOf(f.n)
	if f.family != nil {
		s.logY, _ = f.family.value()
	}
	return s
}

func (s *levelShifts) logDetOf(w []float64) (float64, bool) {
	copy(s.factor, w)
	if !dense.Cholesky(s.factor, s.d) {
		return 0, false
	}
	return dense.LogDet(s.factor, s.d), true
}

// length is eᵀΣ⁻¹e of e = by·v̄ − m_l, where v̄ = S_l/n_l: in x and in y − β_xᵀx, as the prior has them, of a family in x.
func (s *levelShifts) length(l int, by float64) float64 {
	q, theta, b, c := s.q, s.params.Theta, s.units.b, s.units.c
	v := s.sums[l*s.d : (l+1)*s.d]
	by /= s.counts[l]
	rest := by*b[q]*v[q] + c[q] - theta[0]
	for i, t := range theta[1 : 1+s.k] {
		if rest += t; s.obs.Shape.Has(l, i) {
			rest -= 2 * t
		}
	}
	for j, mu := range s.law.mu[l] {
		x := by*b[j]*v[j] + c[j]
		s.dev[j] = x - mu
		rest -= theta[1+s.k+j] * x
	}
	dense.SolveLower(s.root, q, s.dev)
	if s.family != nil {
		return dot(s.dev, s.dev)
	}
	return dot(s.dev, s.dev) + rest*rest/s.params.Sigma2
}

// scatter is what n and W have of the log density: of a latent n beside the power of |W| what scatterOf has, and that of |Σ|.
func (s *levelShifts) scatter(n, logDet float64) float64 {
	log := 0.5 * (s.freedom(n) - float64(s.d+1)) * logDet
	if n == s.n {
		return log + s.ofRows
	}
	return log + s.rowsOf(n)
}

// rowsOf is what a latent n has.
func (s *levelShifts) rowsOf(n float64) float64 {
	if !s.obs.Count.Latent() {
		return 0
	}
	return s.scatterOf(n, s.empty) - 0.5*n*s.logCov
}

// begin begins a try.
func (s *levelShifts) begin() {
	copy(s.moved, s.now)
	s.tried = s.tried[:0]
}

// holdSums holds S and P, which noise tells: W follows, and
//
//	log p(n_1 … n_L | all else) = Σ_l (−½ n_l m_lᵀΣ⁻¹m_l − ½d log n_l + log p(z_l | n_l)) + ½(n − L − d − 1) log|W|
//
// beside what a latent n has, see scatter.
func (s *levelShifts) holdSums(by rowShift, rng *rand.Rand) bool {
	d, n := s.d, s.n+by.outside(s.levels)
	copy(s.try, s.w)
	s.begin()
	change := -s.scatter(s.n, s.logDet)
	for _, l := range s.levelsOf(by) {
		now, after := s.counts[l], s.counts[l]+by.more(l)
		change -= 0.5 * ((after-now)*s.length(l, 0) + float64(d)*math.Log(after/now))
		s.tellCount(l, after)
		change += s.noiseOf(s.parts[l])
		sums := s.sums[l*d : (l+1)*d]
		for i, v := range sums {
			addScaled(s.try[i*d:i*d+i+1], v*(1/now-1/after), sums[:i+1])
		}
	}
	after, ok := s.logDetOf(s.try)
	if !ok || !(rng.Float64() < math.Exp(change+s.scatter(n, after))) {
		return false
	}
	s.move(by)
	s.w, s.try, s.logDet = s.try, s.w, after
	return true
}

// holdMeans holds W and the means v̄_l = S_l/n_l: S and P follow, and
//
//	log p(n_1 … n_L | all else) = Σ_l (½d log n_l − ½ n_l(v̄_l − m_l)ᵀΣ⁻¹(v̄_l − m_l)) + log p(z | n, S, P)
//
// beside what a latent n has.
func (s *levelShifts) holdMeans(by rowShift, rng *rand.Rand) bool {
	d, first, n := s.d, len(s.obs.Told.Counts), s.n+by.outside(s.levels)
	s.begin()
	change := s.scatter(n, s.logDet) - s.scatter(s.n, s.logDet)
	for _, l := range s.levelsOf(by) {
		now, after := s.counts[l], s.counts[l]+by.more(l)
		change += 0.5 * (float64(d)*math.Log(after/now) - (after-now)*s.length(l, 1))
		s.tellCount(l, after)
		sums, at := s.now[first+l*d:first+(l+1)*d], first+s.levels*d
		for j, v := range sums {
			s.moved[first+l*d+j] = v * after / now
			for _, u := range sums[j:] {
				s.moved[at] += (after - now) / (now * now) * v * u
				at++
			}
		}
		change += s.noiseOf(s.parts[l])
	}
	change += s.noiseOf(s.ofProducts)
	if s.family != nil && !s.takeMeans(by, change, rng) {
		return false
	}
	if s.family == nil && !(rng.Float64() < math.Exp(change)) {
		return false
	}
	for _, l := range s.levelsOf(by) {
		more := (s.counts[l] + by.more(l)) / s.counts[l]
		for j := range d {
			s.sums[l*d+j] *= more
		}
	}
	s.move(by)
	return true
}

// move takes what was tried.
func (s *levelShifts) move(by rowShift) {
	by.apply(s.counts)
	if more := by.outside(s.levels); more != 0 {
		s.n += more
		s.ofRows = s.rowsOf(s.n)
	}
	for _, i := range s.tried {
		s.logP[i] = s.triedP[i]
	}
	s.now, s.moved = s.moved, s.now
}

// tellCount writes the count of a level to what would be told, unless n, which is public, and another level's tell it.
func (s *levelShifts) tellCount(l int, count float64) {
	if at := l - s.levels + len(s.obs.Told.Counts); at >= 0 {
		s.moved[at] = count
	}
}

// noiseOf is by how much log p(z | told) of parts of the noise would change.
func (s *levelShifts) noiseOf(parts []int) (change float64) {
	for _, i := range parts {
		s.triedP[i] = s.noise.Part(s.slope, s.moved, i)
		change += s.triedP[i] - s.logP[i]
	}
	s.tried = append(s.tried, parts...)
	return change
}
