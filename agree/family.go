package agree

import (
	"math"
	"slices"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
)

// line is what sums of a response of a family are residuals of at a draw: the best line through E[y | η] = g(η). With x
// normal within levels l of share π_l, η = η_l + sv of coefficients θ, and model.Along's moments at (η_l, s), Stein's lemma
// gives
//
//	Cov(x, y | l) = N_0l Tβ,
//
// so that over all levels the slopes of y are N̄β, N̄ = Σ_l π_lN_0l, level l's own line passes through its means, and y varies
// about that by Σ_l π_l(S_0l − M_0l²) − N̄²s². Means, shares and T are what z of the release tells, as are XX and XY.
type line struct {
	family  model.Family
	law     *model.LevelLaw
	dummies int
	index   model.Index
	along   *model.Along
	x       *model.Params
	theta   []float64
	level   []float64 // the line at a level's dummies and x = 0
	turn    []float64 // what model.Doubt's sd adds to the line: slopes that turn about the means of x
}

// newLine returns that of statistics z of n rows, as observed and projected; nil where noise hides the covariates.
func newLine(of Response, obs *model.Observation, z []float64, n float64) *line {
	shape, dummies := obs.Shape, of.Dummies
	m, p := shape.M(), shape.P
	scatter := make([]float64, m*m)
	if model.Scatter(scatter, z, m, n); !told(obs, dummies, scatter) {
		return nil
	}
	l := &line{family: of.Family, law: model.NewLevelLaw(shape, dummies, 0, nil), dummies: dummies, along: model.NewAlong(of.Family.Moments(of.Most), of.Most),
		x: model.NewParams(shape), theta: make([]float64, shape.Q()), level: make([]float64, shape.Levels(dummies)), turn: make([]float64, shape.Q())}
	for j := range p {
		l.x.MuX[j] = z[j] / n
		for k := range p {
			l.x.Tau[j*p+k] = scatter[max(j, k)*m+min(j, k)] / n
		}
	}
	return l
}

// at returns the line at θ, and the variance of y about it, of counts of a dispersion, y being in [−1, 1]. It reports false
// where noise has left a level no rows.
func (l *line) at(theta []float64, dispersion float64) (line []float64, variance float64, ok bool) {
	copy(l.x.Theta, theta)
	l.law.Set(l.x)
	if l.law.Index(&l.index); !(slices.Min(l.index.Share) > 0) {
		return nil, 0, false
	}
	a, slope, first := l.along, 0.0, 1+l.dummies
	a.Dispersion = dispersion
	for i, eta := range l.index.Eta {
		a.Set(eta, l.index.S)
		share := l.index.Share[i]
		l.level[i] = 2*a.M[0] - 1
		slope += 2 * share * a.N[0]
		variance += 4 * share * (a.S[0] - a.M[0]*a.M[0])
	}
	doubt := l.family.Doubt(l.index.S)
	l.turn[0] = 0
	for j, b := range theta[first:] {
		l.theta[first+j] = slope * b
		l.turn[first+j] = doubt * slope * b
		l.turn[0] -= doubt * slope * b * l.x.MuX[l.dummies+j]
		for i := range l.level {
			l.level[i] -= slope * b * l.law.Column(i, l.dummies+j)
		}
	}
	l.theta[0] = l.level[0]
	for c, v := range l.level[1:] { // dummies are ±1
		l.theta[1+c] = 0.5 * (v - l.level[0])
		l.theta[0] += l.theta[1+c]
	}
	variance -= slope * slope * l.index.S * l.index.S
	return l.theta, variance, variance > 0
}

// told tells whether noise leaves open how x is spread and levels are filled, by two of its sds.
func told(obs *model.Observation, dummies int, scatter []float64) bool {
	m := obs.Shape.M()
	rows, variance := obs.N, 0.0 // of the first level
	for j := range dummies {
		own := 0.5 * (obs.N + obs.Z[j])
		rows, variance = rows-own, variance+0.25*obs.Variance(j)
		if !(own > math.Sqrt(obs.Variance(j))) {
			return false
		}
	}
	for j := dummies; j < obs.Shape.P; j++ {
		if !(scatter[j*m+j] > 2*math.Sqrt(obs.Variance(release.Index(m, j, j)))) {
			return false
		}
	}
	return rows > 2*math.Sqrt(variance)
}
