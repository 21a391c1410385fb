package exact

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// indexRow is the last row of a spoke whose response is of a family: ȳ and h of index, given the hub's
// θ and the release's x̄ and D_x, in place of Bartlett's row, in coordinates u that are about standard
// normal given these,
//
//	logit ȳ = logit M_0 + u_0/√k,   k = 1 + nM_0²(1−M_0)²/(S_0 − M_0²),
//	h       = M_1e + √(q/n) (u_1 … u_p),   q = S_0 − M_0² − M_1²,
//
// so that log J = log ȳ(1−ȳ) − ½ log k + ½p log(q/n).
type indexRow struct {
	*index
	k, q, width float64
	logp        float64 // with log J, at the last take
	ok          bool    // rows have such sums
	gF          []float64
}

func newIndexRow(of family, p int) *indexRow {
	return &indexRow{index: newIndex(of, 0, p), gF: make([]float64, p)}
}

// toward takes η̄ and f of θ and t.
func (r *indexRow) toward(t *statistics, theta []float64) bool {
	beta, eta := theta[len(theta)-r.p:], 0.0
	if len(theta) > r.p {
		eta = theta[0]
	}
	clear(r.f)
	for j, b := range beta {
		eta += b * t.mean[j]
		addScaled(r.f[:j+1], b, t.d[j*t.m:])
	}
	if r.n = t.n; !r.direct(eta) {
		return false
	}
	variance := r.S[0] - r.M[0]*r.M[0]
	r.k, r.q = 1+r.n*r.logitTold(), variance-r.M[1]*r.M[1]
	r.width = math.Sqrt(r.q / r.n)
	return r.q > 0
}

// logitTold is what a row tells of logit M_0.
func (r *indexRow) logitTold() float64 {
	v := r.M[0] * (1 - r.M[0])
	return v * v / (r.S[0] - r.M[0]*r.M[0])
}

// take writes y's mean and row of D to t, in [−1, 1], such that Σy² is n.
func (r *indexRow) take(t *statistics, theta, u []float64) {
	if r.ok = r.toward(t, theta); !r.ok {
		return
	}
	p, m0 := r.p, r.M[0]
	r.y = 1 / (1 + (1-m0)/m0*math.Exp(-u[0]/math.Sqrt(r.k)))
	for l := range r.h {
		r.h[l] = r.M[1]*r.e[l] + r.width*u[1+l]
	}
	spread := r.y*(1-r.y) - dot(r.h, r.h)
	if r.logp, r.ok = r.value(); !(r.ok && spread > 0) {
		r.ok = false
		return
	}
	r.logp += math.Log(r.y*(1-r.y)) - 0.5*math.Log(r.k) + float64(p)*math.Log(r.width)
	t.mean[p] = 2*r.y - 1
	row := t.d[p*t.m : p*t.m+t.m]
	for l, v := range r.h {
		row[l] = 2 * v
	}
	row[p] = 2 * math.Sqrt(spread)
}

// coordinates writes u of y's mean and row of D, which noise of means hides by an sd: between what these
// and what nothing says, and such as rows can have.
func (r *indexRow) coordinates(u []float64, t *statistics, theta []float64, noise float64, between func(seen, sd float64) float64) bool {
	if !r.toward(t, theta) {
		return false
	}
	root, m0, kappa := math.Sqrt(r.k), r.M[0], r.S[0]/r.M[0]
	least := min(max(1/(r.n*r.of.most), noise), 0.5*kappa)
	y := max(min(0.5*(1+t.mean[r.p]), 1-least, 0.5*(kappa+m0)), least)
	u[0] = between(root*(math.Log(y/(1-y))-math.Log(m0/(1-m0))), root*noise/(y*(1-y)))
	row := t.d[r.p*t.m : r.p*t.m+r.p]
	shrunk := min(0.5, math.Sqrt(y*(kappa-y)/(2*dot(row, row)))) // of D's 2h
	for l := range r.h {
		u[1+l] = between((shrunk*row[l]-r.M[1]*r.e[l])/r.width, noise/(r.width*t.d[l*t.m+l]))
	}
	return true
}

// pull writes the gradient in u, where take was last: gMean and gD have that in y's mean and row of D,
// and take those in x̄ and D_x; gTheta takes that in θ. It returns that in n.
func (r *indexRow) pull(grad, u []float64, t *statistics, theta, gMean, gD, gTheta []float64) (byN float64) {
	r.slope()
	p, m0, m1 := r.p, r.M[0], r.M[1]
	byY := r.byY + 2*gMean[p]
	byLogit, root := byY*r.y*(1-r.y)+1-2*r.y, math.Sqrt(r.k)
	grad[0] = byLogit / root
	byK := -0.5 * (byLogit*u[0]/root + 1) / r.k
	told, variance := r.logitTold(), r.S[0]-m0*m0
	r.bySquares[0] -= byK * r.n * told / variance
	r.byM[0] += byLogit/(m0*(1-m0)) + 2*byK*r.n*told*((1-2*m0)/(m0*(1-m0))+m0/variance)

	byWidth, along := float64(p)/r.width, 0.0
	for l := range r.h {
		g := r.byH[l] + 2*gD[p*t.m+l]
		grad[1+l] = r.width * g
		byWidth, along = byWidth+g*u[1+l], along+g*r.e[l]
		r.byE[l] += m1 * g
	}
	byQ := 0.5 * byWidth * r.width / r.q
	r.bySquares[0] += byQ
	r.byM[0] -= 2 * byQ * m0
	r.byM[1] += along - 2*byQ*m1

	clear(r.gF)
	byEta := r.index.pull(r.gF)
	first := len(theta) - p
	if first > 0 {
		gTheta[0] += byEta
	}
	for j, b := range theta[first:] {
		row := t.d[j*t.m : j*t.m+j+1]
		gTheta[first+j] += byEta*t.mean[j] + dot(row, r.gF)
		gMean[j] += b * byEta
		addScaled(gD[j*t.m:j*t.m+j+1], b, r.gF)
	}
	return r.byRows() + byK*told - 0.5*byWidth*r.width/r.n
}

// ofRows is what of the law of y depends on n alone, and the derivative.
func (r *indexRow) ofRows() (logp, byN float64) {
	logp, byN = math.Log(r.n), 1/r.n
	for _, g := range []gammaTerm{{1, -1}, {-1, -0.5 * float64(r.p+1)}} {
		v, _ := math.Lgamma(g.start + 0.5*r.n)
		logp, byN = logp+g.sign*v, byN+0.5*g.sign*mathext.Digamma(g.start+0.5*r.n)
	}
	return logp, byN
}
