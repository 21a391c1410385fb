package exact

import (
	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/model"
)

// toldOfTheta is what z tells of a release's own θ_j, given x̄, D_x and σ_j: in the units of lineOfY, with W = D_xD_xᵀ,
// v = σ²/n₀, m̂ = z_xy/n₀ − x̄z_y/n₀ and a = (1, x̄), ȳ and D_y being integrated out,
//
//	z_y/n₀ ~ N(aᵀ(α, β), 1/π),   1/π = v + ς²/n₀²;        m̂ ~ N(Wβ, vW + r²I).
//
// So (α, β) has the precision K = πaaᵀ + QW and the linear term k = πa z_y/n₀ + Qm̂, Q = (vW + r²I)⁻¹W in the block of β, and
// θ_j HᵀKH and Hᵀ(k − Kh): the guess of model.Pooled.
type toldOfTheta struct {
	*lineOfY
	guess            *model.Guess
	p                int
	v, pi            float64
	a, k, covariance []float64 // a, k − Kh, m̂
	x, w, z, q       []float64 // D_x, W, (vW + r²I)⁻¹, Q
	precision        []float64 // K

	byGuess, byK, product []float64 // gradients in the guess's precision, and in K
	block, qh, qhq        []float64 // that in QW, and Q times it, and times Q
	linear, ql, zl, zm    []float64 // gradient in k; of its block Q and (vW + r²I)⁻¹ times it; that times m̂
}

func newToldOfTheta(line *lineOfY, guess *model.Guess) *toldOfTheta {
	p, q := line.row.p, len(guess.Mean)
	clear(guess.Mean)
	return &toldOfTheta{lineOfY: line, guess: guess, p: p, a: vec(p + 1), k: vec(p + 1), covariance: vec(p), x: vec(p * p), w: vec(p * p), z: vec(p * p),
		q: vec(p * p), precision: vec((p + 1) * (p + 1)), byGuess: vec(q * q), byK: vec((p + 1) * (p + 1)), product: vec((p + 1) * q),
		block: vec(p * p), qh: vec(p * p), qhq: vec(p * p), linear: vec(p + 1), ql: vec(p), zl: vec(p), zm: vec(p)}
}

// take takes the guess, of the rows of x in t, and σ_j. It reports false where rounding forbids.
func (f *toldOfTheta) take(t *statistics, sigma float64) (ok bool) {
	p, q := f.p, len(f.guess.Mean)
	sigma *= f.scale
	f.v, f.a[0] = sigma*sigma/f.n, 1
	f.pi = 1 / (f.v + 1/f.perMean)
	for j := range p {
		f.a[1+j] = t.mean[j]
		f.covariance[j] = f.products[j] - t.mean[j]*f.mean
		copy(f.x[j*p:j*p+j+1], t.d[j*t.m:])
	}
	dense.LLt(f.w, f.x, p)
	for i, w := range f.w {
		f.qh[i] = f.v * w
	}
	for i := range p {
		f.qh[i*(p+1)] += 1 / f.row.per
	}
	if !dense.Cholesky(f.qh, p) {
		return false
	}
	dense.InverseFromCholesky(f.z, f.qh, p)
	dense.MulABt(f.q, f.z, f.w, p, p, p)
	dense.MulABt(f.block, f.q, f.w, p, p, p)
	for i := range p + 1 {
		f.k[i] = f.pi * f.mean * f.a[i]
		for j := range p + 1 {
			v := f.pi * f.a[i] * f.a[j]
			if i > 0 && j > 0 {
				v += f.block[(i-1)*p+j-1]
				f.k[i] += f.q[(i-1)*p+j-1] * f.covariance[j-1]
			}
			f.precision[i*(p+1)+j] = v
			f.k[i] -= v * f.shift[j]
		}
	}
	dense.MulABt(f.product, f.turned, f.precision, q, p+1, p+1)
	dense.MulABt(f.guess.Precision, f.product, f.turned, q, q, p+1)
	for i := range q {
		f.guess.Linear[i] = dot(f.turned[i*(p+1):(i+1)*(p+1)], f.k)
	}
	return true
}

// pull takes the guess's gradient, where take was last, to the rows of x, and returns that in σ_j. With H the gradient in QW
// and l that in Qm̂,
//
//	QH + HQ − vQHQ + ½r²Z(lm̂ᵀ + m̂lᵀ)Z in W,   −tr HQWQ − lᵀQQm̂ in v,   Z = (vW + r²I)⁻¹.
func (f *toldOfTheta) pull(t *view) (bySigma float64) {
	p, q, m := f.p, len(f.guess.Mean), t.m
	byLinear := f.guess.Pull(f.byGuess)
	dense.MulABt(f.product, f.turn, f.byGuess, p+1, q, q)
	dense.MulABt(f.byK, f.product, f.turn, p+1, p+1, q)
	for i := range p + 1 {
		f.linear[i] = dot(f.turn[i*q:(i+1)*q], byLinear)
	}
	byPi := 0.0
	for i, a := range f.a {
		row := f.byK[i*(p+1) : (i+1)*(p+1)]
		for j, h := range f.shift {
			row[j] -= 0.5 * (f.linear[i]*h + f.shift[i]*f.linear[j])
		}
		along := dot(row, f.a)
		byPi += a * (along + f.mean*f.linear[i])
		if i > 0 {
			t.gMean[i-1] += f.pi * (2*along + f.mean*f.linear[i])
			copy(f.block[(i-1)*p:i*p], row[1:])
		}
	}
	byV, l := -byPi*f.pi*f.pi, f.linear[1:]
	dense.MulABt(f.qh, f.q, f.block, p, p, p)
	dense.MulABt(f.qhq, f.qh, f.q, p, p, p)
	for i := range p {
		f.ql[i], f.zl[i] = dot(f.q[i*p:(i+1)*p], l), dot(f.z[i*p:(i+1)*p], l)
		f.zm[i] = dot(f.z[i*p:(i+1)*p], f.covariance)
		byV -= dot(f.qhq[i*p:(i+1)*p], f.w[i*p:]) + f.ql[i]*dot(f.q[i*p:(i+1)*p], f.covariance)
		t.gMean[i] -= f.mean * f.ql[i]
	}
	r2 := 1 / f.row.per
	for i := range p {
		for j := range p {
			e := f.qh[i*p+j] + f.qh[j*p+i] - f.v*f.qhq[i*p+j] + 0.5*r2*(f.zl[i]*f.zm[j]+f.zm[i]*f.zl[j])
			addScaled(t.gD[i*m:i*m+min(i, j)+1], 2*e, t.d[j*m:])
		}
	}
	return 2 * byV * f.v / (f.row.sigma / f.scale)
}
