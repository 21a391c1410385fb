package exact

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/release"
)

// Rows are proposed to go from one level to another, so many, of a law that hangs on the noise's scale alone,
// with the same probability either way; where n is latent also to come from outside, or to go there.

// rowShift is such a proposal.
type rowShift struct {
	from, to int // levels; behind the last lies what is outside
	rows     float64
}

func (f *levelSums) propose(rng *rand.Rand) rowShift {
	places := f.levels + f.latent()
	s := rowShift{from: rng.IntN(places), to: rng.IntN(places - 1)}
	if s.to >= s.from {
		s.to++
	}
	s.rows = 1 + math.Floor(math.Exp(f.logScale*rng.Float64())*rng.ExpFloat64())
	return s
}

// latent is 1 where n is latent, else 0.
func (f *levelSums) latent() int { return number.Indicator[int](f.obs.Count.Latent()) }

// times is how often to propose, so often for each level; of one level of a public n nothing moves.
func (f *levelSums) times(each int) int {
	if f.levels+f.latent() == 1 {
		return 0
	}
	return each * f.levels
}

// more is what a level gains.
func (s rowShift) more(l int) float64 {
	switch l {
	case s.from:
		return -s.rows
	case s.to:
		return s.rows
	}
	return 0
}

// levelsOf are those that a shift moves rows of.
func (f *levelSums) levelsOf(s rowShift) []int {
	f.both = f.both[:0]
	for _, l := range [2]int{s.from, s.to} {
		if l < f.levels {
			f.both = append(f.both, l)
		}
	}
	return f.both
}

// outside is what n gains.
func (s rowShift) outside(levels int) float64 { return -s.more(levels) }

// allows tells whether counts of which a level keeps so many rows can be, and n has such rows.
func (f *levelSums) allows(s rowShift, counts []float64, n, least float64) bool {
	if s.from < f.levels && counts[s.from] < s.rows+least || s.to < f.levels && counts[s.to] < least {
		return false
	}
	more := s.outside(f.levels)
	return more == 0 || n+more >= f.obs.Count.Least && n+more <= f.obs.Count.Most
}

// apply moves the rows.
func (s rowShift) apply(counts []float64) {
	for l := range counts {
		counts[l] += s.more(l)
	}
}

// writeRows writes n where it is latent, and tells how many numbers that is.
func (f *levelSums) writeRows(dst []float64) int {
	if f.latent() > 0 {
		dst[0] = f.n
	}
	return f.latent()
}

// write writes the covariates' law, of one release, and n where it is latent.
func (f *levelSums) write(dst []float64) (n int) {
	if f.drawn {
		n = f.params.WriteCovariates(dst)
	}
	n += f.dispersion.write(dst[n:])
	return n + f.writeRows(dst[n:])
}

// countMover is a part of a density that has levelSums, in coordinates x.
type countMover interface {
	set(x []float64) bool                         // takes F and D, and log J
	value(x []float64) (logp float64, ok bool)    // the log density
	resum(x, counts, sums, w []float64) (ok bool) // takes these, and writes coordinates of F and D
}

// tries is how often moveCounts proposes for each level. Given all parameters the scatter tells n to √(2n/d), which is as
// far as sumCounts moves it at once: where noise on a latent n is wider, n wanders slowly. A try costs half a leapfrog.
func (f *levelSums) tries() int {
	d, levels := float64(f.d), float64(f.levels)
	if f.latent() > 0 && levels*f.obs.Told.Variance(0) > 2*rowsTold(f.obs)/d {
		return 20
	}
	return 1
}

// moveCounts proposes for each level, at x of a log density, T being integrated out, and where there is no hub θ.
// What is held is, one time in two,
//
//   - the coordinates: F is then as z and the prior have it at the new counts, whatever noise hides;
//   - the sums S within levels and products P of all columns but the dummies, which noise tells, and the
//     coordinates of all else: the scatter within levels is W = P − Σ_l S_lS_lᵀ/n_l at the new counts, and in
//     (S, P) the density is that in (F, D) over n^{½d(d+1)} ∏_l n_l^{d/2} ∏_i D_ii^{d−i}.
//
// It writes the new coordinates to x, and tells whether anything moved.
func (f *levelSums) moveCounts(c countMover, x []float64, now float64, rng *rand.Rand) (moved bool) {
	counts, last, before := slices.Clone(f.counts), slices.Clone(f.counts), vec(len(x))
	for range f.times(f.tries()) {
		s := f.propose(rng)
		held := rng.IntN(2) == 0
		least := 0.0
		if held && f.family == nil { // a level of no rows has no sum to hold
			least = 1
		}
		if !f.allows(s, counts, floats.Sum(counts), least) {
			continue
		}
		copy(before, x)
		by, ok := 0.0, true
		if held {
			f.take(counts)
			c.set(x)
			f.tell()
			by = -f.inSums()
		}
		copy(last, counts)
		s.apply(counts)
		if held {
			ok = c.resum(x, counts, f.own, f.scatter(counts))
		} else {
			f.take(counts)
		}
		after := 0.0
		if ok {
			after, ok = c.value(x)
		}
		if ok && held {
			by += f.inSums()
		}
		if ok && rng.Float64() < math.Exp(after-now+by) {
			now, moved = after, true
			continue
		}
		copy(x, before)
		copy(counts, last)
	}
	f.take(counts)
	return moved
}

// inSums is what takes the log density in coordinates to that in (S, P), where log J was last.
func (f *levelSums) inSums() (log float64) {
	d := float64(f.d)
	log = -f.logJ - 0.5*d*(d+1)*math.Log(f.n)
	for _, root := range f.law.roots {
		log -= d * math.Log(root)
	}
	for i := range f.d {
		log -= (d - float64(i)) * math.Log(f.within.d[i*(f.q+2)])
	}
	return log
}

// scatter is W of what is told at other counts.
func (f *levelSums) scatter(counts []float64) []float64 {
	d := f.d
	sums, products := f.own[:f.levels*d], f.own[f.levels*d:]
	w := vec(d * d)
	for i := range d {
		for j := range i + 1 {
			w[i*d+j] = products[release.Index(d, j, i)-d]
			for l, c := range counts {
				w[i*d+j] -= sums[l*d+i] * sums[l*d+j] / max(c, emptyLevel)
			}
		}
	}
	return w
}

// shifts is how often sumCounts proposes for each level.
const shifts = 40

// sumCounts moves counts given all parameters, which were drawn where value was last, at x, by proposals of
// levelShifts. It writes the new coordinates to x, and tells whether there are such.
func (f *levelSums) sumCounts(c countMover, x []float64, rng *rand.Rand) (moved bool) {
	s := newLevelShifts(f)
	for range f.times(shifts) {
		by := f.propose(rng)
		if !f.allows(by, s.counts, s.n, 1) {
			continue
		}
		if f.family == nil && rng.IntN(2) == 0 {
			moved = s.holdSums(by, rng) || moved
		} else {
			moved = s.holdMeans(by, rng) || moved
		}
	}
	if !moved {
		return false
	}
	counts, before := slices.Clone(f.counts), slices.Clone(x)
	if !c.resum(x, s.counts, s.sums, s.w) {
		f.take(counts)
		copy(x, before)
		return false
	}
	f.prior.see(f.within, f.sums, f.law.roots)
	f.law.place(x[f.zetaAt():f.freeAt()], f.prior.statistics, f.prior.sums)
	f.scales.place(x[f.freeAt():f.end()], f.within)
	return true
}
