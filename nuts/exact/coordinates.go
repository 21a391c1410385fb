package exact

import (
	"math"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
)

// coordinates of (v̄, D, ξ, λ, ℓ) range over all of R^k, whatever data could have, and are about
// standard normal one by one given those before, whether z tells a column's spread or noise
// hides it: so that a diagonal metric serves where there are many. With r the sd of the noise of
// a mean of products, ẑ = z/n, and V_y about the variance of y that z tells, at least r,
//
//	v̄_j = ẑ_j + x_j/√(1/r_j² + 1/P_j)          ẑ_j in the box; z tells v̄_j to r_j, the prior given D_jj to P_j
//	V_i = Σ_{j≤i} D_ij² = r softplus(t_i)     z tells V_i to ± r whatever its size: t_i is as z has it
//	                                          where that is much more than r, and log V_i where it is hidden
//	D_ij = √V_ij ρ_ij, V_i,j+1 = (1−ρ_ij²)V_ij   V_i0 = V_i, D_ii² = V_ii: ρ_ij are partial correlations, in (−1, 1)
//	ρ_ij = tanh(c_ij/√A_ij)                   A_ij = p − j + V_ijD_jj²/r²: what the prior, uniform in
//	                                          correlations, and Σv_iv_j in turn tell of ρ_ij
//	D_yy² = r softplus(t_y)                   as V_i
//	D_y: c of rowOfY, m̂_j = ẑ_yj − v̄_yv̄_j
//	λ: ζ of freeScales
//	ℓ = log D_yy + ζ/√(2n)                    given D, σ is known so
//	log(n − n₀) = log(N − n₀) + ζ/w           where n is latent, w = N over the scale of its noise
//
// Where noise is of the size of what a column has beside the others, the posterior leans on the edge
// of the positive definite matrices. There A of W = r softplus(A/r), of eigenvalues, takes a third
// of the steps at p = 5 and never mixes at p = 10; V_y in place of D_yy has walls that bend.
//
// They lie in this order: x of v̄; c and t row by row; ξ of covariates; ζ of λ; that of ℓ; that of n.
type coordinates struct {
	m            int
	told         []float64 // ẑ_yj
	origin       []float64 // ẑ_j in the box
	linear       []float64 // 1/r_j²
	fixed        []float64 // P_j is fixed + per D_jj²
	per          []float64
	wide         []float64 // 1/√(1/r_j² + 1/P_j)
	r            float64
	clear        bool
	y            rowOfY
	scales       *freeScales
	root         float64 // √(2n)
	from, perLog float64 // log(N − n₀) and w
	latent       bool

	products, gProducts []float64 // m̂
	left, rho           []float64 // V_ij and ρ_ij, m×m
	square, logSquare   []float64 // D_jj²
	slope               []float64 // of softplus
	product             logProduct
}

func newCoordinates(site *model.Site, prior *model.Prior, response *response) *coordinates {
	obs, u := site.Observation, site.Units
	m := obs.Shape.M()
	p := m - 1
	n := rowsTold(obs)
	vec := func(n int) []float64 { return make([]float64, n) }
	c := &coordinates{m: m, r: resolution(obs, n), root: math.Sqrt(2 * n), latent: obs.Count.Latent(), clear: farFromSingular(obs),
		products: vec(p), gProducts: vec(p), left: vec(m * m), rho: vec(m * m), square: vec(m), logSquare: vec(m), slope: vec(m)}
	reach := obs.Reach()
	for j, z := range obs.Z[:m] {
		c.origin = append(c.origin, max(-reach, min(reach, z/n)))
		c.linear = append(c.linear, n*n/(obs.Scale[j]*obs.Scale[j]))
		if j < p {
			c.told = append(c.told, obs.Z[release.Index(m, j, p)]/n)
		}
	}
	above, _ := softplus((obs.Z[len(obs.Z)-1]/n - c.origin[p]*c.origin[p]) / c.r)
	variance := c.r * (1 + above) // V_y
	c.wide, c.fixed, c.per = vec(m), vec(m), vec(m)
	slopes := vec(p)
	for j := range m {
		c.per[j] = 1 / n
	}
	a := u.Scale(p)
	switch {
	case !response.intercept: // 0 at x = 0
		c.fixed[p] = variance
	case prior.Unscaled:
		c.fixed[p] = a * a / response.alpha
	default:
		c.per[p] += 1 / response.alpha
	}
	for j := range p {
		if prior.MeanSD != nil {
			row, _ := u.Row(j)
			for k, b := range row {
				c.fixed[j] += b * b * prior.MeanSD[k] * prior.MeanSD[k]
			}
		} else {
			c.per[j] += 1 / prior.Covariates.Kappa
		}
		b := a / u.Scale(j)
		slopes[j] = b * b / response.precision[j*p+j]
	}
	if c.y = newYRow(p, slopes, !prior.Unscaled, n, variance, c.r); c.clear {
		c.y = newToldRow(p, c.r)
	}
	c.scales = newFreeScales(prior)
	if c.latent {
		c.from, c.perLog = math.Log(n-obs.Count.Least+0.5), math.Max(1, n/obs.Count.Scale)
	}
	return c
}

