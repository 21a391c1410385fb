package exact

import (
	"math"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
)

// byLevel is the posterior of the statistics of rows of which a factor has its own law: the rows of
// its levels are n_l = 0, 1, … that sum to n, uniform a priori (multinomial with uniform
// probabilities; of a latent n see levelSums), covariates have the law of levelLaw given these, and y that of levelResponse given all
// columns. p(s | φ) = p(n_1 … n_L) p(F_x, D_x | n_l) p(F_y, D_y | x), in coordinates of levelSums, all of F and D, and
// a coordinate of ℓ behind them. A gradient costs O(Ld²). NUTS moves all but the counts, which Metropolis' steps
// move, see moveCounts.
type byLevel struct {
	*levelSums
	response       *levelResponse
	toldY          []float64 // products of y of z
	ell            float64
	root, logScale float64 // √2n, log B of y
	last           lastRow
}

func newByLevel(site *model.Site, prior *model.Prior) *byLevel {
	obs := site.Observation
	m, k := obs.Shape.M(), obs.Told.Dummies
	q, d, n, levels := m-1-k, m-k, rowsTold(obs), k+1
	part := prior.Within(behind(k, m-1))
	f := &byLevel{levelSums: newLevelSums(site, part, model.NewNoise(obs), 0, d, d), response: newLevelResponse(obs.Shape, k, part),
		toldY: vec(q), root: math.Sqrt(2 * n)}
	f.logScale = math.Log(f.units.b[q])
	products := f.toldOwn[levels*d:]
	for j := range q {
		f.toldY[j] = products[release.Index(d, j, q)-d]
	}
	f.priorY(part, prior.Unscaled)
	square := products[len(products)-1] / n
	for l := range levels {
		y := f.toldOwn[l*d+q]
		square -= y * y / (n * max(f.toldCount(l), 1))
	}
	var variance float64
	f.last, variance = newLastRow(f.columns, square, !prior.Unscaled)
	slopes := vec(q)
	for j := range slopes {
		b := f.units.b[j] / f.units.b[q]
		slopes[j] = b * b / f.response.precision[(k+j)*(m-1)+k+j]
	}
	f.last.y = newYRow(q, slopes, !prior.Unscaled, n, variance, math.Sqrt(f.noiseOfProduct(0, q))/n)
	return f
}

// priorY takes what the prior has of the levels' means of y: at the middle of x those of η_l = α + w_lᵀθ_d,
// w_l = 2e_l − (1 + c_d).
func (f *byLevel) priorY(part *model.Prior, unscaled bool) {
	d, k, p, r := f.d, f.k, f.m-1, f.response
	dummies, cov := vec(k*k), vec(k*k)
	for c := range k {
		copy(dummies[c*k:(c+1)*k], r.precision[c*p:])
	}
	if dense.Cholesky(dummies, k) {
		dense.InverseFromCholesky(cov, dummies, k)
	}
	w := vec(k)
	for l := range f.levels {
		mean := r.level
		for c := range w {
			if w[c] = -1 - r.centre[c]; c == l-1 {
				w[c] += 2
			}
			mean += w[c] * r.mean[c]
		}
		for j := range f.q {
			mean += r.mean[k+j] * (part.Covariates.Mean[j] - r.centre[k+j])
		}
		if v := 1/r.alpha + dense.QuadForm(cov, k, w); unscaled {
			f.priorSum(l*d+f.q, mean, v, 0)
		} else {
			f.priorSum(l*d+f.q, mean, 0, v)
		}
	}
}

// Dim returns the number of coordinates.
func (f *byLevel) Dim() int { return f.end() + 1 }

// yRow is where those of y's row are: q of D_y, and that of D_yy.
func (f *byLevel) yRow(x []float64) []float64 { return x[f.othersAt():f.zetaAt()] }

