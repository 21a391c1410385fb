package exact

import (
	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/model"
)

// yRow is rowOfY whatever D_yy and D_x are. Given these D_y has about the law
//
//	prior   N(0, P),   P = D_xᵀSD_x + (D_yy²/n)I,   S the prior variances of slopes
//	z       D_xD_y ~ N(m̂, r²I),             m̂ the noisy means of products, centred
//	z       D_y ~ N(0, VI)                  the noisy variance of y, see leaning
//
// so that with h = D_xᵀm̂/r²
//
//	Λ = P⁻¹ + D_xᵀD_x/r² + I/V = RRᵀ,   D_y = Λ⁻¹h + R⁻ᵀc.
//
// Where noise hides columns, or one is nearly a combination of others, P alone tells D_y: y
// follows x. Where z tells them, it tells D_y; and between the two D_y has the curved law of a ratio.
type yRow struct {
	p        int
	variance []float64 // S, in units of D_yy² where scaled
	scaled   bool
	n, v, r  float64
	square   float64 // D_yy²

	x, xt   []float64          // D_x and its transpose
	root    []float64          // of P
	inverse []float64          // P⁻¹
	law     *model.Conditional // D_y, of the precision Λ and b = h

	gPrior, byRows, byPrior, product []float64
}

func newYRow(p int, variance []float64, scaled bool, n, v, r float64) *yRow {
	return &yRow{p: p, variance: variance, scaled: scaled, n: n, v: v, r: r, x: vec(p * p), xt: vec(p * p), root: vec(p * p), inverse: vec(p * p),
		law: model.NewConditional(p), gPrior: vec(p * p), byRows: vec(p * p), byPrior: vec(p * p), product: vec(p * p)}
}

func (f *yRow) prepare(t *statistics, products []float64, square float64) (logJ float64, ok bool) {
	p, per := f.p, 1/(f.r*f.r)
	f.square = square
	for j := range p {
		copy(f.x[j*p:j*p+j+1], t.d[j*t.m:])
	}
	dense.TransposeTo(f.xt, f.x, p)
	for j := range p {
		s := f.prior(j)
		for k := range j + 1 {
			f.product[k*p+j] = s * f.xt[k*p+j]
		}
		clear(f.product[j*p : j*p+j])
	}
	dense.MulABtLower(f.root, f.product, dense.Upper, f.xt, dense.Upper, p)
	for k := range p {
		f.root[k*p+k] += square / f.n
	}
	if !dense.Cholesky(f.root, p) {
		return 0, false
	}
	dense.InverseFromCholesky(f.inverse, f.root, p)
	dense.MulABtLower(f.law.Root, f.xt, dense.Upper, f.xt, dense.Upper, p)
	dense.MulLowerTVec(f.law.Mean, f.x, p, products)
	for k := range p {
		to, own := f.law.Root[k*p:k*p+k+1], f.inverse[k*p:]
		for i := range to {
			to[i] = per*to[i] + own[i]
		}
		to[k] += 1 / f.v
		f.law.Mean[k] *= per
	}
	return f.law.Prepare()
}

// prior is the prior variance of slope j.
func (f *yRow) prior(j int) float64 {
	if f.scaled {
		return f.variance[j] * f.square
	}
	return f.variance[j]
}

func (f *yRow) set(row, c []float64) { f.law.Set(row, c) }

func (f *yRow) coordinates(c, row []float64) { f.law.Coordinates(c, row) }

// pull: with H the gradient in Λ and l that in h, that in P is −P⁻¹HP⁻¹.
func (f *yRow) pull(grad []float64, t *statistics, gProducts, c, products []float64) (bySquare float64) {
	p, m, per := f.p, t.m, 1/(f.r*f.r)
	f.law.Pull(grad, t.gD[p*m:p*m+p], c)
	dense.MulABt(f.product, f.inverse, f.law.Precise, p, p, p)
	dense.MulABtLower(f.gPrior, f.product, dense.Full, f.inverse, dense.Full, p)
	dense.Symmetrise(f.gPrior, p)
	dense.MulABtLower(f.byRows, f.x, dense.Lower, f.law.Precise, dense.Full, p)
	dense.MulABtLower(f.byPrior, f.x, dense.Lower, f.gPrior, dense.Full, p)
	for j := range p {
		to, byRows, byPrior, s := t.gD[j*m:j*m+j+1], f.byRows[j*p:], f.byPrior[j*p:], 2*f.prior(j)
		sum, linear := 0.0, 0.0
		for k, v := range f.x[j*p : j*p+j+1] {
			l := f.law.Linear[k]
			to[k] += per*(2*byRows[k]+products[j]*l) - s*byPrior[k]
			sum += v * byPrior[k]
			linear += v * l
		}
		gProducts[j] += per * linear
		if f.scaled {
			bySquare -= f.variance[j] * sum
		}
		bySquare -= f.gPrior[j*p+j] / f.n
	}
	return bySquare
}
