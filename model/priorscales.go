package model

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/internal/dense"
)

// clone returns a deep copy, but of X, which nothing changes.
func (p *Prior) clone() *Prior {
	out := &Prior{Theta: p.Theta.Clone(), Unscaled: p.Unscaled, Covariates: p.Covariates.Clone(), MeanSD: slices.Clone(p.MeanSD), X: p.X, Scales: slices.Clone(p.Scales)}
	for i, s := range p.Scales {
		out.Scales[i].Covariates = slices.Clone(s.Covariates)
		out.Scales[i].Coefficients = slices.Clone(s.Coefficients)
		out.Scales[i].Precision = slices.Clone(s.Precision)
	}
	return out
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

// drop takes free scales out; what they scaled stays as it is with them at 1.
func (p *Prior) drop(which func(Scale) bool) {
	if p.Scales = slices.DeleteFunc(p.Scales, which); len(p.Scales) == 0 {
		p.Scales = nil
	}
}

// scales reads the free scales of a file, which then has all there are.
func (f *priorFile) scales(p *Prior) error {
	if f.Scales == nil {
		return nil
	}
	p.Scales = nil
	for i, s := range *f.Scales {
		scale, err := s.read(p)
		if err == nil {
			err = p.disjoint(scale)
		}
		if err != nil {
			return fmt.Errorf("scales[%d]: %w", i, err)
		}
		p.Scales = append(p.Scales, scale)
	}
	return nil
}

func (f *scaleFile) read(p *Prior) (Scale, error) {
	s := Scale{SD: f.SD, Sigma: f.Sigma}
	kinds := 0
	for _, stated := range []bool{f.Sigma, f.Covariates != nil, f.Coefficients != nil} {
		if stated {
			kinds++
		}
	}
	switch {
	case !(f.SD > 0):
		return s, errors.New("sd must be above 0")
	case kinds != 1:
		return s, errors.New(`a free scale is of one of "sigma": true, "covariates": [...] and "coefficients": [...]`)
	case f.Sigma && f.Precision != nil || f.Covariates != nil && f.Precision != nil:
		return s, errors.New("precision is of coefficients")
	}
	for _, j := range f.Covariates {
		if err := number(j, p.Covariates.Dim()); err != nil {
			return s, fmt.Errorf("covariates: %w", err)
		}
		s.Covariates = append(s.Covariates, j-1)
	}
	for _, k := range f.Coefficients {
		if err := number(k, p.Covariates.Dim()); err != nil {
			return s, fmt.Errorf("coefficients: %w", err)
		}
		s.Coefficients = append(s.Coefficients, k-1+p.first())
	}
	if f.Covariates != nil {
		return s, s.checkCovariates(p.Covariates)
	}
	if n := len(s.Coefficients); f.Coefficients != nil {
		s.Precision = make([]float64, n*n)
		if f.Precision == nil {
			return s, errors.New("precision is missing: the part of theta.precision that the scale divides")
		}
		if err := setMatrix(s.Precision, f.Precision, n, "precision"); err != nil {
			return s, err
		}
		return s, s.checkCoefficients(p.Theta)
	}
	return s, nil
}

// number checks the number of a slope or covariate, from 1.
func number(j, p int) error {
	if j < 1 || j > p {
		return fmt.Errorf("%d is not between 1 and %d, the number of covariates", j, p)
	}
	return nil
}

func (s Scale) checkCovariates(x *conjugate.NIW) error {
	if len(s.Covariates) == 0 {
		return errors.New("covariates: there is none")
	}
	for _, j := range s.Covariates {
		for k := range x.Dim() {
			if k != j && x.Scale[j*x.Dim()+k] != 0 {
				return fmt.Errorf("covariates.scale has an element off the diagonal, of %d and %d, and no free scale can divide that", j+1, k+1)
			}
		}
	}
	return nil
}

// checkCoefficients checks that Precision is a part of Λ₀: both it and the rest positive
// semidefinite.
func (s Scale) checkCoefficients(theta *conjugate.NIG) error {
	n, q := len(s.Coefficients), theta.Dim()
	if n == 0 {
		return errors.New("coefficients: there is none")
	}
	rest := slices.Clone(theta.Precision)
	for r, i := range s.Coefficients {
		for c, j := range s.Coefficients {
			rest[i*q+j] -= s.Precision[r*n+c]
			if s.Precision[r*n+c] != s.Precision[c*n+r] {
				return errors.New("precision is not symmetric")
			}
		}
	}
	if !positiveSemidefinite(s.Precision, s.Precision, n) {
		return errors.New("precision is not positive semidefinite")
	}
	if !positiveSemidefinite(rest, theta.Precision, q) {
		return errors.New("precision is no part of theta.precision: what is left of that without it is not positive semidefinite")
	}
	return nil
}

// positiveSemidefinite tells it of a symmetric matrix, up to rounding of numbers of the size
// of b's diagonal.
func positiveSemidefinite(a, b []float64, n int) bool {
	root := slices.Clone(a)
	for i := range n {
		root[i*n+i] += semidefinite * b[i*n+i]
	}
	return dense.Cholesky(root, n)
}

// disjoint checks that no part of the prior has two free scales.
func (p *Prior) disjoint(s Scale) error {
	seen := func(have, of []int) bool {
		for i, j := range of {
			if slices.Contains(have, j) || slices.Contains(of[:i], j) {
				return true
			}
		}
		return false
	}
	if seen(nil, s.Covariates) || seen(nil, s.Coefficients) {
		return errors.New("a number stands twice")
	}
	for _, other := range p.Scales {
		if s.Sigma && other.Sigma || seen(other.Covariates, s.Covariates) || seen(other.Coefficients, s.Coefficients) {
			return errors.New("another free scale is of the same")
		}
	}
	return nil
}

// SharesSpread reports whether all slopes share one free spread.
func (p *Prior) SharesSpread() bool {
	return slices.ContainsFunc(p.Scales, func(s Scale) bool { return len(s.Coefficients) == p.Covariates.Dim() })
}
