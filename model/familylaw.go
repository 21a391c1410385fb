package model

import (
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/release"
)

// FamilyLaw is the law of the sums of n rows x ~ N(μ, T) whose response y is of a family given
// η = θᵀ(1, x), in scaled units. A row's products have the mean, with u = (η − η̄)/s normal and w in
// [0, 1] the response,
//
//	E w = M_0,   E xw = μM_0 + (Tβ/s)M_1,   E w² = S_0,   M_j = E[g u^j],   S_0 = E[g₂],
//
// and the covariance of simulated rows, which does for a discrepancy. Sums are those of rows;
// of more than mostRows, of so many, spread about their mean by √(n/mostRows).
type FamilyLaw struct {
	family  Family
	shape   Shape
	most    float64
	along   *Along
	x       *Params
	root    []float64 // Cholesky factor of T
	mean    []float64 // of a row's products
	cov     []float64 // and their covariance, lower triangle, q×q
	rng     *rand.Rand
	row, e  []float64
	product []float64
}

const (
	mostRows       = 1000
	covarianceRows = 500
)

// NewFamilyLaw prepares the law; of counts most is their bound.
func NewFamilyLaw(f Family, s Shape, most float64) *FamilyLaw {
	q := s.Statistics()
	vec := func(n int) []float64 { return make([]float64, n) }
	return &FamilyLaw{family: f, shape: s, most: most, along: NewAlong(f.Moments(most), most), rng: rand.New(rand.NewPCG(1, 0)),
		root: vec(s.P * s.P), mean: vec(q), cov: vec(q * q), row: vec(s.M()), e: vec(s.P), product: vec(q)}
}

// Set takes parameters, until the next call.
func (l *FamilyLaw) Set(x *Params) { l.x = x }

// Factor prepares the law. It reports false where rounding leaves T indefinite.
func (l *FamilyLaw) Factor() bool {
	copy(l.root, l.x.Tau)
	if !dense.Cholesky(l.root, l.shape.P) {
		return false
	}
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
	p, m, x := l.shape.P, l.shape.M(), l.x
	beta := x.Theta[len(x.Theta)-p:]
	along := make([]float64, p) // Tβ
	dense.SymMulVec(along, x.Tau, p, beta)
	eta, variance := l.intercept(), 0.0
	for j, b := range beta {
		eta, variance = eta+b*x.MuX[j], variance+b*along[j]
	}
	s := math.Sqrt(variance)
	l.along.Set(eta, s)
	m0, m1, s0 := l.along.M[0], l.along.M[1], l.along.S[0]
	for j := range p {
		l.mean[j] = x.MuX[j]
		for k := j; k < p; k++ {
			l.mean[release.Index(m, j, k)] = x.MuX[j]*x.MuX[k] + x.Tau[j*p+k]
		}
		product := x.MuX[j] * m0
		if s > 0 {
			product += along[j] / s * m1
		}
		l.mean[release.Index(m, j, p)] = 2*product - x.MuX[j]
	}
	l.mean[p] = 2*m0 - 1
	l.mean[release.Index(m, p, p)] = 4*(s0-m0) + 1
}

func (l *FamilyLaw) intercept() float64 {
	if l.shape.Intercept {
		return l.x.Theta[0]
	}
	return 0
}

// draw writes the products of a row.
func (l *FamilyLaw) draw(rng *rand.Rand) {
	p, m := l.shape.P, l.shape.M()
	for j := range l.e {
		l.e[j] = rng.NormFloat64()
	}
	eta := l.intercept()
	for j, b := range l.x.Theta[len(l.x.Theta)-p:] {
		l.row[j] = l.x.MuX[j]
		for k, r := range l.root[j*p : j*p+j+1] {
			l.row[j] += r * l.e[k]
		}
		eta += b * l.row[j]
	}
	l.row[p] = 2*l.family.Draw(eta, l.most, rng)/l.most - 1
	copy(l.product, l.row)
	at := m
	for j, v := range l.row {
		for _, w := range l.row[j:] {
			l.product[at] = v * w
			at++
		}
	}
}

// Expect writes the mean of the sums of n rows.
func (l *FamilyLaw) Expect(dst []float64, n float64) {
	for i, v := range l.mean {
		dst[i] = n * v
	}
}

// Covariance writes theirs, lower triangle.
func (l *FamilyLaw) Covariance(dst []float64, n float64) {
	for i, v := range l.cov {
		dst[i] = n * v
	}
}

// RandExact draws them.
func (l *FamilyLaw) RandExact(dst []float64, n float64, rng *rand.Rand) {
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
