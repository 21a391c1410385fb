package model

import (
	"fmt"
	"math"
	"slices"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/schema"
)

// Prior is the prior in scaled units, a scale mixture of conjugate laws: given the free
// scales a of Scales,
//
//	θ ~ N(μ₀, Λ₀(a)⁻¹), or N(μ₀, σ²Λ₀(a)⁻¹)   σ² ~ InvGamma(a₀, b₀(a))
//	T ~ InvWishart(Ψ₀(a), ν₀)                 μ_x ~ N(m₀, T/κ₀), or N(m₀, diag(A_j²))
//
// where σ² is the population's, and that of the rows σ²w, see Kurtosis.
// Theta and Covariates are these with every a = 1. Theta is ordered intercept first.
type Prior struct {
	Theta      *conjugate.NIG // μ₀, Λ₀, a₀ and b₀
	Unscaled   bool           // θ's law has no factor σ
	Linked     bool           // θ is on the scale of a Family's link, and there is no σ
	Covariates *conjugate.NIW // m₀, κ₀, Ψ₀ and ν₀
	Kurtosis   Kurtosis       // of the residuals
	MeanSD     []float64      // A_j of μ_xj, whose law has no factor T then; nil: it has
	Scales     []Scale
	X          XLaw // a stated law of x, for gibbs-ss-prior; nil: see XMoments
}

// Scale is a free scale a ~ InvGamma(½ν, 1/A²) of one of three. With ν = 1 it is of b₀/a, so that σ is
// half-t of 2a₀ degrees of freedom (with b₀ = 2a₀, of scale A); diagonal entries Ψ_jj/a,
// so that with ν₀ = p + 1 and Ψ₀ = 4I the sd of x_j is half-t of 2 degrees of freedom and scale
// A and correlations are uniform one by one (Huang & Wand 2013, Bayesian Analysis 8, 439–452); or a block
// of Λ₀, so that coefficients share a spread √a, which is √2/(A|Z|), Z ~ N(0, 1). With A = √(2/ν) one
// coefficient is Student's t of ν degrees of freedom, and of the scale that Λ₀ has for it.
type Scale struct {
	SD           float64   // A
	Dof          float64   // ν; 0: 1
	Sigma        bool      // b₀
	Covariates   []int     // j of Ψ_jj; Ψ₀ has no other entry in these rows
	Coefficients []int     // places in θ
	Precision    []float64 // what a divides of Λ₀ there, square: Λ₀(a) = Λ₀ + (1/a − 1) Precision
}

// The default prior, for columns in [-1, 1] (docs/priors.md shows its effect).
const (
	defaultSlopeSD     = 2.5  // of each slope, in half boxes of y by half boxes of x
	defaultInterceptSD = 5.0  // at the middle of the box
	linkInterceptSD    = 2.5  // of a Family
	linkSlopeScale     = 1.75 // of one slope of a Family, of linkDof degrees of freedom
	linkDof            = 3
	defaultSigmaSD     = 1.0 // A of σ: half-t of 3 degrees of freedom
	defaultSpreadSD    = 1.0 // A_j of the sd of x_j: half-t of 2
	defaultMeanSD      = 5.0 // of μ_xj, whatever the sd of x_j
)

// DefaultPrior returns the documented weakly informative prior: proper, θ not scaled by
// σ, scales with heavy tails and no lower cut-off.
func DefaultPrior(s Shape) *Prior {
	p, q := s.P, s.Q()
	theta := &conjugate.NIG{Mean: make([]float64, q), Precision: make([]float64, q*q), Shape: 1.5, Scale: 3}
	for k := range q {
		sd := defaultSlopeSD
		if s.Intercept && k == 0 {
			sd = defaultInterceptSD
		}
		theta.Precision[k*q+k] = 1 / (sd * sd)
	}
	x := &conjugate.NIW{Mean: make([]float64, p), Kappa: 1, Scale: make([]float64, p*p), Dof: float64(p + 1)}
	prior := &Prior{Theta: theta, Unscaled: true, Covariates: x, Scales: []Scale{{SD: defaultSigmaSD, Sigma: true}}}
	for j := range p {
		x.Scale[j*p+j] = 4
		prior.MeanSD = append(prior.MeanSD, defaultMeanSD)
		prior.Scales = append(prior.Scales, Scale{SD: defaultSpreadSD, Covariates: []int{j}})
	}
	return prior
}

// Check reports whether the prior has the sizes of a shape.
func (p *Prior) Check(s Shape) error {
	if got, want := p.Theta.Dim(), s.Q(); got != want {
		return fmt.Errorf("prior: theta has %d coefficients, the model has %d (%s)", got, want, describe(s))
	}
	if got, want := p.Covariates.Dim(), s.P; got != want {
		return fmt.Errorf("prior: covariates has dimension %d, the model has %d covariates", got, want)
	}
	return nil
}

