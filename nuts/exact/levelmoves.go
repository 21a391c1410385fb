package exact

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/nuts"
	"github.com/dpreg/dpreg/release"
)

// Rows are proposed to go from one level to another, so many, of a law that hangs on the noise's scale alone,
// with the same probability either way.

// shift draws such a proposal.
func (f *byLevel) shift(rng *rand.Rand) (from, to int, rows float64) {
	from, to = rng.IntN(f.levels), rng.IntN(f.levels-1)
	if to >= from {
		to++
	}
	return from, to, 1 + math.Floor(math.Pow(f.countScale, rng.Float64())*rng.ExpFloat64())
}

// moveCounts proposes once for each level, θ and T being integrated out. What is held is, one time in two,
//
//   - the coordinates: F is then as z and the prior have it at the new counts, whatever noise hides;
//   - the sums S within levels and products P of all columns but the dummies, which noise tells, and the
//     coordinates of all else: the scatter within levels is W = P − Σ_l S_lS_lᵀ/n_l at the new counts, and in
//     (S, P) the density is that in (F, D) over ∏_l n_l^{d/2} ∏_i D_ii^{d−i}.
func (f *byLevel) moveCounts(k *nuts.Sampler, rng *rand.Rand) {
	x, grad := k.Proposal()
	now, moved := k.LogDensity(), false
	counts, before := slices.Clone(f.counts), make([]float64, len(x))
	for range f.levels {
		from, to, rows := f.shift(rng)
		held := rng.IntN(2) == 0
		if counts[from] < rows {
			continue
		}
		copy(before, x)
		by, ok := 0.0, true
		if held {
			f.take(counts)
			f.logJ, _ = f.set(x)
			f.tell()
			by = -f.inSums()
		}
		counts[from], counts[to] = counts[from]-rows, counts[to]+rows
		if held {
			ok = f.resum(x, counts, f.own, f.scatter(counts))
		} else {
			f.take(counts)
		}
		after := 0.0
		if ok {
			after, ok = f.value(x)
		}
		if ok && held {
			by += f.inSums()
		}
		if ok && rng.Float64() < math.Exp(after-now+by) {
			now, moved = after, true
			continue
		}
		copy(x, before)
		counts[from], counts[to] = counts[from]+rows, counts[to]-rows
	}
	f.take(counts)
	if moved {
		f.moveTo(k, x, grad)
	}
}

// inSums is what takes the log density in coordinates to that in (S, P), where log J was last.
func (f *byLevel) inSums() (log float64) {
	d := float64(f.q + 1)
	log = -f.logJ
	for _, root := range f.law.roots {
		log -= d * math.Log(root)
	}
	for i, square := range f.columns.logSquare {
		log -= 0.5 * (d - float64(i)) * square
	}
	return log
}

// scatter is W of what is told at other counts.
func (f *byLevel) scatter(counts []float64) []float64 {
	d := f.q + 1
	sums, products := f.own[:f.levels*d], f.own[f.levels*d:]
	w := make([]float64, d*d)
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

// moveTo makes x the chain's position.
func (f *byLevel) moveTo(k *nuts.Sampler, x, grad []float64) {
	now, ok := f.value(x)
	if !ok {
		k.Fail(errRounding)
		return
	}
	f.slope(grad, x)
	k.MoveTo(x, now, grad)
}

// shifts is how often sumCounts proposes for each level.
const shifts = 40

// sumCounts draws all parameters, and moves counts given these by proposals of levelShifts.
func (f *byLevel) sumCounts(k *nuts.Sampler, rng *rand.Rand) {
	x, grad := k.Proposal()
	if _, ok := f.value(x); !ok || !f.drawGiven(rng) {
		k.Fail(errRounding)
		return
	}
	s, moved := newLevelShifts(f), false
	for range shifts * f.levels {
		from, to, rows := f.shift(rng)
		if s.counts[from] <= rows || s.counts[to] < 1 {
			continue
		}
		if rng.IntN(2) == 0 {
			moved = s.holdSums(from, to, rows, rng) || moved
		} else {
			moved = s.holdMeans(from, to, rows, rng) || moved
		}
	}
	if before := slices.Clone(f.counts); moved && !f.resum(x, s.counts, s.sums, s.w) {
		f.take(before)
	} else if moved {
		f.prior.see(f.within, f.sums, f.law.roots)
		f.law.place(x[f.zetaAt():f.freeAt()], f.prior.statistics, f.prior.sums)
		f.scales.place(x[f.freeAt():f.ellAt()], f.lambda, f.within.d, f.q+1)
		x[f.ellAt()] = (f.ell - f.logScale - 0.5*math.Log(f.columns.square[f.q])) * f.root
		f.moveTo(k, x, grad)
	}
}

// resum takes counts, and writes the coordinates of F and D that sums and W give. It reports false where
// rounding forbids.
func (f *byLevel) resum(x, counts, sums, w []float64) bool {
	q, d, to := f.q, f.q+1, f.within.d
	for i := range d {
		for j := range i + 1 {
			to[i*d+j] = w[i*d+j] / f.obs.N
		}
	}
	f.take(counts)
	if !dense.Cholesky(to, d) {
		return false
	}
	row := slices.Clone(to[q*d : q*d+q]) // of y
	f.placeRows(x)
	copy(f.products, f.toldY)
	for l, root := range f.law.roots {
		own := f.sums[l*d : (l+1)*d]
		for j := range own {
			_, precision, centre := f.wide(l, j)
			own[j] = sums[l*d+j] / root
			x[l*d+j] = (own[j] - centre/precision) * math.Sqrt(precision)
		}
		addScaled(f.products, -own[q]/f.obs.N, own[:q])
	}
	if _, ok := f.y.prepare(to, d, f.products, f.columns.square[q]); !ok {
		return false
	}
	f.y.coordinates(f.yRow(x)[:q], row)
	return true
}

// placeRows writes the coordinates of D_x and D_yy, and leaves what else it has of y out.
func (f *byLevel) placeRows(x []float64) {
	d := f.q + 1
	placed := make([]float64, f.columns.end())
	c := *f.columns // place writes coordinates of means, too
	c.origin, c.linear, c.fixed, c.per = make([]float64, d), slices.Repeat([]float64{1}, d), slices.Repeat([]float64{1}, d), make([]float64, d)
	c.place(placed, f.within)
	copy(x[f.rowsAt():f.yAt()], placed[d:])
	f.yRow(x)[f.q] = placed[len(placed)-1]
	clear(f.within.d[f.q*d : f.q*d+f.q])
}
