package exact

import (
	"math"
	"slices"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts"
	"github.com/dpreg/dpreg/release"
)

// byLevel is the posterior of the statistics of rows of which a factor has its own law: the rows of
// its levels are n_l = 0, 1, … that sum to n, uniform a priori (multinomial with uniform
// probabilities), covariates have the law of levelLaw given these, and y that of levelResponse given all
// columns. p(s | φ) = p(n_1 … n_L) p(F_x, D_x | n_l) p(F_y, D_y | x): a Gram matrix of (1, dummies) that is
// known leaves orthonormal sums F_l = Σ_(l)v/√n_l of v = (x, y), d = q + 1 columns, and what they leave of the
// scatter, nDDᵀ, and nothing of dummies is taken for normal. All costs O(Ld²).
//
// NUTS moves all but the counts, in coordinates as coordinates has them, of D; of F
//
//	F_jl = w²(√n_l a_jj z̃_jl/ς² + √n_l m_jl/V) + w x,   1/w² = n_l a_jj²/ς² + 1/V,   V = n_l A_jl + (1 + n_l B_jl) D_jj²,
//
// z̃_jl = z_jl − √n_l Σ_{i<j} a_ji F_il, z_jl the noisy sum within level l of u = av (levelUnits; in the box a is 1), ς² the
// variance of its noise, and m_jl, A_jl + B_jl D_jj² what the prior has for mean and variance of the level's mean.
// Metropolis' steps move counts, see moveCounts. An empty level counts 10⁻⁹ rows, that nothing divides by 0.
type byLevel struct {
	obs           *model.Observation
	m, k, q       int // columns, dummies, covariates beside these
	levels        int
	counts        []float64
	within        *statistics // D
	sums          []float64   // F, a row of d a level
	columns       *columns    // of D
	law           *levelLaw
	response      *levelResponse
	scales        *freeScales
	params        *model.Params
	noise         *model.Noise
	told, byTold  []float64 // what noise is on, and its slope
	own, byOwn    []float64 // sums within levels and products of v′, and that in them
	centre, fixed []float64 // m and A, a row of d a level
	rate          []float64 // B

	y                   rowOfY
	toldY               []float64 // products of y of z, over n
	products, gProducts []float64
	lambda, gLambda     []float64
	ell                 float64
	gSums, gD, e        []float64
	root, logJ          float64
	share, tau          []float64 // of levels, and T within them

	units       *levelUnits
	prior       *byPrior
	sumVariance float64 // of the noise
	countScale  float64 // of that on counts, and on the last square
	squareScale float64
	toldOwn     []float64 // z of own
	parts       [][]int   // of the noise, of each level
	ofProducts  []int
	logScale    float64 // log B of y
}

const emptyLevel = 1e-9

// withinPrior is the prior of the covariates behind k dummies: T has the marginal law of its block.
func withinPrior(prior *model.Prior, k int) *model.Prior {
	d := prior.Covariates
	p, out := d.Dim(), *prior
	c := &conjugate.NIW{Mean: d.Mean[k:], Kappa: d.Kappa, Dof: d.Dof - float64(k)}
	for j := k; j < p; j++ {
		c.Scale = append(c.Scale, d.Scale[j*p+k:(j+1)*p]...)
	}
	out.Covariates, out.Scales = c, nil
	if prior.MeanSD != nil {
		out.MeanSD = slices.Clip(prior.MeanSD[k:])
	}
	for _, s := range prior.Scales {
		var left []int
		for _, j := range s.Covariates {
			if j >= k {
				left = append(left, j-k)
			}
		}
		if len(s.Covariates) > 0 && left == nil {
			continue
		}
		s.Covariates = left
		out.Scales = append(out.Scales, s)
	}
	return &out
}

