package audit

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg/internal/parallel"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/ssp"
)

// bench is where an audit works: the two data sets, what publishes them, and the law
// that noise must have.
type bench struct {
	*Audit
	sides   [2]side
	publish [2]publisher
	noise   release.Noise // that the claim calls for: of several steps, if they were one of sensitivity 1
	see     func(r *release.Release, trial int) (*seen, error)
	laws    []law // of each entry
	fine    []cells
	quarter []cells
	// expected are the probabilities of what is counted: the noise of each entry, in fine
	// cells; of each pair of entries, and of each entry and itself in the release before, in
	// quarters; the last bits of statistics of each data set.
	expected [][]float64
}

// lowValues is the number of values of the bits that are looked at.
const lowValues = 64

func (a *Audit) open(ctx context.Context, path Path) (*bench, error) {
	b := &bench{Audit: a, sides: a.pair()}
	var err error
	for i, s := range b.sides {
		if b.publish[i], err = path(ctx, s.text); err != nil {
			return nil, err
		}
	}
	know := b.inBox
	if a.Steps > 1 {
		know = b.inSteps
	}
	if err := know(ctx); err != nil {
		return nil, err
	}
	for _, l := range b.laws {
		b.fine, b.quarter = append(b.fine, l.cells(64)), append(b.quarter, l.cells(4))
	}
	for _, c := range b.fine {
		b.expected = append(b.expected, c.probability)
	}
	b.pairs(func(i, j int) { b.expected = append(b.expected, b.quarter[i].with(b.quarter[j])) })
	uniform := slices.Repeat([]float64{1. / lowValues}, lowValues)
	b.expected = append(b.expected, uniform, uniform)
	return b, nil
}

// inBox knows releases of the sums in the box.
func (b *bench) inBox(context.Context) (err error) {
	if b.noise, err = ssp.Calibrate(b.Columns, b.Privacy, b.Noise, ssp.Exact); err != nil {
		return err
	}
	b.see = b.seeBox
	if b.counted() {
		b.laws = append(b.laws, law{b.Noise, b.noise.Scale, 1})
	}
	for range release.Length(b.Columns) {
		b.laws = append(b.laws, law{b.Noise, b.noise.Scale, b.noise.Lattice})
	}
	return nil
}

// pairs visits i < j, and then each entry and itself.
func (b *bench) pairs(visit func(i, j int)) {
	for i := range b.laws {
		for j := i + 1; j < len(b.laws); j++ {
			visit(i, j)
		}
	}
	for i := range b.laws {
		visit(i, i)
	}
}

// block is the number of trials that a worker does at once.
const block = 500

// run does trials number first to first+trials−1. Guesses are kept where limits is nil,
// else scored, at each limit.
func (b *bench) run(ctx context.Context, first, trials int, limits []float64, progress func(n int)) (*tally, error) {
	sum := b.newTally(limits)
	var mu sync.Mutex
	err := parallel.Each(ctx, b.Workers, (trials+block-1)/block, nil, func(ctx context.Context, i int) error {
		t, begin := b.newTally(limits), i*block
		n := min(block, trials-begin)
		if err := b.block(ctx, t, first+begin, n); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		sum.merge(t)
		progress(n)
		return nil
	})
	return sum, err
}

// block does trials that share a generator of coins.
func (b *bench) block(ctx context.Context, t *tally, first, trials int) error {
	coins := rand.New(rand.NewPCG(b.Seed, uint64(first)))
	for trial := first; trial < first+trials; trial++ {
		chosen := coins.IntN(2)
		r, err := b.publish[chosen](ctx, trial)
		if err == nil {
			err = b.observe(t, r, chosen)
		}
		if err != nil {
			return fmt.Errorf("release %d: %w", trial+1, err)
		}
	}
	return nil
}

// tally is what is counted over trials.
type tally struct {
	limits  []float64
	guesses []guess // where there are no limits yet
	scores  []score

	misstated, off int
	counts         [][]int      // by what is expected
	keys           [][2]float64 // the noise on two entries of each release
	last           []int        // the trial before: its quarters
}

func (b *bench) newTally(limits []float64) *tally {
	t := &tally{limits: limits, scores: make([]score, len(limits)), counts: make([][]int, len(b.expected))}
	for i, p := range b.expected {
		t.counts[i] = make([]int, len(p))
	}
	return t
}

// seen is what one release says.
type seen struct {
	misstated bool         // another privacy or noise than the claim calls for
	units     []float64    // statistics, in units of their lattice
	noise     [2][]float64 // by law, in its units, if the release is of the first data set, or of the second
	ratio     float64      // log-likelihood ratio of the first data set to the second
}

// observe takes one release, of the data set chosen.
func (b *bench) observe(t *tally, r *release.Release, chosen int) error {
	if r.Dim() != b.Columns {
		return fmt.Errorf("it has %d columns, not %d", r.Dim(), b.Columns)
	}
	s, err := b.see(r, len(t.keys))
	if err != nil {
		return err
	}
	if s.misstated {
		t.misstated++
	}
	low := t.counts[len(t.counts)-2+chosen]
	for _, units := range s.units {
		if units != math.Floor(units) {
			t.off++
		}
		low[int64(math.Floor(units))&(lowValues-1)]++
	}
	g := guess{s.ratio, chosen == 0}
	if t.limits == nil {
		t.guesses = append(t.guesses, g)
	}
	for i, c := range t.limits {
		t.scores[i].add(g, c)
	}
	b.compare(t, s.noise[chosen])
	return nil
}

