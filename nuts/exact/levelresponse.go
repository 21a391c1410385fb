package exact

import (
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/model"
)

// levelResponse is what response is, where the first k columns are the dummies u_c = ±1 of a factor of
// L = k + 1 levels and q covariates follow. Row i of level l has y_i = η₀ + 2θ_l + β_xᵀx_i + e_i, θ₀ = 0 of the
// first level and η₀ = θ_0 − Σθ_c the mean there. With orthonormal sums F_l within levels, what they leave
// of the scatter, nDDᵀ, and κ_l = n_l/σ² the posterior precision of (θ_d, w), w = (η₀, β_x), is
//
//	M = σ⁻²(Σ_l s_ls_lᵀ + nD_xD_xᵀ) + Λ,   s_l = √n_l(2e_l + e_η₀) + F_xl,
//
// where no row has two levels: but for Λ the block of θ_d is diagonal. Λ has the precision Λ_α of
// α = η₀ + Σ(1 + c_c)θ_c + c_xᵀβ_x, and that of slopes, of which each piece (levelPiece) has a diagonal in
// θ_d, few more vectors u there, each with a weight, and the rest of w. With E_c the row of θ_c in the
// columns of w and in C, of these vectors and a of α, whose weights are C,
//
//	D_c = Λ_cc + 4κ_c,   S = [G, A; Aᵀ, −C⁻¹] − Σ_c E_cE_cᵀ/D_c,   log|M| = Σ log D_c + log|det S| + Σ log|C|:
//
// Schur's complement of θ_d in a quasidefinite matrix, whose unknowns w̃ are w and one for each vector. M⁻¹ is the
// block of its inverse. Rows of level c add κ_cΛ_cc/D_c to S, where no digit cancels. A gradient costs O(L(q + 1)²).
type levelResponse struct {
	*coefficients
	k, q, dim int // of w̃
	unscaled  bool
	sigma     sigmaLaw
	pieces    []levelPiece
	start     float64 // prior mean of η₀

	n, inverse, per, own float64 // 1/σ²; 1 or 1/σ²; Λ_α
	factor               []float64
	weight               []float64   // C
	diagonal, pivot      []float64   // Λ_cc and D_c
	edge                 [][]float64 // E_c
	s, z, work           []float64   // S as LΔLᵀ, and S⁻¹
	w, rhs               []float64   // ŵ, without the prior mean
	dummy, left          []float64   // θ̂_d, and residuals of F_y, first without the prior mean
	slopes               []float64   // β̂_x
	residual             []float64   // of D_y
	at                   []float64   // s_l
	through              [][]float64 // S⁻¹E_c/D_c
	fitted, squares      float64     // the prior's part of Q, and the squared residuals
}

// levelPiece is a part of Λ_β, with free scales at 1: diag + Σ_i values_i u_iu_iᵀ in θ_d, cross and xx.
type levelPiece struct {
	at        int // of λ that divides it, −1 of none
	slopes    int // that it is of
	diag      []float64
	values    []float64
	vectors   [][]float64
	cross, xx []float64 // k×q and q×q
}

func newLevelResponse(s model.Shape, k int, prior *model.Prior) *levelResponse {
	c, q := newCoefficients(s, prior), s.P-k
	f := &levelResponse{coefficients: c, k: k, q: q, dim: q + 2, unscaled: prior.Unscaled, sigma: newSigmaLaw(prior), start: c.level}
	base := append([]float64(nil), c.precision...)
	for _, b := range c.free {
		block, n := vec(s.P*s.P), len(b.slopes)
		for i, row := range b.slopes {
			for j, column := range b.slopes {
				block[row*s.P+column] = b.precision[i*n+j]
				base[row*s.P+column] -= b.precision[i*n+j]
			}
		}
		f.addPiece(block, b.at, n)
	}
	f.addPiece(base, -1, 0)
	for j, mean := range c.mean {
		if j < k {
			f.start -= mean
		}
		f.start -= c.centre[j] * mean
	}
	f.factor, f.weight = vec(len(f.pieces)), vec(f.dim)
	f.diagonal, f.pivot, f.dummy, f.left = vec(k), vec(k), vec(k), vec(k+1)
	f.s, f.z, f.work, f.w, f.rhs = vec(f.dim*f.dim), vec(f.dim*f.dim), vec(f.dim*f.dim), vec(f.dim), vec(f.dim)
	f.slopes, f.residual, f.at = vec(q), vec(q), vec(q+1)
	for range k {
		f.edge, f.through = append(f.edge, vec(f.dim)), append(f.through, vec(f.dim))
	}
	return f
}

