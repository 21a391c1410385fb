package ask

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
)

// leastNear is how many draws must lie within a bandwidth of 0 for the density there to be
// estimated rather than extrapolated.
const leastNear = 20

// evidence is the Savage–Dickey ratio p(δ = 0 | z)/p(δ = 0) of δ = wᵀθ + c (Dickey 1971, Annals of
// Mathematical Statistics 42): the Bayes factor of δ = 0 against any δ, where under δ = 0 all else
// has the prior that it has given δ = 0. With it is the Monte Carlo error of its logarithm.
//
// The posterior's density is a normal one f₀ of the draws' mean and sd, corrected by a kernel K of
// bandwidth h (Hjort & Glad 1995, Annals of Statistics 23),
//
//	f(0) = f₀(0) · Σ_i K_h(δ_i)/f₀(δ_i) / I,
//
// which has no bias where the posterior is normal, and elsewhere one of order h² in how it
// differs. With an error for too few draws near 0 the ratio is that of f₀.
func (p *Posterior) evidence(of value, draws *posterior.Draws, summary *posterior.Parameter) (ratio, mcse float64, err error) {
	prior, err := p.priorDensity(of)
	if err != nil {
		return 0, 0, err
	}
	count := float64(draws.NumChains() * draws.NumDraws())
	mean, sd := summary.Mean, summary.SD
	h := 1.06 * sd * math.Pow(min(count, summary.ESSBulk), -0.2)
	if !(h > 0) {
		return 0, 0, errors.New("the draws of it do not vary")
	}
	near := 0
	kernel := draws.Map([]string{"kernel"}, func(dst, src []float64) {
		x, z, z0 := src[0]/h, (src[0]-mean)/sd, mean/sd
		dst[0] = math.Exp(-x*x/2+z*z/2-z0*z0/2) / (h * math.Sqrt(2*math.Pi))
		if math.Abs(x) < 1 {
			near++
		}
	})
	if near < leastNear {
		normal := math.Exp(-mean*mean/(2*sd*sd)) / (sd * math.Sqrt(2*math.Pi))
		return normal / prior, 0, fmt.Errorf("%d of %.0f draws lie near equality, too few to tell the density there, so that the evidence is against it", near, count)
	}
	density := posterior.Summarise(kernel, 0.5).Parameters[0]
	return density.Mean / prior, density.MCSEMean / density.Mean, nil
}

// priorDensity is that of δ = wᵀθ + c at 0. Given the free scales δ has a normal law, or, where
// θ ~ N(μ₀, σ²Λ₀⁻¹) and σ² ~ InvGamma(a₀, b₀), a t law of 2a₀ degrees of freedom. A free scale that δ
// depends on is integrated out.
func (p *Posterior) priorDensity(of value) (float64, error) {
	prior := p.Prior
	switch {
	case prior == nil:
		return 0, errors.New("the prior of these draws is not known")
	case of.affine == nil:
		return 0, errors.New("the prior's density is known of sums of coefficients with constant factors, and this is none")
	}
	q := len(of.affine) - 1
	if _, ok := isNumber(of.affine); ok || prior.Theta.Dim() != q {
		return 0, errors.New("it holds no coefficient")
	}
	if p.Units == dpreg.Original {
		var err error
		if prior, err = prior.Original(p.Family.Design(p.Design).Frame()); err != nil {
			return 0, err
		}
	}
	mean := of.affine[q]
	for i, m := range prior.Theta.Mean {
		mean += of.affine[i] * m
	}
	one, err := variance(prior, of.affine[:q], nil, 1)
	if err != nil {
		return 0, err
	}
	var free []*model.Scale
	for i := range prior.Scales {
		s := &prior.Scales[i]
		if s.Sigma && !prior.Unscaled {
			return 0, errors.New("the prior's sds of coefficients are multiples of sigma, which has a free scale: no closed form is known")
		}
		if other, err := variance(prior, of.affine[:q], s, 2); err == nil && math.Abs(other/one-1) > 1e-9 {
			free = append(free, s)
		}
	}
	if len(free) == 0 {
		return density(prior, mean, one), nil
	}
	if len(free) > 1 {
		return 0, errors.New("it depends on two free scales of the prior, so that its density is not known in closed form")
	}
	sum := 0.0
	for i := range scalePoints {
		gamma := mathext.GammaIncRegInv(free[0].Shape(), (float64(i)+0.5)/scalePoints)
		v, err := variance(prior, of.affine[:q], free[0], free[0].Rate()/gamma)
		if err != nil {
			return 0, err
		}
		sum += density(prior, mean, v)
	}
	return sum / scalePoints, nil
}

// scalePoints are those of the midpoint rule over quantiles of a free scale.
const scalePoints = 4000

// variance is wᵀΛ₀(a)⁻¹w = |L⁻¹w|², Λ₀(a) = LLᵀ, with one free scale at a and the others at 1.
func variance(prior *model.Prior, w []float64, s *model.Scale, a float64) (sum float64, err error) {
	q, solved := len(w), slices.Clone(w)
	lower := slices.Clone(prior.Theta.Precision)
	if s != nil {
		s.AddPrecision(lower, q, 1/a-1)
	}
	if !dense.Cholesky(lower, q) {
		return 0, errors.New("the prior of the coefficients is improper")
	}
	dense.SolveLower(lower, q, solved)
	for _, v := range solved {
		sum += v * v
	}
	return sum, nil
}

// density is that of δ at 0 given its mean and variance, or the part of this beside σ².
func density(prior *model.Prior, mean, variance float64) float64 {
	if prior.Unscaled || prior.Linked {
		return math.Exp(-mean*mean/(2*variance)) / math.Sqrt(2*math.Pi*variance)
	}
	nu := 2 * prior.Theta.Shape
	scale := variance * prior.Theta.Scale / prior.Theta.Shape
	up, _ := math.Lgamma((nu + 1) / 2)
	down, _ := math.Lgamma(nu / 2)
	return math.Exp(up-down-(nu+1)/2*math.Log1p(mean*mean/(nu*scale))) / math.Sqrt(nu*math.Pi*scale)
}
