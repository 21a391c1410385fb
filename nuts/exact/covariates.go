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
// and where μ_x ~ N(m₀, T/κ₀) Ψ_n has κ₀δδᵀ and ν_n one more, in place of the last term. ξ is
// nearly standard normal and independent of all else. Σ log D_ii, i < p, is left to density and spoke.
//
// Ψ_n is summed as it stands here, and not as a Schur complement of sums of squares: noise may
// leave D_xD_xᵀ smaller than x̄x̄ᵀ by more digits than there are.
type covariates struct {
	prior      *conjugate.NIW
	p          int
	kappa, dof float64   // κ₀, or 0, and ν_n − n
	precision  []float64 // 1/A_j², or 0
	scale      []int     // of each column the place of its λ, −1 of none
	mu         []float64 // μ_x
	offset     []float64 // D_xξ
	delta      []float64 // δ
	chol, inv  []float64 // L, LLᵀ = Ψ_n, and Ψ_n⁻¹
	logDet     float64   // log|Ψ_n|
	g, gMu     []float64 // gradients in D_xξ and in μ_x
}

func newCovariates(prior *model.Prior) *covariates {
	p := prior.Covariates.Dim()
	vec := func() []float64 { return make([]float64, p) }
	c := &covariates{prior: prior.Covariates, p: p, kappa: prior.Covariates.Kappa, dof: prior.Covariates.Dof + 1, scale: make([]int, p),
		precision: vec(), mu: vec(), offset: vec(), delta: vec(), g: vec(), gMu: vec(), chol: make([]float64, p*p), inv: make([]float64, p*p)}
	if prior.MeanSD != nil {
		c.kappa, c.dof = 0, prior.Covariates.Dof
	}
	for j, sd := range prior.MeanSD {
		c.precision[j] = 1 / (sd * sd)
	}
	for j := range c.scale {
		c.scale[j] = -1
	}
	for at, s := range latentScales(prior) {
		for _, j := range s.Covariates {
			c.scale[j] = at
		}
	}
	return c
}

// value returns the log density. It reports false where rounding leaves Ψ_n indefinite.
func (c *covariates) value(t *statistics, xi, lambda []float64) (logp float64, ok bool) {
	p, m, d := c.p, t.m, c.prior
	root := 1 / math.Sqrt(t.n)
	for i := range p {
		sum := dot(t.d[i*m:i*m+i+1], xi)
		c.offset[i] = sum
		c.mu[i] = t.mean[i] + root*sum
		c.delta[i] = c.mu[i] - d.Mean[i]
		logp -= 0.5 * c.precision[i] * c.delta[i] * c.delta[i]
		row, w, prior := c.chol[i*p:i*p+i+1], t.w[i*m:i*m+i+1], d.Scale[i*p:]
		for j := range row {
			row[j] = prior[j] + t.n*w[j] + sum*c.offset[j] + c.kappa*c.delta[i]*c.delta[j]
		}
		if at := c.scale[i]; at >= 0 {
			row[i] += prior[i] * math.Expm1(-lambda[at])
			logp -= 0.5 * d.Dof * lambda[at]
		}
	}
	if !dense.Cholesky(c.chol, p) {
		return 0, false
	}
	c.logDet = dense.LogDet(c.chol, p)
	return logp - 0.5*((c.dof+t.n)*c.logDet+float64(p)*math.Log(t.n)), true
}

// slope adds the gradient where value was last: in x̄; in W to the lower triangle of e, E with
// d log p = Σ E_ij dW_ij; in D beside that; in λ; and it writes that in ξ. It returns the
// derivative in n.
func (c *covariates) slope(gMean, gD, e, gXi, gLambda []float64, t *statistics, xi, lambda []float64) (byN float64) {
	p, m, d := c.p, t.m, c.prior
	dof, root := c.dof+t.n, 1/math.Sqrt(t.n)
	dense.InverseFromCholesky(c.inv, c.chol, p)
	dense.SymMulVec(c.g, c.inv, p, c.offset)
	dense.SymMulVec(c.gMu, c.inv, p, c.delta)
	trace, through := 0.0, 0.0
	clear(gXi)
	for i := range p {
		c.gMu[i] = -dof*c.kappa*c.gMu[i] - c.precision[i]*c.delta[i]
		c.g[i] = root*c.gMu[i] - dof*c.g[i]
		gMean[i] += c.gMu[i]
		through += c.gMu[i] * c.offset[i]
		row, to, w := c.inv[i*p:i*p+i+1], e[i*m:i*m+i+1], t.w[i*m:i*m+i+1]
		for j, v := range row {
			to[j] -= 0.5 * dof * t.n * v
			trace += 2 * v * w[j]
			gD[i*m+j] += c.g[i] * xi[j]
			gXi[j] += c.g[i] * t.d[i*m+j]
		}
		trace -= row[i] * w[i]
		if at := c.scale[i]; at >= 0 {
			gLambda[at] += 0.5 * (dof*row[i]*d.Scale[i*p+i]*math.Exp(-lambda[at]) - d.Dof)
		}
	}
	return -0.5 * (c.logDet + dof*trace + (float64(p)+root*through)/t.n)
}

// draw draws T where value was last.
func (c *covariates) draw(tau []float64, n float64, rng *rand.Rand) {
	variate.InverseWishartFactor(c.inv, c.chol, c.p, c.dof+n, c.g, rng)
	dense.LLt(tau, c.inv, c.p)
}
