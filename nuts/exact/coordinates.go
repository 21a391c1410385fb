package exact

import (
	"math"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
)

// coordinates of (v̄, D, ξ, λ, ℓ) range over all of R^k, whatever data could have, and are about
// standard normal one by one given those before, whether z tells a column's spread or noise
// hides it: so that a diagonal metric serves where there are many. With r_j the sd of the noise of
// a mean of v_j, and of v_j² from the second line on, ẑ = z/n, and V_y about the variance of y that z tells, at least r,
//
//	v̄_j = w_j²(ẑ_j/r_j² + m_j/P_j) + w_jx_j   1/w_j² = 1/r_j² + 1/P_j: z tells v̄_j to r_j about ẑ_j in the
//	                                          box, and the prior, given D_jj, to √P_j about m_j; m_y = ẑ_y
//	V_i = Σ_{j≤i} D_ij² = r_i spreadOf(u_i)   z tells V_i to ± r_i whatever its size: u_i is as z has it
//	                                          where that is much more than r_i, −√(−log V_i) where it is hidden
//	D_ij = √V_ij ρ_ij, V_i,j+1 = (1−ρ_ij²)V_ij   V_i0 = V_i, D_ii² = V_ii: ρ_ij are partial correlations, in (−1, 1)
//	ρ_ij = tanh(c_ij/√A_ij)                   A_ij = p − j + V_ijD_jj²/(r_ir_j): what a prior uniform in
//	                                          correlations, and Σv_iv_j in turn tell of ρ_ij;
//	                                          of columns that noise hides see slopesOfX
//	D_y: c of rowOfY, m̂_j = ẑ_yj − v̄_yv̄_j
//	D_yy: u_y of lastRow; in P_y D_yy² is that at D_y = 0
//	ξ: ζ of covariates
//	λ: ζ of freeScales
//	ℓ = log D_yy + ζ/√(2n)                    given D, σ is known so
//
// Where noise is of the size of what a column has beside the others, the posterior leans on the edge
// of the positive definite matrices. There A of W = r softplus(A/r), of eigenvalues, takes a third
// of the steps at p = 5 and never mixes at p = 10.
//
// They lie in this order: x of v̄; c and u row by row; ξ of covariates; ζ of λ; that of ℓ.
type coordinates struct {
	*columns
	told   []float64 // ẑ_yj
	clear  bool
	last   lastRow
	scales *freeScales
	root   float64 // √(2n)
}

// newCoordinates makes those of a site; clear says whether its posterior is about normal, see farFromSingular.
func newCoordinates(site *model.Site, prior *model.Prior, response *response, clear bool) *coordinates {
	obs, u := site.Observation, site.Units
	m := obs.Shape.M()
	p := m - 1
	n := rowsTold(obs)
	c := &coordinates{columns: columnsOf(site, prior, m), root: math.Sqrt(2 * n), clear: clear, scales: newFreeScales(prior)}
	r, square := c.r[p], obs.Z[len(obs.Z)-1]/n-c.origin[p]*c.origin[p]
	var variance float64
	c.last, variance = newLastRow(c.columns, square, !prior.Unscaled)
	a := u.Scale(p)
	switch {
	case !response.intercept: // 0 at x = 0
		c.fixed[p] = variance
	case prior.Unscaled:
		c.fixed[p] = a * a / response.alpha
	default:
		c.per[p] += 1 / response.alpha
	}
	slopes := vec(p)
	for j := range p {
		c.told = append(c.told, obs.Z[release.Index(m, j, p)]/n)
		b := a / u.Scale(j)
		slopes[j] = b * b / response.precision[j*p+j]
	}
	if hidden(obs) {
		variance = leaning(square, r, p)
		c.slopes = newSlopesOfX(told(site), c.scales)
	}
	product := math.Sqrt(obs.Variance(release.Index(m, 0, p))) / n // noise is alike on all with y
	if c.last.y = newYRow(p, slopes, !prior.Unscaled, n, variance, product); c.clear {
		c.last.y = newToldRow(p, product)
	}
	return c
}

// dim is the number of coordinates.
func (c *coordinates) dim() int { return c.ell() + 1 }

// ell is where that of ℓ stands.
func (c *coordinates) ell() int { return c.zeta() + c.scales.dim() }

// farFromSingular tells whether the posterior is about normal: noise on m×m entries moves the least
// eigenvalue by 2√m of its sds. In a frame columns are round, and two more are enough; in the box
// they may be correlated, with a diagonal metric against them, and it takes 20.
func farFromSingular(obs *model.Observation) bool {
	if obs.Frame != nil {
		return Clearance(obs) > 2+2*math.Sqrt(float64(obs.Shape.M()))
	}
	return Clearance(obs) > 20
}

