package exact

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
)

// disperse takes a scatter that z may tell of, at counts.
func (f *levelSums) disperse(rng *rand.Rand) {
	d := f.d
	// Means are 0, of the noise of a square.
	noise := slices.Repeat([]float64{math.Sqrt(f.noiseOfProduct(0, 0))}, release.Length(d))
	part := &model.Observation{Shape: model.Shape{P: f.q, Intercept: true}, N: f.n, Kind: release.Gaussian, Z: vec(len(noise)), Scale: noise, Frame: f.obs.Frame}
	for j := range d {
		for h := j; h < d; h++ {
			v := f.toldOwn[f.levels*d+release.Index(d, j, h)-d]
			for l, count := range f.counts {
				row := f.toldOwn[l*d : (l+1)*d]
				v -= row[j] * row[h] / max(count, 1)
			}
			at := release.Index(d, j, h)
			part.Z[at], part.Scale[at] = v, math.Sqrt(f.noiseOfProduct(j, h))
		}
	}
	f.within.disperse(part, f.n, rng)
}

// startCounts are whole, sum to an n that may be, and are about what z tells, noise drawn anew.
func (f *levelSums) startCounts(rng *rand.Rand) []float64 {
	told, n := f.obs.Told.Counts, f.obs.N
	if f.obs.Count.Latent() {
		n = f.obs.Count.Most
	}
	counts := vec(f.levels)
	for i, z := range told {
		counts[f.levels-len(told)+i] = max(0, min(n, math.Round(z+model.RandNoise(f.obs.Kind, f.countScale, rng))))
	}
	if len(told) < f.levels {
		counts[0] = n - floats.Sum(counts[1:])
	}
	sum := floats.Sum(counts)
	if f.obs.Count.Latent() {
		n = max(f.obs.Count.Least, min(f.obs.Count.Most, sum))
	}
	left := n
	for l, c := range counts {
		counts[l] = math.Floor(c * n / max(sum, 1))
		left -= counts[l]
	}
	counts[floats.MaxIdx(counts)] += left
	return counts
}

// takeScatter takes counts, and D of W. It reports false where rounding forbids.
func (f *levelSums) takeScatter(counts, w []float64) (ok bool) {
	d, to := f.d, f.within.d
	f.take(counts)
	for i := range d {
		for j := range i + 1 {
			to[i*d+j] = w[i*d+j] / f.n
		}
	}
	return dense.Cholesky(to, d)
}

// placeSums takes F of sums, and writes its coordinates.
func (f *levelSums) placeSums(x, sums []float64) {
	for l, root := range f.law.roots {
		own := f.sums[l*f.d : (l+1)*f.d]
		for j := range own {
			if own[j] = sums[l*f.d+j] / root; j < f.free && !f.none(l) {
				_, precision, centre := f.wide(l, j)
				x[f.sumsAt+l*f.free+j] = (own[j] - centre/precision) * math.Sqrt(precision)
			}
		}
	}
}

// placeRows writes the coordinates of D_x.
func (f *levelSums) placeRows(x []float64) {
	at := f.rowsAt()
	for i := range f.q {
		f.columns.placeRow(x[at:at+i+1], f.within.d, i)
		at += i + 1
	}
}
