package model

import (
	"slices"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// Released is what releases tell of their covariates and of products with the response, of all their rows.
type Released struct {
	Law     *Params   // mean of x over all, and covariance within releases, in the units of a frame
	Product []float64 // E[(1, x)y], y between 0 and 1
	Noise   []float64 // and the variance of its noise
}

// Releases returns it, of releases of the same columns, one or more; Product and Noise are of length p + 1. Of what noise leaves no spread, a thousandth of the largest stands.
func Releases(all []*release.Release, in *schema.Frame) *Released {
	shape, rows := ShapeOf(all[0]), 0.0
	for _, r := range all {
		rows += float64(r.N)
	}
	p, m := shape.P, shape.M()
	t := &Released{NewParams(shape), make([]float64, m), make([]float64, m)}
	scatter, x := make([]float64, m*m), t.Law
	for _, r := range all {
		own, z, sd, n := r.Schema.Frame(), r.Scaled(), r.ScaledSD(), float64(r.N)
		Scatter(scatter, z, m, n)
		t.Product[0] += 0.5 * (n + z[p]) / rows
		t.Noise[0] += 0.25 * sd[p] * sd[p] / (rows * rows)
		for j := range p {
			scale, shift, at := own.Half[j]/in.Half[j], (own.Centre[j]-in.Centre[j])/in.Half[j], release.Index(m, j, p)
			x.MuX[j] += (z[j]*scale + n*shift) / rows
			t.Product[1+j] += 0.5 * (scale*(z[j]+z[at]) + shift*(n+z[p])) / rows
			t.Noise[1+j] += 0.25 * (scale*scale*(sd[j]*sd[j]+sd[at]*sd[at]) + shift*shift*sd[p]*sd[p]) / (rows * rows)
			for k := range p {
				x.Tau[j*p+k] += scatter[j*m+k] * scale * own.Half[k] / in.Half[k] / rows
			}
		}
	}
	values, vectors := make([]float64, p), make([]float64, p*p)
	dense.SymEigen(values, vectors, x.Tau, p, make([]float64, p*p))
	least := 1e-3 * max(slices.Max(values), 1e-9)
	for k, v := range values {
		values[k] = max(v, least)
	}
	dense.FromEigen(x.Tau, values, vectors, p)
	return t
}
