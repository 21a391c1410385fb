package exact

import (
	"math"
	"slices"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts"
	"github.com/dpreg/dpreg/release"
)

// byLevel is the posterior of the statistics of rows of which a factor has its own law: the rows of
// its levels are n_l = 0, 1, … that sum to n, uniform a priori (multinomial with uniform
// probabilities), covariates have the law of levelLaw given these, and y that of response given all
// columns. p(s | φ) = p(n_1 … n_L) p(F, D_x | n_l) p(ȳ, D_y | x): a Gram matrix of (1, dummies) that is
// known leaves orthonormal sums of x and a scatter, and nothing of dummies is taken for normal.
//
// NUTS moves all but the counts, in coordinates as coordinates has them, of x given the levels; of F
//
//	F_jl = w²(√n_l z_jl/σ² + √n_l m₀_j/V) + w x,   1/w² = n_l/σ² + 1/V,   V = n_l A_j² + D_jj²  or  (n_l/κ₀ + 1) D_jj²,
//
// z_jl the noisy sum within level l and σ² the variance of its noise. Metropolis' steps move counts, see moveCounts.
// An empty level counts 10⁻⁹ rows, that nothing divides by 0.
type byLevel struct {
	obs        *model.Observation
	m, k, q    int // columns, dummies, covariates beside these
	levels     int
	counts     []float64
	mean       []float64   // weights of F_l in x̄_j
	across     [][]float64 // and in D_jc of each dummy c
	statistics *statistics // of all columns
	within     *statistics // of covariates given the levels, and behind them D_yy
	sums       []float64   // F, a row of q a level
	columns    *columns    // of within
	law        *levelLaw
	response   *response
	scales     *freeScales
	params     *model.Params
	noise      *model.Noise
	s          []float64

	y                    rowOfY
	told, shift          []float64 // products of y of z; and 1 of a dummy, of which n(2Σ_(l)y/n) is told
	yAt, yPer            float64   // where ȳ is told, and precision
	yFixed, yRate        float64   // its prior variance, as columns has it
	yWide                float64
	products, gProducts  []float64
	lambda, gLambda      []float64
	ell                  float64
	gMean, gD, e         []float64
	gSums, gWithin, eNow []float64
	root                 float64
	share, tau           []float64 // of levels, and T within them
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
	q, n := m-1-k, obs.N
	part := withinPrior(prior, k)
	vec := func(n int) []float64 { return make([]float64, n) }
	f := &byLevel{obs: obs, m: m, k: k, q: q, levels: k + 1, counts: vec(k + 1), mean: vec(k + 1), statistics: newStatistics(m), within: newStatistics(q + 1),
		sums: vec(q * (k + 1)), law: newLevelLaw(part, k+1, n), response: newResponse(obs.Shape, part), scales: newFreeScales(part),
		share: vec(k + 1), tau: vec(q * q),
		params: model.NewParams(obs.Shape), noise: model.NewNoise(obs), s: vec(len(obs.Z)), told: vec(m - 1), shift: vec(m - 1),
		products: vec(m - 1), gProducts: vec(m - 1), gMean: vec(m), gD: vec(m * m), e: vec(m * m), gSums: vec(q * (k + 1)), gWithin: vec((q + 1) * (q + 1)), eNow: vec((q + 1) * (q + 1)), root: math.Sqrt(2 * n)}
	for range k {
		f.across = append(f.across, vec(k+1))
	}
	f.lambda, f.gLambda = vec(f.scales.dim()), vec(f.scales.dim())
	f.statistics.n, f.within.n = n, n
	r, d := math.Sqrt(f.noiseVariance())/n, q+1
	f.columns = &columns{m: d, rows: d, r: r, left: vec(d * d), rho: vec(d * d), square: vec(d), logSquare: vec(d), slope: vec(d)}
	for j := range m - 1 {
		if f.told[j] = obs.Z[release.Index(m, j, m-1)] / n; j < k {
			f.told[j], f.shift[j] = 2*obs.Told.Sums[j+1][q]/n, 1
		}
	}
	f.yAt = max(-1, min(1, obs.Z[m-1]/n))
	f.yPer, f.yRate = n*n/(f.noiseVariance()*float64(f.levels)), 1/n
	if prior.Unscaled {
		f.yFixed = 1 / f.response.alpha
	} else {
		f.yRate += 1 / f.response.alpha
	}
	above, _ := softplus((obs.Z[len(obs.Z)-1]/n - f.yAt*f.yAt) / r)
	slopes := vec(m - 1)
	for j := range slopes {
		slopes[j] = 1 / f.response.precision[j*(m-1)+j]
	}
	f.y = newYRow(m-1, slopes, !prior.Unscaled, n, r*(1+above), r)
	return f
}

