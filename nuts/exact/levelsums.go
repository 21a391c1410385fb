package exact

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
)

// levelSums are the statistics of n rows by the L levels of a factor, of q covariates beside its k columns, in
// coordinates. A Gram matrix of (1, dummies) that is known, n_1 … n_L, leaves orthonormal sums F_l = Σ_(l)v/√n_l of
// v = (x, y), d = q + 1 columns, and what they leave of the scatter, nDDᵀ, and nothing of dummies is taken for
// normal. Coordinates are of D as columns has them; of F
//
//	F_jl = w²(√n_l a_jj z̃_jl/ς² + √n_l m_jl/V) + w x,   1/w² = n_l a_jj²/ς² + 1/V,   V = n_l A_jl + (1 + n_l B_jl) D_jj²,
//
// z̃_jl = z_jl − √n_l Σ_{i<j} a_ji F_il, z_jl the noisy sum within level l of u = av (levelUnits; in the box a is 1), ς² the
// variance of its noise, and m_jl, A_jl + B_jl D_jj² what the prior has for mean and variance of the level's mean;
// of levels' means of x ζ (levelLaw), and of free scales of the covariates. The coordinates lie in this order: of F, a level after the other; of rows of D_x; others;
// ζ; those of λ.
//
// A level of no rows has no sum, and no part of P: F_l is 0, its coordinates are standard and tell nothing, and of e such
// levels the scatter has n − L + e degrees of freedom. Were F_l drawn as if of N(0, T), and counted in P, which noise may
// tell to 10⁻⁶ of itself, it would lie with D on a thin sphere. What divides by n_l has 10⁻⁹ rows there. The density
// has then, of public n beside that of e = 0,
//
//	½de log(n/2) − Σ_i (log Γ(½(n−L+e−i)) − log Γ(½(n−L−i))),   i = 0 … d−1.
//
// A family's sums are told apart from their squares, and such levels keep their F_l ~ N(0, T).
//
// A latent n is the sum of whole counts: flat a priori, as in rowCount, of counts that are uniform given it. What depends
// on n alone is, by 1/((n+L−1) over (L−1)), by the Wishart law of nDDᵀ, its powers of n and those of W = nDDᵀ, and by the
// integral over T, of ν_n = levelLaw.dof degrees of freedom,
//
//	log Γ(n+1)/Γ(n+L) + ½d(n−L) log n − ½n log 2 + log Γ_q(½ν_n) − log Γ_d(½(n−L)),
//
// and n Σ log b_j where coordinates are of v′ = v/b (levelUnits).
type levelSums struct {
	obs           *model.Observation
	m, k, q, d    int // columns, dummies, covariates beside these, and with y
	levels        int
	sumsAt        int // where coordinates begin
	free, others  int // columns of F that have coordinates, and how many coordinates others are
	counts        []float64
	n, ofN        float64     // their sum, and what depends on it and on empty alone; 0 where it is public and none is
	empty         int         // e
	spare         float64     // log density of coordinates of their F
	within        *statistics // D
	sums          []float64   // F, a row of d a level
	columns       *columns    // of D
	law           *levelLaw
	scales        *freeScales
	family        *index      // nil of a normal response
	dispersion    *dispersion // nil but of counts
	params        *model.Params
	drawn         bool // draws have the covariates' law
	noise         *model.Noise
	told, byTold  []float64 // what noise is on, and its slope
	own, byOwn    []float64 // sums within levels and products of v′, and that in them
	centre, fixed []float64 // m and A, a row of d a level
	rate          []float64 // B
	most, byMost  float64   // lastRow's, where y has columns of F

	gSums      []float64
	logJ       float64
	share, tau []float64 // of levels, and T within them

	units       *levelUnits
	prior       *byPrior
	sumVariance float64   // of the noise
	countScale  float64   // of that on counts
	logScale    float64   // log of countScale
	toldOwn     []float64 // z of own
	parts       [][]int   // of the noise, of each level
	ofProducts  []int
	both        []int // levels of a shift
}

const emptyLevel = 1e-9

// behind are the covariates behind k dummies, of p.
func behind(k, p int) (columns []int) {
	for j := k; j < p; j++ {
		columns = append(columns, j)
	}
	return columns
}