// dim is the number of coordinates.
func (c *coordinates) dim() int {
	n := c.ell() + 1
	if c.latent {
		n++
	}
	return n
}

// lambda is where the ζ of λ begin.
func (c *coordinates) lambda() int { return 2*c.m - 1 + c.m*(c.m+1)/2 }

// ell is where that of ℓ stands.
func (c *coordinates) ell() int { return c.lambda() + c.scales.dim() }

// farFromSingular tells whether the posterior is about normal: noise on m×m entries moves the least
// eigenvalue by 2√m of its sds. In a frame columns are round, and two more are enough; in the box
// they may be correlated, with a diagonal metric against them, and it takes 20.
func farFromSingular(obs *model.Observation) bool {
	if obs.Frame != nil {
		return Clearance(obs) > 2+2*math.Sqrt(float64(obs.Shape.M()))
	}
	return Clearance(obs) > 20
}

// Clearance returns how far z tells the scatter of the rows from singular: its least eigenvalue by
// z, in sds of the noise of a sum of products. Where noise hides the scatter it is small, or
// below 0.
func Clearance(obs *model.Observation) float64 {
	m, n := obs.Shape.M(), rowsTold(obs)
	scatter := make([]float64, m*m)
	model.Scatter(scatter, obs.Z, m, n)
	return least(scatter, m) / (n * resolution(obs, n))
}

// rowsTold is the number of rows as published, or the least there can be.
func rowsTold(obs *model.Observation) float64 { return math.Max(obs.N, obs.Count.Least) }

// resolution is r, the sd of the noise of a mean of products of n rows.
func resolution(obs *model.Observation, n float64) float64 {
	return math.Sqrt(obs.Variance(obs.Shape.M())) / n
}

