package exact

import "math"

// sumsOfY are ȳ and h of index, given θ, x̄ and D_x, in coordinates that are about standard normal given
// these, whether z tells the sums or noise hides them: of n rows, r the sd of the noise of means of products
// of y in [0, 1],
//
//	logit ȳ    z tells it, and n rows of mean M_0
//	h          rowLaw of N(M_1e, q/n I), q = S_0 − M_0² − M_1², and m̂ = Σxy/n − x̄ȳ as z has it
type sumsOfY struct {
	*index
	*ofLevel
	y    float64 // ȳ
	byY  float64
	m    int
	told []float64 // Σxy/n of z, for y and x in [−1, 1]
	rate float64   // precision of logit ȳ by z, and ȳ itself
	odds float64

	row      *rowLaw // of h
	within   float64 // precision of logit ȳ
	q, logit float64 // q; logit M_0
}

// newSumsOfY are those of which z tells nothing.
func newSumsOfY(of family, p int) *sumsOfY {
	index := newIndex(of, 0, p, 1)
	return &sumsOfY{index: index, ofLevel: &index.at[0], m: p + 1, told: make([]float64, p), row: newRowLaw(p)}
}

// take makes ȳ and h of coordinates x at the index, and writes those to t as y's mean and row of D, in
// [−1, 1]; it adds to logp their log density, log J counted in. It reports false where no rows have these sums.
func (l *sumsOfY) take(logp float64, t *statistics, x []float64) (float64, bool) {
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
	l.row.own = l.n / l.q
	for j, told := range l.told {
		l.row.middle[j] = l.M[1] * l.e[j]
		l.row.products[j] = 0.5*(told+t.mean[j]) - t.mean[j]*l.y
	}
	logJ, ok = l.row.prepare(t.d, l.m)
	if !ok {
		return 0, false
	}
	l.row.set(l.h, x[1:])
	return logJ - 0.5*math.Log(l.within) + math.Log(l.y*(1-l.y)), true
}

// prepare takes what the coordinates need of moments, and returns what rows tell of logit ȳ.
func (l *sumsOfY) prepare() (rows float64, ok bool) {
	m0 := l.M[0]
	rows = 1 + l.n*l.tellsLogit()
	l.within = rows + l.rate
	l.logit = math.Log(m0 / (1 - m0))
	l.q = l.K
	return rows, l.q > 0
}

// tellsLogit is what a row tells of logit M_0, (M_0(1−M_0))² over y's variance.
func (l *sumsOfY) tellsLogit() float64 {
	m0 := l.M[0]
	return m0 * (1 - m0) * m0 * (1 - m0) / (l.S[0] - m0*m0)
}

// pull writes the gradient in x where take was last, of a density of t to which take's is added: gMean and gD
// have its gradient in y's mean and row of D, and take that in x̄ and D_x; gF takes that in f. It returns
// those in η̄ and in n.
func (l *sumsOfY) pull(grad, x []float64, t *statistics, gMean, gD, gF []float64) (byEta, byN float64) {
	l.slope()
	l.byY = l.root*l.bySum + 2*gMean[l.p]
	for k := range l.byH {
		l.byH[k] += 2 * gD[l.p*l.m+k]
	}
	byN = l.byRows() + l.pullSums(grad, x, t, gMean, gD)
	l.index.pull(gF)
	return l.byEta, byN
}

// pullSums is pull of takeSums; it returns the gradient in n.
func (l *sumsOfY) pullSums(grad, x []float64, t *statistics, gMean, gD []float64) (byN float64) {
	m0, m1, row := l.M[0], l.M[1], l.row
	row.pull(grad[1:], gD, l.byH, t.d, l.m, x[1:])
	addScaled(l.byE, m1, row.byMiddle)
	for j, g := range row.gProducts {
		gMean[j] += g * (0.5 - l.y)
		l.byY -= g * t.mean[j]
	}
	l.byK -= row.byOwn * row.own / l.q
	l.byM[1] += dot(l.e, row.byMiddle)

	byLogit, root := l.byY*l.y*(1-l.y)+1-2*l.y, math.Sqrt(l.within)
	rows := l.within - l.rate
	grad[0] = byLogit / root
	centre := (rows*l.logit + l.rate*l.odds) / l.within
	byRows := (byLogit*(l.logit-centre-0.5*x[0]/root) - 0.5) / l.within
	variance := l.S[0] - m0*m0
	byN = row.byOwn/l.q + byRows*l.tellsLogit()
	told := byRows * l.n * l.tellsLogit()
	l.bySquares[0] -= told / variance
	l.byM[0] += 2*told*((1-2*m0)/(m0*(1-m0))+m0/variance) + byLogit*rows/(l.within*m0*(1-m0))
	return byN
}