func describe(s Shape) string {
	if s.Intercept {
		return fmt.Sprintf("the intercept and %d slopes", s.P)
	}
	return fmt.Sprintf("%d slopes, no intercept", s.P)
}

// Original returns the same prior in the data's units, and FromOriginal undoes
// it: θ_o = h_y M θ_s + c_y e₀, so that Λ_o = M⁻ᵀΛ_sM⁻¹, by h_y² less where θ has no factor
// σ, and b_o = h_y² b_s. Free scales have no units.
func (p *Prior) Original(f schema.Frame) (*Prior, error) { return p.convert(f, 1) }

// FromOriginal takes a prior stated in the data's units to scaled units.
func (p *Prior) FromOriginal(f schema.Frame) (*Prior, error) { return p.convert(f, -1) }

// convert is Original by power 1, its inverse by −1.
func (p *Prior) convert(f schema.Frame, power float64) (_ *Prior, err error) {
	n := len(f.Half) - 1
	half, centre, y := f.Half[:n], f.Centre[:n], f.Half[n]
	a, c := f.ThetaMatrix()
	h := make([]float64, n*n)
	for j, v := range half {
		h[j*n+j] = v
	}
	out := p.Clone()
	nig, niw := p.Theta.Affine, p.Covariates.Affine
	if power < 0 {
		nig, niw = p.Theta.AffineInverse, p.Covariates.AffineInverse
	}
	if out.Theta, err = nig(a, c, y); err != nil {
		return nil, err
	}
	if out.Covariates, err = niw(h, centre); err != nil {
		return nil, err
	}
	if x, ok := p.X.(NormalX); ok {
		out.X = x.changed(half, centre, power)
	}
	unit := 1.0 // of θ, for the block of a free scale, by 1/h_x
	if p.Unscaled {
		unit = math.Pow(y, power)
		for i := range out.Theta.Precision {
			out.Theta.Precision[i] /= unit * unit
		}
	}
	for j := range out.MeanSD {
		out.MeanSD[j] *= math.Pow(half[j], power)
	}
	first := p.first()
	for _, s := range out.Scales {
		k := len(s.Coefficients)
		for r, from := range s.Coefficients {
			for l, to := range s.Coefficients {
				s.Precision[r*k+l] *= math.Pow(half[from-first]*half[to-first], power) / (unit * unit)
			}
		}
	}
	return out, nil
}

// first is the index in θ of the first slope.
func (p *Prior) first() int { return p.Theta.Dim() - p.Covariates.Dim() }

// Clone returns a deep copy, but of X, which nothing changes.
func (p *Prior) Clone() *Prior {
	out := *p
	out.Theta, out.Covariates, out.MeanSD, out.Scales = p.Theta.Clone(), p.Covariates.Clone(), slices.Clone(p.MeanSD), slices.Clone(p.Scales)
	for i, s := range p.Scales {
		out.Scales[i].Covariates = slices.Clone(s.Covariates)
		out.Scales[i].Coefficients = slices.Clone(s.Coefficients)
		out.Scales[i].Precision = slices.Clone(s.Precision)
	}
	return &out
}

// valid reports whether the laws of the prior are proper in float64, and makes their
// matrices symmetric to the last bit.
func (p *Prior) valid() (err error) {
	t, x := p.Theta, p.Covariates
	if p.Theta, err = conjugate.NewNIG(t.Mean, t.Precision, t.Shape, t.Scale); err != nil {
		return fmt.Errorf("theta, sigma2: %w", err)
	}
	if p.Covariates, err = conjugate.NewNIW(x.Mean, x.Kappa, x.Scale, x.Dof); err != nil {
		return fmt.Errorf("covariates: %w", err)
	}
	for j, sd := range p.MeanSD {
		if !(sd > 0) || math.IsInf(sd, 1) {
			return fmt.Errorf("covariates.mean_sd[%d] is %g; a positive finite number is needed", j, sd)
		}
	}
	return nil
}

// OfRows is the prior of a problem of so many rows, see Kurtosis.
func (p *Prior) OfRows(n float64) *Prior {
	out := p.Clone()
	out.Kurtosis.Rows = max(1, n)
	return out
}

// drop takes free scales out; what they scaled stays as it is with them at 1.
func (p *Prior) drop(which func(Scale) bool) {
	if p.Scales = slices.DeleteFunc(p.Scales, which); len(p.Scales) == 0 {
		p.Scales = nil
	}
}

// SharesSpread reports whether all slopes share one free spread.
func (p *Prior) SharesSpread() bool {
	return slices.ContainsFunc(p.Scales, func(s Scale) bool { return s.Dof == 0 && len(s.Coefficients) == p.Covariates.Dim() })
}

