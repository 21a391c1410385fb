package exact

import (
	"math"

	"gonum.org/v1/gonum/mathext"

	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/model"
)

// rowCount is the number n of rows, public or latent. A latent one is the last coordinate,
//
//	n = n₀ + exp(log(N − n₀) + x/w),
//
// n₀ half a row below the least n that the prior allows: continuous n is any number above it, as
// the whole ones from Least on are the nearest to those. What depends on n alone, of statistics
// whose law has gamma functions and powers of n and 2, is
//
//	log p(noisy count | n) + an log n − bn + c log n + Σ ± log Γ(start + ½n) + log(n − n₀).
type rowCount struct {
	count        *model.Count
	noise        *model.Noise
	public       float64
	rest         bool    // n is what others leave of a public number of rows: it has no coordinate
	byN          float64 // of rest, where pull was last
	from, perLog float64 // log(N − n₀) and w
	a, b, c      float64
	gamma        []gammaTerm
	slope        float64 // of what depends on n alone but log(n − n₀), where value was last
}

// gammaTerm is ± log Γ(start + ½n).
type gammaTerm struct{ sign, start float64 }

// newRowCount makes it without any law.
func newRowCount(obs *model.Observation, noise *model.Noise) *rowCount {
	r := &rowCount{count: &obs.Count, noise: noise, public: obs.N}
	if told := rowsTold(obs); obs.Count.Latent() {
		r.from, r.perLog = math.Log(told-r.least()), math.Max(1, told/obs.Count.Scale)
	}
	return r
}

func (r *rowCount) least() float64 { return r.count.Least - 0.5 }

// open reports whether n is one of several, with a coordinate or as what others leave.
func (r *rowCount) open() bool { return r.count.Latent() || r.rest }

// dim is the number of coordinates.
func (r *rowCount) dim() int { return number.Indicator[int](r.count.Latent() && !r.rest) }

// of is n at x, and more is n − n₀.
func (r *rowCount) of(x []float64) float64 {
	if r.dim() > 0 {
		return r.least() + math.Exp(r.from+x[len(x)-1]/r.perLog)
	}
	return r.public
}

func (r *rowCount) more(n float64) float64 { return n - r.least() }

// within reports whether the prior allows n.
func (r *rowCount) within(n float64) bool {
	return !r.open() || n >= r.least() && n <= r.count.Most+0.5
}

// set writes the coordinate of n, or takes what is left.
func (r *rowCount) set(x []float64, n float64) {
	if r.rest {
		r.public = n
	}
	if r.dim() > 0 {
		x[len(x)-1] = (math.Log(r.more(n)) - r.from) * r.perLog
	}
}

// scatter takes the gamma functions of rows i of a root of a scatter, from the first to before the
// last: its squares on the diagonal have n − 1 − i degrees of freedom.
func (r *rowCount) scatter(first, last int) {
	for i := first; i < last; i++ {
		r.gamma = append(r.gamma, gammaTerm{-1, -0.5 * float64(1+i)})
	}
}

// covariance takes the gamma functions that the integral over T of p columns leaves, of dof + n degrees of
// freedom: log Γ_p(x) = Σ_{i<p} log Γ(x − ½i) + const.
func (r *rowCount) covariance(p int, dof float64) {
	for i := range p {
		r.gamma = append(r.gamma, gammaTerm{1, 0.5 * (dof - float64(i))})
	}
}

// value returns what depends on n alone; 0 where that is public.
func (r *rowCount) value(n float64) float64 {
	if !r.open() {
		return 0
	}
	logp, slope := 0.0, 0.0
	if r.count.Latent() {
		logp, slope = r.noise.LogCount(n)
	}
	log := math.Log(n)
	logp += n*(r.a*log-r.b) + r.c*log
	slope += r.a*(log+1) - r.b + r.c/n
	for _, g := range r.gamma {
		logp += g.sign * logGamma(g.start+0.5*n)
		slope += 0.5 * g.sign * mathext.Digamma(g.start+0.5*n)
	}
	if r.slope = slope; r.rest {
		return logp
	}
	return logp + math.Log(r.more(n))
}

// pull writes the gradient, given that in n beside value's.
func (r *rowCount) pull(grad []float64, n, byN float64) {
	if r.byN = byN + r.slope; r.dim() > 0 {
		grad[len(grad)-1] = (1 + r.more(n)*r.byN) / r.perLog
	}
}

// add adds to the gradient what n has beside, of a derivative in it.
func (r *rowCount) add(grad []float64, n, byN float64) {
	grad[len(grad)-1] += r.more(n) * byN / r.perLog
}
