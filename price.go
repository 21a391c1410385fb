package dpreg

import (
	"math"
	"slices"

	"github.com/dpreg/dpreg/internal/reference"
	"github.com/dpreg/dpreg/model"
)

// priceDraws is the number of draws that PriceOfPrivacy averages over. The
// expected variance varies little from draw to draw: at a coefficient of
// variation of 1 its root is known to 2.5 %. The sweeps of reference.WithoutNoise at each, of 400 · 9
// degrees of freedom together, leave it known to 1.2 %.
const (
	priceDraws  = 400
	priceSweeps = 10
)

// PriceOfPrivacy returns, for each θ in the data's units and in the order of
// Draws, the posterior sd over the sd expected without noise: 1 where noise cost
// nothing. It is nil where the method has no part for it: non-private has no
// noise, naive no law of the statistics; draws of several releases have one only
// where covariates are shared; and pooled partially, θ has no conjugate posterior.
//
// The law of total variance divides the posterior's,
//
//	Var(θ | z) = E[Var(θ | s) | z] + Var(E[θ | s] | z),
//
// and the ratio is √(Var(θ | z) / E[Var(θ | s) | z]). For Var(θ | s) see
// reference.WithoutNoise; s is put at its expectation nμ_t given a draw of the
// parameters, n the rows of all releases, and the mean is taken over draws.
func (f *Fit) PriceOfPrivacy() []float64 { return slices.Clone(f.price()) }

func (f *Fit) findPrice() []float64 {
	if f.law == nil || f.partial {
		return nil
	}
	without := f.varianceWithoutNoise()
	if without == nil {
		return nil
	}
	draws := f.Draws(Original)
	price := make([]float64, len(without))
	for i, v := range without {
		price[i] = math.Sqrt(reference.Variance(draws.Column(i)) / v)
	}
	return price
}

// varianceWithoutNoise is E[Var(θ | s) | z] in the data's units; nil where it
// cannot be computed in float64.
func (f *Fit) varianceWithoutNoise() []float64 {
	shape := f.shape()
	law, err := f.law()
	if err != nil {
		return nil
	}
	x := model.NewParams(shape)
	if !f.hasCovariates() {
		x = model.NewRegressionParams(shape)
	}
	s, without := make([]float64, shape.Statistics()), reference.NewWithoutNoise(shape, f.Prior, f.frame, priceSweeps)
	mean, v := make([]float64, shape.Q()), make([]float64, shape.Q())
	rows := f.draws.Thin(priceDraws)
	for _, row := range rows {
		x.Read(row)
		n := f.count(row)
		law.Set(x)
		law.Expect(s, n)
		if !without.Variance(v, x, s, n) {
			return nil
		}
		for i := range v {
			mean[i] += v[i] / float64(len(rows))
		}
	}
	return mean
}

// count is the number of rows in a draw, of all releases, latent where it was released
// with noise.
func (f *Fit) count(row []float64) float64 {
	n := float64(f.N)
	if f.hasCount() {
		n = row[len(row)-1]
	}
	for j, c := range f.Custodians {
		if i := f.at(model.Parameter{Kind: model.Rows, Custodian: j + 1}); i >= 0 {
			n += row[i] - float64(c.Release.N)
		}
	}
	return n
}
