package model

import (
	"cmp"
	"math"
	"math/big"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/release"
)

// location takes slopes of a Family that were read by the law of normal x to those by the general location model (Olkin &
// Tate 1961, Annals of Mathematical Statistics 32): some columns u are 0 or 1, in groups g of which at most one is 1, the dummies
// of a factor or one truth value; given these the others are normal,
//
//	x | u ~ N(μ + B(u − μ_u), Σ),   B = T_xu T_uu⁻¹,   Σ = T_xx − B T_ux,
//
// and η | u ~ N(η_u, s²). Of u a release tells means and covariances C_gh between groups. Within a group means tell all:
// p_j, and p_0 that none is 1. Groups have Bahadur's law of the second order (1961), which has these covariances,
//
//	P(u) = Π_g P(u_g) (1 + Σ_{g<h} a_gᵀC_gh a_h),   a_gj = V_g⁻¹(u_g − p_g)_j = 1[u_j = 1]/p_j − 1[none]/p_0,
//
// nowhere below 0; where noise leaves T_uu other than V = Var(u), C has the correlations of T.
//
// Sums tell m = E[(1, x)y], whatever the law of x. By that of the sampler, in which some groups or none are apart, m is that at
// its coefficients b. Of the precision of b over draws the prior has Λ, and the release the rest, L. With M_b the derivative of m
// at the mean b̄, the release's part takes m with it, and the prior's is of θ anew: where N(μ, Λ⁻¹) is the prior, each draw
//
//	θ minimises (m̃ − m(θ))ᵀM_b⁻¹LM_b⁻¹(m̃ − m(θ)) + (θ − μ̃)ᵀΛ(θ − μ̃),   m̃ = m(b) + M_bL⁻¹Λ(b̄ − μ),   μ̃ ~ N(μ, Λ⁻¹),
//
// by Gauss and Newton's steps: what optimises randomised terms is drawn from a posterior that is normal (Bardsley, Solonen, Haario
// & Laine 2014, SIAM Journal on Scientific Computing 36), and one that is told little is the prior. m̃ adds back what the prior
// took from b.
//
// Normal x cannot have all m that rows have, so that b̄ may miss what z tells. By d_k there m is moved so far as choice of rows
// hides noise, W_kk/n of W_kk/n + N_k, N_k the variance of the noise; what is left of d_k, and W_kk/n, see below, are added to the
// variance of m.
//
// How far m of n rows strays from that of a population is W/n, W = E[(1, x)(1, x)ᵀ Var(y | x)], which the sampler has by its own
// law of x: few rows of a level whose y vary more are not all rows. With M the derivative of m, θ varies by
//
//	V_b = M_b⁻¹W_bM_b⁻¹/n,   V_m = M_θ⁻¹W_bM_θ⁻¹/n,   V_θ = M_θ⁻¹W_θM_θ⁻¹/n
//
// as the sampler reads it, as Newton's method makes of that, and as it should. So θ_j is stretched about its centre, by a
// variance larger by V_θ − V_m, if that is not below 0, where its own, of which noise has a part, is about V_m/V_b times that of b_j.
type location struct {
	family     Family
	read, rows *Mixed        // as the sampler has x, and as rows have
	alike      bool          // they are
	told       *mat.SymDense // M_b⁻¹LM_b⁻¹
	back       *mat.VecDense // M_b⁻¹Λ(b̄ − μ)
	prior      []float64     // of Λ
	centred    []float64     // μ
	drawn      []float64     // μ̃
	draws      float64
	roots      []float64 // that spread them
	centre     []float64 // of θ; nil: it is not stretched
	stretch    []float64
	unnoised   []float64 // stretch where there is no noise
	m, b, off  []float64
	strained   bool // normal x cannot have what z tells, by some sds
}

// newLocation prepares it: read are the groups of columns that the sampler has apart, rows those that are apart in rows.
func newLocation(f Family, most float64, p int, read, rows [][]int) *location {
	vec := func() []float64 { return make([]float64, p+1) }
	return &location{family: f, alike: len(read) == len(rows), roots: rootsOfPrimes(p + 1), read: NewMixed(f, most, p, read), rows: NewMixed(f, most, p, rows),
		prior: vec(), centred: vec(), drawn: vec(), stretch: vec(), unnoised: vec(), m: vec(), b: vec(), off: vec()}
}

// Set takes the law of x at a draw, in the box. It reports false where noise has left none.
func (l *location) Set(x *Params) bool {
	return l.read.Set(x.MuX, x.Tau) && l.rows.Set(x.MuX, x.Tau)
}

// Anchor takes L, Λ and how θ is stretched: of the mean b and the covariance of coefficients over draws, their prior's means and
// sds, what releases tell, if anything, n rows, and of counts a dispersion, after Set. It reports false where these have no inverse.
func (l *location) Anchor(b []float64, covariance *mat.SymDense, means, sds []float64, told *Released, dispersion, n float64) bool {
	if l.alike {
		return true
	}
	l.read.At(b)
	off := mat.NewVecDense(len(b), nil)
	for k, sd := range sds {
		l.prior[k], l.centred[k] = 1/(sd*sd), means[k]
		off.SetVec(k, l.prior[k]*(b[k]-means[k]))
	}
	l.back = mat.NewVecDense(len(b), nil)
	own := l.read.chance(l.family, b, dispersion)
	if l.back.SolveVec(l.read.derivative(), off) != nil || !l.weigh(covariance, own, told, n) {
		return false
	}
	copy(l.drawn, means)
	if centre := slices.Clone(b); l.ToRows(centre) {
		l.widen(centre, covariance, own, dispersion, n)
	}
	return true
}