// addPiece parts a p×p block. In θ_d of equal entries o off its diagonal that is the diagonal less o, and o with a
// vector of ones; of others the vectors are eigenvectors of what a diagonal leaves.
func (f *levelResponse) addPiece(block []float64, at, slopes int) {
	k, q, p := f.k, f.q, f.p
	piece := levelPiece{at: at, slopes: slopes, diag: vec(k), cross: vec(k * q), xx: vec(q * q)}
	for i := range q {
		for c := range k {
			piece.cross[c*q+i] = block[c*p+k+i]
		}
		copy(piece.xx[i*q:(i+1)*q], block[(k+i)*p+k:])
	}
	left, vectors, values, work := vec(k*k), vec(k*k), vec(k), vec(k*k)
	negligible := 0.0
	for c := range k {
		copy(left[c*k:(c+1)*k], block[c*p:])
		negligible = max(negligible, 1e-12*f.precision[c*p+c])
	}
	dense.SymEigen(values, vectors, left, k, work)
	least, common := 0.0, 0.0
	if k > 0 {
		least = 0.5 * max(values[0], 0)
	}
	if k > 1 {
		common = left[1]
	}
	for c := range k {
		piece.diag[c] = max(left[c*k+c]-common, least)
		left[c*k+c] -= piece.diag[c]
	}
	dense.SymEigen(values, vectors, left, k, work)
	for i, v := range values {
		if math.Abs(v) > negligible {
			u := vec(k)
			for c := range u {
				u[c] = vectors[c*k+i]
			}
			piece.values, piece.vectors = append(piece.values, v), append(piece.vectors, u)
		}
	}
	f.dim += len(piece.values)
	f.pieces = append(f.pieces, piece)
}

// take takes scales, and makes D, E and the prior's part of S. It returns the log density's part of the prior's
// determinant, of which powers of σ are those of |Λ|, and of log|M| those of C.
func (f *levelResponse) take(t *statistics, ell float64, lambda []float64) (logp float64) {
	k, q, d, dim := f.k, f.q, f.q+1, f.dim
	f.n, f.inverse, f.per = t.n, math.Exp(-2*ell), 1
	if !f.unscaled {
		f.per = f.inverse * math.Exp(f.sigma.logW)
		logp -= float64(f.p) * (ell - 0.5*f.sigma.logW)
	}
	f.own = f.alpha * f.per
	clear(f.s)
	clear(f.diagonal)
	for c, e := range f.edge {
		clear(e)
		e[q+1] = 1 + f.centre[c]
	}
	f.s[(q+1)*dim] = 1 // of η₀ in α
	copy(f.s[(q+1)*dim+1:], f.centre[k:])
	f.weight[q+1] = f.own
	at := q + 2
	for i, piece := range f.pieces {
		f.factor[i] = f.per
		if piece.at >= 0 {
			f.factor[i] *= math.Exp(-lambda[piece.at])
			logp -= 0.5 * float64(piece.slopes) * lambda[piece.at]
		}
		for c, e := range f.edge {
			f.diagonal[c] += f.factor[i] * piece.diag[c]
			addScaled(e[1:q+1], f.factor[i], piece.cross[c*q:(c+1)*q])
		}
		for j := range q {
			addScaled(f.s[(1+j)*dim+1:(1+j)*dim+2+j], f.factor[i], piece.xx[j*q:])
		}
		for v, u := range piece.vectors {
			f.weight[at] = f.factor[i] * piece.values[v]
			for c, e := range f.edge {
				e[at] = u[c]
			}
			at++
		}
	}
	for _, c := range f.weight[q+1:] {
		logp -= 0.5 * math.Log(math.Abs(c))
	}
	for j := q + 1; j < dim; j++ {
		f.s[j*dim+j] = -1 / f.weight[j]
	}
	for j := range q {
		addScaled(f.s[(1+j)*dim+1:(1+j)*dim+2+j], f.n*f.inverse, t.w[j*d:])
	}
	return logp + 0.5*math.Log(f.own)
}

// row writes s_l but for its 2√n_l in θ_l.
func (f *levelResponse) row(l int, roots, sums []float64) {
	f.at[0] = roots[l]
	copy(f.at[1:], sums[l*(f.q+1):])
}

