package exact

import (
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/variate"
	"github.com/dpreg/dpreg/model"
)

// levelLaw is the law of q covariates within the L levels of a factor, of which n_l rows are known,
//
//	x | level l ~ N(μ_l, T),   μ_l ~ N(m₀, diag(A²)) or N(m₀, T/κ₀),   T ~ InvWishart(Ψ₀(a), ν₀),
//
// T integrated out. With the orthonormal sums F_l = Σ_(l)x/√n_l ~ N(√n_l μ_l, T), which are standard
// where a level has no row, and what the levels leave of the scatter, nDDᵀ ~ Wishart(n − L, T), and
// r_l = F_l − √n_l μ_l, δ_l = μ_l − m₀,
//
//	log p(F, D, μ | λ) = Σ_i (n−L−1−i) log D_ii − ½ν_n log|Ψ_n| + ½ν₀ Σ_j log Ψ_jj(a) − ½Σ_lj (δ_lj/A_j)²,
//	Ψ_n = Ψ₀(a) + nDDᵀ + Σ_l r_lr_lᵀ,   ν_n = ν₀ + n,
//
// i = 0 … q−1, and with κ₀ Ψ_n has κ₀Σ_lδ_lδ_lᵀ and ν_n L more, in place of the last term. μ_l is made
// of ζ_l, which is about standard normal given F and D, column by column: with ξ_l = −D⁻¹r_l, whose
// entries before j are known then, and t_j = F_jl + Σ_{i<j} D_jiξ_il,
//
//	μ_jl = (√n_l t_j/D_jj² + m₀_j/A_j²)/P + ζ_jl/√P,   P = n_l/D_jj² + 1/A_j²  or  (n_l + κ₀)/D_jj².
type levelLaw struct {
	prior     *conjugate.NIW
	q         int
	n         float64
	kappa     float64
	more, dof float64   // ν_n − n, and ν_n
	precision []float64 // 1/A_j², or 0
	scale     []int     // see scaleOf
	roots     []float64 // √n_l

	mu, rest, xi, t, delta [][]float64 // μ_l, r_l, ξ_l, t, δ_l, a row a level
	chol, inv              []float64
	gRest, gDelta, gXi     []float64
}

func newLevelLaw(prior *model.Prior, levels int) *levelLaw {
	q := prior.Covariates.Dim()
	rows := func() (all [][]float64) {
		for range levels {
			all = append(all, vec(q))
		}
		return all
	}
	c := newCovariates(prior)
	f := &levelLaw{prior: prior.Covariates, q: q, kappa: c.kappa, more: prior.Covariates.Dof, precision: c.precision, scale: c.scale,
		roots: vec(levels), mu: rows(), rest: rows(), xi: rows(), t: rows(), delta: rows(),
		chol: vec(q * q), inv: vec(q * q), gRest: vec(q), gDelta: vec(q), gXi: vec(q)}
	if f.kappa > 0 {
		f.more += float64(levels)
	}
	return f
}

// information is P's part of the prior over 1, or over 1/D_jj².
func (f *levelLaw) information(j int, square float64) float64 {
	return f.precision[j] + f.kappa/square
}

// value returns the log density but for powers of D_ii, log J of μ counted in, at D of t (rows of m)
// with W = DDᵀ, F, a row of m a level, and ζ, a row of q.
func (f *levelLaw) value(t *statistics, sums, zeta, lambda []float64) (logp float64, ok bool) {
	q, m, prior := f.q, t.m, f.prior
	for i := range q {
		row, w, psi := f.chol[i*q:i*q+i+1], t.w[i*m:], prior.Scale[i*q:]
		own := psi[i] // as in covariates
		if at := f.scale[i]; at >= 0 {
			own *= math.Exp(-lambda[at])
			logp -= 0.5 * prior.Dof * lambda[at]
		}
		for j := range i {
			row[j] = psi[j] + f.n*w[j]
		}
		row[i] = own + f.n*w[i]
	}
	precisions := logProduct{rest: 1}
	for l, root := range f.roots {
		mu, rest, xi, tl, delta := f.mu[l], f.rest[l], f.xi[l], f.t[l], f.delta[l]
		for j := range q {
			d := t.d[j*m : j*m+j+1]
			square := d[j] * d[j]
			tl[j] = sums[l*m+j] + dot(d[:j], xi[:j])
			info := f.information(j, square)
			p := root*root/square + info
			mu[j] = (root*tl[j]/square+info*prior.Mean[j])/p + zeta[l*q+j]/math.Sqrt(p)
			delta[j] = mu[j] - prior.Mean[j]
			rest[j] = sums[l*m+j] - root*mu[j]
			xi[j] = (root*mu[j] - tl[j]) / d[j]
			precisions.times(p)
			logp -= 0.5 * f.precision[j] * delta[j] * delta[j]
			for i := range j + 1 {
				f.chol[j*q+i] += rest[j]*rest[i] + f.kappa*delta[j]*delta[i]
			}
		}
	}
	if !dense.Cholesky(f.chol, q) {
		return 0, false
	}
	return logp - 0.5*(precisions.value()+f.dof*dense.LogDet(f.chol, q)), true
}