// weigh takes what the release tells of m, and what that is moved by, own being W: of variances D added, (A⁻¹ + D)⁻¹ is
// A − A(A + D⁻¹)⁻¹A.
func (l *location) weigh(covariance *mat.SymDense, own []float64, told *Released, n float64) bool {
	q := len(l.b)
	part, ok := l.likelihood(covariance)
	if !ok {
		return false
	}
	var half, a, with, all mat.Dense
	if half.Solve(l.read.derivative(), part) != nil || a.Solve(l.read.derivative(), half.T()) != nil {
		return false
	}
	with.CloneFrom(&a)
	for i := range q {
		chance, left := own[i*q+i]/n, 0.0
		if told != nil {
			off := told.Product[i] - l.read.M[i]
			l.strained = l.strained || math.Abs(off) > mostStrained*math.Sqrt(chance+told.Noise[i])
			l.off[i] = off * chance / (chance + told.Noise[i])
			left = off - l.off[i]
		}
		with.Set(i, i, with.At(i, i)+1/(chance+left*left))
	}
	if half.Solve(&with, &a) != nil {
		return false
	}
	all.Mul(&a, &half)
	all.Sub(&a, &all)
	l.told = symmetric(&all)
	return true
}

// likelihood is L, of which rounding and draws leave no direction below 0.
func (l *location) likelihood(covariance *mat.SymDense) (*mat.SymDense, bool) {
	q := len(l.b)
	var root mat.Cholesky
	part := mat.NewSymDense(q, nil)
	if !root.Factorize(covariance) || root.InverseTo(part) != nil {
		return nil, false
	}
	scaled := mat.NewSymDense(q, nil) // of prior sds 1
	for i := range q {
		for j := range i + 1 {
			scaled.SetSym(i, j, part.At(i, j)/math.Sqrt(l.prior[i]*l.prior[j]))
		}
		scaled.SetSym(i, i, scaled.At(i, i)-1)
	}
	var e mat.EigenSym
	if !e.Factorize(scaled, true) {
		return nil, false
	}
	var vectors, half, all mat.Dense
	e.VectorsTo(&vectors)
	values := e.Values(nil)
	for k, v := range values {
		values[k] = max(v, 0)
	}
	half.Mul(&vectors, mat.NewDiagDense(q, values))
	all.Mul(&half, vectors.T())
	all.Apply(func(i, j int, v float64) float64 { return v * math.Sqrt(l.prior[i]*l.prior[j]) }, &all)
	return symmetric(&all), true
}

func symmetric(a *mat.Dense) *mat.SymDense {
	q, _ := a.Dims()
	out := mat.NewSymDense(q, nil)
	for i := range q {
		for j := range i + 1 {
			out.SetSym(i, j, 0.5*(a.At(i, j)+a.At(j, i)))
		}
	}
	return out
}

// Draw takes the next μ̃, by quantiles that the roots of primes spread evenly.
func (l *location) Draw() {
	l.draws++
	for k, root := range l.roots {
		_, u := math.Modf(l.draws * root)
		l.drawn[k] = l.centred[k] + math.Sqrt2*math.Erfinv(2*u-1)/math.Sqrt(l.prior[k])
	}
}

// rootsOfPrimes are of the first ones.
func rootsOfPrimes(count int) (roots []float64) {
	for n := int64(2); len(roots) < count; n++ {
		if big.NewInt(n).ProbablyPrime(0) {
			roots = append(roots, math.Sqrt(float64(n)))
		}
	}
	return roots
}

// widen takes how θ is stretched about a centre.
func (l *location) widen(centre []float64, covariance *mat.SymDense, own []float64, dispersion, n float64) {
	l.rows.At(centre)
	q, next := len(centre), l.rows.chance(l.family, centre, dispersion)
	ofB, ok1 := sandwich(q, l.read.slope, own)
	ofM, ok2 := sandwich(q, l.rows.slope, own)
	ofTheta, ok3 := sandwich(q, l.rows.slope, next)
	if !(ok1 && ok2 && ok3) {
		return
	}
	l.centre = centre
	for k, v := range ofM {
		l.unnoised[k] = math.Sqrt(ofTheta[k] / v)
		l.stretch[k] = math.Sqrt(max(1+(ofTheta[k]-v)/n/(covariance.At(k, k)*v/ofB[k]), 1))
	}
}

// mostStrained is how many sds of choice and noise the sampler's law of x may miss sums of y by.
const mostStrained = 3