// value returns the log density at F, a row of q + 1 a level, and D of t, of which y's are the last. It
// reports false where rounding leaves M indefinite.
func (f *levelResponse) value(t *statistics, roots, sums []float64, ell float64, lambda []float64) (logp float64, ok bool) {
	k, q, d, dim := f.k, f.q, f.q+1, f.dim
	logp = f.take(t, ell, lambda)
	copy(f.residual, t.d[q*d:])
	clear(f.rhs)
	pivots := logProduct{rest: 1}
	for j := range q {
		addScaled(f.residual[:j+1], -f.mean[k+j], t.d[j*d:])
	}
	for j := range q {
		f.rhs[1+j] = f.n * f.inverse * dot(t.d[j*d:j*d+j+1], f.residual)
	}
	for l, root := range roots {
		f.row(l, roots, sums)
		y := sums[l*d+q] - root*f.start - dot(f.at[1:], f.mean[k:])
		share := f.inverse // what θ_l leaves of the level's rows
		if l > 0 {
			y -= 2 * root * f.mean[l-1]
			c, e := l-1, f.edge[l-1]
			f.pivot[c] = f.diagonal[c] + 4*root*root*f.inverse
			share *= f.diagonal[c] / f.pivot[c]
			pivots.times(f.pivot[c])
			by, h := 2*root*f.inverse/f.pivot[c], 2*root*f.inverse*y
			for i := range dim { // X_c, of the prior, and s_lX_cᵀ
				row := f.s[i*dim : i*dim+i+1]
				if e[i] != 0 {
					addScaled(row, -e[i]/f.pivot[c], e[:i+1])
					addScaled(row[:min(i+1, d)], -by*e[i], f.at[:min(i+1, d)])
					f.rhs[i] -= e[i] * h / f.pivot[c]
				}
				if i <= q {
					addScaled(row, -by*f.at[i], e[:i+1])
				}
			}
			addScaled(e[:d], 2*root*f.inverse, f.at)
		}
		f.left[l] = y
		for i, v := range f.at {
			addScaled(f.s[i*dim:i*dim+i+1], share*v, f.at[:i+1])
			f.rhs[i] += share * v * y
		}
	}
	logAbs, ok := factorSigned(f.s, dim, f.weight)
	if !ok {
		return 0, false
	}
	copy(f.w, f.rhs)
	solveSigned(f.s, dim, f.weight, f.w)
	for c, e := range f.edge {
		f.dummy[c] = (2*roots[c+1]*f.inverse*f.left[c+1] - dot(e, f.w)) / f.pivot[c]
	}
	quad := f.fit(t, roots, sums)
	return logp - t.n*ell - 0.5*(pivots.value()+logAbs+quad) + f.sigma.value(ell, f.inverse), true
}

// fit returns Q.
func (f *levelResponse) fit(t *statistics, roots, sums []float64) float64 {
	k, q, d := f.k, f.q, f.q+1
	dyy := t.d[q*d+q]
	f.squares = t.n * dyy * dyy
	for j := range q {
		f.slopes[j] = f.mean[k+j] + f.w[1+j]
		addScaled(f.residual[:j+1], -f.w[1+j], t.d[j*d:])
	}
	for _, v := range f.residual {
		f.squares += t.n * v * v
	}
	alpha := f.w[0] + dot(f.w[1:d], f.centre[k:])
	for l, root := range roots {
		f.row(l, roots, sums)
		f.left[l] -= dot(f.at, f.w[:d])
		if l > 0 {
			f.left[l] -= 2 * root * f.dummy[l-1]
			alpha += (1 + f.centre[l-1]) * f.dummy[l-1]
		}
		f.squares += f.left[l] * f.left[l]
	}
	f.fitted = f.own * alpha * alpha
	for i := range f.pieces {
		f.fitted += f.factor[i] * f.square(&f.pieces[i])
	}
	return f.fitted + f.inverse*f.squares
}

// square is a piece's part of Q, over its factor.
func (f *levelResponse) square(p *levelPiece) (sum float64) {
	q, x := f.q, f.w[1:f.q+1]
	for c, v := range f.dummy {
		sum += v * (p.diag[c]*v + 2*dot(p.cross[c*q:(c+1)*q], x))
	}
	for i, u := range p.vectors {
		v := dot(u, f.dummy)
		sum += p.values[i] * v * v
	}
	for i, v := range x {
		sum += v * dot(p.xx[i*q:(i+1)*q], x)
	}
	return sum
}

