package exact

import (
	"math"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
)

// leastSquare is what Σy² tells of counts. They seldom have Poisson's variance, but hardly ever less. Given x, of a count
// over its bound K, y ∈ [0, 1], that of min(N, K) is E[y](1 − E[y])/K or more, as a binomial count's (leastsquare_test.go);
// means of rows have at least the squares ΣF_l² + n|h|² of their regression on x, and those of y at most. So, whatever
// the law of x,
//
//	(1 + 1/K) Σy² ≥ ΣF_l² + n|h|² + Σ√n_lF_l/K,
//
// or S ≤ Σu² as the box scales y, u = 2y − 1. With a flat prior on what is more, e ≥ 0, noisy z of Σu² has
//
//	p(z | S) ∝ ∫₀^∞ p(z − S − e) de = F((z − S)/s),
//
// F the distribution function of the noise and s its sd, n/4 counted in s², the most that n rows give to the variance of
// Σu². So noise leaves no correlation above 1 open, and slopes hang on no variance that is larger than Poisson's.
type leastSquare struct {
	most    float64 // K
	z, s    float64
	laplace bool

	per, bySum float64 // S/n, and the slope in S, where value was last
}

// newLeastSquare returns that of a release, nil of a response that is 0 or 1.
func newLeastSquare(site *model.Site, of family) *leastSquare {
	if of.most == 1 {
		return nil
	}
	obs := site.Observation
	last := len(obs.Z) - 1
	z, variance := obs.Z[last], obs.Variance(last)
	if told := obs.Told; told != nil {
		last = len(told.Z) - 1
		z, variance = told.Z[last], told.Variance(last)
	}
	return &leastSquare{most: of.most, z: z, s: math.Sqrt(variance + obs.N/4), laplace: obs.Kind == release.Laplace}
}

// value returns log F where t has F and h.
func (l *leastSquare) value(t *index) (logp float64) {
	mean, squares := 0.0, dot(t.h, t.h)
	for i := range t.at {
		sum := t.at[i].sum
		mean += t.at[i].root * sum / t.n
		squares += sum * sum / t.n
	}
	l.per = 1 - 4*mean + 4*(l.most*squares+mean)/(l.most+1)
	logp, l.bySum = l.at(t.n * l.per)
	return logp
}

// slope adds the gradient where value was last to those in F and h.
func (l *leastSquare) slope(t *index) {
	by := 4 * l.most / (l.most + 1) * l.bySum
	for i := range t.at {
		t.at[i].bySum += by * (2*t.at[i].sum - t.at[i].root)
	}
	for j, h := range t.h {
		t.byH[j] += 2 * t.n * by * h
	}
}

// at returns log F and its derivative in S.
func (l *leastSquare) at(sum float64) (logp, slope float64) {
	x := (l.z - sum) / l.s
	if l.laplace {
		rate := math.Sqrt2 / l.s
		if x *= math.Sqrt2; x < 0 {
			return x - math.Ln2, -rate
		}
		tail := 0.5 * math.Exp(-x)
		return math.Log1p(-tail), -rate * tail / (1 - tail)
	}
	if x < -30 { // F ≈ φ(x)/|x|
		return -0.5*x*x - math.Log(-x) - 0.5*math.Log(2*math.Pi), (x + 1/x) / l.s
	}
	below := 0.5 * math.Erfc(-x/math.Sqrt2)
	return math.Log(below), -math.Exp(-0.5*x*x) / math.Sqrt(2*math.Pi) / (l.s * below)
}
