package model

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/release"
)

// XLaw is a stated law of the covariates: NormalX or UniformX. Their
// moments stand in for unknown ones in the method gibbs-ss-prior.
type XLaw interface {
	// Moments returns the moments of degree ≤ 4 of p covariates, of a law stated
	// in scaled units. Errors: a law of another number of covariates, or not one.
	Moments(p int) (*XMoments, error)
}

// NormalX is x ~ N(Mean, Covariance): Mean has length p, Covariance is p×p
// row-major, symmetric positive definite.
type NormalX struct{ Mean, Covariance []float64 }

// Moments are in closed form.
func (l NormalX) Moments(p int) (*XMoments, error) {
	if err := l.check(p); err != nil {
		return nil, err
	}
	return normalMoments(l.Mean, l.Covariance), nil
}

func (l NormalX) check(p int) error {
	if len(l.Mean) != p || len(l.Covariance) != p*p {
		return fmt.Errorf("a normal law of %d covariates with %d covariances, the model has %d covariates", len(l.Mean), len(l.Covariance), p)
	}
	if _, err := conjugate.PositiveDefinite("covariance", l.Covariance, p); err != nil {
		return errors.New("the covariance of the normal law of the covariates is not symmetric and positive definite")
	}
	return nil
}

// changed returns the law of (c_j + h_j x_j), by power −1 the one of which l is that.
func (l NormalX) changed(h, c []float64, power float64) NormalX {
	p := len(l.Mean)
	out := NormalX{make([]float64, p), make([]float64, p*p)}
	unit := func(j int) (h1, c1 float64) {
		if power < 0 {
			return 1 / h[j], -c[j] / h[j]
		}
		return h[j], c[j]
	}
	for j := range p {
		hj, cj := unit(j)
		out.Mean[j] = cj + hj*l.Mean[j]
		for k := range p {
			hk, _ := unit(k)
			out.Covariance[j*p+k] = hj * l.Covariance[j*p+k] * hk
		}
	}
	return out
}

// UniformX is the uniform law on the box of the public bounds, [−1, 1]^p in
// scaled units.
type UniformX struct{}

// Moments are in closed form.
func (UniformX) Moments(p int) (*XMoments, error) { return uniformMoments(p), nil }

// XMoments returns the moments of the covariates that the prior states: those of X,
// and where that is nil of N(m₀, E T), with E T = E Ψ₀(a)/(ν₀ − p − 1), E 1/a = A²/2.
func (p *Prior) XMoments() (*XMoments, error) {
	k := p.Covariates.Dim()
	if p.X != nil {
		return p.X.Moments(k)
	}
	if k > 0 && p.Covariates.Dof <= float64(k)+1 {
		return nil, errors.New(`the prior of the covariates has no mean of T, since its dof are not above p + 1: state a law of the covariates, "x"`)
	}
	v := NewMixture(p).Covariates.Scale
	for i := range v {
		v[i] /= p.Covariates.Dof - float64(k+1)
	}
	return NormalX{p.Covariates.Mean, v}.Moments(k)
}

// XMoments are the moments of degree ≤ 4 of p covariates in scaled units, as the
// moment matrix M = E uuᵀ of their monomials of degree ≤ 2,
//
//	u = (1 ; x_1 … x_p ; x_j x_k, j ≤ k row by row).
//
// M is positive semidefinite and M₀₀ = 1.
type XMoments struct {
	P int
	M []float64 // d×d row-major, symmetric, d = 1 + p + p(p+1)/2
}

// factors lists u's monomials, each as the indices of its factors: {} is 1,
// {j} is x_j and {j, k} is x_j x_k, indices from 0.
func factors(p int) [][]int {
	u := [][]int{{}}
	for j := range p {
		u = append(u, []int{j})
	}
	for j := range p {
		for k := j; k < p; k++ {
			u = append(u, []int{j, k})
		}
	}
	return u
}

// newXMoments builds M from the moment of each product of at most four
// covariates, whose indices it passes in ascending order.
func newXMoments(p int, moment func(product []int) float64) *XMoments {
	u := factors(p)
	d := len(u)
	x := &XMoments{P: p, M: make([]float64, d*d)}
	product := make([]int, 0, 4)
	for r := range d {
		for c := range r + 1 {
			product = append(append(product[:0], u[r]...), u[c]...)
			slices.Sort(product)
			v := moment(product)
			x.M[r*d+c], x.M[c*d+r] = v, v
		}
	}
	return x
}

// normalMoments are those of x ~ N(μ, V), V p×p row-major. With S = V + μμᵀ
//
//	E x_i x_j x_k     = μ_i S_jk + μ_j S_ik + μ_k S_ij − 2 μ_i μ_j μ_k
//	E x_i x_j x_k x_l = S_ij S_kl + S_ik S_jl + S_il S_jk − 2 μ_i μ_j μ_k μ_l.
func normalMoments(mu, v []float64) *XMoments {
	p := len(mu)
	s := func(i, j int) float64 { return v[i*p+j] + mu[i]*mu[j] }
	return newXMoments(p, func(f []int) float64 {
		switch len(f) {
		case 0:
			return 1
		case 1:
			return mu[f[0]]
		case 2:
			return s(f[0], f[1])
		case 3:
			i, j, k := f[0], f[1], f[2]
			return mu[i]*s(j, k) + mu[j]*s(i, k) + mu[k]*s(i, j) - 2*mu[i]*mu[j]*mu[k]
		}
		i, j, k, l := f[0], f[1], f[2], f[3]
		return s(i, j)*s(k, l) + s(i, k)*s(j, l) + s(i, l)*s(j, k) - 2*mu[i]*mu[j]*mu[k]*mu[l]
	})
}

// uniformMoments are those of the uniform law on [−1, 1]^p: E x^k is 1/(k+1) for
// even k and 0 for odd k, and covariates are independent.
func uniformMoments(p int) *XMoments {
	return newXMoments(p, func(f []int) float64 {
		moment := 1.0
		for len(f) > 0 {
			k := 1
			for k < len(f) && f[k] == f[0] {
				k++
			}
			if k%2 == 1 {
				return 0
			}
			moment /= float64(k + 1)
			f = f[k:]
		}
		return moment
	})
}

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
	p, d := x.P, 1+release.Length(x.P)
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
	d := 1 + release.Length(x.P)
	square := func() []float64 { return make([]float64, d*d) }
	same, values := sameMoments(x.P), make([]float64, d)
	y, first, second, vectors, work := square(), square(), square(), square(), square()
	for range momentIterations {
		floats.Add(first, x.M)
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
		floats.Sub(first, y)
		floats.Add(second, y)
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
