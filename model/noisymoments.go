package model

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/release"
)

// MaxMomentCovariates is the largest p of which moments of degree 4 are taken:
// there are 34 moments then, and each further covariate adds to the noise.
const MaxMomentCovariates = 3

// NoisyMoments are privately released sums of monomials of degree 1 … 4 of p
// covariates, in scaled units.
type NoisyMoments struct {
	P         int
	N         float64   // number of rows, noisy where the release noised it
	Exponents [][]int   // of each monomial; a later entry replaces an equal earlier one
	Sums      []float64 // of each monomial, with noise
	SD        []float64 // standard deviation of the noise of each
}

// XMoments returns the moments of x: the released ones over N, as the moment
// matrix M of monomials of degree ≤ 2, projected to where moments of values in
// [−1, 1] may lie (projectMoments).
//
// Errors: more than MaxMomentCovariates covariates, a monomial that is missing,
// N below 1, and n·ε too small: where the smallest eigenvalue of the covariates' covariance
// is no larger than the largest standard deviation of the noise on a moment,
// the noise cannot be told from the variance that the model divides by.
func (m *NoisyMoments) XMoments() (*XMoments, error) {
	if m.P > MaxMomentCovariates {
		return nil, fmt.Errorf("%d covariates: moments of degree 4 are taken of at most %d; choose fewer by --formula, or take gibbs-ss-update", m.P, MaxMomentCovariates)
	}
	if !(m.N >= 1) {
		return nil, fmt.Errorf("the release's noisy count of rows is %g: there is nothing to divide the moments by; gibbs-ss-update needs none", m.N)
	}
	places := make(map[string]int) // the last of each monomial
	for i, e := range m.Exponents {
		places[fmt.Sprint(e)] = i
	}
	var missing error
	noise := 0.0 // of the moments used
	x := newXMoments(m.P, func(f []int) float64 {
		if len(f) == 0 {
			return 1
		}
		i, ok := places[fmt.Sprint(exponents(m.P, f))]
		if !ok {
			missing = fmt.Errorf("the released moments lack the one of %v", f)
			return 0
		}
		noise = max(noise, m.SD[i]/m.N)
		return m.Sums[i] / m.N
	})
	if missing != nil {
		return nil, missing
	}
	least := 1.0 // no variance of values in [−1, 1] is larger
	if noise < least {
		if err := projectMoments(x); err != nil {
			return nil, err
		}
		least = x.leastVariance()
	}
	if !(least > noise) {
		return nil, fmt.Errorf("no valid covariance of the statistics: noise of standard deviation %.2g on the moments hides the covariates' variance, which is %.2g or less in some direction; n·ε is too small for this method, take gibbs-ss-update", noise, least)
	}
	return x, nil
}

// observeMoments reads the moments of a release, nil where it has none. Those of
// degree 1 and 2 that it does not repeat are the statistics'.
func observeMoments(r *release.Release) *NoisyMoments {
	if r.Moments == nil {
		return nil
	}
	p := len(r.Schema.Covariates)
	m := &NoisyMoments{P: p, N: float64(r.N)}
	add := func(exponents []int, sum float64, noise release.Noise) {
		m.Exponents, m.Sums, m.SD = append(m.Exponents, exponents), append(m.Sums, sum), append(m.SD, noise.SD())
	}
	s := r.Statistics.Vector()
	for _, f := range factors(p)[1:] {
		add(exponents(p, f), s[statistic(p+1, f)], r.Noise)
	}
	for i, e := range r.Moments.Exponents {
		add(e, r.Moments.Sums[i], r.Moments.Noise)
	}
	return m
}

// exponents are those of the monomial with these factors.
func exponents(p int, factors []int) []int {
	e := make([]int, p)
	for _, j := range factors {
		e[j]++
	}
	return e
}

// statistic is the place among m columns' statistics of a monomial of one factor or two.
func statistic(m int, factors []int) int {
	if len(factors) == 1 {
		return factors[0]
	}
	return release.Index(m, factors[0], factors[1])
}

