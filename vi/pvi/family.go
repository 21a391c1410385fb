// Package pvi is partitioned variational inference: clients keep their records, and a
// server keeps a normal law that is the prior times a factor of each client (Bui et al.,
// 2018; Ashman et al., 2022), with differential privacy for records (Sharma et al., 2019).
//
// A Rule says what a client's factor should be: Gradient by stochastic gradients, Analytic
// in closed form for linear regression. A Local client holds records and proposes to go some of
// the way there, so many times. A Server asks clients, all at once or one after the other, wherever
// they are, and keeps their factors. docs/pvi.md has the proofs.
package pvi

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Family is a family of normal laws N(μ, Λ⁻¹) of Dim coefficients, given by natural
// parameters: the shift h = Λμ, then the precision Λ, its diagonal alone or, where Full,
// the lower triangle row by row. Laws and factors multiply by adding these.
type Family struct {
	Dim  int
	Full bool
}

// Len is how many natural parameters there are.
func (f Family) Len() int {
	if f.Full {
		return f.Dim + f.Dim*(f.Dim+1)/2
	}
	return 2 * f.Dim
}

// Isotropic returns N(0, sd² I).
func (f Family) Isotropic(sd float64) []float64 {
	law := make([]float64, f.Len())
	for j, at := 0, f.Dim; j < f.Dim; j, at = j+1, at+1 {
		if f.Full {
			at += j
		}
		law[at] = 1 / (sd * sd)
	}
	return law
}

// Proper tells whether the precision is positive definite and all is finite: whether
// natural parameters are those of a law.
func (f Family) Proper(law []float64) bool {
	if !finite(law) {
		return false
	}
	if f.Full {
		var factor mat.Cholesky
		return factor.Factorize(f.precision(law))
	}
	return !slices.ContainsFunc(law[f.Dim:], func(v float64) bool { return v <= 0 })
}

func finite(x []float64) bool {
	return !slices.ContainsFunc(x, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}

// precision is Λ of a full law.
func (f Family) precision(law []float64) *mat.SymDense {
	p := mat.NewSymDense(f.Dim, nil)
	for j, at := 0, f.Dim; j < f.Dim; j++ {
		for k := 0; k <= j; k, at = k+1, at+1 {
			p.SetSym(j, k, law[at])
		}
	}
	return p
}

// errImproper is what a caller's law that is none gives.
var errImproper = errors.New("natural parameters without a positive definite precision")

// Moments returns the mean μ and the covariance Λ⁻¹. Errors: the law is not Proper.
func (f Family) Moments(law []float64) (mean []float64, covariance *mat.SymDense, err error) {
	if !f.Proper(law) {
		return nil, nil, errImproper
	}
	covariance = mat.NewSymDense(f.Dim, nil)
	mean = make([]float64, f.Dim)
	if !f.Full {
		for j := range mean {
			mean[j] = law[j] / law[f.Dim+j]
			covariance.SetSym(j, j, 1/law[f.Dim+j])
		}
		return mean, covariance, nil
	}
	var factor mat.Cholesky
	factor.Factorize(f.precision(law))
	if err := factor.SolveVecTo(mat.NewVecDense(f.Dim, mean), mat.NewVecDense(f.Dim, law[:f.Dim])); err != nil {
		return nil, nil, err
	}
	return mean, covariance, factor.InverseTo(covariance)
}
