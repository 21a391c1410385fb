package audit

import (
	"fmt"
	"math"

	"github.com/dpreg/dpreg/release"
)

// tally is what is counted over trials.
type tally struct {
	guesses []guess // where there are no limits yet
	scores  []score

	trials, misstated, off int
	low                    [2][lowValues]int // the last bits of statistics, of each data set
	noise                  [][]int           // entry, cell
	pairs                  [][]int           // pair of entries, cell of one × cell of the other
	keys                   [][2]float64      // the noise on two entries of each release
	last                   []int             // the trial before: its cells
}

// lowValues is the number of values of the bits that are looked at.
const lowValues = 64

// newTally has room for the pairs (i, j), i < j, of one release, then for each entry
// and itself in the release before.
func (b *bench) newTally(limits []float64) *tally {
	t := &tally{scores: make([]score, len(limits))}
	for _, c := range b.fine {
		t.noise = append(t.noise, make([]int, len(c.probability)))
	}
	for i, c := range b.quarter {
		for _, other := range b.quarter[i+1:] {
			t.pairs = append(t.pairs, make([]int, len(c.probability)*len(other.probability)))
		}
	}
	for _, c := range b.quarter {
		t.pairs = append(t.pairs, make([]int, len(c.probability)*len(c.probability)))
	}
	return t
}

// observe takes one release, of the data set chosen.
func (b *bench) observe(t *tally, r *release.Release, chosen int, limits []float64) error {
	if r.Dim() != b.Columns {
		return fmt.Errorf("it has %d columns, not %d", r.Dim(), b.Columns)
	}
	z := r.Statistics.Vector()
	t.trials++
	if r.Noise != b.noise || r.Privacy == nil || *r.Privacy != b.Privacy || b.counted() != (r.NNoise == b.noise.Scale) {
		t.misstated++
	}
	for _, x := range z {
		units := x / b.noise.Lattice
		if units != math.Floor(units) {
			t.off++
		}
		t.low[chosen][int64(math.Floor(units))&(lowValues-1)]++
	}
	if b.counted() {
		z = append([]float64{float64(r.N)}, z...)
	}
	t.guess(guess{b.ratio(z), chosen == 0}, limits)
	b.compare(t, z, b.sides[chosen].sums)
	return nil
}

// ratio is the log-likelihood ratio of the first data set to the second.
func (b *bench) ratio(z []float64) float64 {
	sum := 0.0
	for i, l := range b.laws {
		sum += l.logRatio(z[i]-b.sides[0].sums[i], z[i]-b.sides[1].sums[i])
	}
	if b.Noise == release.Laplace {
		sum /= b.noise.Scale
	}
	return sum
}

func (t *tally) guess(g guess, limits []float64) {
	if limits == nil {
		t.guesses = append(t.guesses, g)
	}
	for i, c := range limits {
		t.scores[i].add(g, c)
	}
}

// compare puts the noise into cells, each entry's and those of pairs.
func (b *bench) compare(t *tally, z, sums []float64) {
	now := make([]int, len(z))
	for i := range z {
		units := (z[i] - sums[i]) / b.laws[i].unit
		t.noise[i][b.fine[i].find(units)]++
		now[i] = b.quarter[i].find(units)
	}
	pair := 0
	for i := range now {
		for j := i + 1; j < len(now); j++ {
			t.pairs[pair][now[i]*len(b.quarter[j].probability)+now[j]]++
			pair++
		}
	}
	for i := range now {
		if t.last != nil {
			t.pairs[pair][t.last[i]*len(b.quarter[i].probability)+now[i]]++
		}
		pair++
	}
	t.last = now
	k := len(z) - 2 // n, whose noise is coarse, is not among the last two
	t.keys = append(t.keys, [2]float64{z[k] - sums[k], z[k+1] - sums[k+1]})
}

// merge adds another tally, in whatever order.
func (t *tally) merge(other *tally) {
	t.guesses = append(t.guesses, other.guesses...)
	t.keys = append(t.keys, other.keys...)
	t.trials, t.misstated, t.off = t.trials+other.trials, t.misstated+other.misstated, t.off+other.off
	for i, s := range other.scores {
		t.scores[i].correct += s.correct
		t.scores[i].wrong += s.wrong
		t.scores[i].trials += s.trials
	}
	for i := range t.low {
		addTo(t.low[i][:], other.low[i][:])
	}
	for i := range t.noise {
		addTo(t.noise[i], other.noise[i])
	}
	for i := range t.pairs {
		addTo(t.pairs[i], other.pairs[i])
	}
}

func addTo(dst, src []int) {
	for i, n := range src {
		dst[i] += n
	}
}