// sandwich is the diagonal of M⁻¹WM⁻¹, of which lower triangles are read.
func sandwich(n int, m, w []float64) (diagonal []float64, ok bool) {
	root := slices.Clone(m)
	if !dense.Cholesky(root, n) {
		return nil, false
	}
	row, by := make([]float64, n), make([]float64, n)
	for k := range n {
		clear(row)
		row[k] = 1
		dense.Solve(root, n, row)
		dense.SymMulVec(by, w, n, row)
		diagonal = append(diagonal, floats.Dot(row, by))
	}
	return diagonal, true
}

// Index is the sd of η within u at θ, and E g″/E g′ there.
func (l *location) Index(theta []float64) (s, bend float64) {
	l.rows.At(theta)
	return l.rows.S, l.rows.Bend()
}

// Most steps, the change of η from which on they are shortened, and the square of the last in sds of the posterior.
const (
	locationSteps  = 50
	locationStride = 1.5
	locationLeft   = 1e-8
)

// ToRows makes theta that of rows. It reports false where steps do not end.
func (l *location) ToRows(theta []float64) bool {
	if l.alike {
		return true
	}
	l.read.At(theta)
	floats.AddTo(l.m, l.read.M, l.off)
	return l.solve(theta)
}

// solve makes theta, which is b, that of m: with r = m − m(θ), M the derivative of m(θ) and A = M_b⁻¹LM_b⁻¹, steps are
// (MAM + Λ)⁻¹(MAr + MM_b⁻¹Λ(b̄ − μ) − Λ(θ − μ̃)).
func (l *location) solve(theta []float64) bool {
	copy(l.b, theta)
	l.start(theta)
	q := len(theta)
	r, force, precision := mat.NewVecDense(q, nil), mat.NewVecDense(q, nil), mat.NewSymDense(q, nil)
	var root mat.Cholesky
	var half, square mat.Dense
	var step, left, pulled mat.VecDense
	for range locationSteps {
		l.rows.At(theta)
		slope := l.rows.derivative()
		half.Mul(slope, l.told)
		square.Mul(&half, slope)
		for k, v := range l.rows.M {
			r.SetVec(k, l.m[k]-v)
		}
		force.MulVec(&half, r)
		pulled.MulVec(slope, l.back)
		force.AddVec(force, &pulled)
		for i := range q {
			force.SetVec(i, force.AtVec(i)-l.prior[i]*(theta[i]-l.drawn[i]))
			for j := range i + 1 {
				precision.SetSym(i, j, square.At(i, j))
			}
			precision.SetSym(i, i, precision.At(i, i)+l.prior[i])
		}
		if !root.Factorize(precision) || root.SolveVecTo(&step, force) != nil {
			copy(theta, l.b)
			break
		}
		left.MulVec(precision, &step)
		if mat.Dot(&left, &step) < locationLeft {
			return true
		}
		own := step.RawVector().Data
		floats.AddScaled(theta, min(1, locationStride/l.rows.change(own)), own)
	}
	return false
}

// start takes slopes to where η varies by an sd of 1 at most, and steps are not lost where g is flat.
func (l *location) start(theta []float64) {
	if l.read.spread(theta); !(l.read.S > 1) {
		return
	}
	for at, share := range l.read.share {
		theta[0] += (1 - 1/l.read.S) * share * floats.Dot(theta[1:], l.read.mean[at][1:])
	}
	floats.Scale(1/l.read.S, theta[1:])
}

// inform takes a precision of b to that of θ, CᵀPC with C = db/dθ = M_b⁻¹M_θ, where ToRows was last.
func (l *location) inform(precision []float64) {
	if l.alike {
		return
	}
	n := len(l.b)
	var c, out mat.Dense
	if c.Solve(l.read.derivative(), l.rows.derivative()) != nil {
		return
	}
	p := mat.NewDense(n, n, precision)
	out.Mul(p, &c)
	p.Mul(c.T(), &out)
	for i := 0; l.centre != nil && i < n*n; i++ {
		precision[i] /= l.unnoised[i/n] * l.unnoised[i%n]
	}
}

// Stretch takes θ, after ToRows, to what varies as it should.
func (l *location) Stretch(theta []float64) {
	for k, c := range l.centre {
		theta[k] = c + l.stretch[k]*(theta[k]-c)
	}
}

// Apart are the groups of covariates that are 0 or 1: read, those that samplers of a release have apart, of factors that have a
// law of their own and whose dummies come first; and rows, all. Columns that are made of others are in no group, nor are any from
// where these would have more than mostApart values.
func Apart(r *release.Release) (read, rows [][]int) {
	first, values := r.OwnLaw(), 1
	of := make(map[string]int) // the group of a name
	for _, j := range Dummies(r) {
		name := cmp.Or(r.Schema.Covariates[j].Factor, r.Schema.Covariates[j].Name)
		at, known := of[name]
		if !known {
			at = len(rows)
			rows, of[name] = append(rows, nil), at
		}
		if rows[at] = append(rows[at], j); j < first {
			read = rows
		}
	}
	for at, g := range rows {
		if values *= len(g) + 1; values > mostApart && at >= len(read) {
			return read, rows[:at]
		}
	}
	return read, rows
}

// mostApart is how many values of columns of 0 and 1 a location has at most.
const mostApart = 64