func newByLevel(obs *model.Observation, prior *model.Prior) *byLevel {
	m, k := obs.Shape.M(), obs.Told.Dummies
	q, d, n, levels := m-1-k, m-k, obs.N, k+1
	part := withinPrior(prior, k)
	vec := func(n int) []float64 { return make([]float64, n) }
	f := &byLevel{obs: obs, m: m, k: k, q: q, levels: levels, counts: vec(levels), within: newStatistics(d), sums: vec(d * levels),
		law: newLevelLaw(part, levels, n), response: newLevelResponse(obs.Shape, k, part), scales: newFreeScales(part),
		params: model.NewParams(obs.Shape), noise: model.NewNoise(obs), told: vec(len(obs.Told.Z)), byTold: vec(len(obs.Told.Z)), units: newLevelUnits(obs, d),
		centre: vec(d * levels), fixed: vec(d * levels), rate: vec(d * levels),
		toldY: vec(q), products: vec(q), gProducts: vec(q), gSums: vec(d * levels), gD: vec(d * d), e: vec(d * d), root: math.Sqrt(2 * n),
		share: vec(levels), tau: vec(q * q)}
	f.lambda, f.gLambda = vec(f.scales.dim()), vec(f.scales.dim())
	f.within.n = n
	f.readTold()
	first, last := len(obs.Told.Counts), len(obs.Told.Z)-1
	f.prior, f.sumVariance, f.logScale = newByPrior(f.units, f), obs.Told.Variance(obs.Kind, first), math.Log(f.units.b[q])
	if f.countScale, f.squareScale = obs.Told.Scale[0], obs.Told.Scale[last]; obs.Kind == release.Ball {
		f.countScale, f.squareScale = math.Sqrt(obs.Told.Variance(obs.Kind, 0)), math.Sqrt(obs.Told.Variance(obs.Kind, last))
	}
	for j, b := range f.units.b[:q] {
		f.scales.psi[j] /= b * b
	}
	r := math.Sqrt(obs.Told.Variance(obs.Kind, last)) / n
	f.columns = newColumns(q, d, slices.Repeat([]float64{r}, d))
	products := f.toldOwn[levels*d:]
	for j := range q {
		f.toldY[j] = products[release.Index(d, j, q)-d] / n
	}
	f.priorSums(part, prior.Unscaled)
	square := products[len(products)-1] / n
	for l := range levels {
		y := f.toldOwn[l*d+q]
		square -= y * y / (n * max(f.toldCount(l), 1))
	}
	above, _ := softplus(square / r)
	slopes := vec(q)
	for j := range slopes {
		b := f.units.b[j] / f.units.b[q]
		slopes[j] = b * b / f.response.precision[(k+j)*(m-1)+k+j]
	}
	f.y = newYRow(q, slopes, !prior.Unscaled, n, r*(1+above), r)
	return f
}

// toldCount is the noisy number of rows of a level.
func (f *byLevel) toldCount(l int) float64 {
	told := f.obs.Told.Counts
	if at := l - f.levels + len(told); at >= 0 {
		return told[at]
	}
	return f.obs.N - told[0]
}

// priorSums takes what the prior has of the levels' means, in own units: of x that of levelLaw, of y at the middle of
// x that of the level's η_l = α + w_lᵀθ_d, w_l = 2e_l − (1 + c_d).
func (f *byLevel) priorSums(part *model.Prior, unscaled bool) {
	d, k, p, r := f.q+1, f.k, f.m-1, f.response
	dummies, cov := make([]float64, k*k), make([]float64, k*k)
	for c := range k {
		copy(dummies[c*k:(c+1)*k], r.precision[c*p:])
	}
	if dense.Cholesky(dummies, k) {
		dense.InverseFromCholesky(cov, dummies, k)
	}
	w := make([]float64, k)
	for l := range f.levels {
		at := l * d
		for j := range f.q {
			f.centre[at+j] = part.Covariates.Mean[j]
			if part.MeanSD != nil {
				f.fixed[at+j] = part.MeanSD[j] * part.MeanSD[j]
			} else {
				f.rate[at+j] = 1 / part.Covariates.Kappa
			}
		}
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
		f.centre[at+f.q] = mean
		if v := 1/r.alpha + dense.QuadForm(cov, k, w); unscaled {
			f.fixed[at+f.q] = v
		} else {
			f.rate[at+f.q] = v
		}
		for j, b := range f.units.b {
			f.centre[at+j] = (f.centre[at+j] - f.units.c[j]) / b
			f.fixed[at+j] /= b * b
		}
	}
}

// The coordinates lie in this order: of F, a level after the other; of rows of D_x; of D_y and D_yy; ζ of μ; those of
// λ; that of ℓ.
func (f *byLevel) rowsAt() int { return len(f.sums) }
func (f *byLevel) yAt() int    { return f.rowsAt() + f.q*(f.q+1)/2 }
func (f *byLevel) zetaAt() int { return f.yAt() + f.q + 1 }
func (f *byLevel) freeAt() int { return f.zetaAt() + f.levels*f.q }
func (f *byLevel) ellAt() int  { return f.freeAt() + f.scales.dim() }

