package model

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/internal/dense"
)

// Coordinates maps parameters to R^K, K = q + 1 + p + p(p+1)/2, in which the
// prior has a smooth log density:
//
//	φ = (θ, log σ², μ_x, lower triangle of U row by row), T = LLᵀ,
//	U_ii = log L_ii,  U_ij = L_ij/L_ii.
//
// So U_ij tells of correlations alone, whatever the sds of x are, over which free scales
// spread the prior widely: L_ij itself narrows with the sd of x_i, a funnel that a sampler would
// have to go down and up. The Jacobians are σ² for log σ², 2^p ∏_i L_ii^{p−i+2} for T
// from (log L_ii, L_ij), i = 1…p, and ∏_i L_ii^{i−1} for L_ij from U_ij.
//
// Where the model has no law of x, they are (θ, log σ²) alone.
//
// A Coordinates holds a workspace, so each chain needs its own.
type Coordinates struct {
	p, first int // of covariates, 0 where the model has no law of them; of θ's first slope
	prior    *Prior
	kappa    float64 // κ₀, 0 where μ_x's law has no factor T
	dof      float64 // ν₀, 1 more where it has
	nig      regressionPrior
	psi      []float64 // lower Cholesky factor of Ψ₀, p×p

	l    []float64 // L, p×p, zero above the diagonal
	linv []float64
	a    []float64 // L⁻¹ chol(Ψ₀), p×p
	free []bool    // columns of a whose energy a free scale divides
	e, w []float64 // that energy, and the weight of each column
	d    []float64 // μ_x − m₀, p
	u    []float64 // L⁻¹(μ_x − m₀)
	gt   []float64 // gradient in T
}

// NewRegressionCoordinates builds the map for a prior and a model without a law of x.
func NewRegressionCoordinates(prior *Prior) *Coordinates {
	return &Coordinates{prior: prior, nig: newRegressionPrior(prior)}
}

// NewCoordinates builds the map for a prior of this shape.
func NewCoordinates(s Shape, prior *Prior) *Coordinates {
	p, c := s.P, NewRegressionCoordinates(prior)
	c.p, c.first, c.psi = p, s.first(), slices.Clone(prior.Covariates.Scale)
	if !dense.Cholesky(c.psi, p) {
		panic("model: prior scale matrix of the covariates is not positive definite")
	}
	if c.dof = prior.Covariates.Dof; prior.MeanSD == nil {
		c.kappa, c.dof = prior.Covariates.Kappa, c.dof+1
	}
	for _, square := range []*[]float64{&c.l, &c.linv, &c.a, &c.gt} {
		*square = make([]float64, p*p)
	}
	for _, vector := range []*[]float64{&c.d, &c.u, &c.e} {
		*vector = make([]float64, p)
	}
	c.free, c.w = make([]bool, p), slices.Repeat([]float64{1}, p)
	for _, s := range prior.Scales {
		for _, j := range s.Covariates {
			c.free[j] = true
		}
	}
	return c
}

// Dim returns K.
func (c *Coordinates) Dim() int { return c.at(c.p, 0) }

// Unconstrain writes φ of x; it reports false where T is not positive definite.
func (c *Coordinates) Unconstrain(phi []float64, x *Params) bool {
	p := c.p
	at := copy(phi, x.Theta)
	phi[at] = math.Log(x.Sigma2)
	at++
	at += copy(phi[at:], x.MuX[:p])
	copy(c.gt, x.Tau)
	if !dense.Cholesky(c.gt, p) {
		return false
	}
	for i := range p {
		for j := range i {
			phi[at] = c.gt[i*p+j] / c.gt[i*p+i]
			at++
		}
		phi[at] = math.Log(c.gt[i*p+i])
		at++
	}
	return true
}

// Constrain writes the parameters of φ into x, and keeps L for
// LogPrior.
func (c *Coordinates) Constrain(x *Params, phi []float64) {
	p, q := c.p, c.nig.q
	at := copy(x.Theta, phi[:q])
	x.Sigma2 = math.Exp(phi[at])
	at++
	at += copy(x.MuX, phi[at:at+p])
	for i := range p {
		u, lii := phi[at:at+i], math.Exp(phi[at+i])
		for j, v := range u {
			c.l[i*p+j] = v * lii
		}
		c.l[i*p+i] = lii
		at += i + 1
	}
	for i := range p {
		for j := range i + 1 {
			t := dense.Dot(c.l[i*p:i*p+j+1], c.l[j*p:])
			x.Tau[i*p+j], x.Tau[j*p+i] = t, t
		}
	}
}

