package exact

import (
	"math"

	"github.com/dpreg/dpreg/model"
)

// rowLaw is the law of the row D_y of y in D, given the rows D_x of x, parameters and normal noise: with κ the precision that
// parameters give it, r the sd of the noise of a mean of products, and m̂ what z tells of D_xD_y,
//
//	D_y ~ N(μ, I/κ),   D_xD_y ~ N(m̂, r²I):   D_y = Λ⁻¹(κμ + D_xᵀm̂/r²) + R⁻ᵀc,   Λ = κI + D_xᵀD_x/r² = RRᵀ,
//
// so that c are standard normal, whether z tells the row or noise hides it. Residuals e = √κ(D_y − μ) have slopes of their own
// where a density has one there, see part.standard.
type rowLaw struct {
	p        int
	own, per float64   // κ and 1/r²
	middle   []float64 // μ
	products []float64 // m̂
	residual []float64 // e
	byR      []float64 // slope in e

	byOwn               float64 // gradients, where pull was last
	byMiddle, gProducts []float64
	law                 *model.Conditional
}

func newRowLaw(p int) *rowLaw {
	return &rowLaw{p: p, middle: vec(p), products: vec(p), residual: vec(p), byR: vec(p), byMiddle: vec(p), gProducts: vec(p), law: model.NewConditional(p)}
}

// prepare takes D_x in rows of m, μ, κ and m̂ standing in the fields. It reports false where rounding leaves Λ indefinite.
func (f *rowLaw) prepare(d []float64, m int) (logJ float64, ok bool) {
	p := f.p
	clear(f.law.Root)
	for k, v := range f.middle {
		f.law.Mean[k] = f.own * v
		f.law.Root[k*p+k] = f.own
	}
	for j, told := range f.products {
		row := d[j*m : j*m+j+1]
		addScaled(f.law.Mean[:j+1], f.per*told, row)
		for k, v := range row {
			addScaled(f.law.Root[k*p:k*p+k+1], f.per*v, row[:k+1])
		}
	}
	return f.law.Prepare()
}

// set writes D_y of c after prepare.
func (f *rowLaw) set(row, c []float64) {
	f.law.Set(row, c)
	root := math.Sqrt(f.own)
	for k, v := range f.middle {
		f.residual[k] = root * (row[k] - v)
	}
}

// pull writes the gradient in c, given that in D_y of a density whose log J is added, which it spends, and those in the
// fields; it adds that in D_x.
func (f *rowLaw) pull(grad, gD, gRow, d []float64, m int, c []float64) {
	root := math.Sqrt(f.own)
	for k, g := range f.byR {
		gRow[k] += root * g
	}
	f.law.Pull(grad, gRow, c)
	linear, precise := f.law.Linear, f.law.Precise
	f.byOwn = dot(f.middle, linear) + 0.5*dot(f.byR, f.residual)/f.own
	for k, l := range linear {
		f.byOwn += precise[k*f.p+k]
		f.byMiddle[k] = f.own*l - root*f.byR[k]
	}
	for j, told := range f.products {
		row, to := d[j*m:j*m+j+1], gD[j*m:j*m+j+1]
		f.gProducts[j] = f.per * dot(row, linear)
		for k := range row {
			to[k] += f.per * (linear[k]*told + 2*dot(row, precise[k*f.p:]))
		}
	}
}
