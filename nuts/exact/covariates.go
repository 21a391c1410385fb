package exact

import (
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/variate"
	"github.com/dpreg/dpreg/model"
)

// covariates is the part of log p(v̄, D) that the covariates' law leaves when T is integrated
// out, given μ_x and the free scales a of Ψ₀, λ = log a. In μ_x = x̄ + D_xξ/√n,
//
//	log p = −½ν_n log|Ψ_n| + Σ_i log D_ii − ½p log n + Σ_j ½ν₀ log Ψ_jj(a) − ½Σ_j (δ_j/A_j)²,
//	Ψ_n = Ψ₀(a) + nD_xD_xᵀ + D_xξξᵀD_xᵀ,   ν_n = ν₀ + n,   δ = μ_x − m₀,
//
// and where μ_x ~ N(m₀, T/κ₀) Ψ_n has κ₀δδᵀ and ν_n one more, in place of the last term. Σ log D_ii, i < p,
// is left to density and spoke.
//
// ξ is nearly standard normal, and independent of all else where the prior leaves μ_x open. Where that tells
// μ_x as well as n rows do, δ_j = t_j + q_jξ_j, q_j = D_jj/√n and t_j = x̄_j − m_0j + Σ_{k<j} D_jkξ_k/√n, is
// N(0, A_j²); so ξ_j, given ξ before it and x̄, has coordinates ζ_j that are standard then too,
//
//	ξ_j = ζ_j/√g_j − q_jt_j/(A_j²g_j),   g_j = 1 + q_j²/A_j²,   log|∂ξ/∂ζ| = −½ Σ_j log g_j.
//
// Ψ_n is summed as it stands here, and not as a Schur complement of sums of squares: noise may
// leave D_xD_xᵀ smaller than x̄x̄ᵀ by more digits than there are.
type covariates struct {
	prior      *conjugate.NIW
	p          int
	kappa, dof float64   // κ₀, or 0, and ν_n − n
	precision  []float64 // 1/A_j², or 0
	scale      []int     // see scaleOf
	mu         []float64 // μ_x
	xi, offset []float64 // ξ and D_xξ
	delta      []float64 // δ
	chol, inv  []float64 // L, LLᵀ = Ψ_n, and Ψ_n⁻¹
	logDet     float64   // log|Ψ_n|
	g, gMu     []float64 // gradients in D_xξ and in μ_x
}

func newCovariates(prior *model.Prior) *covariates {
	p := prior.Covariates.Dim()
	c := &covariates{prior: prior.Covariates, p: p, kappa: prior.Covariates.Kappa, dof: prior.Covariates.Dof + 1, scale: scaleOf(prior),
		precision: vec(p), mu: vec(p), xi: vec(p), offset: vec(p), delta: vec(p), g: vec(p), gMu: vec(p), chol: vec(p * p), inv: vec(p * p)}
	if prior.MeanSD != nil {
		c.kappa, c.dof = 0, prior.Covariates.Dof
	}
	for j, sd := range prior.MeanSD {
		c.precision[j] = 1 / (sd * sd)
	}
	return c
}

// value returns the log density, that of ζ in place of ξ. It reports false where rounding leaves Ψ_n indefinite.
func (c *covariates) value(t *statistics, zeta, lambda []float64) (logp float64, ok bool) {
	p, m, d := c.p, t.m, c.prior
	root := 1 / math.Sqrt(t.n)
	for i := range p {
		before, q := dot(t.d[i*m:i*m+i], c.xi), root*t.d[i*m+i]
		told := 1 + c.precision[i]*q*q // g
		c.xi[i] = zeta[i]/math.Sqrt(told) - q*c.precision[i]/told*(t.mean[i]-d.Mean[i]+root*before)
		logp -= 0.5 * math.Log(told)
		sum := before + t.d[i*m+i]*c.xi[i]
		c.offset[i] = sum
		c.mu[i] = t.mean[i] + root*sum
		c.delta[i] = c.mu[i] - d.Mean[i]
		logp -= 0.5 * c.precision[i] * c.delta[i] * c.delta[i]
		row, w, prior := c.chol[i*p:i*p+i+1], t.w[i*m:i*m+i+1], d.Scale[i*p:]
		own := prior[i] // nothing is subtracted from it: it may be far below prior[i], and the rest of row[i] too
		if at := c.scale[i]; at >= 0 {
			own *= math.Exp(-lambda[at])
			logp -= 0.5 * d.Dof * lambda[at]
		}
		for j := range row {
			row[j] = t.n*w[j] + sum*c.offset[j] + c.kappa*c.delta[i]*c.delta[j]
		}
		addScaled(row[:i], 1, prior)
		row[i] += own
	}
	if !dense.Cholesky(c.chol, p) {
		return 0, false
	}
	c.logDet = dense.LogDet(c.chol, p)
	return logp - 0.5*((c.dof+t.n)*c.logDet+float64(p)*math.Log(t.n)), true
}