// LogPrior returns log p(φ) up to a constant, at the point of the last
// Constrain, and writes its gradient:
//
//	log p = log p(θ, log σ²) − (ν₀ + 1) Σ_i log L_ii − ½‖L⁻¹C‖² − ½κ₀‖L⁻¹(μ_x − m₀)‖²,  Ψ₀ = CCᵀ.
//
// the first term being regressionPrior's. The last two have gradient L⁻ᵀ(AAᵀ + κ₀uuᵀ) in L, A = L⁻¹C,
// u = L⁻¹(μ_x − m₀); where μ_x's law has no factor T, −½Σ_j((μ_xj − m_j)/A_j)² stands in place of
// the last, and L_ii has a power less. Columns j of A whose Ψ_jj a free scale divides have the energy
// e = ½Σ_j|A_j|² = ½Σ_jΨ_jj(T⁻¹)_jj: in place of −e stands −k log Q, see Mixture, and in the
// gradient they have the weight k/Q.
func (c *Coordinates) LogPrior(grad []float64, x *Params) float64 {
	logp := c.nig.logDensity(grad, x)
	if c.p == 0 {
		return logp
	}
	return c.addCovariates(logp, grad, x)
}

// LogCovariates is LogPrior of (μ_x, T) alone; the gradient in (θ, log σ²) is 0.
func (c *Coordinates) LogCovariates(grad []float64, x *Params) float64 {
	clear(grad[:c.nig.q+1])
	return c.addCovariates(0, grad, x)
}

// addCovariates adds log p(μ_x, T) to logp, and writes the gradient in those.
func (c *Coordinates) addCovariates(logp float64, grad []float64, x *Params) float64 {
	p, q := c.p, c.nig.q
	niw := c.prior.Covariates
	dense.InvertLower(c.linv, c.l, p)
	floats.SubTo(c.d, x.MuX, niw.Mean)
	dense.MulLower(c.a, c.linv, c.psi, p)
	u := c.u
	dense.MulLowerVec(u, c.linv, p, c.d)
	clear(c.e)
	for i, ui := range u {
		logp -= 0.5 * c.kappa * ui * ui
		for j, a := range c.a[i*p : i*p+i+1] {
			if c.free[j] {
				c.e[j] += 0.5 * a * a
			} else {
				logp -= 0.5 * a * a
			}
		}
	}
	logp += c.weigh()
	for j := range p { // −κ₀ L⁻ᵀu
		g := 0.0
		for k := j; k < p; k++ {
			g += c.linv[k*p+j] * u[k]
		}
		grad[q+1+j] = -c.kappa * g
	}
	for j, sd := range c.prior.MeanSD {
		v := c.d[j] / sd
		logp -= 0.5 * v * v
		grad[q+1+j] -= v / sd
	}
	for i := range p { // gt = AAᵀ + κ₀uuᵀ
		for j := 0; j <= i; j++ {
			t := c.kappa * u[i] * u[j]
			for k := 0; k <= j; k++ {
				t += c.w[k] * c.a[i*p+k] * c.a[j*p+k]
			}
			c.gt[i*p+j], c.gt[j*p+i] = t, t
		}
	}
	clear(grad[q+1+p:])
	for i := range p { // lower triangle of L⁻ᵀ gt
		for j := 0; j <= i; j++ {
			g := 0.0
			for k := i; k < p; k++ {
				g += c.linv[k*p+i] * c.gt[k*p+j]
			}
			c.addFactor(grad, i, j, g)
		}
		power := c.dof
		logp -= power * math.Log(c.l[i*p+i])
		grad[c.at(i, i)] -= power
	}
	return logp
}

// weigh returns −Σ k log Q of the free scales and writes their weights.
func (c *Coordinates) weigh() (logp float64) {
	for i := range c.prior.Scales {
		s := &c.prior.Scales[i]
		if len(s.Covariates) == 0 {
			continue
		}
		k, sum := c.prior.Exponent(s), s.Rate()
		for _, j := range s.Covariates {
			sum += c.e[j]
		}
		for _, j := range s.Covariates {
			c.w[j] = k / sum
		}
		logp -= k * math.Log(sum)
	}
	return logp
}

// at is the position in φ of U_ij, i ≥ j.
func (c *Coordinates) at(i, j int) int { return c.nig.q + 1 + c.p + i*(i+1)/2 + j }

// addFactor adds to grad, in φ, the gradient g in L_ij, i ≥ j.
func (c *Coordinates) addFactor(grad []float64, i, j int, g float64) {
	grad[c.at(i, i)] += g * c.l[i*c.p+j]
	if i != j {
		grad[c.at(i, j)] += g * c.l[i*c.p+i]
	}
}

// Rows is the law of rows, see JointFactor, at the parameters x of the last Constrain.
func (c *Coordinates) Rows(mean, factor []float64, x *Params) {
	JointFactor(mean, factor, x.Theta, x.MuX, c.l, math.Sqrt(x.Sigma2))
}

