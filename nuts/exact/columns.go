package exact

import (
	"math"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
)

// columns are the coordinates of v̄ and of the first rows of D: all of them, or the covariates'.
// See coordinates for what they are.
type columns struct {
	p, m   int       // covariates, and columns of D
	rows   int       // how many rows of D are made
	origin []float64 // ẑ_j in the box, or any other place
	linear []float64 // precisions of means by z
	centre []float64 // m_j, and P_j is fixed + per D_jj²
	fixed  []float64
	per    []float64
	wide   []float64 // 1/√(linear + 1/P_j)
	r      []float64 // sds of the noise of mean squares

	left, rho         []float64 // V_ij and ρ_ij, m×m
	square, logSquare []float64 // D_jj²
	slope, bend       []float64 // see spreadOf
	product           logProduct
	slopes            *slopesOfX // in place of correlations; nil: none
}

// newColumns allocates for p covariates and so many rows, each of its r.
func newColumns(p, m int, r []float64) *columns {
	rows := len(r)
	return &columns{p: p, m: m, rows: rows, r: r, origin: vec(rows), centre: vec(rows), linear: vec(rows), fixed: vec(rows), per: vec(rows), wide: vec(rows),
		left: vec(m * m), rho: vec(m * m), square: vec(rows), logSquare: vec(rows), slope: vec(rows), bend: vec(rows)}
}

// columnsOf makes those of a site in its units.
func columnsOf(site *model.Site, prior *model.Prior, rows int) *columns {
	obs := site.Observation
	n, reach := rowsTold(obs), obs.Reach()
	c := newColumns(obs.Shape.P, obs.Shape.M(), vec(rows))
	for j, z := range obs.Z[:rows] {
		c.r[j] = math.Sqrt(obs.Variance(release.Index(c.m, j, j))) / n
		c.origin[j] = max(-reach, min(reach, z/n))
		c.linear[j] = n * n / obs.Variance(j)
		c.per[j] = 1 / n
	}
	copy(c.centre, c.origin)
	c.addPrior(prior, site.Units)
	return c
}

// addPrior adds to P_j of the covariates, and makes m_j, what the prior has, in a site's units.
func (c *columns) addPrior(prior *model.Prior, u *model.Units) {
	centre := vec(c.p + 1)
	copy(centre, prior.Covariates.Mean)
	u.Mean(centre)
	copy(c.centre[:c.p], centre)
	for j := range c.p {
		if prior.MeanSD != nil {
			row, _ := u.Row(j)
			for k, b := range row {
				c.fixed[j] += b * b * prior.MeanSD[k] * prior.MeanSD[k]
			}
		} else {
			c.per[j] += 1 / prior.Covariates.Kappa
		}
	}
}

// end is how many coordinates there are, and zeta where those of free scales begin.
func (c *columns) end() int  { return c.rows + c.rows*(c.rows+1)/2 }
func (c *columns) zeta() int { return c.end() + c.p }

// take takes v̄ and rows of D of x, and returns log J without c.product. It reports false where
// a column has no spread left in floating point.
func (c *columns) take(t *statistics, x []float64) (logJ float64, ok bool) {
	at := c.rows
	c.product = logProduct{rest: 1}
	if c.slopes != nil {
		c.slopes.begin(x[c.zeta():])
	}
	for i := range c.p {
		v, ok := c.takeRow(t.d, i, x[at:at+i+1])
		if !ok {
			return 0, false
		}
		if c.slopes != nil {
			v += c.slopes.follow(i, c.square[i], x[c.zeta():])
		}
		c.takeMean(t, i, c.square[i], x[i])
		logJ += v
		at += i + 1
	}
	return logJ, true
}

// takeMean takes v̄_i, given D_ii².
func (c *columns) takeMean(t *statistics, i int, square, x float64) {
	prior := c.fixed[i] + c.per[i]*square
	w2 := 1 / (c.linear[i] + 1/prior)
	c.product.times(w2)
	c.wide[i] = math.Sqrt(w2)
	t.mean[i] = c.middle(i, prior, w2) + c.wide[i]*x
}

