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
// so that with G = D_xᵀD_x/r² + I/V, h = D_xᵀm̂/r² and P = CCᵀ
//
//	D_y = Cy,   y = Π⁻¹Cᵀh + R⁻ᵀc,   Π = I + CᵀGC = RRᵀ.
//
// Where noise hides columns, or one is nearly a combination of others, P alone tells D_y: y
// follows x. Where z tells them, Π does; and between the two D_y has the curved law of a ratio.
type yRow struct {
	p        int
	variance []float64 // S, in units of D_yy² where scaled
	scaled   bool
	n, v, r  float64
	square   float64 // D_yy²

	x, xt      []float64          // D_x and its transpose
	root, up   []float64          // C and Cᵀ
	both, down []float64          // B = D_xC and its transpose
	inner      *model.Conditional // y, of P = Π and b = Cᵀh
	y          []float64

	g, work                    []float64 // p
	gBoth, gRoot, gPrior       []float64
	product, inverse, products []float64 // scratch
}

func newYRow(p int, variance []float64, scaled bool, n, v, r float64) *yRow {
	vec := func() []float64 { return make([]float64, p) }
	square := func() []float64 { return make([]float64, p*p) }
	return &yRow{p: p, variance: variance, scaled: scaled, n: n, v: v, r: r, x: square(), xt: square(), root: square(), up: square(),
		both: square(), down: square(), inner: model.NewConditional(p), y: vec(), g: vec(), work: vec(),
		gBoth: square(), gRoot: square(), gPrior: square(), product: square(), inverse: square(), products: square()}
}

func (f *yRow) prepare(d []float64, m int, products []float64, square float64) (logJ float64, ok bool) {
	p := f.p
	f.square = square
	for j := range p {
		copy(f.x[j*p:j*p+j+1], d[j*m:])
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
	dense.TransposeTo(f.up, f.root, p)
	dense.MulABtLower(f.both, f.x, dense.Lower, f.up, dense.Upper, p)
	dense.TransposeTo(f.down, f.both, p)
	f.setInner(products)
	logJ, ok = f.inner.Prepare()
	return 0.5*dense.LogDet(f.root, p) + logJ, ok
}

// setInner writes Π and Cᵀh.
func (f *yRow) setInner(products []float64) {
	p, per := f.p, 1/(f.r*f.r)
	dense.MulABtLower(f.inner.Root, f.down, dense.Upper, f.down, dense.Upper, p)
	dense.MulABtLower(f.product, f.up, dense.Upper, f.up, dense.Upper, p)
	dense.MulLowerTVec(f.inner.Mean, f.both, p, products)
	for k := range p {
		to, own := f.inner.Root[k*p:k*p+k+1], f.product[k*p:]
		for i := range to {
			to[i] = per*to[i] + own[i]/f.v
		}
		to[k]++
		f.inner.Mean[k] *= per
	}
}

// prior is the prior variance of slope j.
func (f *yRow) prior(j int) float64 {
	if f.scaled {
		return f.variance[j] * f.square
	}
	return f.variance[j]
}

func (f *yRow) set(row, c []float64) {
	f.inner.Set(f.y, c)
	dense.MulLowerVec(row, f.root, f.p, f.y)
}

func (f *yRow) coordinates(c, row []float64) {
	copy(f.y, row)
	dense.SolveLower(f.root, f.p, f.y)
	f.inner.Coordinates(c, f.y)
}

// pull: Π = I + BᵀB/r² + CᵀC/V and Cᵀh = Bᵀm̂/r², so that with H the gradient in Π and l that in Cᵀh
//
//	2BH/r² + m̂lᵀ/r²   in B = D_xC,       2CH/V   in C,
//
// and beside them C has y's part and log J's. The gradient in P, given the lower triangular one M in C, is
// ½(N + Nᵀ), N = C⁻ᵀ tril(CᵀM)C⁻¹ with half its diagonal.
func (f *yRow) pull(grad, gD, gProducts, gRow, d []float64, m int, c, products []float64) (bySquare float64) {
	p := f.p
	dense.MulLowerTVec(f.g, f.root, p, gRow)
	f.inner.Pull(grad, f.g, c)
	f.pullInner(gProducts, products)
	f.pullRoot(gRow)
	dense.MulABtLower(f.product, f.gBoth, dense.Lower, f.root, dense.Lower, p)
	dense.MulABtLower(f.products, f.x, dense.Lower, f.gPrior, dense.Full, p)
	for j := range p {
		to, byBoth, byPrior, s := gD[j*m:j*m+j+1], f.product[j*p:], f.products[j*p:], 2*f.prior(j)
		sum := 0.0
		for k, v := range f.x[j*p : j*p+j+1] {
			to[k] += byBoth[k] + s*byPrior[k]
			sum += v * byPrior[k]
		}
		if f.scaled {
			bySquare += f.variance[j] * sum
		}
		bySquare += f.gPrior[j*p+j] / f.n
	}
	return bySquare
}

// pullInner writes the gradient in B, and adds that in m̂.
func (f *yRow) pullInner(gProducts, products []float64) {
	p, per := f.p, 1/(f.r*f.r)
	dense.MulABtLower(f.gBoth, f.both, dense.Lower, f.inner.Precise, dense.Full, p)
	dense.MulLowerVec(f.work, f.both, p, f.inner.Linear)
	for i := range p {
		row := f.gBoth[i*p : i*p+i+1]
		for j, g := range f.inner.Linear[:i+1] {
			row[j] = per * (2*row[j] + products[i]*g)
		}
		gProducts[i] += per * f.work[i]
	}
}

// pullRoot writes the gradient in P, by that in C.
func (f *yRow) pullRoot(gRow []float64) {
	p := f.p
	dense.MulABtLower(f.gRoot, f.root, dense.Lower, f.inner.Precise, dense.Full, p)
	dense.TransposeTo(f.inverse, f.gBoth, p)
	dense.MulABtLower(f.product, f.xt, dense.Upper, f.inverse, dense.Upper, p)
	for i := range p {
		row, more := f.gRoot[i*p:i*p+i+1], f.product[i*p:]
		for j, v := range f.y[:i+1] {
			row[j] = 2/f.v*row[j] + more[j] + gRow[i]*v
		}
		row[i] += 1 / f.root[i*p+i]
	}
	dense.TransposeTo(f.product, f.gRoot, p)
	dense.MulABtLower(f.gPrior, f.up, dense.Upper, f.product, dense.Upper, p) // tril(CᵀM)
	dense.HalfCongruence(f.gPrior, f.root, p, f.inverse, f.product)
}