// place writes ζ of the μ where value was last, at other D, F and counts.
func (f *levelLaw) place(zeta []float64, t *statistics, sums []float64) {
	q, m := f.q, t.m
	for l, root := range f.roots {
		mu, xi := f.mu[l], f.xi[l]
		for j := range q {
			d := t.d[j*m : j*m+j+1]
			square := d[j] * d[j]
			tl := sums[l*m+j] + dot(d[:j], xi[:j])
			info := f.information(j, square)
			p := root*root/square + info
			zeta[l*q+j] = (mu[j] - (root*tl/square+info*f.prior.Mean[j])/p) * math.Sqrt(p)
			xi[j] = (root*mu[j] - tl) / d[j]
		}
	}
}

// slope writes the gradient in ζ where value was last, adds that in F, in W to the lower triangle of e
// as covariates.slope does, in D beside, and in λ.
func (f *levelLaw) slope(gSums, gZeta, gLambda []float64, t *statistics, zeta, lambda []float64) {
	q, m, prior, gD := f.q, t.m, f.prior, t.gD
	dense.InverseFromCholesky(f.inv, f.chol, q)
	for i := range q {
		addScaled(t.e[i*m:i*m+i+1], -0.5*f.dof*f.n, f.inv[i*q:])
		if at := f.scale[i]; at >= 0 {
			gLambda[at] += 0.5 * (f.dof*f.inv[i*q+i]*prior.Scale[i*q+i]*math.Exp(-lambda[at]) - prior.Dof)
		}
	}
	for l, root := range f.roots {
		xi, tl, delta := f.xi[l], f.t[l], f.delta[l]
		dense.SymMulVec(f.gRest, f.inv, q, f.rest[l])
		dense.SymMulVec(f.gDelta, f.inv, q, delta)
		clear(f.gXi)
		for j := q - 1; j >= 0; j-- {
			d, to := t.d[j*m:j*m+j+1], gD[j*m:j*m+j+1]
			square := d[j] * d[j]
			info := f.information(j, square)
			p := root*root/square + info
			gRest := -f.dof * f.gRest[j]
			gSums[l*m+j] += gRest
			gMu := -root*gRest - f.precision[j]*delta[j] - f.dof*f.kappa*f.gDelta[j]
			gMu += f.gXi[j] * root / d[j]
			gT := -f.gXi[j] / d[j]
			to[j] -= f.gXi[j] * xi[j] / d[j]
			// μ_j = a/P + ζ/√P, −½ log P
			gZeta[l*q+j] = gMu / math.Sqrt(p)
			gT += gMu * root / (square * p)
			byP := -gMu*((root*tl[j]/square+info*prior.Mean[j])/p+0.5*zeta[l*q+j]/math.Sqrt(p))/p - 0.5/p
			byInverse := gMu*(root*tl[j]+f.kappa*prior.Mean[j])/p + byP*(root*root+f.kappa) // in 1/D_jj²
			to[j] -= 2 * byInverse / (square * d[j])
			gSums[l*m+j] += gT
			addScaled(to[:j], gT, xi)
			addScaled(f.gXi[:j], gT, d)
		}
	}
}

// draw draws T where value was last.
func (f *levelLaw) draw(tau []float64, rng *rand.Rand) {
	variate.InverseWishartFactor(f.inv, f.chol, f.q, f.dof, f.gRest, rng)
	dense.LLt(tau, f.inv, f.q)
}