// placeMean returns the coordinate of v̄_i.
func (c *columns) placeMean(t *statistics, i int, square float64) float64 {
	prior := c.fixed[i] + c.per[i]*square
	w2 := 1 / (c.linear[i] + 1/prior)
	return (t.mean[i] - c.middle(i, prior, w2)) / math.Sqrt(w2)
}

// byPrior is the gradient in P_i of v̄_i, and of log J, where takeMean was last.
func (c *columns) byPrior(i int, square, gMean, x float64) float64 {
	w, prior := c.wide[i], c.fixed[i]+c.per[i]*square
	return (0.5*(gMean*w*x+1) + gMean*(c.middle(i, prior, w*w)-c.centre[i])) * w * w / (prior * prior)
}

// middle is where v̄_i is at x = 0.
func (c *columns) middle(i int, prior, square float64) float64 {
	return square * (c.linear[i]*c.origin[i] + c.centre[i]/prior)
}

// pull writes the gradient in x, where take was last, given those in v̄ and D, of which it spends
// the latter, and adds that of log J.
func (c *columns) pull(grad []float64, t *statistics, x []float64) {
	m := c.m
	for i := c.p - 1; i >= 0; i-- {
		at := diagonal(c.rows, i) - i
		grad[i] = t.gMean[i] * c.wide[i]
		t.gD[i*m+i] += 2 * c.byPrior(i, c.square[i], t.gMean[i], x[i]) * c.per[i] * t.d[i*m+i]
		if c.slopes != nil {
			c.slopes.pullFollow(t, i)
		}
		c.pullRow(grad[at:at+i+1], t, x[at:at+i+1])
	}
	if c.slopes != nil {
		copy(grad[c.zeta():], c.slopes.scales.gLambda)
	}
}

// place writes the coordinates of v̄ and rows of D; the others stay.
func (c *columns) place(x []float64, t *statistics) {
	at := c.rows
	for i := range c.p {
		c.placeRow(x[at:at+i+1], t.d, i)
		x[i] = c.placeMean(t, i, c.square[i])
		if c.slopes != nil {
			c.slopes.follow(i, c.square[i], x[c.zeta():])
		}
		at += i + 1
	}
}

// placeRow writes the c and u of row i of D.
func (c *columns) placeRow(x, d []float64, i int) {
	row, k := d[i*c.m:i*c.m+i+1], c.correlations(i)
	c.square[i] = row[i] * row[i]
	left := c.square[i]
	if c.regressed(i) {
		c.placeSlopes(x[k:i], d, i)
		left = dot(row[k:], row[k:])
	}
	for j := k - 1; j >= 0; j-- {
		h := math.Asinh(row[j] / math.Sqrt(left))
		left += row[j] * row[j]
		x[j] = h * math.Sqrt(c.weight(i, j, left))
	}
	x[i] = spreadInverse(left / c.r[i])
}

// correlations is how many of row i of D have a ρ.
func (c *columns) correlations(i int) int {
	if c.slopes != nil {
		return min(i, c.slopes.told)
	}
	return i
}

// takeRow takes row i of D, i+1 numbers, of its c and u. With V_i of u and
// D_i0, … of c in turn, the Jacobian is triangular, and D_ii² = V_i − Σ_{j<i} D_ij². Factors of
// which a root belongs to it are left to c.product.
func (c *columns) takeRow(d []float64, i int, x []float64) (logJ float64, ok bool) {
	row, k := d[i*c.m:i*c.m+i+1], c.correlations(i)
	spread, slope, logSlope, bend := spreadOf(x[i])
	if !(logSlope > leastLog) {
		return 0, false
	}
	c.slope[i], c.bend[i] = slope, bend
	left := c.r[i] * spread
	for j := range k {
		a := c.weight(i, j, left)
		rho := math.Tanh(x[j] / math.Sqrt(a))
		rest := (1 - rho) * (1 + rho)
		c.left[i*c.m+j], c.rho[i*c.m+j] = left, rho
		row[j] = math.Sqrt(left) * rho
		c.product.times(left * rest * rest / a)
		left *= rest
	}
	if c.regressed(i) {
		logJ, ok = c.takeSlopes(d, i, left, x[k:i])
		return logSlope + logJ, ok
	}
	c.square[i], row[i], c.logSquare[i] = left, math.Sqrt(left), math.Log(left)
	return logSlope - 0.5*c.logSquare[i], c.logSquare[i] > leastLog
}

