package exact

import (
	"math"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
)

// coordinates of (v̄, D, ξ, λ, ℓ) range over all of R^k, whatever data could have, and are about
// standard normal one by one given those before, whether z tells a column's spread or noise
// hides it: so that a diagonal metric serves where there are many. With r the sd of the noise of
// a mean of products, ẑ = z/n, and V_i about the variance of column i that z tells, at least r,
//
//	v̄_j = ẑ_j + x_j/√(1/r_j² + 1/P_j)          ẑ_j in the box; z tells v̄_j to r_j, the prior given D_jj to P_j
//	D_ii² = r softplus(t_i)                   z tells D_ii² to ± r whatever its size: t_i is as z has
//	                                          it where that is much more than r, and log D_ii² where it is hidden
//	D_ij = c_ij/√A_ij                         A_ij = 1/(9D_ii²) + 1/V_i + D_jj²/r²: what the prior, Σv_i²
//	                                          and Σv_iv_j in turn tell of the size of D_ij
//	D_y: c of yRow, m̂_j = ẑ_yj − v̄_yv̄_j
//	λ: ζ of freeScales
//	ℓ = log D_yy + ζ/√(2n)                    given D, σ is known so
//	log(n − n₀) = log(N − n₀) + ζ/w           where n is latent, w = N over the scale of its noise
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
	variance     []float64 // V
	y            *yRow
	scales       *freeScales
	root         float64 // √(2n)
	from, perLog float64 // log(N − n₀) and w
	latent       bool

	products, gProducts []float64 // m̂
	byT, fall           []float64 // of each column dD_ii/dt_i, and d log of that/dt_i
	square              []float64 // D_jj²
}