// inFrame tells whether coordinates are of a frame's own columns, in which the noise is alike everywhere, and not of
// the data's, see byColumns: where z tells the scatter well, and where normal noise hardly reaches to singular ones.
func inFrame(obs *model.Observation) bool {
	beside := 2.0
	if obs.Kind == release.Gaussian {
		beside = 0.5
	}
	return obs.Frame != nil && Clearance(obs) > beside+2*math.Sqrt(float64(obs.Shape.M()))
}

// Clearance returns how far z tells the scatter of the rows from singular: its least eigenvalue by
// z, in sds of the noise of a sum of products. Where noise hides the scatter it is small, or
// below 0.
func Clearance(obs *model.Observation) float64 {
	m, n := obs.Shape.M(), rowsTold(obs)
	scatter, values := vec(m*m), vec(m)
	model.Scatter(scatter, obs.Z, m, n)
	if !dense.SymEigen(values, vec(m*m), scatter, m, vec(m*m)) {
		return 0
	}
	return values[0] / math.Sqrt(obs.Variance(m))
}

// rowsTold is the number of rows as published, or the least there can be.
func rowsTold(obs *model.Observation) float64 { return math.Max(obs.N, obs.Count.Least) }

// hidden tells whether noise hides the columns: then no frame was found for them, and the scatter
// by z is not that of any rows. It moves the least eigenvalue by 2√m of its sds: where z lies farther
// beyond, it contradicts the model, and leans on the edge.
func hidden(obs *model.Observation) bool {
	least := Clearance(obs)
	return obs.Frame == nil && least < 0 && least > -4-2*math.Sqrt(float64(obs.Shape.M()))
}

// leaning returns v of D_y ~ N(0, vI) in place of told ~ N(|D_y|², r²), where D_y is free in about k = p/4
// directions: the law of |D_y|² is highest at V(V − told) = ½kr², and v is V/k.
func leaning(told, r float64, p int) float64 {
	k := 0.25 * float64(p)
	return r * r / (math.Sqrt(told*told+2*k*r*r) - told)
}

// take takes v̄, D and ℓ of x, and returns log|∂(v̄, D, λ, ℓ)/∂x| up to a constant. It
// reports false where a column has no spread left in floating point.
func (c *coordinates) take(t *statistics, x []float64) (ell, logJ float64, ok bool) {
	m, p := c.m, c.m-1
	if logJ, ok = c.columns.take(t, x); !ok {
		return 0, 0, false
	}
	at := diagonal(m, p) - p
	c.last.begin(x[at+p])
	c.takeMean(t, p, c.last.most, x[p])
	c.takeProducts(t)
	if logJ, ok = c.last.take(logJ, t, x[at:at+m]); !ok {
		return 0, 0, false
	}
	ell = 0.5*c.logSquare[p] + x[c.ell()]/c.root
	return ell, logJ, math.Abs(ell) < -leastLog
}

// takeProducts takes m̂.
func (c *coordinates) takeProducts(t *statistics) {
	for j, told := range c.told {
		c.last.products[j] = told - t.mean[c.m-1]*t.mean[j]
	}
}

// pull writes the gradient in x but ζ, where take was last: given that in ℓ, and t's, of which it
// spends those in v̄ and D, and adds that of log J.
func (c *coordinates) pull(grad []float64, t *statistics, gEll float64, x []float64) {
	m, p := c.m, c.m-1
	grad[c.ell()] = gEll / c.root
	t.gD[m*m-1] += gEll / t.d[m*m-1]
	at := diagonal(m, p) - p
	byMost := c.last.pull(grad[at:at+m], t, x[at:at+m])
	for j, g := range c.last.gProducts {
		t.gMean[p] -= g * t.mean[j]
		t.gMean[j] -= g * t.mean[p]
	}
	grad[p] = t.gMean[p] * c.wide[p]
	byMost += c.byPrior(p, c.last.most, t.gMean[p], x[p]) * c.per[p]
	grad[at+p] += byMost * c.last.slopeOf
	c.columns.pull(grad, t, x)
}

// place writes the coordinates of (v̄, D), the others stay. It
// reports false where rounding forbids.
func (c *coordinates) place(x []float64, t *statistics) bool {
	m, p := c.m, c.m-1
	c.columns.place(x, t)
	at := diagonal(m, p) - p
	x[at+p] = c.last.place(t.d)
	x[p] = c.placeMean(t, p, c.last.most)
	c.takeProducts(t)
	return c.last.placeRow(x[at:at+p], t)
}
