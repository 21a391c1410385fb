package exact

import "github.com/dpreg/dpreg/internal/dense"

// rowOfY are coordinates c of the row D_y of y in D, given D_yy and the rows D_x of x, which are
// nearly standard normal.
type rowOfY interface {
	// prepare takes D_x, m̂ and D_yy², and returns log|∂D_y/∂c|. It reports
	// false where rounding leaves a matrix indefinite.
	prepare(t *statistics, products []float64, square float64) (logJ float64, ok bool)

	// set writes D_y of c after prepare, and coordinates c of D_y.
	set(row, c []float64)
	coordinates(c, row []float64)

	// pull writes the gradient in c, given that in D_y, of a density whose log J is added,
	// and adds those in D_x and in m̂; it returns that in D_yy².
	pull(grad []float64, t *statistics, gProducts, c, products []float64) (bySquare float64)
}

// toldRow is rowOfY where z tells the scatter well, and the sums of yx tell D_y:
//
//	D_xD_y = m̂ + rc.
type toldRow struct {
	p           int
	r           float64
	root        []float64 // D_x
	products, y []float64 // m̂ and D_y
	g           []float64
}

func newToldRow(p int, r float64) *toldRow {
	return &toldRow{p: p, r: r, root: vec(p * p), products: vec(p), y: vec(p), g: vec(p)}
}

func (f *toldRow) prepare(t *statistics, products []float64, _ float64) (logJ float64, ok bool) {
	for j := range f.p {
		copy(f.root[j*f.p:j*f.p+j+1], t.d[j*t.m:])
	}
	copy(f.products, products)
	return -0.5 * dense.LogDet(f.root, f.p), true
}

func (f *toldRow) set(row, c []float64) {
	for j, v := range c {
		f.y[j] = f.products[j] + f.r*v
	}
	dense.SolveLower(f.root, f.p, f.y)
	copy(row, f.y)
}

func (f *toldRow) coordinates(c, row []float64) {
	dense.MulLowerVec(c, f.root, f.p, row)
	for j, v := range f.products {
		c[j] = (c[j] - v) / f.r
	}
}

func (f *toldRow) pull(grad []float64, t *statistics, gProducts, _, _ []float64) (bySquare float64) {
	copy(f.g, t.gD[f.p*t.m:])
	dense.SolveLowerT(f.root, f.p, f.g)
	for j, g := range f.g {
		grad[j] = f.r * g
		gProducts[j] += g
		addScaled(t.gD[j*t.m:j*t.m+j+1], -g, f.y[:j+1])
		t.gD[j*t.m+j] -= 1 / f.root[j*f.p+j]
	}
	return 0
}
