package model

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/variate"
)

// FamilyLaw is LevelLaw of rows whose response y is of a family given η = θᵀ(1, x), in scaled units; without a factor rows
// are of one level. Products within a level have the mean, with u = (η − η_l)/s normal and w in [0, 1] the response, of counts of the dispersion φ,
//
//	E w = M_0,   E xw = m_lM_0 + (Tβ/s)M_1,   E w² = S_0,   M_j = E[g u^j],   S_0 = E[g₂],
//
// and the covariance of simulated rows, which does for a discrepancy. Sums are those of rows;
// of more than mostRows, of so many, spread about their mean by √(n/mostRows). Of categories alone and a response that is 0
// or 1 they are multinomial and binomial.
type FamilyLaw struct {
	*LevelLaw
	family  Family
	most    float64
	index   Index
	along   *Along
	root    []float64 // Cholesky factor of T within levels
	row     []float64 // behind the dummies
	mean    []float64 // of a row's products
	cov     []float64 // and their covariance, lower triangle, q×q
	rng     *rand.Rand
	e       []float64
	product []float64
}

const (
	mostRows       = 1000
	covarianceRows = 500
)

// NewFamilyLaw prepares the law of sums of LevelLaw, in the box; of counts most is their bound.
func NewFamilyLaw(f Family, l *LevelLaw, most float64) *FamilyLaw {
	q, x := len(l.Entries), l.d-1
	vec := func(n int) []float64 { return make([]float64, n) }
	return &FamilyLaw{LevelLaw: l, family: f, most: most, along: NewAlong(f.Moments(most), most), rng: rand.New(rand.NewPCG(1, 0)),
		root: vec(x * x), row: vec(l.d), mean: vec(q), cov: vec(q * q), e: vec(x), product: vec(q)}
}

// Factor prepares the law, after Set. It reports false where rounding leaves T indefinite, or a level nothing.
func (l *FamilyLaw) Factor() bool {
	x := l.d - 1
	for i := range x {
		copy(l.root[i*x:(i+1)*x], l.boxCov[i*l.d:])
	}
	if !dense.Cholesky(l.root, x) || slices.Min(l.share) <= 0 {
		return false
	}
	l.LevelLaw.Index(&l.index)
	l.expectRow()
	q := len(l.mean)
	clear(l.cov)
	for range covarianceRows {
		l.draw(l.rng)
		for i, v := range l.product {
			for j, w := range l.product[:i+1] {
				l.cov[i*q+j] += (v - l.mean[i]) * (w - l.mean[j]) / covarianceRows
			}
		}
	}
	return true
}

// expectRow writes the mean of a row's products, y = 2w − 1.
func (l *FamilyLaw) expectRow() {
	clear(l.mean)
	l.along.Dispersion = l.sigma2
	for level, share := range l.share {
		l.along.Set(l.index.Eta[level], l.index.S)
		for e, entry := range l.Entries {
			if entry.has(level) {
				l.mean[e] += share * l.expect(entry.Of, l.box[level])
			}
		}
	}
}

// expect is the mean of a product within a level of mean m, where along is.
func (l *FamilyLaw) expect(of []int, m []float64) float64 {
	y, m0 := l.d-1, l.along.M[0]
	switch {
	case len(of) == 0:
		return 1
	case len(of) == 1 && of[0] == y:
		return 2*m0 - 1
	case len(of) == 1:
		return m[of[0]]
	case of[0] == y:
		return 4*(l.along.S[0]-m0) + 1
	case of[1] < y:
		return m[of[0]]*m[of[1]] + l.boxCov[of[0]*l.d+of[1]]
	}
	product := m[of[0]] * m0
	if l.index.S > 0 {
		product += l.index.Along[of[0]] / l.index.S * l.along.M[1]
	}
	return 2*product - m[of[0]]
}

// draw writes the products of a row.
func (l *FamilyLaw) draw(rng *rand.Rand) {
	level, x := 0, l.d-1
	if l.levels > 1 {
		for u := rng.Float64(); level < l.levels-1 && u > l.share[level]; level++ {
			u -= l.share[level]
		}
	}
	variate.Normals(l.e, 1, rng)
	eta := l.index.Eta[level]
	for j, b := range l.beta {
		dev := dense.Dot(l.root[j*x:j*x+j+1], l.e)
		l.row[j] = l.box[level][j] + dev
		eta += b * dev
	}
	l.row[x] = 2*l.response(eta, rng) - 1
	for e, entry := range l.Entries {
		v := 0.0
		if entry.has(level) {
			v = 1
			for _, j := range entry.Of {
				v *= l.row[j]
			}
		}
		l.product[e] = v
	}
}

// response draws w, of counts g + √φ(w − g), which has the mean and φ times the variance.
func (l *FamilyLaw) response(eta float64, rng *rand.Rand) float64 {
	w := l.family.Draw(eta, l.most, rng) / l.most
	if l.family != Poisson {
		return w
	}
	g, _, _, _ := l.along.mean(eta, math.Exp(eta))
	return g + math.Sqrt(l.sigma2)*(w-g)
}

// Expect writes the mean of the sums of n rows.
func (l *FamilyLaw) Expect(dst []float64, n float64) {
	floats.ScaleTo(dst[:len(l.mean)], n, l.mean)
}

// Covariance writes theirs, lower triangle.
func (l *FamilyLaw) Covariance(dst []float64, n float64) {
	floats.ScaleTo(dst, n, l.cov)
}

// RandExact draws them.
func (l *FamilyLaw) RandExact(dst []float64, n float64, rng *rand.Rand) {
	if l.d == 1 && l.most == 1 {
		l.randCounts(dst, n, rng)
		return
	}
	rows := min(math.Round(n), mostRows)
	clear(dst)
	for range int(rows) {
		l.draw(rng)
		for i, v := range l.product {
			dst[i] += v - l.mean[i]
		}
	}
	spread := math.Sqrt(n / rows)
	for i, v := range l.mean {
		dst[i] = n*v + spread*dst[i]
	}
}

// randCounts is RandExact where rows of a level are alike.
func (l *FamilyLaw) randCounts(dst []float64, n float64, rng *rand.Rand) {
	sums := dst[l.counts:]
	l.randRows(dst, n, rng, func(level int, rows float64) {
		sums[level] = 2*distuv.Binomial{N: rows, P: l.family.Mean(l.index.Eta[level]), Src: rng}.Rand() - rows
	})
	sums[l.levels] = n
}
