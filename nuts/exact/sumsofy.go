package exact

import (
	"math"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
)

// sumsOfY are ȳ and h of index, given θ, x̄ and D_x, in coordinates that are about standard normal given
// these, whether z tells the sums or noise hides them: of n rows, r the sd of the noise of means of products
// of y in [0, 1],
//
//	logit ȳ    z tells it, and n rows of mean M_0
//	h          rowLaw of N(M_1e, K/n I), K = S_0 − M_0² − M_1², and m̂ = Σxy/n − x̄ȳ as z has it
//
// and then, of counts, that of dispersion, which is known first.
type sumsOfY struct {
	*index
	*ofLevel
	y    float64 // ȳ
	byY  float64
	m    int
	told []float64 // Σxy/n of z, for y and x in [−1, 1]
	mean float64   // Σy/n of z, for y in [−1, 1]
	rate float64   // precision of logit ȳ by z, and ȳ itself
	odds float64

	row    *rowLaw   // of h
	within float64   // precision of logit ȳ
	logit  float64   // logit M_0
	byR    []float64 // slope in √rows (logit ȳ − logit M_0), see part.standard
}

// toldSums are what z tells of sums of y in [0, 1]: Σxy, ȳ, and the sds of the noise of means of y and of products.
type toldSums struct {
	z           []float64
	y, noise, r float64
}

// leastShare keeps what z tells of ȳ off 0 and 1, in sds of its noise.
const leastShare = 1.0

func newSumsOfY(obs *model.Observation, of family) (*sumsOfY, toldSums) {
	m, p, n := obs.Shape.M(), obs.Shape.P, rowsTold(obs)
	index := newIndex(of, 0, p, 1)
	l := &sumsOfY{index: index, ofLevel: &index.at[0], m: m, told: vec(p), row: newRowLaw(p), byR: vec(1)}
	t := toldSums{z: obs.Z, r: 0.5 * math.Sqrt(obs.Variance(release.Index(m, 0, p))) / n, noise: 0.5 * math.Sqrt(obs.Variance(p)) / n}
	if told := obs.Told; told != nil && told.Response != nil { // a sum of xy is one within a level less that within the other
		t.z, t.r = told.Response.Statistics, 0.5*math.Sqrt(2*told.Variance(len(told.Counts)))/n
	}
	l.row.per = 1 / (t.r * t.r)
	for j := range p {
		l.told[j] = t.z[release.Index(m, j, p)] / n
	}
	l.mean = max(-1, min(1, obs.Z[p]/n))
	least := min(0.5, leastShare*max(t.noise, 1/n))
	t.y = max(least, min(1-least, 0.5*(1+l.mean)))
	l.odds, l.rate = math.Log(t.y/(1-t.y)), t.y*(1-t.y)/t.noise
	l.rate *= l.rate
	return l, t
}

// take makes φ, ȳ and h of coordinates x at the index, and writes those to t as y's mean and row of D, in
// [−1, 1]; it adds to logp their log density, log J counted in. It reports false where no rows have these sums.
func (l *sumsOfY) take(logp float64, t *statistics, x []float64) (float64, bool) {
	logp += l.dispersion.take(x[1+l.p:])
	l.direct()
	log, ok := l.takeSums(t, x)
	if !ok {
		return 0, false
	}
	t.mean[l.p] = 2*l.y - 1
	row := t.d[l.p*l.m : l.p*l.m+l.m]
	for k, v := range l.h {
		row[k] = 2 * v
	}
	l.root = math.Sqrt(l.n)
	l.sum = l.root * l.y
	value, ok := l.value()
	spread := l.y*(1-l.y) - dot(l.h, l.h) // such that Σy² is n in [−1, 1], as generalized has it observed
	if !(spread > 0) {
		return 0, false
	}
	row[l.p] = 2 * math.Sqrt(spread)
	return logp + log + value, ok
}

