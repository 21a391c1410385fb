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
// Theta and Covariates are these with every a = 1. Theta is ordered intercept first.
type Prior struct {
	Theta      *conjugate.NIG // μ₀, Λ₀, a₀ and b₀
	Unscaled   bool           // θ's law has no factor σ
	Covariates *conjugate.NIW // m₀, κ₀, Ψ₀ and ν₀
	MeanSD     []float64      // A_j of μ_xj, whose law has no factor T then; nil: it has
	Scales     []Scale
	X          XLaw // a stated law of x, for gibbs-ss-prior; nil: see XMoments
}

// Scale is a free scale a ~ InvGamma(½, 1/A²) of one of three: b₀/a, so that σ is
// half-t of 2a₀ degrees of freedom (with b₀ = 2a₀, of scale A); diagonal entries Ψ_jj/a,
// so that with ν₀ = p + 1 and Ψ₀ = 4I the sd of x_j is half-t of 2 degrees of freedom and scale
// A and correlations are uniform one by one (Huang & Wand 2013, Bayesian Analysis 8, 439–452); or a block
// of Λ₀, so that coefficients share a spread √a, which is √2/(A|Z|), Z ~ N(0, 1).
type Scale struct {
	SD           float64   // A
	Sigma        bool      // b₀
	Covariates   []int     // j of Ψ_jj; Ψ₀ has no other entry in these rows
	Coefficients []int     // places in θ
	Precision    []float64 // what a divides of Λ₀ there, square: Λ₀(a) = Λ₀ + (1/a − 1) Precision
}

// The default prior, for columns in [-1, 1] (docs/priors.md shows its effect).
const (
	defaultSlopeSD     = 2.5 // of each slope, in half boxes of y by half boxes of x
	defaultInterceptSD = 5.0 // at the middle of the box
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
func (p *Prior) Original(f schema.Frame) (*Prior, error) {
	return p.convert(f, 1, (*conjugate.NIG).Affine, (*conjugate.NIW).Affine, XLaw.affine)
}

// FromOriginal takes a prior stated in the data's units to scaled units.
func (p *Prior) FromOriginal(f schema.Frame) (*Prior, error) {
	return p.convert(f, -1, (*conjugate.NIG).AffineInverse, (*conjugate.NIW).AffineInverse, affineInverse)
}

func (p *Prior) convert(f schema.Frame, power float64,
	nig func(d *conjugate.NIG, a, c []float64, h float64) (*conjugate.NIG, error),
	niw func(d *conjugate.NIW, h, c []float64) (*conjugate.NIW, error),
	law func(l XLaw, h, c []float64) XLaw,
) (*Prior, error) {
	n := len(f.Half) - 1
	a, c := f.ThetaMatrix()
	theta, err := nig(p.Theta, a, c, f.Half[n])
	if err != nil {
		return nil, err
	}
	q := len(theta.Mean)
	unit := 1.0 // of θ, for the block of a free scale, by 1/h_x
	if p.Unscaled {
		unit = math.Pow(f.Half[n], power)
		for i := range theta.Precision {
			theta.Precision[i] /= unit * unit
		}
	}
	h := make([]float64, n*n)
	for j := range n {
		h[j*n+j] = f.Half[j]
	}
	covariates, err := niw(p.Covariates, h, f.Centre[:n])
	if err != nil {
		return nil, err
	}
	x := p.X
	if x != nil {
		x = law(x, f.Half[:n], f.Centre[:n])
	}
	out := &Prior{Theta: theta, Unscaled: p.Unscaled, Covariates: covariates, MeanSD: slices.Clone(p.MeanSD), X: x, Scales: slices.Clone(p.Scales)}
	for j := range out.MeanSD {
		out.MeanSD[j] *= math.Pow(f.Half[j], power)
	}
	for i, s := range p.Scales {
		k := len(s.Coefficients)
		out.Scales[i].Precision = slices.Clone(s.Precision)
		for r, from := range s.Coefficients {
			for l, to := range s.Coefficients {
				out.Scales[i].Precision[r*k+l] *= math.Pow(f.Half[from-(q-n)]*f.Half[to-(q-n)], power) / (unit * unit)
			}
		}
	}
	return out, nil
}
