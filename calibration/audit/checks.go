package audit

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

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
func (t *tally) checks(b *bench) []Check {
	return []Check{
		count("claims", t.misstated, "%d releases state another privacy or noise than the claim calls for"),
		count("lattice", t.off, "%d statistics are no multiple of the lattice's spacing: noise that is rounded like the sum betrays it"),
		count("repeated", t.repeated(), "%d releases have the noise of another one: two such give away what is under it"),
		test("law", t.marginals(b), "an entry's noise does not have the law that the claim calls for"),
		test("independence", t.dependence(b), "the noise on an entry tells of that on another one, or in the next release"),
		test("low bits", t.lowBits(), "the last bits of the statistics are not uniform: their support tells of the sum"),
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

func (t *tally) marginals(b *bench) []float64 {
	p := make([]float64, len(t.noise))
	for i, counts := range t.noise {
		p[i] = pearson(counts, b.fine[i].probability)
	}
	return p
}

func (t *tally) dependence(b *bench) []float64 {
	var p []float64
	add := func(first, second cells) {
		var joint []float64
		for _, x := range first.probability {
			for _, y := range second.probability {
				joint = append(joint, x*y)
			}
		}
		p = append(p, pearson(t.pairs[len(p)], joint))
	}
	for i, c := range b.quarter {
		for _, other := range b.quarter[i+1:] {
			add(c, other)
		}
	}
	for _, c := range b.quarter {
		add(c, c)
	}
	return p
}

func (t *tally) lowBits() []float64 {
	uniform := slices.Repeat([]float64{1. / lowValues}, lowValues)
	return []float64{pearson(t.low[0][:], uniform), pearson(t.low[1][:], uniform)}
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