// weight is A_ij, given V_ij.
func (c *columns) weight(i, j int, left float64) float64 {
	return float64(c.p-j) + left*c.square[j]/(c.r[i]*c.r[j])
}

// pullRow is pull of takeRow.
func (c *columns) pullRow(grad []float64, t *statistics, x []float64) {
	m, i, gD := c.m, len(x)-1, t.gD
	g, k := 0.5*(gD[i*m+i]/t.d[i*m+i]-1/c.square[i]), c.correlations(i)
	if c.regressed(i) {
		g = c.pullSlopes(grad[k:i], t, i, x[k:i])
	}
	for j := k - 1; j >= 0; j-- {
		left, rho, d := c.left[i*m+j], c.rho[i*m+j], gD[i*m+j]
		a, root, rest := c.weight(i, j, left), math.Sqrt(left), (1-rho)*(1+rho)
		byH := (d*root-2*g*left*rho)*rest - 2*rho // h = c_ij/√A_ij
		grad[j] = byH / math.Sqrt(a)
		byA := -0.5 * (grad[j]*x[j] + 1) / a
		g = g*rest + 0.5*(d*rho/root+1/left) + byA*c.square[j]/(c.r[i]*c.r[j])
		gD[j*m+j] += 2 * byA * left * t.d[j*m+j] / (c.r[i] * c.r[j])
	}
	grad[i] = g*c.r[i]*c.slope[i] + c.bend[i]
}

// spreadOf returns V/r of the coordinate u, its slope, and of that the logarithm and the logarithm's
// derivative:
//
//	V/r = softplus(t),   t = u − s²,   s = ½(√(u²+4) − u).
//
// Where z tells V, t is u. Where noise hides it, the prior, which is about flat in √V at 0, gives t the tail
// exp(½t), which trajectories go down and up slowly; there t is about −u², and u has a normal tail.
func spreadOf(u float64) (spread, slope, logSlope, bend float64) {
	s, root := shift(u)
	by := 2 * s * s / root // dt/du − 1
	t := u - s*s
	spread, slope = softplus(t)
	logSlope = t - spread + math.Log1p(by)
	bend = (1-slope)*(1+by) - by*(2+u/root)/((1+by)*root)
	return spread, slope * (1 + by), logSlope, bend
}

// spreadInverse is by Newton's method: t is concave in u, so that all steps but the first lead up.
func spreadInverse(spread float64) float64 {
	t := softplusInverse(spread)
	u := min(t, -math.Sqrt(max(-t, 0)))
	for range 50 {
		s, root := shift(u)
		step := (t - u + s*s) / (1 + 2*s*s/root)
		if u += step; math.Abs(step) < 1e-12*(1+math.Abs(u)) {
			break
		}
	}
	return u
}

// shift returns s of spreadOf, and √(u²+4).
func shift(u float64) (s, root float64) {
	root = math.Sqrt(u*u + 4)
	if u > 0 {
		return 2 / (root + u), root
	}
	return 0.5 * (root - u), root
}

// leastLog keeps D_ii² above exp(−300).
const leastLog = -300

// softplus returns log(1 + e^t) and its derivative.
func softplus(t float64) (value, slope float64) {
	e := math.Exp(-math.Abs(t))
	value, slope = math.Log1p(e), 1/(1+e)
	if t > 0 {
		return t + value, slope
	}
	return value, e * slope
}

func softplusInverse(value float64) float64 {
	if value < 40 {
		return math.Log(math.Expm1(value))
	}
	return value
}

// logProduct is the logarithm of a product of numbers between 1e-200 and 1e200.
type logProduct struct{ rest, log float64 }

func (l *logProduct) times(v float64) {
	if l.rest *= v; !(l.rest > 1e-100 && l.rest < 1e100) {
		l.log += math.Log(l.rest)
		l.rest = 1
	}
}

func (l *logProduct) value() float64 { return l.log + math.Log(l.rest) }