// newLevelSums allocates, with so many columns of F and rows of D that have coordinates, for a prior of the
// covariates within levels.
func newLevelSums(site *model.Site, part *model.Prior, noise *model.Noise, sumsAt, free, others int) *levelSums {
	obs := site.Observation
	m, k := obs.Shape.M(), obs.Told.Dummies
	q, d, n, levels := m-1-k, m-k, rowsTold(obs), obs.Shape.Levels(k)
	f := &levelSums{obs: obs, m: m, k: k, q: q, d: d, levels: levels, sumsAt: sumsAt, free: free, others: others, counts: vec(levels), within: newStatistics(d),
		sums: vec(d * levels), law: newLevelLaw(part, levels), scales: newFreeScales(part), params: model.NewParams(obs.Shape),
		noise: noise, told: vec(len(obs.Told.Z)), byTold: vec(len(obs.Told.Z)), units: newLevelUnits(site.Units, m, d),
		centre: vec(d * levels), fixed: vec(d * levels), rate: vec(d * levels),
		gSums: vec(d * levels), share: vec(levels), tau: vec(q * q)}
	f.readTold()
	first := len(obs.Told.Counts)
	f.prior, f.sumVariance = newByPrior(f.units, f), obs.Told.Variance(first)
	if f.countScale = obs.Told.Scale[0]; obs.Kind == release.Ball {
		f.countScale = math.Sqrt(obs.Told.Variance(0))
	}
	f.logScale = math.Log(f.countScale)
	for j, b := range f.units.b[:q] {
		f.scales.psi[j] /= b * b
	}
	f.columns = newColumns(q, d, vec(free))
	for j := range free {
		f.columns.r[j] = math.Sqrt(f.noiseOfProduct(j, j)) / n
	}
	for at := range f.centre {
		if j := at % d; j < q && part.MeanSD != nil {
			f.priorSum(at, part.Covariates.Mean[j], part.MeanSD[j]*part.MeanSD[j], 0)
		} else if j < q {
			f.priorSum(at, part.Covariates.Mean[j], 0, 1/part.Covariates.Kappa)
		}
	}
	return f
}

// noiseOfProduct is the variance of the noise of a sum of products within levels.
func (f *levelSums) noiseOfProduct(i, j int) float64 {
	return f.obs.Told.Variance(len(f.obs.Told.Counts) + (f.levels-1)*f.d + release.Index(f.d, i, j))
}

// priorSum takes what the prior has of a level's mean, in its units.
func (f *levelSums) priorSum(at int, mean, fixed, rate float64) {
	b, c := f.units.b[at%f.d], f.units.c[at%f.d]
	f.centre[at], f.fixed[at], f.rate[at] = (mean-c)/b, fixed/(b*b), rate
}

// toldCount is the noisy number of rows of a level.
func (f *levelSums) toldCount(l int) float64 {
	told := f.obs.Told.Counts
	if at := l - f.levels + len(told); at >= 0 {
		return told[at]
	}
	return f.obs.N - floats.Sum(told)
}

func (f *levelSums) rowsAt() int   { return f.sumsAt + f.levels*f.free }
func (f *levelSums) othersAt() int { return f.rowsAt() + f.q*(f.q+1)/2 }
func (f *levelSums) zetaAt() int   { return f.othersAt() + f.others }
func (f *levelSums) freeAt() int   { return f.zetaAt() + f.levels*f.q }
func (f *levelSums) end() int      { return f.freeAt() + f.scales.dim() }

// take takes counts.
func (f *levelSums) take(counts []float64) {
	f.n, f.empty, f.ofN = 0, 0, 0
	for l, c := range counts {
		f.counts[l], f.law.roots[l] = c, math.Sqrt(max(c, emptyLevel))
		if f.n += c; f.none(l) {
			f.empty++
		}
	}
	f.within.n, f.prior.n = f.n, f.n
	f.law.n, f.law.dof = f.n, f.law.more+f.n
	switch {
	case !f.obs.Count.Latent() && f.empty > 0:
		f.ofN = -f.scatterOf(f.n, 0) + (f.scatterOf(f.n, f.empty) + 0.5*float64(f.d)*float64(f.empty)*math.Log(f.n))
	case f.obs.Count.Latent():
		f.ofN = f.scatterOf(f.n, f.empty) + 0.5*float64(f.d)*f.freedom(f.n)*math.Log(f.n) + 0.5*f.n*float64(f.q)*math.Ln2
		for i := range f.q {
			f.ofN += logGamma(0.5 * (f.law.dof - float64(i)))
		}
		for _, b := range f.units.b[:f.free] {
			f.ofN += f.n * math.Log(b)
		}
	}
}

// none tells whether a level has no rows, nor F.
func (f *levelSums) none(l int) bool { return f.counts[l] == 0 && f.family == nil }

// freedom is that of the scatter.
func (f *levelSums) freedom(n float64) float64 { return n - float64(f.levels-f.empty) }