func (f *byLevel) noiseVariance() float64 { return model.NoiseVariance(f.obs.Kind, f.obs.Scale[0]) }

// The coordinates lie in this order: of F, a level after the other; of rows of D_x; ȳ; D_y and D_yy; ζ of
// μ; those of λ; that of ℓ.
func (f *byLevel) rowsAt() int { return len(f.sums) }
func (f *byLevel) meanAt() int { return f.rowsAt() + f.q*(f.q+1)/2 }
func (f *byLevel) zetaAt() int { return f.meanAt() + 1 + f.m }
func (f *byLevel) freeAt() int { return f.zetaAt() + len(f.sums) }
func (f *byLevel) ellAt() int  { return f.freeAt() + f.scales.dim() }

// Dim returns the number of coordinates.
func (f *byLevel) Dim() int { return f.ellAt() + 1 }

// yRow is where those of y's row are: m−1 of D_y, and that of D_yy.
func (f *byLevel) yRow(x []float64) []float64 { return x[f.meanAt()+1 : f.zetaAt()] }

// take takes counts: with π_l = n_l/n and R_c what of them the first c dummies leave, R_0 = 1, the
// root of the dummies' scatter, ±1, is
//
//	D_cc = 2√(π_cR_c/R_{c−1}),   D_ic = −2π_i√(π_c/(R_cR_{c−1})), i > c,
//
// (Tanabe & Sagae 1992, JRSS B 54), and those of x are, in the same orthonormal basis,
//
//	x̄ = Σ_l √(π_l/n) F_l,   D_xc = √(R_c/(nR_{c−1})) F_c − √(π_c/(nR_cR_{c−1})) Σ_{l left} √π_l F_l.
func (f *byLevel) take(counts []float64) {
	n, m, d := f.obs.N, f.m, f.statistics.d
	copy(f.counts, counts)
	share := f.share
	for l, c := range counts {
		share[l] = max(c, emptyLevel) / n
		f.law.roots[l] = math.Sqrt(share[l] * n)
		f.mean[l] = math.Sqrt(share[l] / n)
	}
	for c := range f.k {
		rest := share[0]
		for _, s := range share[c+2:] {
			rest += s
		}
		own := share[c+1]
		before := rest + own
		f.statistics.mean[c] = 2*own - 1
		d[c*m+c] = 2 * math.Sqrt(own*rest/before)
		by := math.Sqrt(own / (rest * before))
		row := f.across[c]
		clear(row)
		row[c+1], row[0] = math.Sqrt(rest/(n*before)), -by*f.mean[0]
		for l := c + 2; l < f.levels; l++ {
			d[(l-1)*m+c] = -2 * share[l] * by
			row[l] = -by * f.mean[l]
		}
	}
}

// wide returns V, 1/w² and the centre over w² of F_jl.
func (f *byLevel) wide(l, j int) (v, precision, centre float64) {
	root, square, noise := f.law.roots[l], f.columns.square[j], f.noiseVariance()
	if v = square; f.law.kappa > 0 {
		v += root * root / f.law.kappa * square
	} else {
		v += root * root / f.law.precision[j]
	}
	return v, root*root/noise + 1/v, root*f.obs.Told.Sums[l][j]/noise + root*f.law.prior.Mean[j]/v
}

