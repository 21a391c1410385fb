package exact

import "math"

// lastRow is the row of y in D, given D_x: D_y in coordinates of rowOfY, and what y has beside its slopes on x, D_yy, by a
// coordinate u. z tells V = |D_y|² + D_yy², and where noise hides columns it tells neither part: with V̂ the V that z tells and
// r the sd of the noise of y's mean square,
//
//	D_yy² = r spreadOf(u + softplus((V̂ − |D_y|²)/r)),
//
// so that V is V̂ + ru where there is room, and D_yy is as that of a hidden column where there is none. u of D_yy² alone would
// follow a parabola in D_y, thin as r, over all that slopes of hidden columns may explain. A prior that scales θ by σ
// explains no more than D_yy² tells: there softplus is left out.
//
// The priors of v̄_y and D_y, which are made first, hang on D_yy²: on what it is where D_y is 0.
type lastRow struct {
	*columns
	y       rowOfY
	told    float64 // V̂
	atZero  float64 // softplus(V̂/r)
	most    float64 // D_yy² where D_y is 0
	slopeOf float64 // of most in u
	share   float64 // slope of softplus

	products, gProducts []float64 // m̂, and the gradient there
}

// newLastRow makes that of V̂, but for rowOfY, and returns what V is about, at least r.
func newLastRow(c *columns, told float64, scaled bool) (f lastRow, variance float64) {
	r := c.r[c.p]
	above, _ := softplus(told / r)
	variance = r * (1 + above)
	if scaled { // V less what the p noisy products with x say of it
		c.r[c.p] = min(variance, r*max(1, float64(c.p)))
		told, above = math.Inf(-1), 0
	}
	return lastRow{columns: c, told: told, atZero: above, products: vec(c.p), gProducts: vec(c.p)}, variance
}

// begin takes what D_yy² is where D_y is 0.
func (f *lastRow) begin(u float64) {
	spread, slope, _, _ := spreadOf(u + f.atZero)
	f.most, f.slopeOf = f.r[f.p]*spread, f.r[f.p]*slope
}

// take takes the row of coordinates x, m̂ and most being known, and adds its log J to that of the rows before it, of which it
// takes product's. It reports false where none of D_yy is left in floating point.
func (f *lastRow) take(logJ float64, t *statistics, x []float64) (float64, bool) {
	i, at, row := f.p, f.p*(f.m+1), f.row(t.d)
	log, ok := f.y.prepare(t, f.products, f.most)
	if !ok {
		return 0, false
	}
	logJ += log + 0.5*f.product.value()
	f.y.set(row, x[:i])
	spread, slope, logSlope, bend := spreadOf(x[i] + f.above(t.d))
	if !(logSlope > leastLog) {
		return 0, false
	}
	f.slope[i], f.bend[i] = slope, bend
	f.square[i] = f.r[i] * spread
	t.d[at], f.logSquare[i] = math.Sqrt(f.square[i]), math.Log(f.square[i])
	return logJ + (logSlope - 0.5*f.logSquare[i]), f.logSquare[i] > leastLog && f.square[i] > leastRest*dot(row, row)
}

// leastRest is what y has at least beside its slopes on x, over what those explain: beyond it slopes of the density are those
// of rounding. The prior of σ has 1e-7 there, as it is about flat at 0.
const leastRest = 1e-14

func (f *lastRow) above(d []float64) (u float64) {
	row := f.row(d)
	u, f.share = softplus((f.told - dot(row, row)) / f.r[f.p])
	return u
}

// row is D_y.
func (f *lastRow) row(d []float64) []float64 { return d[f.p*f.m : f.p*f.m+f.p] }

// pull writes the gradient in x but through most, of a density and log J, where take was last, and that in m̂; it adds that in
// D_x, spends that in the row, and returns that in most.
func (f *lastRow) pull(grad []float64, t *statistics, x []float64) (byMost float64) {
	i, at := f.p, f.p*(f.m+1)
	byU := 0.5*(t.gD[at]/t.d[at]-1/f.square[i])*f.r[i]*f.slope[i] + f.bend[i]
	addScaled(f.row(t.gD), -2*byU*f.share/f.r[i], f.row(t.d))
	grad[i] = byU
	clear(f.gProducts)
	return f.y.pull(grad[:i], t, f.gProducts, x[:i], f.products)
}

// place returns u of D, and begins; placeRow writes the coordinates of D_y, m̂ being known.
func (f *lastRow) place(d []float64) (u float64) {
	v := d[f.p*(f.m+1)]
	f.square[f.p] = v * v
	u = spreadInverse(v*v/f.r[f.p]) - f.above(d)
	f.begin(u)
	return u
}

func (f *lastRow) placeRow(c []float64, t *statistics) (ok bool) {
	if _, ok = f.y.prepare(t, f.products, f.most); ok {
		f.y.coordinates(c, f.row(t.d))
	}
	return ok
}