// scatterOf is what counts, so many of them 0, have of a latent n, and the Wishart law given its covariance, but for the
// powers of determinants.
func (f *levelSums) scatterOf(n float64, empty int) float64 {
	d, free := float64(f.d), n-float64(f.levels-empty)
	log := logGamma(n+1) - logGamma(n+float64(f.levels)) - 0.5*(n+float64(empty))*d*math.Ln2
	for i := range f.d {
		log -= logGamma(0.5 * (free - float64(i)))
	}
	return log
}

func logGamma(x float64) float64 {
	v, _ := math.Lgamma(x)
	return v
}

// wide returns V, 1/w² and the centre over w² of F_jl, F_il before it being known.
func (f *levelSums) wide(l, j int) (v, precision, centre float64) {
	at, root, noise, a := l*f.d+j, f.law.roots[l], f.sumVariance, f.units.a[j*f.d:]
	told := f.obs.Told.Z[len(f.obs.Told.Counts)+at] - root*dot(a[:j], f.sums[l*f.d:])
	square := f.most // of y, what D_jj² is where D_y is 0
	if j < f.q {
		square = f.columns.square[j]
	}
	v = root*root*f.fixed[at] + (1+root*root*f.rate[at])*square
	return v, root*root*a[j]*a[j]/noise + 1/v, root*a[j]*told/noise + root*f.centre[at]/v
}

// takeRows takes D_x of x, and begins the product. It reports false where a column has no spread left in floating
// point.
func (f *levelSums) takeRows(x []float64) (logJ float64, ok bool) {
	at := f.rowsAt()
	f.columns.product = logProduct{rest: 1}
	for i := range f.q {
		v, ok := f.columns.takeRow(f.within.d, i, x[at:at+i+1])
		if !ok {
			return 0, false
		}
		logJ += v
		at += i + 1
	}
	return logJ, true
}

// takeSums takes columns of F of x.
func (f *levelSums) takeSums(x []float64) {
	f.spare = 0
	for l := range f.levels {
		row, x := f.sums[l*f.d:(l+1)*f.d], x[f.sumsAt+l*f.free:]
		if f.none(l) {
			clear(row)
			f.spare -= 0.5 * dot(x[:f.free], x[:f.free])
			continue
		}
		for j := range f.free {
			_, precision, centre := f.wide(l, j)
			f.columns.product.times(1 / precision)
			row[j] = centre/precision + x[j]/math.Sqrt(precision)
		}
	}
}

// tell writes what noise is on: counts, sums within levels, products.
func (f *levelSums) tell() {
	n, d, at := f.n, f.d, 0
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
	if !f.units.same {
		f.units.toNoise(f.told[first:], f.own)
	}
}

// pullTold adds the noise's slopes to gSums, and to the lower triangle of e.
func (f *levelSums) pullTold() {
	n, d, at := f.n, f.d, 0
	if !f.units.same {
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
			f.within.e[h*d+j] += g
		}
	}
}

// power is that of D_ii.
func (f *levelSums) power(i int) float64 { return f.freedom(f.n) - float64(1+i) }

// begin makes gradients 0.
func (f *levelSums) begin() {
	f.within.clear()
	clear(f.gSums)
	f.prior.clear()
	f.scales.slope()
}

// pullSums writes the gradient in coordinates of F, and adds to gD that in D_jj.
func (f *levelSums) pullSums(grad, x []float64) {
	for l, root := range f.law.roots {
		g := f.gSums[l*f.d : (l+1)*f.d]
		for j := f.free - 1; j >= 0; j-- {
			if f.none(l) {
				grad[f.sumsAt+l*f.free+j] = -x[f.sumsAt+l*f.free+j]
				continue
			}
			v, precision, centre := f.wide(l, j)
			u, at, a := x[f.sumsAt+l*f.free+j], l*f.d+j, f.units.a[j*f.d:]
			grad[f.sumsAt+l*f.free+j] = g[j] / math.Sqrt(precision)
			addScaled(g[:j], -g[j]*root*root*a[j]/(f.sumVariance*precision), a[:j])
			byPrecision := -g[j]*(centre/precision+0.5*u/math.Sqrt(precision))/precision - 0.5/precision
			byV := -(byPrecision + g[j]*root*f.centre[at]/precision) / (v * v)
			if bySquare := byV * (1 + root*root*f.rate[at]); j < f.q {
				f.within.gD[j*f.d+j] += 2 * bySquare * f.within.d[j*f.d+j]
			} else {
				f.byMost += bySquare
			}
		}
	}
}

// pullRows writes the gradient in coordinates of D_x.
func (f *levelSums) pullRows(grad, x []float64) {
	at := f.othersAt()
	for i := f.q - 1; i >= 0; i-- {
		at -= i + 1
		f.columns.pullRow(grad[at:at+i+1], f.within, x[at:at+i+1])
	}
}