// set takes statistics, λ and ℓ of x, and returns log J. It reports false where a column has no
// spread left in floating point.
func (f *byLevel) set(x []float64) (logJ float64, ok bool) {
	c, t, w, d, at := f.columns, f.statistics, f.within, f.q+1, f.rowsAt()
	c.product = logProduct{rest: 1}
	for i := range d {
		xs := f.yRow(x)[f.m-1-f.q:]
		if i < f.q {
			xs = x[at : at+i+1]
		}
		v, ok := c.takeRow(w.d[i*d:i*d+i+1], xs)
		if !ok {
			return 0, false
		}
		logJ += v
		at += i + 1
	}
	f.setSums(x)
	square := 1 / (f.yPer + 1/(f.yFixed+f.yRate*c.square[f.q]))
	c.product.times(square)
	f.yWide = math.Sqrt(square)
	t.mean[f.m-1] = f.yAt + f.yWide*x[f.meanAt()]
	p := f.m - 1
	t.d[p*f.m+p] = w.d[f.q*d+f.q]
	for j := range p {
		f.products[j] = f.told[j] - t.mean[p]*(t.mean[j]+f.shift[j])
	}
	v, ok := f.y.prepare(t.d, f.m, f.products, c.square[f.q])
	if !ok {
		return 0, false
	}
	logJ += v + 0.5*c.product.value()
	f.y.set(t.d[p*f.m:p*f.m+p], f.yRow(x)[:p])
	f.ell = 0.5*c.logSquare[f.q] + x[f.ellAt()]/f.root
	t.spread()
	w.spread()
	f.scales.set(f.lambda, x[f.freeAt():], w.d, d)
	return logJ, math.Abs(f.ell) < -leastLog
}

