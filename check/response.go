package check

import (
	"math/rand/v2"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/model"
)

// responseLaw is that of the sums by the levels of a response: linear in the sums of its family, all rows together.
type responseLaw struct {
	law
	of      *model.ToldOfResponse
	from    *model.Units // to scaled units
	p       int
	counts  int       // of levels, that have noise
	s       []float64 // of the family
	linear  []float64 // that map, without n, a row an entry
	cov, by []float64
}

func newResponseLaw(obs *model.Observation, all law) *responseLaw {
	q, n, told := len(obs.Told.Z), len(obs.Z), obs.Told.Response
	l := &responseLaw{law: all, of: told, p: obs.Shape.P, counts: len(obs.Told.Counts), from: model.Identity(obs.Shape.M()).In(told.Frame).Inverse(),
		s: make([]float64, n), linear: make([]float64, q*n), cov: make([]float64, n*n), by: make([]float64, q*n)}
	column := make([]float64, q)
	for j := range n {
		clear(l.s)
		l.s[j] = 1
		l.take(column, 0)
		for i, v := range column {
			l.linear[i*n+j] = v
		}
	}
	return l
}

// take writes the sums that have noise of those in s, of n rows, which it spends.
func (l *responseLaw) take(dst []float64, n float64) {
	l.from.Common(l.s, l.s, n)
	for i, e := range l.of.Entries {
		dst[i] = e.Value(l.s, n)
	}
}

func (l *responseLaw) Expect(dst []float64, n float64) {
	l.law.Expect(l.s, n)
	l.take(dst, n)
}

func (l *responseLaw) RandExact(dst []float64, n float64, rng *rand.Rand) {
	l.law.RandExact(l.s, n, rng)
	l.take(dst, n)
}

func (l *responseLaw) Covariance(dst []float64, n float64) {
	q, m := len(l.of.Entries), len(l.s)
	l.law.Covariance(l.cov, n)
	dense.Symmetrise(l.cov, m)
	dense.MulABt(l.by, l.linear, l.cov, q, m, m)
	dense.MulABt(dst, l.by, l.linear, q, q, m)
}

// blocks are counts, sums within levels, products, and all.
func (l *responseLaw) blocks() []checkBlock {
	all := []checkBlock{{name: "rows of levels"}, {name: "sums of x by level"}, {name: "sums of x x'"}, {name: "all sums"}}
	for e := range l.of.Entries {
		at := 2
		switch {
		case e < l.counts:
			at = 0
		case e < l.counts+2*l.p:
			at = 1
		}
		for _, k := range []int{at, 3} {
			all[k].entries = append(all[k].entries, e)
		}
	}
	return allocated(all)
}

// labels are those of the entries, of levels and columns of these names.
func (l *responseLaw) labels(levels, columns []string) (labels []string) {
	for _, level := range levels[2-l.counts:] {
		labels = append(labels, "1 in "+level)
	}
	for _, level := range levels {
		for _, name := range columns[:l.p] {
			labels = append(labels, name+" in "+level)
		}
	}
	for j, name := range columns[:l.p] {
		labels = append(labels, name+"²")
		for _, other := range columns[j+1 : l.p] {
			labels = append(labels, name+" × "+other)
		}
	}
	return labels
}
