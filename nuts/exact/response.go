package exact

import (
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/model"
)

// response is the part of log p(v̄, D) that y's law leaves when θ is integrated out, given ℓ =
// log σ and the free scales of θ's prior. Any precision Λ₀ of θ is that of an intercept α at
// a centre c of x, and of slopes:
//
//	α = θ₀ + cᵀβ ~ N(m_α, 1/Λ_α),   β ~ N(μ_β, Λ_β⁻¹),   Λ_α = Λ₀₀, Λ_αc = Λ₀β, Λ_β = Λ_ββ − Λ_αccᵀ,
//
// both divided by σ² where the prior is scaled by σ. About x̄ the rows are worth two sets of
// observations that do not know of one another,
//
//	ȳ ~ N(α + δᵀβ, σ²/n), δ = x̄ − c,   and   D_yl ~ N(Σ_j D_jlβ_j, σ²/n), l = 1 … p, D_yy ~ N(0, σ²/n),
//
// so that with κ = n/σ² and ω = Λ_ακ/(Λ_α + κ) (κ without an intercept, δ = x̄)
//
//	M = Λ_β + κW_x + ωδδᵀ,   Mβ̂ = Λ_βμ_β + κD_xD_y + ωδ(ȳ − m_α),
//	log p = −nℓ + ½ log(Λ_α/(Λ_α + κ)) + ½ log|Λ_β| − ½ log|M| − ½Q,
//	Q = (β̂ − μ_β)ᵀΛ_β(β̂ − μ_β) + ω(ȳ − m_α − δᵀβ̂)² + κ Σ_l (D_yl − Σ_jD_jlβ̂_j)² + κD_yy²:
//
// Q, a sum of squares at its minimum, keeps its digits where σ is many orders of magnitude
// below y. That the minimum is flat makes its gradient that of Q at fixed β̂, and of log|M|.
//
// σ's prior is added.
type response struct {
	*coefficients
	unscaled bool
	sigma    sigmaLaw

	chol, cov                   []float64 // M and M⁻¹
	beta, dev, pulled, residual []float64 // β̂, β̂ − μ_β, Λ_β(β̂ − μ_β), D_y − D_xᵀβ̂
	delta, solved               []float64 // δ, M⁻¹δ
	kappa, per, own, omega, rho float64   // κ, 1 or 1/σ², Λ_α so divided, ω, ȳ − m_α − δᵀβ̂
	square                      float64   // Σ residual² + D_yy²
}

func newResponse(s model.Shape, prior *model.Prior) *response {
	p := s.P
	return &response{coefficients: newCoefficients(s, prior), unscaled: prior.Unscaled, sigma: newSigmaLaw(prior),
		chol: vec(p * p), cov: vec(p * p), beta: vec(p), dev: vec(p), pulled: vec(p), residual: vec(p), delta: vec(p), solved: vec(p)}
}

// value returns the log density at v̄ and D, W = DDᵀ. It reports false where rounding leaves M
// indefinite.
func (r *response) value(t *statistics, ell float64, lambda []float64) (logp float64, ok bool) {
	p, m := r.p, t.m
	inverse := math.Exp(-2 * ell) // 1/σ²
	r.kappa, r.per = t.n*inverse, 1
	if !r.unscaled {
		r.per = inverse * math.Exp(r.sigma.logW)
		logp -= float64(p) * (ell - 0.5*r.sigma.logW)
	}
	r.omega = r.kappa
	if r.intercept {
		r.own = r.alpha * r.per
		r.omega = r.own * r.kappa / (r.own + r.kappa)
		logp += 0.5 * math.Log(r.own/(r.own+r.kappa))
	}
	logp = r.take(logp, lambda)
	dy := t.d[p*m : p*m+m]
	for i := range p {
		r.delta[i] = t.mean[i] - r.centre[i]
		row, prior, w := r.chol[i*p:i*p+i+1], r.given[i*p:], t.w[i*m:]
		for j := range row {
			row[j] = r.per*prior[j] + r.kappa*w[j] + r.omega*r.delta[i]*r.delta[j]
		}
	}
	dense.SymMulVec(r.pulled, r.given, p, r.mean)
	for i := range p {
		r.beta[i] = r.per*r.pulled[i] + r.kappa*dot(t.d[i*m:i*m+i+1], dy) + r.omega*r.delta[i]*(t.mean[p]-r.level)
	}
	if !dense.Cholesky(r.chol, p) {
		return 0, false
	}
	dense.Solve(r.chol, p, r.beta)
	quad := r.fit(t)
	return logp - t.n*ell - 0.5*(dense.LogDet(r.chol, p)+quad) + r.sigma.value(ell, inverse), true
}

