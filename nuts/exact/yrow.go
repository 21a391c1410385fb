package exact

import (
	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/model"
)

// yRow is rowOfY whatever D_yy and D_x are. Given these D_y has about the law
//
//	prior   N(0, P),   P = D_xᵀSD_x + (D_yy²/n)I,   S the prior variances of slopes
//	z       D_xD_y ~ N(m̂, r²I),             m̂ the noisy means of products, centred
//	z       |D_y|² is about V               the noisy variance of y
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

	root, gram []float64          // C and G
	h          []float64          // h
	inner      *model.Conditional // y, of P = Π and b = Cᵀh
	y          []float64

	gY, gH                        []float64
	gPrior, gRoot, gGram, product []float64
}

func newYRow(p int, variance []float64, scaled bool, n, v, r float64) *yRow {
	vec := func() []float64 { return make([]float64, p) }
	square := func() []float64 { return make([]float64, p*p) }
	return &yRow{p: p, variance: variance, scaled: scaled, n: n, v: v, r: r, root: square(), gram: square(), h: vec(), inner: model.NewConditional(p), y: vec(),
		gY: vec(), gH: vec(), gPrior: square(), gRoot: square(), gGram: square(), product: square()}
}

func (f *yRow) prepare(d []float64, m int, products []float64, square float64) (logJ float64, ok bool) {
	p := f.p
	f.square = square
	clear(f.root)
	clear(f.gram)
	clear(f.h)
	per := 1 / (f.r * f.r)
	for j := range p {
		row, s := d[j*m:j*m+j+1], f.prior(j)
		for k, v := range row {
			f.h[k] += per * v * products[j]
			addScaled(f.root[k*p:k*p+k+1], s*v, row[:k+1])
			addScaled(f.gram[k*p:k*p+k+1], per*v, row[:k+1])
		}
	}
	for k := range p {
		f.root[k*p+k] += square / f.n
		f.gram[k*p+k] += 1 / f.v
	}
	if !dense.Cholesky(f.root, p) {
		return 0, false
	}
	for k := range p {
		clear(f.root[k*p+k+1 : (k+1)*p])
	}
	dense.Symmetrise(f.gram, p)
	f.congruence(f.inner.Root, f.gram)
	for k := range p {
		f.inner.Root[k*p+k]++
	}
	dense.MulLowerTVec(f.inner.Mean, f.root, p, f.h)
	logJ, ok = f.inner.Prepare()
	return 0.5*dense.LogDet(f.root, p) + logJ, ok
}

// prior is the prior variance of slope j.
func (f *yRow) prior(j int) float64 {
	if f.scaled {
		return f.variance[j] * f.square
	}
	return f.variance[j]
}

// congruence writes CᵀAC of a symmetric A, and leaves AC in product.
func (f *yRow) congruence(dst, a []float64) {
	p := f.p
	clear(f.product)
	clear(dst)
	for i := range p {
		to := f.product[i*p : (i+1)*p]
		for k, v := range a[i*p : (i+1)*p] {
			addScaled(to[:k+1], v, f.root[k*p:])
		}
	}
	for k := range p {
		from := f.product[k*p : (k+1)*p]
		for i, v := range f.root[k*p : k*p+k+1] {
			addScaled(dst[i*p:(i+1)*p], v, from)
		}
	}
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

// pull: the gradient in P, given the lower triangular one M in C, is ½(N + Nᵀ),
// N = C⁻ᵀ tril(CᵀM)C⁻¹ with half its diagonal.
func (f *yRow) pull(grad, gD, gProducts, gRow, d []float64, m int, c, products []float64) (bySquare float64) {
	p, per := f.p, 1/(f.r*f.r)
	dense.MulLowerTVec(f.gY, f.root, p, gRow)
	f.inner.Pull(grad, f.gY, c)
	gPi, gLinear := f.inner.Precise, f.inner.Linear
	// Π = I + CᵀGC, product is GC: 2GC∂Π in C, C∂ΠCᵀ in G
	clear(f.gRoot)
	for i := range p {
		to := f.gRoot[i*p : i*p+i+1]
		for k, v := range f.product[i*p : (i+1)*p] {
			addScaled(to, 2*v, gPi[k*p:k*p+i+1])
		}
		addScaled(to, gRow[i], f.y[:i+1])
		addScaled(to, f.h[i], gLinear[:i+1])
		to[i] += 1 / f.root[i*p+i]
	}
	clear(f.product)
	for i := range p {
		to := f.product[i*p : (i+1)*p]
		for k, v := range f.root[i*p : i*p+i+1] {
			addScaled(to, v, gPi[k*p:(k+1)*p])
		}
	}
	for i := range p {
		for j := range i + 1 {
			f.gGram[i*p+j] = dot(f.root[j*p:j*p+j+1], f.product[i*p:i*p+j+1])
		}
	}
	dense.Symmetrise(f.gGram, p)
	dense.MulLowerVec(f.gH, f.root, p, gLinear)
	clear(f.gPrior)
	for k := range p { // tril(CᵀM)
		from := f.gRoot[k*p : k*p+k+1]
		for i, v := range f.root[k*p : k*p+k+1] {
			addScaled(f.gPrior[i*p:i*p+i+1], v, from[:i+1])
		}
	}
	dense.HalfCongruence(f.gPrior, f.root, p)
	for j := range p {
		row, to, s := d[j*m:j*m+j+1], gD[j*m:j*m+j+1], 2*f.prior(j)
		for k, v := range row {
			at, own := dot(row, f.gGram[k*p:]), dot(row, f.gPrior[k*p:])
			to[k] += per*(products[j]*f.gH[k]+2*at) + s*own
			if f.scaled {
				bySquare += f.variance[j] * v * own
			}
			gProducts[j] += per * v * f.gH[k]
		}
		bySquare += f.gPrior[j*p+j] / f.n
	}
	return bySquare
}