// Dim returns the number of coordinates.
func (f *byLevel) Dim() int { return f.ellAt() + 1 }

// yRow is where those of y's row are: q of D_y, and that of D_yy.
func (f *byLevel) yRow(x []float64) []float64 { return x[f.yAt():f.zetaAt()] }

// take takes counts.
func (f *byLevel) take(counts []float64) {
	copy(f.counts, counts)
	for l, c := range counts {
		f.law.roots[l] = math.Sqrt(max(c, emptyLevel))
	}
}

// wide returns V, 1/w² and the centre over w² of F_jl, F_il before it being known.
func (f *byLevel) wide(l, j int) (v, precision, centre float64) {
	d := f.q + 1
	at, root, noise, a := l*d+j, f.law.roots[l], f.sumVariance, f.units.a[j*d:]
	told := f.obs.Told.Z[len(f.obs.Told.Counts)+at] - root*dot(a[:j], f.sums[l*d:])
	v = root*root*f.fixed[at] + (1+root*root*f.rate[at])*f.columns.square[j]
	return v, root*root*a[j]*a[j]/noise + 1/v, root*a[j]*told/noise + root*f.centre[at]/v
}

// set takes F, D, λ and ℓ of x, and returns log J. It reports false where a column has no spread left in
// floating point.
func (f *byLevel) set(x []float64) (logJ float64, ok bool) {
	c, w, q, d, at := f.columns, f.within, f.q, f.q+1, f.rowsAt()
	c.product = logProduct{rest: 1}
	for i := range d {
		xs := f.yRow(x)
		if i < q {
			xs = x[at : at+i+1]
		}
		v, ok := c.takeRow(w.d[i*d:i*d+i+1], xs)
		if !ok {
			return 0, false
		}
		logJ += v
		at += i + 1
	}
	copy(f.products, f.toldY)
	for l := range f.levels {
		row := f.sums[l*d : (l+1)*d]
		for j := range row {
			_, precision, centre := f.wide(l, j)
			c.product.times(1 / precision)
			row[j] = centre/precision + x[l*d+j]/math.Sqrt(precision)
		}
		addScaled(f.products, -row[q]/f.obs.N, row[:q])
	}
	v, ok := f.y.prepare(w.d, d, f.products, c.square[q])
	if !ok {
		return 0, false
	}
	logJ += v + 0.5*c.product.value()
	f.y.set(w.d[q*d:q*d+q], f.yRow(x)[:q])
	f.ell = 0.5*c.logSquare[q] + x[f.ellAt()]/f.root + f.logScale
	w.spread()
	f.prior.see(w, f.sums, f.law.roots)
	f.scales.set(f.lambda, x[f.freeAt():], w.d, d)
	return logJ, math.Abs(f.ell) < -leastLog
}

// tell writes what noise is on: counts, sums within levels, products.
func (f *byLevel) tell() {
	n, d, at := f.obs.N, f.q+1, 0
	first := copy(f.told, f.counts[f.levels-len(f.obs.Told.Counts):])
	for l, root := range f.law.roots {
		for _, v := range f.sums[l*d : (l+1)*d] {
			f.own[at] = root * v
			at++
		}
	}
	for j := range d {
		for h := j; h < d; h++ {
			v := n * f.within.w[h*d+j]
			for l := range f.levels {
				v += f.sums[l*d+j] * f.sums[l*d+h]
			}
			f.own[at] = v
			at++
		}
	}
	if !f.units.box {
		f.units.toNoise(f.told[first:], f.own)
	}
}

// pullTold adds the noise's slopes to gSums, and to the lower triangle of e.
func (f *byLevel) pullTold() {
	n, d, at := f.obs.N, f.q+1, 0
	if !f.units.box {
		f.units.pullNoise(f.byOwn, f.byTold[len(f.obs.Told.Counts):])
	}
	for l, root := range f.law.roots {
		addScaled(f.gSums[l*d:(l+1)*d], root, f.byOwn[at:at+d])
		at += d
	}
	for j := range d {
		for h := j; h < d; h++ {
			g := f.byOwn[at]
			at++
			for l := range f.levels {
				f.gSums[l*d+j] += g * f.sums[l*d+h]
				f.gSums[l*d+h] += g * f.sums[l*d+j]
			}
			if g *= n; h > j {
				g *= 0.5
			}
			f.e[h*d+j] += g
		}
	}
}