// setSums makes F, and x's mean and rows of D.
func (f *byLevel) setSums(x []float64) {
	t, d := f.statistics, f.q+1
	for j := range f.q {
		row := t.d[(f.k+j)*f.m : (f.k+j)*f.m+f.k+j+1]
		clear(row)
		copy(row[f.k:], f.within.d[j*d:j*d+j+1])
		mean := 0.0
		for l := range f.levels {
			_, precision, centre := f.wide(l, j)
			f.columns.product.times(1 / precision)
			v := centre/precision + x[l*f.q+j]/math.Sqrt(precision)
			f.sums[l*f.q+j] = v
			mean += f.mean[l] * v
			for c, weights := range f.across {
				row[c] += weights[l] * v
			}
		}
		t.mean[f.k+j] = mean
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

// value returns the log density alone, and leaves the noise's slopes in gMean and e.
func (f *byLevel) value(x []float64) (logp float64, ok bool) {
	if logp, ok = f.set(x); !ok {
		return 0, false
	}
	byX, ok := f.law.value(f.within, f.sums, x[f.zetaAt():f.freeAt()], f.lambda)
	if !ok {
		return 0, false
	}
	byY, ok := f.response.value(f.statistics, f.ell, f.lambda)
	if !ok {
		return 0, false
	}
	clear(f.gMean)
	clear(f.e)
	noise, _ := f.statistics.addNoise(f.noise, f.gMean, f.e)
	for i := range f.q + 1 {
		logp += f.power(i) * 0.5 * f.columns.logSquare[i]
	}
	for i, v := range f.lambda {
		energy, _ := f.scales.law(i, v)
		logp -= energy
	}
	return logp + byX + byY + noise, true
}

// power is that of row i of within.
func (f *byLevel) power(i int) float64 {
	if i == f.q {
		return f.obs.N - float64(1+f.m)
	}
	return f.obs.N - float64(f.levels+1+i)
}

// slope writes the gradient where value was last.
func (f *byLevel) slope(grad, x []float64) {
	t, w, m, p, d := f.statistics, f.within, f.m, f.m-1, f.q+1
	clear(f.gD)
	clear(f.gWithin)
	clear(f.eNow)
	for i, v := range f.lambda {
		_, f.gLambda[i] = f.scales.law(i, v)
	}
	byEll, _ := f.response.slope(f.gMean, f.gD, f.e, f.gLambda, t, f.ell, f.lambda)
	t.pull(f.gD, f.e)
	f.law.slope(f.gSums, grad[f.zetaAt():f.freeAt()], f.gWithin, f.eNow, f.gLambda, w, f.sums, x[f.zetaAt():f.freeAt()], f.lambda)
	w.pull(f.gWithin, f.eNow)
	f.scales.pull(grad[f.freeAt():f.ellAt()], f.gLambda, f.gWithin, d)
	for i := range f.q {
		f.gWithin[i*d+i] += f.power(i) / w.d[i*d+i]
	}
	grad[f.ellAt()] = byEll / f.root
	f.gD[p*m+p] += (byEll + f.power(f.q)) / t.d[p*m+p]
	f.pullY(grad, x)
	f.pullSums(grad, x)
	at := f.rowsAt() + f.q*(f.q+1)/2
	for i := f.q - 1; i >= 0; i-- {
		at -= i + 1
		f.columns.pullRow(grad[at:at+i+1], w, f.gWithin, x[at:at+i+1])
	}
}

// pullY is slope of ȳ, D_y and D_yy.
func (f *byLevel) pullY(grad, x []float64) {
	t, m, p, d := f.statistics, f.m, f.m-1, f.q+1
	clear(f.gProducts)
	row := f.yRow(x)
	f.gD[p*m+p] += 2 * t.d[p*m+p] * f.y.pull(f.yRow(grad)[:p], f.gD, f.gProducts, f.gD[p*m:p*m+p], t.d, m, row[:p], f.products)
	for j, g := range f.gProducts {
		f.gMean[p] -= g * (t.mean[j] + f.shift[j])
		f.gMean[j] -= g * t.mean[p]
	}
	at, prior := f.meanAt(), f.yFixed+f.yRate*f.columns.square[f.q]
	grad[at] = f.gMean[p] * f.yWide
	f.gWithin[f.q*d+f.q] = f.gD[p*m+p] + (grad[at]*x[at]+1)*f.yWide*f.yWide*f.yRate*t.d[p*m+p]/(prior*prior)
	f.columns.pullRow(f.yRow(grad)[p-f.q:], f.within, f.gWithin, row[p-f.q:])
}

// pullSums is slope of F, and leaves in gWithin that in D_x.
func (f *byLevel) pullSums(grad, x []float64) {
	d := f.q + 1
	for j := range f.q {
		row := f.gD[(f.k+j)*f.m:]
		addScaled(f.gWithin[j*d:j*d+j+1], 1, row[f.k:])
		bySquare := 0.0
		for l := range f.levels {
			g := f.gSums[l*f.q+j] + f.gMean[f.k+j]*f.mean[l]
			for c, weights := range f.across {
				g += row[c] * weights[l]
			}
			v, precision, centre := f.wide(l, j)
			u, prior := x[l*f.q+j], f.law.roots[l]*f.law.prior.Mean[j]
			grad[l*f.q+j] = g / math.Sqrt(precision)
			byPrecision := -g*(centre/precision+0.5*u/math.Sqrt(precision))/precision - 0.5/precision
			byV := -(byPrecision + g*prior/precision) / (v * v)
			bySquare += byV * f.varies(l)
		}
		f.gWithin[j*d+j] += 2 * bySquare * f.within.d[j*d+j]
	}
}

// varies is ∂V/∂D_jj².
func (f *byLevel) varies(l int) float64 {
	if f.law.kappa > 0 {
		return 1 + f.law.roots[l]*f.law.roots[l]/f.law.kappa
	}
	return 1
}