// leastVariance is the smallest eigenvalue of Cov x, or NaN.
func (x *XMoments) leastVariance() float64 {
	p, d := x.P, monomials(x.P)
	v := make([]float64, p*p)
	for j := range p {
		for k := range p {
			v[j*p+k] = x.M[(j+1)*d+k+1] - x.M[j+1]*x.M[k+1]
		}
	}
	values := make([]float64, p)
	if !dense.SymEigen(values, make([]float64, p*p), v, p, make([]float64, p*p)) {
		return math.NaN()
	}
	return values[0]
}

// The projection ends when the two sets' iterates are within momentTolerance
// in Frobenius norm: M is positive semidefinite to that, and the rest holds
// exactly.
const (
	momentTolerance  = 1e-9
	momentIterations = 20_000
)

// projectMoments replaces M by the nearest matrix, in Frobenius norm, in the
// intersection of two convex sets that hold the moments of every x in [−1, 1]^p:
//
//	the positive semidefinite matrices, and
//	M₀₀ = 1, entries of one and the same moment equal and in [−1, 1],
//
// by Dykstra's alternating projections (Boyle & Dykstra 1986): each set's
// projection is applied to the iterate plus what the same projection took off
// before,
//
//	Y = P₁(X + I₁), I₁ ← X + I₁ − Y;   X = P₂(Y + I₂), I₂ ← Y + I₂ − X.
//
// Neither set alone would do: a moment matrix with noise has negative
// eigenvalues, and clipping them makes one moment two numbers. Errors: numbers not
// finite; no end within momentIterations.
func projectMoments(x *XMoments) error {
	d := monomials(x.P)
	square := func() []float64 { return make([]float64, d*d) }
	same, values := sameMoments(x.P), make([]float64, d)
	y, first, second, vectors, work := square(), square(), square(), square(), square()
	for range momentIterations {
		for i, v := range x.M {
			first[i] += v
		}
		if !dense.SymEigen(values, vectors, first, d, work) {
			return errors.New("the released moments are too large to be moments")
		}
		for j, v := range values { // to the cone: eigenvalues are clipped at 0
			scale := math.Sqrt(max(0, v))
			for i := range d {
				vectors[i*d+j] *= scale
			}
		}
		dense.MulABt(y, vectors, vectors, d, d, d)
		distance := 0.0
		for i, v := range y {
			first[i] -= v
			second[i] += v
		}
		copy(x.M, second)
		equate(x.M, same)
		for i, v := range x.M {
			second[i] -= v
			distance += (v - y[i]) * (v - y[i])
		}
		if math.Sqrt(distance) < momentTolerance {
			return nil
		}
	}
	return fmt.Errorf("no valid covariance of the statistics: the released moments are too far from those of any distribution to be projected (%d iterations); n·ε is too small for this method, take gibbs-ss-update", momentIterations)
}

// sameMoments lists the places in M of each moment, the constant's first.
func sameMoments(p int) [][]int {
	u := factors(p)
	d := len(u)
	var places [][]int
	index := map[string]int{}
	for r := range d {
		for c := range d {
			f := slices.Sorted(slices.Values(slices.Concat(u[r], u[c])))
			key := fmt.Sprint(f)
			if _, ok := index[key]; !ok {
				index[key] = len(places)
				places = append(places, nil)
			}
			places[index[key]] = append(places[index[key]], r*d+c)
		}
	}
	return places
}

// equate gives the places of one moment their mean, clipped to [−1, 1], and the
// constant 1.
func equate(m []float64, same [][]int) {
	for i, places := range same {
		mean := 0.0
		for _, at := range places {
			mean += m[at] / float64(len(places))
		}
		if mean = min(1, max(-1, mean)); i == 0 {
			mean = 1
		}
		for _, at := range places {
			m[at] = mean
		}
	}
}