func newCoordinates(obs *model.Observation, prior *model.Prior, response *response) *coordinates {
	m := obs.Shape.M()
	p := m - 1
	n := math.Max(obs.N, obs.Count.Least)
	vec := func(n int) []float64 { return make([]float64, n) }
	c := &coordinates{m: m, r: obs.Scale[quadratic(m, 0)] / n, root: math.Sqrt(2 * n), latent: obs.Count.Latent(),
		products: vec(p), gProducts: vec(p), byT: vec(m), fall: vec(m), square: vec(m)}
	if obs.Kind == release.Laplace {
		c.r *= math.Sqrt2
	}
	at := m
	for j, z := range obs.Z[:m] {
		c.origin = append(c.origin, max(-1, min(1, z/n)))
		c.linear = append(c.linear, n*n/(obs.Scale[j]*obs.Scale[j]))
		for l := j; l < m; l++ {
			if l == j {
				variance := obs.Z[at]/n - c.origin[j]*c.origin[j]
				c.variance = append(c.variance, c.r*(1+softplus(variance/c.r)))
			} else if l == p {
				c.told = append(c.told, obs.Z[at]/n)
			}
			at++
		}
	}
	c.wide, c.fixed, c.per = vec(m), vec(m), vec(m)
	slopes := vec(p)
	for j := range m {
		c.per[j] = 1 / n
	}
	switch {
	case !response.intercept: // 0 at x = 0
		c.fixed[p] = c.variance[p]
	case prior.Unscaled:
		c.fixed[p] = 1 / response.alpha
	default:
		c.per[p] += 1 / response.alpha
	}
	for j := range p {
		if prior.MeanSD != nil {
			c.fixed[j] = prior.MeanSD[j] * prior.MeanSD[j]
		} else {
			c.per[j] += 1 / prior.Covariates.Kappa
		}
		slopes[j] = 1 / response.precision[j*p+j]
	}
	c.y = newYRow(p, slopes, !prior.Unscaled, n, c.variance[p], c.r)
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

// leastLog keeps D_ii² above r exp(−300).
const leastLog = -300

func softplus(t float64) float64 {
	if t > 40 {
		return t
	}
	return math.Log1p(math.Exp(t))
}

// take takes v̄, D, λ and ℓ of x, and returns log|∂(v̄, D, λ, ℓ)/∂x| up to a constant. It
// reports false where a column has no spread left in floating point.
func (c *coordinates) take(t *statistics, lambda []float64, x []float64) (ell, logJ float64, ok bool) {
	m, at := c.m, c.m
	p := m - 1
	for i := range m {
		v, ok := c.takeDiagonal(t.d[i*m:i*m+i+1], i, x[at+i])
		if !ok {
			return 0, 0, false
		}
		w := 1 / math.Sqrt(c.linear[i]+1/(c.fixed[i]+c.per[i]*c.square[i]))
		c.wide[i], t.mean[i] = w, c.origin[i]+w*x[i]
		if logJ += v + math.Log(w); i < p {
			logJ += c.takeRow(t, i, x[at:])
		}
		at += i + 1
	}
	v, ok := c.prepare(t)
	if !ok {
		return 0, 0, false
	}
	logJ += v
	at -= m
	c.y.set(t.d[p*m:p*m+p], x[at:at+p])
	c.scales.set(lambda, x[c.lambda():], t.d, m)
	ell = 0.5*math.Log(c.square[p]) + x[c.ell()]/c.root
	return ell, logJ, math.Abs(ell) < -leastLog
}

// takeRow takes row i of D of c but for its diagonal.
func (c *coordinates) takeRow(t *statistics, i int, x []float64) (logJ float64) {
	row := t.d[i*c.m:]
	for j := range i {
		a := c.weight(i, j)
		row[j] = x[j] / math.Sqrt(a)
		logJ -= 0.5 * math.Log(a)
	}
	return logJ
}

// weight is A_ij.
func (c *coordinates) weight(i, j int) float64 {
	return 1/(9*c.square[i]) + 1/c.variance[i] + c.square[j]/(c.r*c.r)
}

// takeDiagonal takes D_ii of t_i.
func (c *coordinates) takeDiagonal(row []float64, i int, u float64) (logJ float64, ok bool) {
	if !(u > leastLog) {
		return 0, false
	}
	plus, slope := softplus(u), 1/(1+math.Exp(-u))
	c.square[i] = c.r * plus
	row[i] = math.Sqrt(c.square[i])
	c.byT[i], c.fall[i] = 0.5*slope*row[i]/plus, 1-slope-0.5*slope/plus
	return math.Log(c.byT[i]), true
}

// prepare makes yRow ready for x.
func (c *coordinates) prepare(t *statistics) (logJ float64, ok bool) {
	p := c.m - 1
	for j := range p {
		c.products[j] = c.told[j] - t.mean[p]*t.mean[j]
	}
	return c.y.prepare(t.d, c.m, c.products, c.square[p])
}

// pull writes the gradient in x, where take was last: given those in v̄, D, λ and ℓ, of which it
// spends the first two, and adds that of log J.
func (c *coordinates) pull(grad []float64, t *statistics, gMean, gD, gLambda []float64, gEll float64, x []float64) {
	m, p := c.m, c.m-1
	c.scales.pull(grad[c.lambda():], gLambda, gD, m)
	grad[c.ell()] = gEll / c.root
	gD[m*m-1] += gEll / t.d[m*m-1]
	at := diagonal(m, p) - p
	c.pullY(grad[at:at+p], t, gMean, gD, x[at:at+p])
	for i := p; i >= 0; i-- {
		at := diagonal(m, i) - i
		w, prior := c.wide[i], c.fixed[i]+c.per[i]*c.square[i]
		grad[i] = gMean[i] * w
		gD[i*m+i] += (grad[i]*x[i] + 1) * w * w * c.per[i] * t.d[i*m+i] / (prior * prior)
		if i < p {
			c.pullRow(grad[at:], t, gD, i)
		}
		grad[at+i] = gD[i*m+i]*c.byT[i] + c.fall[i]
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
func (c *coordinates) pullRow(grad []float64, t *statistics, gD []float64, i int) {
	m := c.m
	for j := range i {
		a, g := c.weight(i, j), gD[i*m+j]
		grad[j] = g / math.Sqrt(a)
		byA := -0.5 * (g*t.d[i*m+j] + 1) / a
		gD[j*m+j] += 2 * byA * t.d[j*m+j] / (c.r * c.r)
		gD[i*m+i] -= 2 * byA / (9 * c.square[i] * t.d[i*m+i])
	}
}

// place writes the coordinates of (v̄, D), D_ii² in square beforehand; the others stay. It
// reports false where rounding forbids.
func (c *coordinates) place(x []float64, t *statistics) bool {
	m, at := c.m, c.m
	for i := range m {
		row := t.d[i*m : i*m+i+1]
		c.square[i] = row[i] * row[i]
		x[i] = (t.mean[i] - c.origin[i]) * math.Sqrt(c.linear[i]+1/(c.fixed[i]+c.per[i]*c.square[i]))
		if i < m-1 {
			for j := range i {
				x[at+j] = row[j] * math.Sqrt(c.weight(i, j))
			}
		} else {
			if _, ok := c.prepare(t); !ok {
				return false
			}
			c.y.coordinates(x[at:at+i], row[:i])
		}
		u := c.square[i] / c.r
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
