package model

import (
	"fmt"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/schema"
)

// Prior is the prior in scaled units. Theta is ordered intercept first.
type Prior struct {
	Theta      *conjugate.NIG // θ and σ²
	Covariates *conjugate.NIW // μ_x and T
	X          XLaw           // a stated law of x, for gibbs-ss-prior; nil: see XMoments
}

// The default prior, for columns in [-1, 1] (docs/priors.md shows its effect).
const (
	defaultShape          = 3.0   // a₀: σ² has a finite variance
	defaultScale          = 0.15  // b₀: E σ² = 0.075, residual sd mostly in 0.14…0.49
	defaultInterceptSD    = 0.7   // wide: θ's prior is scaled by σ, so a narrow one pulls σ up where y sits at an edge
	defaultSlopesSD       = 0.9   // of all slopes together: a slope's sd is 0.9/√p
	defaultKappa          = 0.5   // κ₀: sd of μ_xj is 0.5
	defaultCovariateTau   = 0.125 // E T_jj
	defaultCovariateExtra = 4.0   // ν₀ = p + 4: T has a finite variance
)

// DefaultPrior returns the documented weakly informative prior: proper, with
// prior predictive responses mostly inside [-1, 1].
func DefaultPrior(s Shape) *Prior {
	p, q := s.P, s.Q()
	variance := defaultScale / (defaultShape - 1)
	precision := make([]float64, q*q)
	for k := range q {
		sd2 := defaultSlopesSD * defaultSlopesSD / float64(p)
		if s.Intercept && k == 0 {
			sd2 = defaultInterceptSD * defaultInterceptSD
		}
		precision[k*q+k] = variance / sd2
	}
	dof := float64(p) + defaultCovariateExtra
	scale := make([]float64, p*p)
	for j := range p {
		scale[j*p+j] = defaultCovariateTau * (dof - float64(p) - 1)
	}
	nig, err := conjugate.NewNIG(make([]float64, q), precision, defaultShape, defaultScale)
	if err != nil {
		panic(err)
	}
	niw, err := conjugate.NewNIW(make([]float64, p), defaultKappa, scale, dof)
	if err != nil {
		panic(err)
	}
	return &Prior{Theta: nig, Covariates: niw}
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
// it: θ_o = h_y M θ_s + c_y e₀, so that Λ_o = M⁻ᵀΛ_sM⁻¹, b_o = h_y² b_s.
func (p *Prior) Original(f schema.Frame) (*Prior, error) {
	return p.convert(f, (*conjugate.NIG).Affine, (*conjugate.NIW).Affine, XLaw.affine)
}

// FromOriginal takes a prior stated in the data's units to scaled units.
func (p *Prior) FromOriginal(f schema.Frame) (*Prior, error) {
	return p.convert(f, (*conjugate.NIG).AffineInverse, (*conjugate.NIW).AffineInverse, affineInverse)
}

func (p *Prior) convert(f schema.Frame,
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
	return &Prior{Theta: theta, Covariates: covariates, X: x}, nil
}