// slope adds the gradient where value was last: in x̄; in W to the lower triangle of e, E with
// d log p = Σ E_ij dW_ij; in D beside that; in λ; and it writes that in ζ. It returns the
// derivative in n.
func (c *covariates) slope(t *statistics, gZeta, gLambda, zeta, lambda []float64) (byN float64) {
	p, m, d, gMean, gD, e := c.p, t.m, c.prior, t.gMean, t.gD, t.e
	dof, root := c.dof+t.n, 1/math.Sqrt(t.n)
	dense.InverseFromCholesky(c.inv, c.chol, p)
	dense.SymMulVec(c.g, c.inv, p, c.offset)
	dense.SymMulVec(c.gMu, c.inv, p, c.delta)
	trace, through := 0.0, 0.0
	clear(gZeta)
	for i := range p {
		c.gMu[i] = -dof*c.kappa*c.gMu[i] - c.precision[i]*c.delta[i]
		c.g[i] = root*c.gMu[i] - dof*c.g[i]
		gMean[i] += c.gMu[i]
		through += c.gMu[i] * c.offset[i]
		row, to, w := c.inv[i*p:i*p+i+1], e[i*m:i*m+i+1], t.w[i*m:i*m+i+1]
		for j, v := range row {
			to[j] -= 0.5 * dof * t.n * v
			trace += 2 * v * w[j]
			gD[i*m+j] += c.g[i] * c.xi[j]
			gZeta[j] += c.g[i] * t.d[i*m+j]
		}
		trace -= row[i] * w[i]
		if at := c.scale[i]; at >= 0 {
			gLambda[at] += 0.5 * (dof*row[i]*d.Scale[i*p+i]*math.Exp(-lambda[at]) - d.Dof)
		}
	}
	through += c.pullXi(t, gZeta, zeta, root)
	return -0.5 * (c.logDet + dof*trace + (float64(p)+root*through)/t.n)
}

// pullXi takes the gradient in ξ, which it replaces by that in ζ, to x̄ and D, and returns that in 1/√n.
func (c *covariates) pullXi(t *statistics, gXi, zeta []float64, root float64) (byRoot float64) {
	m := t.m
	for i := c.p - 1; i >= 0; i-- {
		row, precision := t.d[i*m:i*m+i], c.precision[i]
		q := root * t.d[i*m+i]
		told, before := 1+precision*q*q, dot(row, c.xi)
		along := t.mean[i] - c.prior.Mean[i] + root*before
		byAlong := -gXi[i] * q * precision / told
		byQ := -(gXi[i]*(zeta[i]*q/math.Sqrt(told)+along*(1-precision*q*q)/told) + q) * precision / told
		gXi[i] /= math.Sqrt(told)
		t.gMean[i] += byAlong
		addScaled(t.gD[i*m:i*m+i], root*byAlong, c.xi)
		addScaled(gXi[:i], root*byAlong, row)
		t.gD[i*m+i] += root * byQ
		byRoot += byAlong*before + byQ*t.d[i*m+i]
	}
	return byRoot
}

// draw draws T where value was last.
func (c *covariates) draw(tau []float64, n float64, rng *rand.Rand) {
	variate.InverseWishartFactor(c.inv, c.chol, c.p, c.dof+n, c.g, rng)
	dense.LLt(tau, c.inv, c.p)
}