// set takes F, D, λ and ℓ of x, and log J. It reports false where a column has no spread left in
// floating point.
func (f *byLevel) set(x []float64) (ok bool) {
	c, w, q := f.columns, f.within, f.q
	if f.logJ, ok = f.takeRows(x); !ok {
		return false
	}
	f.last.begin(f.yRow(x)[q])
	f.most = f.last.most
	f.takeSums(x)
	f.takeProducts()
	if f.logJ, ok = f.last.take(f.logJ, w, f.yRow(x)); !ok {
		return false
	}
	f.ell = 0.5*c.logSquare[q] + x[f.end()]/f.root + f.logScale
	w.spread()
	f.prior.see(w, f.sums, f.law.roots)
	f.scales.set(x[f.freeAt():], w)
	return math.Abs(f.ell) < -leastLog
}

// takeProducts takes m̂ at F.
func (f *byLevel) takeProducts() {
	q, d := f.q, f.d
	for j, v := range f.toldY {
		f.last.products[j] = v / f.n
	}
	for l := range f.levels {
		row := f.sums[l*d : (l+1)*d]
		addScaled(f.last.products, -row[q]/f.n, row[:q])
	}
}

// LogDensity returns the log density at x up to a constant, and its gradient.
func (f *byLevel) LogDensity(grad, x []float64) (float64, error) {
	return logDensity(f, grad, x)
}

// value returns the log density alone, and leaves the noise's slopes.
func (f *byLevel) value(x []float64) (logp float64, ok bool) {
	if !f.set(x) {
		return 0, false
	}
	p := f.prior
	byX, ok := f.law.value(p.statistics, p.sums, x[f.zetaAt():f.freeAt()], f.scales.lambda)
	if !ok {
		return 0, false
	}
	byY, ok := f.response.value(p.statistics, f.law.roots, p.sums, f.ell, f.scales.lambda)
	if !ok {
		return 0, false
	}
	f.tell()
	logp = f.logJ + f.ofN + f.spare + (byX + byY + f.noise.LogDensity(f.byTold, f.told))
	for i := range f.d {
		logp += f.power(i) * 0.5 * f.columns.logSquare[i]
	}
	return f.scales.addPrior(logp), true
}

// slope writes the gradient where value was last.
func (f *byLevel) slope(grad, x []float64) {
	w, p, q, d := f.within, f.prior, f.q, f.d
	f.begin()
	byEll := f.response.slope(p.gSums, f.scales.gLambda, p.statistics, f.law.roots, p.sums)
	f.law.slope(p.gSums, grad[f.zetaAt():f.freeAt()], f.scales.gLambda, p.statistics, x[f.zetaAt():f.freeAt()], f.scales.lambda)
	p.pull(f.gSums, w)
	f.pullTold()
	w.pull()
	f.scales.pull(grad[f.freeAt():f.end()], w)
	for i := range d {
		w.gD[i*d+i] += f.power(i) / w.d[i*d+i]
	}
	grad[f.end()] = byEll / f.root
	w.gD[q*d+q] += byEll / w.d[q*d+q]
	to := f.yRow(grad)
	f.byMost = f.last.pull(to, w, f.yRow(x))
	for l := range f.levels {
		row, g := f.sums[l*d:(l+1)*d], f.gSums[l*d:(l+1)*d]
		g[q] -= dot(f.last.gProducts, row) / f.n
		addScaled(g[:q], -row[q]/f.n, f.last.gProducts)
	}
	f.pullSums(grad, x)
	to[q] += f.byMost * f.last.slopeOf
	f.pullRows(grad, x)
}

// resum takes counts, and F and D that sums and W give, and writes their coordinates. It reports false where rounding forbids.
func (f *byLevel) resum(x, counts, sums, w []float64) bool {
	if !f.takeScatter(counts, w) {
		return false
	}
	f.placeRows(x)
	y := f.yRow(x)
	y[f.q] = f.last.place(f.within.d)
	f.most = f.last.most
	f.placeSums(x, sums)
	f.takeProducts()
	return f.last.placeRow(y[:f.q], f.within)
}
