package exact

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/nuts"
	"github.com/dpreg/dpreg/release"
)

// moveCounts proposes, once a level, to take rows from one level to another: so many, of an exponential
// law about the noise's scale, with the same probability either way. What is held is, one time in two,
//
//   - the coordinates: F is then as z and the prior have it at the new counts, whatever noise hides;
//   - the sums S within levels and products P of all columns but the dummies, which noise tells: the
//     scatter within levels is P − Σ_l S_lS_lᵀ/n_l at the new counts, and in (S, P) the density is that in
//     (F, D), d = q + 1 columns, y among them, over ∏_l n_l^{d/2} ∏_i D_ii^{d−i}.
func (f *byLevel) moveCounts(k *nuts.Sampler, rng *rand.Rand) {
	x, grad := k.Proposal()
	now, moved := k.LogDensity(), false
	counts, before := slices.Clone(f.counts), make([]float64, len(x))
	for range f.levels {
		from, to := rng.IntN(f.levels), rng.IntN(f.levels-1)
		if to >= from {
			to++
		}
		rows, held := 1+math.Floor(f.obs.Scale[0]*rng.ExpFloat64()), rng.IntN(2) == 0
		if counts[from] < rows {
			continue
		}
		copy(before, x)
		by, ok := 0.0, true
		if held {
			f.take(counts)
			f.value(x)
			by = -f.inSums(x)
			counts[from], counts[to] = counts[from]-rows, counts[to]+rows
			ok = f.resum(x, counts)
		} else {
			counts[from], counts[to] = counts[from]-rows, counts[to]+rows
			f.take(counts)
		}
		after := 0.0
		if ok {
			after, ok = f.value(x)
		}
		if ok && held {
			by += f.inSums(x)
		}
		if ok && rng.Float64() < math.Exp(after-now+by) {
			now, moved = after, true
			continue
		}
		copy(x, before)
		counts[from], counts[to] = counts[from]+rows, counts[to]-rows
	}
	f.take(counts)
	if !moved {
		return
	}
	if _, ok := f.value(x); !ok {
		k.Fail(errRounding)
		return
	}
	f.slope(grad, x)
	k.MoveTo(x, now, grad)
}

// inSums is what takes the log density in x to that in (S, P), where value was last.
func (f *byLevel) inSums(x []float64) (log float64) {
	d := float64(f.q + 1)
	log, _ = f.set(x)
	log = -log
	for _, root := range f.law.roots {
		log -= d * math.Log(root)
	}
	for i, square := range f.columns.logSquare {
		log -= 0.5 * (d - float64(i)) * square
	}
	return log
}

// resum writes the coordinates of the sums where value was last at other counts, which it takes. It
// reports false where no such counts have them.
func (f *byLevel) resum(x, counts []float64) bool {
	n, m, d, t := f.obs.N, f.m, f.q+1, f.statistics
	t.vector(f.s)
	told := f.obs.Told.Of[len(f.obs.Told.Counts):]
	sums := make([]float64, f.levels*d)
	for i := range sums {
		sums[i] = told[i].Value(f.s, n)
	}
	f.take(counts)
	w := f.within.d
	for i := range d {
		for j := range i + 1 {
			v := f.s[release.Index(m, f.k+j, f.k+i)]
			for l, root := range f.law.roots {
				v -= sums[l*d+i] * sums[l*d+j] / (root * root)
			}
			w[i*d+j] = v / n
		}
	}
	if !dense.Cholesky(w, d) {
		return false
	}
	row := t.d[(m-1)*m : m*m] // of y
	copy(row[f.k:], w[f.q*d:])
	f.placeRows(x)
	mean := 0.0
	clear(row[:f.k])
	for l, root := range f.law.roots {
		for j := range f.q {
			_, precision, centre := f.wide(l, j)
			x[l*f.q+j] = (sums[l*d+j]/root - centre/precision) * math.Sqrt(precision)
		}
		v := sums[l*d+f.q] / root
		mean += f.mean[l] * v
		for c, weights := range f.across {
			row[c] += weights[l] * v
		}
	}
	f.setSums(x)
	square := f.columns.square[f.q]
	x[f.meanAt()] = (mean - f.yAt) * math.Sqrt(f.yPer+1/(f.yFixed+f.yRate*square))
	t.mean[m-1] = mean
	for j := range m - 1 {
		f.products[j] = f.told[j] - mean*(t.mean[j]+f.shift[j])
	}
	if _, ok := f.y.prepare(t.d, m, f.products, square); !ok {
		return false
	}
	f.y.coordinates(f.yRow(x)[:m-1], row[:m-1])
	return true
}

// placeRows writes the coordinates of D_x and D_yy within, and leaves what else it has of y out.
func (f *byLevel) placeRows(x []float64) {
	d := f.q + 1
	placed := make([]float64, f.columns.end())
	c := *f.columns // place writes coordinates of means, too
	c.origin, c.linear, c.fixed, c.per = make([]float64, d), slices.Repeat([]float64{1}, d), slices.Repeat([]float64{1}, d), make([]float64, d)
	c.place(placed, f.within)
	copy(x[f.rowsAt():f.meanAt()], placed[d:])
	f.yRow(x)[f.m-1] = placed[len(placed)-1]
	clear(f.within.d[f.q*d : f.q*d+f.q])
}