// apart is the normal law of θ as independent laws of the intercept at a centre c of x and
// of the slopes,
//
//	α = θ₀ + cᵀβ ~ N(alpha, variance)   β ~ N(beta, precision⁻¹),
//
// which every normal law is: Λ₀ = λvvᵀ + blockdiag(0, S) with v = (1, c). Without an intercept
// there are the slopes alone. Where the prior is not Unscaled all this is relative to σ².
// Precision is that with free scales at 1.
type apart struct {
	first           int // of the slopes in θ
	alpha, variance float64
	centre, beta    []float64 // p
	precision       []float64 // S, p×p
}

func (p *Prior) apart() *apart {
	q, n := p.Theta.Dim(), p.Covariates.Dim()
	t := &apart{first: q - n, variance: 1, centre: make([]float64, n), beta: slices.Clone(p.Theta.Mean[q-n:]), precision: make([]float64, n*n)}
	lambda := p.Theta.Precision
	if t.first == 1 {
		t.variance, t.alpha = 1/lambda[0], p.Theta.Mean[0]
		for j, b := range t.beta {
			t.centre[j] = lambda[1+j] * t.variance
			t.alpha += t.centre[j] * b
		}
	}
	for j := range n {
		for k := range n {
			v := lambda[(t.first+j)*q+t.first+k]
			if t.first == 1 {
				v -= t.centre[j] * t.centre[k] * lambda[0]
			}
			t.precision[j*n+k] = v
		}
	}
	return t
}

// join writes the law to the prior's Theta, of which it takes the place.
func (p *Prior) join(t *apart) {
	q, n := p.Theta.Dim(), len(t.beta)
	lambda := p.Theta.Precision
	copy(p.Theta.Mean[t.first:], t.beta)
	if t.first == 1 {
		lambda[0], p.Theta.Mean[0] = 1/t.variance, t.alpha
		for j, c := range t.centre {
			lambda[1+j], lambda[(1+j)*q] = c/t.variance, c/t.variance
			p.Theta.Mean[0] -= c * t.beta[j]
		}
	}
	for j := range n {
		for k := range n {
			v := t.precision[j*n+k]
			if t.first == 1 {
				v += t.centre[j] * t.centre[k] / t.variance
			}
			lambda[(t.first+j)*q+t.first+k] = v
		}
	}
}

// leave takes slope j out of the law, and out of a free scale of the prior: the others keep
// their marginal law, and it has none until its precision is set.
func (t *apart) leave(p *Prior, j int) {
	marginalise(t.precision, len(t.beta), j)
	for i := range p.Scales {
		s := &p.Scales[i]
		at := slices.Index(s.Coefficients, t.first+j)
		if at < 0 {
			continue
		}
		n := len(s.Coefficients)
		marginalise(s.Precision, n, at)
		*s = s.without(func(place int) bool { return place == t.first+j })
	}
	p.drop(Scale.empty)
}

// Without is the scale given that some of its coefficients, of these places in θ, are at their means: each adds a degree
// of freedom. It is false where it is of nothing else.
func (s Scale) Without(pinned func(place int) bool) (Scale, bool) {
	out := s.without(pinned)
	if more := len(s.Coefficients) - len(out.Coefficients); more > 0 {
		out.Dof = max(s.Dof, 1) + float64(more)
	}
	return out, !out.empty()
}

// without is the scale of the other coefficients alone.
func (s Scale) without(pinned func(place int) bool) Scale {
	var left []int
	for r, k := range s.Coefficients {
		if !pinned(k) {
			left = append(left, r)
		}
	}
	s.Coefficients, s.Precision = taken(s.Coefficients, left), block(s.Precision, len(s.Coefficients), left)
	return s
}

// empty tells of a free scale that is of nothing.
func (s Scale) empty() bool { return !s.Sigma && len(s.Covariates) == 0 && len(s.Coefficients) == 0 }

// marginalise takes the precision A, n×n, to that of all but element k, whose row and column
// become 0.
func marginalise(a []float64, n, k int) {
	pivot := a[k*n+k]
	for r := range n {
		for c := range n {
			if r != k && c != k && pivot > 0 {
				a[r*n+c] -= a[r*n+k] * a[k*n+c] / pivot
			}
		}
	}
	for r := range n {
		a[r*n+k], a[k*n+r] = 0, 0
	}
}

// student returns the free scale of slope j that makes its normal law one of Student's, of ν degrees of
// freedom.
func (t *apart) student(j int, dof float64) Scale {
	return Scale{SD: math.Sqrt(2 / dof), Dof: dof, Coefficients: []int{t.first + j}, Precision: []float64{t.precision[j*len(t.beta)+j]}}
}

// free adds a precision to that of slopes, which have none, and returns the free scale
// that divides it.
func (t *apart) free(slopes []int, precision []float64) Scale {
	s, n := Scale{SD: freeSD, Precision: precision}, len(slopes)
	for r, j := range slopes {
		s.Coefficients = append(s.Coefficients, t.first+j)
		for c, k := range slopes {
			t.precision[j*len(t.beta)+k] += precision[r*n+c]
		}
	}
	return s
}
