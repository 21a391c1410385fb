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
	s       []float64    // of the family
	linear  []float64    // that map, without n, a row an entry
	cov, by []float64
}

func newResponseLaw(obs *model.Observation, all law) *responseLaw {
	q, n, told := len(obs.Told.Z), len(obs.Z), obs.Told.Response
	l := &responseLaw{law: all, of: told, from: model.Identity(obs.Shape.M()).In(told.Frame).Inverse(),
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
