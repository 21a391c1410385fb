package model

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/variate"
	"github.com/dpreg/dpreg/release"
)

// LevelLaw is the law of the sums by the levels of a factor of n rows given parameters. A row is of level l with the
// probability π_l, and the d columns v behind the dummies u_c = ±1, the response last, are
//
//	v | level l ~ N(m_l, Σ),    E u_c = 2π_c − 1,   T_cj = 2π_c(μ_cj − μ_j),   T_xx = T + Σ_l π_l(μ_l − μ)(μ_l − μ)ᵀ,
//
// which μ_x and T over all levels tell, or of several factors Params.Cells. A row adds e_l, e_l ⊗ v and vvᵀ: each entry t_e is a monomial of v, of rows of
// one level or of all. With M_el and C_ef,l mean and covariance of monomials within level l,
//
//	E t_e = Σ_l π_lM_el,   Cov(t_e, t_f) = Σ_l π_l(C_ef,l + M_elM_fl) − E t_e E t_f.
//
// In a frame v is u, mean and covariance in the box being kept for the columns.
type LevelLaw struct {
	shape        Shape
	k, d, levels int
	units        *Units
	Entries      []Monomial // t, in the order of release.Combinations
	counts       int        // entries that are counts

	share            []float64
	mean, box        [][]float64 // m_l, and in the box
	cov, boxCov      []float64
	chol             []float64
	beta             []float64
	sigma2           float64
	g, low, row, sum []float64
}

// Monomial is a product of none, one or two of v's columns, by number, in rows of a level.
type Monomial struct {
	Level int // −1: of all levels
	Of    []int
}

// NewLevelLaw allocates for sums by the levels of k dummies, of which so many counts have noise, in a frame or, nil, in
// the box.
func NewLevelLaw(shape Shape, k, counts int, f *release.Frame) *LevelLaw {
	m, levels := shape.M(), shape.Levels(k)
	d := m - k
	vec := func(n int) []float64 { return make([]float64, n) }
	l := &LevelLaw{shape: shape, k: k, d: d, levels: levels, units: Identity(d), counts: counts, share: vec(levels),
		cov: vec(d * d), boxCov: vec(d * d), chol: vec(d * d), g: vec(d), low: vec(d * d), row: vec(d), sum: vec(d * d)}
	if f != nil {
		behind := release.Frame{Centre: f.Centre[k:]}
		for _, row := range f.Matrix[k:] {
			behind.Matrix = append(behind.Matrix, row[k:])
		}
		l.units = l.units.In(&behind)
	}
	for level := levels - l.counts; level < levels; level++ {
		l.Entries = append(l.Entries, Monomial{level, nil})
	}
	for level := range levels {
		l.mean, l.box = append(l.mean, vec(d)), append(l.box, vec(d))
		for j := range d {
			l.Entries = append(l.Entries, Monomial{level, []int{j}})
		}
	}
	for j := range d {
		for h := j; h < d; h++ {
			l.Entries = append(l.Entries, Monomial{-1, []int{j, h}})
		}
	}
	return l
}

// Set takes parameters of all rows, in scaled units.
func (l *LevelLaw) Set(x *Params) {
	k, d, p := l.k, l.d, l.k+l.d-1
	q := d - 1
	for i := range q {
		copy(l.boxCov[i*d:i*d+q], x.Tau[(k+i)*p+k:])
	}
	l.takeLevels(x)
	for level := l.levels - 1; level >= 0; level-- {
		own := l.box[level][:q]
		for i, v := range own {
			for j, u := range own {
				l.boxCov[i*d+j] -= l.share[level] * v * u
			}
		}
	}
	beta := x.Theta[len(x.Theta)-q:]
	l.beta = beta
	dummies := x.Theta[len(x.Theta)-p : len(x.Theta)-q]
	for level, own := range l.box {
		y := 0.0
		if len(x.Theta) > p {
			y = x.Theta[0]
		}
		for c, theta := range dummies {
			y += l.shape.Sign(level, c) * theta
		}
		for j, b := range beta {
			own[j] += x.MuX[k+j]
			y += b * own[j]
		}
		own[q] = y
	}
	l.sigma2, l.boxCov[d*d-1] = x.Sigma2, x.Sigma2
	for i := range q {
		v := dense.Dot(beta, l.boxCov[i*d:])
		l.boxCov[i*d+q], l.boxCov[q*d+i] = v, v
		l.boxCov[d*d-1] += beta[i] * v
	}
}