// LogDensity returns the log density at x up to a constant, and its gradient.
func (f *byLevel) LogDensity(grad, x []float64) (float64, error) {
	logp, ok := f.value(x)
	if !ok {
		return 0, nuts.ErrReject
	}
	f.slope(grad, x)
	return logp, nil
}

// value returns the log density alone, and leaves the noise's slopes.
func (f *byLevel) value(x []float64) (logp float64, ok bool) {
	if f.logJ, ok = f.set(x); !ok {
		return 0, false
	}
	p := f.prior
	byX, ok := f.law.value(p.statistics, p.sums, x[f.zetaAt():f.freeAt()], f.lambda)
	if !ok {
		return 0, false
	}
	byY, ok := f.response.value(p.statistics, f.law.roots, p.sums, f.ell, f.lambda)
	if !ok {
		return 0, false
	}
	f.tell()
	logp = f.logJ + (byX + byY + f.noise.LogDensity(f.byTold, f.told))
	for i := range f.q + 1 {
		logp += f.power(i) * 0.5 * f.columns.logSquare[i]
	}
	return f.scales.addPrior(logp, f.lambda), true
}

// power is that of D_ii.
func (f *byLevel) power(i int) float64 { return f.obs.N - float64(f.levels+1+i) }

// slope writes the gradient where value was last.
func (f *byLevel) slope(grad, x []float64) {
	w, p, q, d := f.within, f.prior, f.q, f.q+1
	clear(f.gD)
	clear(f.e)
	clear(f.gSums)
	p.clear()
	f.scales.slope(f.gLambda, f.lambda)
	byEll := f.response.slope(p.gSums, p.gD, p.e, f.gLambda, p.statistics, f.law.roots, p.sums)
	f.law.slope(p.gSums, grad[f.zetaAt():f.freeAt()], p.gD, p.e, f.gLambda, p.statistics, x[f.zetaAt():f.freeAt()], f.lambda)
	p.pull(f.gSums, f.gD, f.e)
	f.pullTold()
	w.pull(f.gD, f.e)
	f.scales.pull(grad[f.freeAt():f.ellAt()], f.gLambda, f.gD, d)
	for i := range d {
		f.gD[i*d+i] += f.power(i) / w.d[i*d+i]
	}
	grad[f.ellAt()] = byEll / f.root
	f.gD[q*d+q] += byEll / w.d[q*d+q]
	clear(f.gProducts)
	row, to := f.yRow(x), f.yRow(grad)
	f.gD[q*d+q] += 2 * w.d[q*d+q] * f.y.pull(to[:q], f.gD, f.gProducts, f.gD[q*d:q*d+q], w.d, d, row[:q], f.products)
	f.pullSums(grad, x)
	f.columns.pullRow(to, w, f.gD, row)
	at := f.yAt()
	for i := q - 1; i >= 0; i-- {
		at -= i + 1
		f.columns.pullRow(grad[at:at+i+1], w, f.gD, x[at:at+i+1])
	}
}

// pullSums is slope of F, and adds to gD that in D_jj.
func (f *byLevel) pullSums(grad, x []float64) {
	q, d := f.q, f.q+1
	for l, root := range f.law.roots {
		row, g := f.sums[l*d:(l+1)*d], f.gSums[l*d:(l+1)*d]
		g[q] -= dot(f.gProducts, row) / f.obs.N
		addScaled(g[:q], -row[q]/f.obs.N, f.gProducts)
		for j := d - 1; j >= 0; j-- {
			v, precision, centre := f.wide(l, j)
			u, at, a := x[l*d+j], l*d+j, f.units.a[j*d:]
			grad[at] = g[j] / math.Sqrt(precision)
			addScaled(g[:j], -g[j]*root*root*a[j]/(f.sumVariance*precision), a[:j])
			byPrecision := -g[j]*(centre/precision+0.5*u/math.Sqrt(precision))/precision - 0.5/precision
			byV := -(byPrecision + g[j]*root*f.centre[at]/precision) / (v * v)
			f.gD[j*d+j] += 2 * byV * (1 + root*root*f.rate[at]) * f.within.d[j*d+j]
		}
	}
}