func (b *bench) seeBox(r *release.Release, _ int) (*seen, error) {
	z := r.Statistics.Vector()
	s := &seen{misstated: r.Noise != b.noise || r.Privacy == nil || *r.Privacy != b.Privacy || b.counted() != (r.NNoise == b.noise.Scale)}
	for _, x := range z {
		s.units = append(s.units, x/b.noise.Lattice)
	}
	if b.counted() {
		z = append([]float64{float64(r.N)}, z...)
	}
	for i, side := range b.sides {
		for j, l := range b.laws {
			s.noise[i] = append(s.noise[i], (z[j]-side.sums[j])/l.unit)
		}
	}
	s.ratio = b.ratio(z)
	return s, nil
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

// compare puts the noise into cells, each entry's and those of pairs.
func (b *bench) compare(t *tally, noise []float64) {
	now, table := make([]int, len(noise)), 0
	for ; table < len(noise); table++ {
		t.counts[table][b.fine[table].find(noise[table])]++
		now[table] = b.quarter[table].find(noise[table])
	}
	b.pairs(func(i, j int) {
		at := now
		if i == j {
			at = t.last
		}
		if at != nil {
			t.counts[table][at[i]*len(b.quarter[j].probability)+now[j]]++
		}
		table++
	})
	t.last = now
	t.keys = append(t.keys, [2]float64(noise[len(noise)-2:])) // n, whose noise is coarse, is not among them
}

// merge adds another tally, in whatever order.
func (t *tally) merge(other *tally) {
	t.guesses = append(t.guesses, other.guesses...)
	t.keys = append(t.keys, other.keys...)
	t.misstated, t.off = t.misstated+other.misstated, t.off+other.off
	for i, s := range other.scores {
		t.scores[i].correct += s.correct
		t.scores[i].wrong += s.wrong
		t.scores[i].trials += s.trials
	}
	for i, counts := range other.counts {
		for j, n := range counts {
			t.counts[i][j] += n
		}
	}
}

// Check is a property that noise must have. Value is a number of releases or entries
// that do not have it; or, for a test of a law, the p-value, multiplied by the
// number of tests made for it.
type Check struct {
	Name    string  `json:"name"`
	Value   float64 `json:"value"`
	Passed  bool    `json:"passed"`
	Failure string  `json:"-"` // what a failure means
}

// tested is the number of checks that can fail by chance.
const tested = 3

// checks are Pearson's tests, and counts that have to be 0. A law in pieces of 1/128 of
// its probability at least, and 2000 releases, make for an expected count of 15; each
// check has FalseAlarm/tested, divided by its number of tests.
//
// Two sound releases agree in the noise on two entries with a probability of 1/16t², t the
// scale in units, which is above 2³⁵ up to MaxEpsilon: among 10⁸ of each data set, two that
// do have a probability below 1e-6.
func (b *bench) checks(t *tally) []Check {
	var p []float64
	for i, counts := range t.counts {
		p = append(p, pearson(counts, b.expected[i]))
	}
	entries, low := len(b.laws), len(p)-2
	return []Check{
		count("claims", t.misstated, "%d releases state another privacy or noise than the claim calls for"),
		count("lattice", t.off, "%d statistics are no multiple of the lattice's spacing: noise that is rounded like the sum betrays it"),
		count("repeated", t.repeated(), "%d releases have the noise of another one: two such give away what is under it"),
		test("law", p[:entries], "an entry's noise does not have the law that the claim calls for"),
		test("independence", p[entries:low], "the noise on an entry tells of that on another one, or in the next release"),
		test("low bits", p[low:], "the last bits of the statistics are not uniform: their support tells of the sum"),
	}
}

func count(name string, n int, failure string) Check {
	return Check{name, float64(n), n == 0, fmt.Sprintf(failure, n)}
}

func test(name string, p []float64, failure string) Check {
	least := min(1, slices.Min(p)*float64(len(p)))
	return Check{name, least, least >= FalseAlarm/tested, fmt.Sprintf("%s (p = %.2g)", failure, least)}
}

// repeated counts releases whose noise is that of another.
func (t *tally) repeated() int {
	keys := slices.Clone(t.keys)
	slices.SortFunc(keys, func(a, b [2]float64) int { return slices.Compare(a[:], b[:]) })
	return len(keys) - len(slices.Compact(keys))
}

// pearson returns the p-value of the chi-square test of counts; 1 for a single cell.
func pearson(counts []int, probability []float64) float64 {
	if len(counts) == 1 {
		return 1
	}
	n, sum := 0, 0.0
	for _, c := range counts {
		n += c
	}
	for i, c := range counts {
		e := float64(n) * probability[i]
		sum += (float64(c) - e) * (float64(c) - e) / e
	}
	return distuv.ChiSquared{K: float64(len(counts) - 1)}.Survival(sum)
}