// takeLevels takes π_l and m_l − μ of the covariates.
func (l *LevelLaw) takeLevels(x *Params) {
	k, p, q := l.k, l.k+l.d-1, l.d-1
	if l.shape.Coding != nil {
		means := x.Cells[copy(l.share, x.Cells):]
		for level, own := range l.box {
			floats.SubTo(own[:q], means[level*q:(level+1)*q], x.MuX[k:])
		}
		return
	}
	l.share[0] = 1
	for c := range k {
		l.share[c+1] = 0.5 * (1 + x.MuX[c])
		l.share[0] -= l.share[c+1]
	}
	clear(l.box[0])
	for level := k; level > 0; level-- {
		for j := range q {
			l.box[level][j] = x.Tau[(level-1)*p+k+j] / (2 * l.share[level])
			l.box[0][j] -= l.share[level] / l.share[0] * l.box[level][j]
		}
	}
}

// Index is the law of the linear predictor η = θᵀ(1, x), after Set: in level l, of a share π_l of the rows, N(η_l, s²),
// with the covariance Tβ of η and the columns behind the dummies, in the box.
type Index struct {
	Share, Eta, Along []float64
	S                 float64
}

// Index writes it.
func (l *LevelLaw) Index(of *Index) {
	q, last := l.d-1, l.d*l.d-1
	of.Share, of.Along, of.Eta = l.share, l.boxCov[q*l.d:last], of.Eta[:0]
	for _, own := range l.box {
		of.Eta = append(of.Eta, own[q])
	}
	of.S = math.Sqrt(max(0, l.boxCov[last]-l.sigma2))
}

// Column is the mean of column j, from 0, in a level: of a dummy ±1.
func (l *LevelLaw) Column(level, j int) float64 {
	if j >= l.k {
		return l.box[level][j-l.k]
	}
	return l.shape.Sign(level, j)
}

// Within is the covariance of columns behind the dummies, by number.
func (l *LevelLaw) Within(i, j int) float64 { return l.boxCov[i*l.d+j] }

// Factor goes to the frame. It reports false where rounding leaves a level or a column nothing.
func (l *LevelLaw) Factor() bool {
	for level, own := range l.mean {
		copy(own, l.box[level])
		copy(l.cov, l.boxCov)
		l.units.Moments(own, l.cov)
	}
	copy(l.chol, l.cov)
	return slices.Min(l.share) > 0 && dense.Cholesky(l.chol, l.d)
}

// Residual is the standard deviation of the response's residuals in the frame, in place.
func (l *LevelLaw) Residual() *float64 { return &l.chol[len(l.chol)-1] }

// EachColumn calls of, after Set, with each level's share, and mean and standard deviation in the box of each column.
func (l *LevelLaw) EachColumn(of func(column int, share, mean, sd float64)) {
	for level, own := range l.box {
		for j, v := range own {
			of(l.k+j, l.share[level], v, math.Sqrt(l.boxCov[j*l.d+j]))
		}
	}
}

// has tells whether rows of a level are in an entry.
func (e Monomial) has(level int) bool { return e.Level < 0 || e.Level == level }

// within is M_el.
func (l *LevelLaw) within(e Monomial, level int) float64 {
	if !e.has(level) {
		return 0
	}
	v := 1.0
	for _, j := range e.Of {
		v *= l.mean[level][j]
	}
	if len(e.Of) == 2 {
		v += l.cov[e.Of[0]*l.d+e.Of[1]]
	}
	return v
}