// JointFactor writes the mean μ (m) of rows v = (x, y) and the lower triangle of the lower Cholesky
// factor L (m×m) of their covariance, given μ_x and the factor L_x (p×p) of T, θ and σ:
//
//	μ = (μ_x, θ₀ + βᵀμ_x)      L = [ L_x    0 ]
//	                               [ βᵀL_x  σ ]
func JointFactor(mean, factor, theta, muX, lx []float64, sigma float64) {
	p, m := len(muX), len(muX)+1
	last := factor[p*m : p*m+m]
	clear(last)
	my := 0.0
	if len(theta) > p {
		my = theta[0]
	}
	for i, b := range theta[len(theta)-p:] {
		mean[i] = muX[i]
		my += b * muX[i]
		row := lx[i*p : i*p+i+1]
		copy(factor[i*m:], row)
		for k, v := range row {
			last[k] += b * v
		}
	}
	mean[p], last[p] = my, sigma
}

// PullRows adds to grad, in φ, the gradient of a function of (μ, L) whose gradient there
// is gMean (m) and the lower triangle of gFactor (m×m), at the parameters x of the last
// Constrain. It is the reverse of Rows, ∂σ/∂ log σ² = ½σ.
func (c *Coordinates) PullRows(grad []float64, x *Params, gMean, gFactor []float64) {
	p, q, m, first := c.p, c.nig.q, c.p+1, c.first
	gy, last := gMean[p], gFactor[p*m:p*m+m]
	if first > 0 {
		grad[0] += gy
	}
	grad[q] += 0.5 * math.Sqrt(x.Sigma2) * last[p]
	for i, b := range x.Theta[first:] {
		g := gy * x.MuX[i]
		for k := range i + 1 {
			g += last[k] * c.l[i*p+k]
			c.addFactor(grad, i, k, gFactor[i*m+k]+b*last[k])
		}
		grad[first+i] += g
		grad[q+1+i] += gMean[i] + b*gy
	}
}

// regressionPrior is the prior's log density in (θ, log σ²) with free scales integrated
// out, where the Jacobian σ² is counted in. Without free scales it is
//
//	log p = −(a₀ + q/2) log σ² − (b₀ + ½(θ−μ₀)ᵀΛ₀(θ−μ₀))/σ²,
//	log p = −a₀ log σ² − b₀/σ² − ½(θ−μ₀)ᵀΛ₀(θ−μ₀) where Unscaled.
//
// A free scale takes its energy e of that and has −k log Q in place of −e, see Mixture; the
// gradient is that of −we, w = k/Q = E[1/a | θ, σ²].
type regressionPrior struct {
	*Prior
	q     int
	fixed []float64 // the part of Λ₀ that no free scale divides
	free  bool      // b₀ is divided by one
	e     []float64 // θ − μ₀
	le    []float64 // Λ₀(θ − μ₀)
}

func newRegressionPrior(prior *Prior) regressionPrior {
	q := prior.Theta.Dim()
	return regressionPrior{prior, q, prior.fixed(), prior.free(false), make([]float64, q), make([]float64, q)}
}

// logDensity returns log p up to a constant and writes its gradient.
func (r *regressionPrior) logDensity(grad []float64, x *Params) float64 {
	q := r.q
	floats.SubTo(r.e, x.Theta, r.Theta.Mean)
	sigma2 := x.Population()
	shape, scale, c := r.Theta.Shape+0.5*float64(q), r.Theta.Scale, r.Factor(sigma2)
	if r.Unscaled {
		shape = r.Theta.Shape
	}
	if r.free {
		scale = 0
	}
	dense.SymMulVec(r.le, r.fixed, q, r.e)
	quad := 0.0
	for k, v := range r.le {
		grad[k] = -v / c
		quad += v * r.e[k]
	}
	apart := 0.0
	if r.Unscaled {
		quad, apart = 0, 0.5*quad
	}
	energy := (scale + 0.5*quad) / sigma2
	grad[q] = energy - shape
	logp := -shape*math.Log(sigma2) - energy - apart
	for i := range r.Scales {
		if s := &r.Scales[i]; len(s.Covariates) == 0 {
			logp += r.addScale(grad, s, sigma2, c)
		}
	}
	return logp
}

// addScale returns −k log Q of a scale and adds its gradient.
func (r *regressionPrior) addScale(grad []float64, s *Scale, sigma2, c float64) float64 {
	energy := r.Prior.energy(s, r.e, sigma2)
	k, sum := r.Exponent(s), s.Rate()+energy
	w, n := k/sum, len(s.Coefficients)
	for i, at := range s.Coefficients {
		for j, from := range s.Coefficients {
			grad[at] -= w * s.Precision[i*n+j] * r.e[from] / c
		}
	}
	if s.Sigma || !r.Unscaled {
		grad[r.q] += w * energy
	}
	return -k * math.Log(sum)
}