// least returns the least eigenvalue of a symmetric matrix, of which the lower triangle is given.
func least(a []float64, m int) float64 {
	values := make([]float64, m)
	if !dense.SymEigen(values, make([]float64, m*m), a, m, make([]float64, m*m)) {
		return 0
	}
	return values[0]
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

// logProduct is the logarithm of a product of numbers between 1e-200 and 1e200.
type logProduct struct{ rest, log float64 }

func (l *logProduct) times(v float64) {
	if l.rest *= v; !(l.rest > 1e-100 && l.rest < 1e100) {
		l.log += math.Log(l.rest)
		l.rest = 1
	}
}

func (l *logProduct) value() float64 { return l.log + math.Log(l.rest) }

// take takes v̄, D and ℓ of x, and returns log|∂(v̄, D, λ, ℓ)/∂x| up to a constant. It
// reports false where a column has no spread left in floating point.
func (c *coordinates) take(t *statistics, x []float64) (ell, logJ float64, ok bool) {
	m, at := c.m, c.m
	p := m - 1
	c.product = logProduct{rest: 1}
	for i := range m {
		v, ok := c.takeRow(t.d[i*m:i*m+i+1], x[at:at+i+1])
		if !ok {
			return 0, 0, false
		}
		square := 1 / (c.linear[i] + 1/(c.fixed[i]+c.per[i]*c.square[i]))
		c.product.times(square)
		c.wide[i] = math.Sqrt(square)
		t.mean[i] = c.origin[i] + c.wide[i]*x[i]
		logJ += v
		at += i + 1
	}
	v, ok := c.prepare(t)
	if !ok {
		return 0, 0, false
	}
	logJ += v + 0.5*c.product.value()
	at -= m
	c.y.set(t.d[p*m:p*m+p], x[at:at+p])
	ell = 0.5*c.logSquare[p] + x[c.ell()]/c.root
	return ell, logJ, math.Abs(ell) < -leastLog
}

// correlations is how many of row i of D have a ρ.
func (c *coordinates) correlations(i int) int {
	if i == c.m-1 {
		return 0
	}
	return i
}

// takeRow takes row i of D, i+1 numbers, of its c and t; of y's D_yy alone. With V_i of t and
// D_i0, … of c in turn, the Jacobian is triangular, and D_ii² = V_i − Σ_{j<i} D_ij². Factors of
// which a root belongs to it are left to c.product.
func (c *coordinates) takeRow(row, x []float64) (logJ float64, ok bool) {
	i := len(row) - 1
	if !(x[i] > leastLog) {
		return 0, false
	}
	plus, slope := softplus(x[i])
	left := c.r * plus
	for j := range c.correlations(i) {
		a := c.weight(j, left)
		rho := math.Tanh(x[j] / math.Sqrt(a))
		rest := (1 - rho) * (1 + rho)
		c.left[i*c.m+j], c.rho[i*c.m+j] = left, rho
		row[j] = math.Sqrt(left) * rho
		c.product.times(left * rest * rest / a)
		left *= rest
	}
	c.square[i], row[i], c.slope[i], c.logSquare[i] = left, math.Sqrt(left), slope, math.Log(left)
	return x[i] - plus - 0.5*c.logSquare[i], c.logSquare[i] > leastLog
}

// weight is A_ij, given V_ij.
func (c *coordinates) weight(j int, left float64) float64 {
	return float64(c.m-1-j) + left*c.square[j]/(c.r*c.r)
}

// prepare makes rowOfY ready for x.
func (c *coordinates) prepare(t *statistics) (logJ float64, ok bool) {
	p := c.m - 1
	for j := range p {
		c.products[j] = c.told[j] - t.mean[p]*t.mean[j]
	}
	return c.y.prepare(t.d, c.m, c.products, c.square[p])
}

// pull writes the gradient in x but ζ, where take was last: given those in v̄, D and ℓ, of which it
// spends the first two, and adds that of log J.
func (c *coordinates) pull(grad []float64, t *statistics, gMean, gD []float64, gEll float64, x []float64) {
	m, p := c.m, c.m-1
	grad[c.ell()] = gEll / c.root
	gD[m*m-1] += gEll / t.d[m*m-1]
	at := diagonal(m, p) - p
	c.pullY(grad[at:at+p], t, gMean, gD, x[at:at+p])
	for i := p; i >= 0; i-- {
		at := diagonal(m, i) - i
		w, prior := c.wide[i], c.fixed[i]+c.per[i]*c.square[i]
		grad[i] = gMean[i] * w
		gD[i*m+i] += (grad[i]*x[i] + 1) * w * w * c.per[i] * t.d[i*m+i] / (prior * prior)
		c.pullRow(grad[at:at+i+1], t, gD, x[at:at+i+1])
	}
}

// pullY is pull of y's row.
func (c *coordinates) pullY(grad []float64, t *statistics, gMean, gD, x []float64) {
	m, p := c.m, c.m-1
	clear(c.gProducts)
	gD[p*m+p] += 2 * t.d[p*m+p] * c.y.pull(grad, gD, c.gProducts, gD[p*m:p*m+p], t.d, m, x, c.products)
	for j, g := range c.gProducts {
		gMean[p] -= g * t.mean[j]
		gMean[j] -= g * t.mean[p]
	}
}

// pullRow is pull of takeRow.
func (c *coordinates) pullRow(grad []float64, t *statistics, gD, x []float64) {
	m, i := c.m, len(x)-1
	g := 0.5 * (gD[i*m+i]/t.d[i*m+i] - 1/c.square[i])
	for j := c.correlations(i) - 1; j >= 0; j-- {
		left, rho, d := c.left[i*m+j], c.rho[i*m+j], gD[i*m+j]
		a, root, rest := c.weight(j, left), math.Sqrt(left), (1-rho)*(1+rho)
		byH := (d*root-2*g*left*rho)*rest - 2*rho // h = c_ij/√A_ij
		grad[j] = byH / math.Sqrt(a)
		byA := -0.5 * (grad[j]*x[j] + 1) / a
		g = g*rest + 0.5*(d*rho/root+1/left) + byA*c.square[j]/(c.r*c.r)
		gD[j*m+j] += 2 * byA * left * t.d[j*m+j] / (c.r * c.r)
	}
	grad[i] = g*c.r*c.slope[i] + 1 - c.slope[i]
}

// place writes the coordinates of (v̄, D), D_ii² in square beforehand; the others stay. It
// reports false where rounding forbids.
func (c *coordinates) place(x []float64, t *statistics) bool {
	m, at := c.m, c.m
	for i := range m {
		row := t.d[i*m : i*m+i+1]
		c.square[i] = row[i] * row[i]
		x[i] = (t.mean[i] - c.origin[i]) * math.Sqrt(c.linear[i]+1/(c.fixed[i]+c.per[i]*c.square[i]))
		left := c.square[i]
		for j := c.correlations(i) - 1; j >= 0; j-- {
			h := math.Asinh(row[j] / math.Sqrt(left))
			left += row[j] * row[j]
			x[at+j] = h * math.Sqrt(c.weight(j, left))
		}
		if i == m-1 {
			if _, ok := c.prepare(t); !ok {
				return false
			}
			c.y.coordinates(x[at:at+i], row[:i])
		}
		u := left / c.r
		if u < 40 {
			u = math.Log(math.Expm1(u))
		}
		x[at+i] = u
		at += i + 1
	}
	return true
}

// rows returns n − n₀ of x, and setRows writes the coordinate of n.
func (c *coordinates) rows(x []float64) float64 { return math.Exp(c.from + x[len(x)-1]/c.perLog) }

func (c *coordinates) setRows(x []float64, more float64) {
	x[len(x)-1] = (math.Log(more) - c.from) * c.perLog
}