// together is C_ef,l of monomials of which f has as many columns as e or more: of normal columns the covariance of
// v_a and v_iv_j is m_iΣ_aj + m_jΣ_ai, and that of v_av_b and v_iv_j Σ_aiΣ_bj + Σ_ajΣ_bi and m_am_iΣ_bj for each of the
// four pairs.
func (l *LevelLaw) together(e, f Monomial, level int) float64 {
	if len(e.Of) == 0 || !e.has(level) || !f.has(level) {
		return 0
	}
	m, d := l.mean[level], l.d
	cov := func(a, i int) float64 { return l.cov[a*d+i] }
	a, i := e.Of[0], f.Of[0]
	if len(f.Of) == 1 {
		return cov(a, i)
	}
	j := f.Of[1]
	if len(e.Of) == 1 {
		return m[i]*cov(a, j) + m[j]*cov(a, i)
	}
	b := e.Of[1]
	return cov(a, i)*cov(b, j) + cov(a, j)*cov(b, i) + m[a]*(m[i]*cov(b, j)+m[j]*cov(b, i)) + m[b]*(m[i]*cov(a, j)+m[j]*cov(a, i))
}

// Expect writes n E t, of the length of Entries, after Factor.
func (l *LevelLaw) Expect(dst []float64, n float64) {
	for e, entry := range l.Entries {
		dst[e] = 0
		for level, share := range l.share {
			dst[e] += n * share * l.within(entry, level)
		}
	}
}

// Covariance writes the lower triangle of n Cov(t), square, after Factor.
func (l *LevelLaw) Covariance(dst []float64, n float64) {
	q := len(l.Entries)
	means, all := make([]float64, q*l.levels), make([]float64, q)
	for e, entry := range l.Entries {
		for level, share := range l.share {
			means[e*l.levels+level] = l.within(entry, level)
			all[e] += share * means[e*l.levels+level]
		}
	}
	for f, second := range l.Entries {
		for e, first := range l.Entries[:f+1] { // which has no more columns
			v := -all[e] * all[f]
			for level, share := range l.share {
				if first.has(level) && second.has(level) {
					v += share * (l.together(first, second, level) + means[e*l.levels+level]*means[f*l.levels+level])
				}
			}
			dst[f*q+e] = n * v
		}
	}
}

// randRows draws counts of n rows, multinomial, writes those that have noise, and calls of with each level's.
func (l *LevelLaw) randRows(dst []float64, n float64, rng *rand.Rand, of func(level int, rows float64)) {
	left, rest := n, 1.0
	for level, share := range l.share {
		rows := left
		if level < l.levels-1 {
			rows = distuv.Binomial{N: left, P: max(0, min(1, share/rest)), Src: rng}.Rand()
		}
		left, rest = left-rows, rest-share
		if at := level - l.levels + l.counts; at >= 0 {
			dst[at] = rows
		}
		of(level, rows)
	}
}

// RandExact draws t summed over n rows, after Factor: counts are multinomial, sums of n_l rows N(n_lm_l, n_lΣ), and what levels leave of the
// scatter Wishart, of a degree of freedom less for each level that has a row.
func (l *LevelLaw) RandExact(dst []float64, n float64, rng *rand.Rand) {
	d, freedom := l.d, n
	clear(l.sum)
	sums := dst[l.counts:]
	l.randRows(dst, n, rng, func(level int, rows float64) {
		own := sums[level*d : (level+1)*d]
		if clear(own); rows == 0 {
			return
		}
		freedom--
		variate.Normals(l.g, 1, rng)
		dense.MulLowerVec(l.row, l.chol, d, l.g)
		for j := range own {
			own[j] = rows*l.mean[level][j] + math.Sqrt(rows)*l.row[j]
		}
		for i, v := range own {
			for j, u := range own[:i+1] {
				l.sum[i*d+j] += v * u / rows
			}
		}
	})
	variate.WishartFactor(l.low, d, freedom, rng)
	dense.MulLower(l.low, l.chol, l.low, d) // Σ's factor times Bartlett's
	products := sums[l.levels*d:]
	for j := range d {
		for h := j; h < d; h++ {
			sum := l.sum[h*d+j]
			for c := range j + 1 {
				sum += l.low[h*d+c] * l.low[j*d+c]
			}
			products[release.Index(d, j, h)-d] = sum
		}
	}
}