// fit returns Q at β̂.
func (r *response) fit(t *statistics) (quad float64) {
	p, m := r.p, t.m
	copy(r.residual, t.d[p*m:p*m+p])
	r.rho = t.mean[p] - r.level
	for j, b := range r.beta {
		r.dev[j] = b - r.mean[j]
		r.rho -= r.delta[j] * b
		addScaled(r.residual[:j+1], -b, t.d[j*m:])
	}
	dense.SymMulVec(r.pulled, r.given, p, r.dev)
	quad = dot(r.dev, r.pulled)
	dyy := t.d[p*m+p]
	r.square = dyy * dyy
	for _, v := range r.residual {
		r.square += v * v
	}
	return r.per*quad + r.omega*r.rho*r.rho + r.kappa*r.square
}

// slope adds the gradient where value was last: in v̄, in W_x to e as covariates.slope has
// it, in D beside that, and in λ. It returns the derivatives in ℓ and n.
func (r *response) slope(t *statistics, gLambda []float64, ell float64, lambda []float64) (byEll, byN float64) {
	p, m, gMean, gD, e := r.p, t.m, t.gMean, t.gD, t.e
	dense.InverseFromCholesky(r.cov, r.chol, p)
	dense.SymMulVec(r.solved, r.cov, p, r.delta)
	trace, spread, prior, fitted := 0.0, 0.0, 0.0, 0.0 // tr M⁻¹W_x, δᵀM⁻¹δ, tr M⁻¹Λ_β, the prior's part of Q
	gMean[p] -= r.omega * r.rho
	for i := range p {
		gMean[i] += r.omega * (r.rho*r.beta[i] - r.solved[i])
		spread += r.delta[i] * r.solved[i]
		fitted += r.dev[i] * r.pulled[i]
		row, to, w, given := r.cov[i*p:i*p+i+1], e[i*m:i*m+i+1], t.w[i*m:], r.given[i*p:]
		for j, v := range row {
			to[j] -= 0.5 * r.kappa * v
			trace += 2 * v * w[j]
			prior += 2 * v * given[j]
		}
		trace -= row[i] * w[i]
		prior -= row[i] * given[i]
		for l := range i + 1 {
			gD[i*m+l] += r.kappa * r.residual[l] * r.beta[i]
		}
	}
	addScaled(gD[p*m:p*m+p], -r.kappa, r.residual)
	gD[p*m+p] -= r.kappa * t.d[p*m+p]
	r.slopeFree(gLambda, lambda)

	byKappa, byOmega := -0.5*(r.square+trace), -0.5*(r.rho*r.rho+spread)
	if r.intercept {
		share := r.own / (r.own + r.kappa)
		byKappa += share*share*byOmega - 0.5/(r.own+r.kappa)
		if !r.unscaled {
			rest := r.kappa / (r.own + r.kappa)
			byEll -= 2 * r.own * (rest*rest*byOmega + 0.5*rest/r.own)
		}
	} else {
		byKappa += byOmega
	}
	byEll += -t.n - 2*r.kappa*byKappa
	if !r.unscaled {
		byEll += -float64(p) + r.per*(prior+fitted)
	}
	inverse := math.Exp(-2 * ell)
	byN = inverse*byKappa - ell
	return r.sigma.slope(byEll, inverse), byN
}

// slopeFree adds the gradient in λ of the free blocks: −½k + ½e^{−λ}(tr M⁻¹B + dᵀBd)/c.
func (r *response) slopeFree(gLambda, lambda []float64) {
	p := r.p
	for _, b := range r.free {
		k, sum := len(b.slopes), 0.0
		for i, row := range b.slopes {
			for j, column := range b.slopes {
				sum += b.precision[i*k+j] * (r.cov[row*p+column] + r.dev[row]*r.dev[column])
			}
		}
		gLambda[b.at] += 0.5 * (r.per*math.Exp(-lambda[b.at])*sum - float64(k))
	}
}

// draw draws θ given v̄, D, σ and λ, where value was last.
func (r *response) draw(theta []float64, t *statistics, rng *rand.Rand) {
	p := r.p
	slopes := theta[len(theta)-p:]
	for j := range slopes {
		slopes[j] = rng.NormFloat64()
	}
	dense.SolveLowerT(r.chol, p, slopes)
	at := r.level
	for j, b := range r.beta {
		slopes[j] += b
		at += r.delta[j] * slopes[j]
	}
	if !r.intercept {
		return
	}
	precision := r.own + r.kappa
	theta[0] = (r.own*at+r.kappa*t.mean[p])/precision + rng.NormFloat64()/math.Sqrt(precision)
	for j, b := range slopes {
		theta[0] -= t.mean[j] * b
	}
}