// slope adds the gradient where value was last: in F; in W to the lower triangle of e as covariates.slope has it; in
// D beside that; and in λ. It returns the derivative in ℓ.
func (f *levelResponse) slope(gSums, gLambda []float64, t *statistics, roots, sums []float64) (byEll float64) {
	q, d, dim, gD := f.q, f.q+1, f.dim, t.gD
	invertSigned(f.z, f.s, dim, f.weight, f.work)
	per := f.n * f.inverse
	trace := 0.0 // of M⁻¹ and what rows add to M
	for i := range q {
		for j := range i + 1 {
			v := f.z[(1+i)*dim+1+j]
			t.e[i*d+j] -= 0.5 * per * v
			if trace += per * v * t.w[i*d+j]; j < i {
				trace += per * v * t.w[i*d+j]
			}
			gD[i*d+j] += per * f.residual[j] * f.slopes[i]
		}
	}
	addScaled(gD[q*d:q*d+q], -per, f.residual)
	gD[q*d+q] -= per * t.d[q*d+q]
	for l, root := range roots {
		f.row(l, roots, sums)
		to := gSums[l*d : (l+1)*d]
		var through, edge []float64
		variance := 0.0
		if l > 0 {
			through, edge = f.through[l-1], f.edge[l-1]
			for i := range dim {
				through[i] = dot(f.z[i*dim:(i+1)*dim], edge) / f.pivot[l-1]
			}
			variance = 4 * root * root * (1 + dot(edge, through)) / f.pivot[l-1]
		}
		for i, v := range f.at { // M⁻¹s_l
			row := dot(f.z[i*dim:i*dim+d], f.at)
			variance += row * v
			if l > 0 {
				row -= 2 * root * through[i]
				variance -= 4 * root * through[i] * v
			}
			if i > 0 {
				to[i-1] += f.inverse * (f.left[l]*f.slopes[i-1] - row)
			}
		}
		to[q] -= f.inverse * f.left[l]
		trace += f.inverse * variance
	}
	at := q + 2
	for i := range f.pieces {
		p := &f.pieces[i]
		if p.at >= 0 {
			gLambda[p.at] += 0.5 * (f.factor[i]*(f.square(p)+f.traceOf(p, at)) - float64(p.slopes))
		}
		at += len(p.values)
	}
	byEll = -t.n + trace + f.inverse*f.squares
	if !f.unscaled { // |Λ| and |M| have as many powers of σ but for what rows add
		byEll += f.fitted - trace
	}
	return f.sigma.slope(byEll, f.inverse)
}

// traceOf is that of M⁻¹ and a piece over its factor, whose vectors begin at a place of w̃: M⁻¹u is what S⁻¹
// has of it, over C.
func (f *levelResponse) traceOf(p *levelPiece, at int) (sum float64) {
	q, dim := f.q, f.dim
	for c, e := range f.edge {
		through := f.through[c]
		sum += p.diag[c]*(1+dot(e, through))/f.pivot[c] - 2*dot(p.cross[c*q:(c+1)*q], through[1:q+1])
		for i, u := range p.vectors {
			sum -= u[c] * through[at+i] * p.values[i] / f.weight[at+i]
		}
	}
	for i := range q {
		sum += dot(p.xx[i*q:(i+1)*q], f.z[(1+i)*dim+1:(1+i)*dim+1+q])
	}
	return sum
}

// draw draws θ where value was last.
func (f *levelResponse) draw(theta []float64, roots, sums []float64, t *statistics, lambda []float64, rng *rand.Rand) bool {
	k, q, d, p := f.k, f.q, f.q+1, f.p+1 // (η₀, θ_d, β_x)
	f.coefficients.take(0, lambda)
	m, row := vec(p*p), vec(p)
	add := func(weight float64) {
		for i, v := range row {
			addScaled(m[i*p:i*p+i+1], weight*v, row[:i+1])
		}
	}
	for i := range f.p {
		addScaled(m[(1+i)*p+1:(1+i)*p+2+i], f.per, f.given[i*f.p:])
	}
	for l, root := range roots {
		clear(row)
		row[0] = root
		if l > 0 {
			row[l] = 2 * root
		}
		copy(row[1+k:], sums[l*d:l*d+q])
		add(f.inverse)
	}
	row[0] = 1
	for j, c := range f.centre {
		if row[1+j] = c; j < k {
			row[1+j]++
		}
	}
	add(f.own)
	for j := range q {
		addScaled(m[(1+k+j)*p+1+k:(1+k+j)*p+2+k+j], f.n*f.inverse, t.w[j*d:])
	}
	if !dense.Cholesky(m, p) {
		return false
	}
	for j := range row {
		row[j] = rng.NormFloat64()
	}
	dense.SolveLowerT(m, p, row)
	theta[0] = row[0] + f.start + f.w[0]
	for j, v := range row[1:] {
		if j < k {
			theta[1+j] = v + f.mean[j] + f.dummy[j]
			theta[0] += theta[1+j]
		} else {
			theta[1+j] = v + f.slopes[j-k]
		}
	}
	return true
}