// takeSums makes ȳ and h.
func (l *sumsOfY) takeSums(t *statistics, x []float64) (logJ float64, ok bool) {
	rows, ok := l.prepare()
	if !ok {
		return 0, false
	}
	at := (rows*l.logit+l.rate*l.odds)/l.within + x[0]/math.Sqrt(l.within)
	l.y = 1 / (1 + math.Exp(-at))
	if logJ, ok = l.prepareRow(t); !ok {
		return 0, false
	}
	l.row.set(l.h, x[1:1+l.p])
	return logJ - 0.5*math.Log(l.within) + math.Log(l.y*(1-l.y)), true
}

// prepareRow takes what h hangs on, ȳ among it.
func (l *sumsOfY) prepareRow(t *statistics) (logJ float64, ok bool) {
	l.row.own = l.n / l.K
	for j, told := range l.told {
		l.row.middle[j] = l.M[1] * l.e[j]
		l.row.products[j] = 0.5*(told+t.mean[j]) - t.mean[j]*l.y
	}
	return l.row.prepare(t.d, l.m)
}

// expected writes coordinates of the sums that the index expects, which rows can have.
func (l *sumsOfY) expected(x []float64, t *statistics) bool {
	rows, ok := l.prepare()
	if !ok {
		return false
	}
	l.y = l.M[0]
	x[0] = l.rate * (l.logit - l.odds) / math.Sqrt(rows+l.rate)
	if _, ok = l.prepareRow(t); ok {
		l.row.law.Coordinates(x[1:1+l.p], l.row.middle)
	}
	return ok
}

// prepare takes what the coordinates need of moments, and returns what rows tell of logit ȳ.
func (l *sumsOfY) prepare() (rows float64, ok bool) {
	m0 := l.M[0]
	rows = 1 + l.n*l.tellsLogit()
	l.within = rows + l.rate
	l.logit = math.Log(m0 / (1 - m0))
	return rows, l.K > 0
}

// tellsLogit is what a row tells of logit M_0, (M_0(1−M_0))² over y's variance.
func (l *sumsOfY) tellsLogit() float64 {
	m0 := l.M[0]
	return m0 * (1 - m0) * m0 * (1 - m0) / (l.S[0] - m0*m0)
}

// pull writes the gradient in x where take was last, of a density of t to which take's is added: t has
// its gradient in y's mean and row of D, and takes that in x̄ and D_x; gF takes that in f. It returns those in η̄ and in n.
func (l *sumsOfY) pull(grad, x []float64, t *statistics, gF []float64) (byEta, byN float64) {
	l.slope()
	l.byY = l.root*l.bySum + 2*t.gMean[l.p]
	for k := range l.byH {
		l.byH[k] += 2 * t.gD[l.p*l.m+k]
	}
	byN = l.byRows() + l.pullSums(grad, x, t)
	l.index.pull(gF)
	l.dispersion.give(grad[1+l.p:])
	return l.byEta, byN
}

// pullSums is pull of takeSums; it returns the gradient in n.
func (l *sumsOfY) pullSums(grad, x []float64, t *statistics) (byN float64) {
	m0, m1, row := l.M[0], l.M[1], l.row
	row.pull(grad[1:1+l.p], t.gD, l.byH, t.d, l.m, x[1:1+l.p])
	addScaled(l.byE, m1, row.byMiddle)
	for j, g := range row.gProducts {
		t.gMean[j] += g * (0.5 - l.y)
		l.byY -= g * t.mean[j]
	}
	l.byK -= row.byOwn * row.own / l.K
	l.byM[1] += dot(l.e, row.byMiddle)

	rows := l.within - l.rate
	rest := math.Sqrt(rows) * l.byR[0]
	byLogit, root := l.byY*l.y*(1-l.y)+1-2*l.y+rest, math.Sqrt(l.within)
	grad[0] = byLogit / root
	centre := (rows*l.logit + l.rate*l.odds) / l.within
	byRows := (byLogit*(l.logit-centre-0.5*x[0]/root) - 0.5) / l.within
	variance := l.S[0] - m0*m0
	byN = row.byOwn/l.K + byRows*l.tellsLogit()
	told := byRows * l.n * l.tellsLogit()
	l.bySquares[0] -= told / variance
	l.byM[0] += 2*told*((1-2*m0)/(m0*(1-m0))+m0/variance) + (byLogit*rows/l.within-rest)/(m0*(1-m0))
	return byN
}
