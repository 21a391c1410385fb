package individual

import (
	"math"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/model"
)

// frame are the rows and the parameters in coordinates for Hamiltonian dynamics.
// A row is v_i = μ + L e_i, e_i standard normal, with the parameters' joint law
// v ~ N(μ, LLᵀ):
//
//	L = [ L_x    0 ]   T = L_x L_xᵀ     μ = (μ_x, θ₀ + βᵀμ_x).
//	    [ βᵀL_x  σ ]
//
// The residuals are turned: (e_1 … e_n)ᵀ = H U with the Householder reflection H
// that has 1/√n in its first column. So the rows u_i of U are standard normal too,
// the residuals' mean is ē = u_1/√n, and their scatter about it S = Σ_{i≥2} u_i u_iᵀ.
//
// What z tells of is the rows' mean and scatter rather than μ and L, so these
// are the coordinates:
//
//	v̄ = μ + L ē,   D = L R,   RRᵀ = (S + κI)/(n − 1 + κ),
//	P_ii = log D_ii,  P_ij = D_ij/(D_ii D_jj)  for i > j.
//
// With κ = 0, n DDᵀ would be near the scatter of the rows: z pins D, and φ follows
// from it and from U. With κ → ∞, D is L, and the scatter follows. κ is the
// prior's weight in rows, so that what the prior pins does not move with U either.
// Any κ gives the same posterior, and κ > 0 any number of rows.
//
// At fixed U, |∂U_ij/∂P_ij| = R_ii for j < i with U as in model.Coordinates;
// |∂β/∂(row of y in U)| = σ^p; the other changes have Jacobian 1. So
//
//	log|∂φ/∂(v̄, P)| = p log σ + Σ_i i log R_ii,  i = 0, …, m − 1.
//
// Coordinates lie in the order v̄ (without that of y where there is no intercept:
// it is then βᵀx̄ + σē_y), P row by row, u_1, and the columns of u_2 … u_n.
type frame struct {
	shape   model.Shape
	m, p, n int
	kappa   float64
	coords  *model.Coordinates
	params  *model.Params

	line             []float64 // u_1 √n: ē
	rows             []float64 // U's other rows, by column
	scatter          []float64 // S, m×m symmetric
	mean, mu         []float64 // v̄, μ
	d, l, r, rinv    []float64 // lower triangular, m×m
	phi, gPhi        []float64 // in model.Coordinates
	gMean, gMu, gL   []float64 // gradients; gL's upper triangle is 0
	gS               []float64 // m×m symmetric
	work, work2, gLR []float64
	a                []float64
}

func newFrame(s model.Shape, prior *model.Prior, n int) *frame {
	m := s.M()
	vec := func() []float64 { return make([]float64, m) }
	square := func() []float64 { return make([]float64, m*m) }
	f := &frame{shape: s, m: m, p: s.P, n: n, kappa: priorRows(prior),
		coords: model.NewCoordinates(s, prior), params: model.NewParams(s),
		line: vec(), scatter: square(), mean: vec(), mu: vec(), d: square(), l: square(), r: square(), rinv: square(),
		gMean: vec(), gMu: vec(), gL: square(), gS: square(), work: square(), work2: square(), gLR: square(), a: vec()}
	f.phi, f.gPhi = make([]float64, f.coords.Dim()), make([]float64, f.coords.Dim())
	return f
}

// priorRows is the number of rows that the prior of the variances is worth.
func priorRows(prior *model.Prior) float64 {
	return math.Max(prior.Covariates.Dof, 2*prior.Theta.Shape)
}

// means is the number of coordinates of v̄.
func (f *frame) means() int {
	if f.shape.Intercept {
		return f.m
	}
	return f.p
}

// lead is the number of coordinates before the columns of u_2 … u_n.
func (f *frame) lead() int { return f.means() + f.m*(f.m+1)/2 + f.m }

// Dim returns the number of coordinates.
func (f *frame) Dim() int { return f.lead() + f.m*(f.n-1) }

// set goes to a point; it reports false where rounding forbids that.
func (f *frame) set(x []float64) bool {
	m, p := f.m, f.p
	lead := f.lead()
	first := copy(f.mean, x[:f.means()])
	root := 1 / math.Sqrt(float64(f.n))
	for j, u := range x[lead-m : lead] {
		f.line[j] = u * root
	}
	f.rows = x[lead:]
	if !f.factor() {
		return false
	}
	f.triangle(x[first:])
	f.multiplyFactors(f.l, f.d, f.rinv)
	f.regression()
	if !f.shape.Intercept {
		v := f.l[m*m-1] * f.line[p]
		for j, b := range f.params.Theta {
			v += b * f.mean[j]
		}
		f.mean[p] = v
	}
	for i := range m {
		v := f.mean[i]
		for j, l := range f.l[i*m : i*m+i+1] {
			v -= l * f.line[j]
		}
		f.mu[i] = v
	}
	f.parameters(x[first:])
	return true
}

// factor computes S, R and R⁻¹.
func (f *frame) factor() bool {
	m := f.m
	scatter(f.scatter, f.rows, m, f.n-1)
	scale := 1 / (float64(f.n-1) + f.kappa)
	for i := range m {
		for j := range i + 1 {
			f.r[i*m+j] = f.scatter[i*m+j] * scale
		}
		f.r[i*m+i] += f.kappa * scale
	}
	if !dense.Cholesky(f.r, m) {
		return false
	}
	dense.InvertLower(f.rinv, f.r, m)
	return true
}

// triangle takes D of P.
func (f *frame) triangle(p []float64) {
	m, at := f.m, 0
	for i := range m {
		dii := math.Exp(p[at+i])
		row := f.d[i*m : i*m+i+1]
		for j, v := range p[at : at+i] {
			row[j] = v * dii * f.d[j*m+j]
		}
		row[i] = dii
		at += i + 1
	}
}

// multiplyFactors writes AB of lower triangular A and B.
func (f *frame) multiplyFactors(dst, a, b []float64) {
	m := f.m
	for i := range m {
		for j := range i + 1 {
			sum := 0.0
			for k := j; k <= i; k++ {
				sum += a[i*m+k] * b[k*m+j]
			}
			dst[i*m+j] = sum
		}
	}
}

// regression takes β of L: L_xᵀβ = L's row of y.
func (f *frame) regression() {
	m, p := f.m, f.p
	beta := f.beta()
	for j := p - 1; j >= 0; j-- {
		v := f.l[p*m+j]
		for i := j + 1; i < p; i++ {
			v -= f.l[i*m+j] * beta[i]
		}
		beta[j] = v / f.l[j*m+j]
	}
}

// beta are the slopes, within θ.
func (f *frame) beta() []float64 { return f.params.Theta[f.shape.Q()-f.p:] }

// parameters takes φ, and the parameters in their own units.
func (f *frame) parameters(triangle []float64) {
	m, p, q := f.m, f.p, f.shape.Q()
	if f.shape.Intercept {
		v := f.mu[p]
		for j, b := range f.beta() {
			v -= b * f.mu[j]
		}
		f.params.Theta[0] = v
	}
	copy(f.phi, f.params.Theta)
	f.phi[q] = 2 * (triangle[diagonal(p)] - math.Log(f.r[m*m-1]))
	at := q + 1 + copy(f.phi[q+1:], f.mu[:p])
	for i := range p {
		for j := range i {
			f.phi[at] = f.l[i*m+j] / (f.l[i*m+i] * f.l[j*m+j])
			at++
		}
		f.phi[at] = triangle[diagonal(i)] - math.Log(f.r[i*m+i])
		at++
	}
	f.coords.Constrain(f.params, f.phi)
}

// prior returns the log density of parameters and residuals in these coordinates,
// and starts the gradients gMean, gL, gS.
func (f *frame) prior() float64 {
	m, p := f.m, f.p
	logp := f.coords.LogPrior(f.gPhi, f.params) + 0.5*float64(p)*f.phi[f.shape.Q()]
	squares := 0.0
	for i := range m {
		logp += float64(i) * math.Log(f.r[i*m+i])
		squares += f.line[i]*f.line[i]*float64(f.n) + f.scatter[i*m+i]
	}
	clear(f.gMean)
	clear(f.gL)
	clear(f.gS)
	return logp - 0.5*squares
}

// pull writes the gradient, given that of the rest of the density in gMean, gL
// and gS.
func (f *frame) pull(grad, x []float64) {
	m, lead := f.m, f.lead()
	clear(grad[:lead])
	f.pullRegression(grad[lead-m : lead])
	f.pullPhi()
	for i, g := range f.gMu {
		f.gMean[i] += g
		for j := range i + 1 {
			f.gL[i*m+j] -= g * f.line[j]
		}
	}
	first := copy(grad, f.gMean[:f.means()])
	f.pullFactors(grad[first:])
	f.pullLine(grad[lead-m:lead], x[lead-m:lead])
	for i := range m {
		for j := range m {
			f.work[i*m+j] = 2 * f.gS[i*m+j]
		}
		f.work[i*m+i]--
	}
	turn(grad[lead:], x[lead:], f.work, m, f.n-1)
}

// pullLine finishes the gradient in u_1: −Lᵀ∂μ/√n − u_1.
func (f *frame) pullLine(grad, u []float64) {
	m, root := f.m, 1/math.Sqrt(float64(f.n))
	for j := range m {
		g := 0.0
		for i := j; i < m; i++ {
			g += f.l[i*m+j] * f.gMu[i]
		}
		grad[j] -= root*g + u[j]
	}
}

// pullRegression takes the prior's gradient in θ to μ and to L's row of y; gLine
// is that in u_1, where ȳ depends on it.
func (f *frame) pullRegression(gLine []float64) {
	m, p := f.m, f.p
	beta := f.beta()
	gBeta := f.gPhi[f.shape.Q()-p : f.shape.Q()]
	copy(f.gMu, f.gPhi[f.shape.Q()+1:][:p])
	if f.shape.Intercept { // θ₀ = μ_y − βᵀμ_x
		g := f.gPhi[0]
		f.gMu[p] = g
		for j, b := range beta {
			f.gMu[j] -= g * b
			gBeta[j] -= g * f.mu[j]
		}
	} else { // v̄_y = βᵀx̄ + σē_y
		g := f.gMean[p]
		f.gMu[p] = 0
		for j, b := range beta {
			f.gMean[j] += g * b
			gBeta[j] += g * f.mean[j]
		}
		f.gL[m*m-1] += g * f.line[p]
		gLine[p] += g * f.l[m*m-1] / math.Sqrt(float64(f.n))
	}
	// β = L_x⁻ᵀℓ: ∂ℓ = a = L_x⁻¹∂β, ∂L_x = −βaᵀ
	for j := range p {
		v := gBeta[j]
		for k, u := range f.a[:j] {
			v -= f.l[j*m+k] * u
		}
		f.a[j] = v / f.l[j*m+j]
		f.gL[p*m+j] += f.a[j]
		for i := j; i < p; i++ {
			f.gL[i*m+j] -= beta[i] * f.a[j]
		}
	}
}

// pullPhi takes the prior's gradient in log σ² and in T's coordinates to L.
func (f *frame) pullPhi() {
	m, p, q := f.m, f.p, f.shape.Q()
	f.gL[m*m-1] += (2*f.gPhi[q] + float64(p)) / f.l[m*m-1]
	at := q + 1 + p
	for i := range p {
		lii := f.l[i*m+i]
		for j := range i {
			g, u, ljj := f.gPhi[at], f.phi[at], f.l[j*m+j]
			f.gL[i*m+j] += g / (lii * ljj)
			f.gL[i*m+i] -= g * u / lii
			f.gL[j*m+j] -= g * u / ljj
			at++
		}
		f.gL[i*m+i] += f.gPhi[at] / lii
		at++
	}
}

// pullFactors takes the gradient in L to P and S. From L = DR⁻¹,
//
//	∂D = ∂L R⁻ᵀ,   ∂R = −Lᵀ∂L R⁻ᵀ + diag(i/R_ii)   (lower triangles),
//
// and from RRᵀ = A, with Φ the lower triangle of half the diagonal (Murray 2016,
// arXiv:1602.07527), ∂A = sym(R⁻ᵀ Φ(Rᵀ∂R) R⁻¹).
func (f *frame) pullFactors(gP []float64) {
	m := f.m
	gd, gr, t := f.work, f.work2, f.gLR
	for i := range m { // ∂L R⁻ᵀ, whole
		for j := range m {
			sum := 0.0
			for k := 0; k <= min(i, j); k++ {
				sum += f.gL[i*m+k] * f.rinv[j*m+k]
			}
			gd[i*m+j] = sum
		}
	}
	for i := range m {
		for j := range i + 1 {
			sum := 0.0
			for k := i; k < m; k++ {
				sum += f.l[k*m+i] * gd[k*m+j]
			}
			gr[i*m+j] = -sum
		}
		gr[i*m+i] += float64(i) / f.r[i*m+i]
	}
	for i := range m { // Φ(Rᵀ∂R)
		for j := range i + 1 {
			sum := 0.0
			for k := i; k < m; k++ {
				sum += f.r[k*m+i] * gr[k*m+j]
			}
			t[i*m+j] = sum
		}
		t[i*m+i] *= 0.5
	}
	f.pullTriangle(gP, gd)
	scale := 0.5 / (float64(f.n-1) + f.kappa)
	f.multiplyFactors(gr, t, f.rinv)
	for i := range m {
		for j := range i + 1 {
			sum := 0.0
			for k := i; k < m; k++ {
				sum += f.rinv[k*m+i] * gr[k*m+j]
			}
			_ = scale
			t[i*m+j] = sum
		}
		for j := i + 1; j < m; j++ {
			sum := 0.0
			for k := j; k < m; k++ {
				sum += f.rinv[k*m+i] * gr[k*m+j]
			}
			t[i*m+j] = sum
		}
	}
	for i := range m {
		for j := range m {
			f.gS[i*m+j] += scale * (t[i*m+j] + t[j*m+i])
		}
	}
}

// pullTriangle writes the gradient in P, given that in D.
func (f *frame) pullTriangle(grad, gd []float64) {
	m, at := f.m, 0
	for i := range m {
		dii := f.d[i*m+i]
		for j := range i + 1 {
			g, dij := gd[i*m+j], f.d[i*m+j]
			grad[diagonal(i)] += g * dij
			if j < i {
				grad[diagonal(j)] += g * dij
				grad[at] = g * dii * f.d[j*m+j]
			}
			at++
		}
	}
}

// coordinates writes v̄ and P of parameters to x, whose residuals stand there.
func (f *frame) coordinates(x []float64, params *model.Params) bool {
	m, p := f.m, f.p
	lead := f.lead()
	f.rows = x[lead:]
	if !f.factor() {
		return false
	}
	tau := f.work
	copy(tau, params.Tau)
	if !dense.Cholesky(tau[:p*p], p) {
		return false
	}
	clear(f.l)
	for i := range p {
		copy(f.l[i*m:i*m+i+1], tau[i*p:])
	}
	beta := params.Theta[f.shape.Q()-p:]
	f.mu[p] = 0
	if f.shape.Intercept {
		f.mu[p] = params.Theta[0]
	}
	for j := range p {
		f.mu[p] += beta[j] * params.MuX[j]
		for i := j; i < p; i++ {
			f.l[p*m+j] += f.l[i*m+j] * beta[i]
		}
	}
	copy(f.mu, params.MuX)
	f.l[m*m-1] = math.Sqrt(params.Sigma2)
	root := 1 / math.Sqrt(float64(f.n))
	first := f.means()
	for i := range first {
		x[i] = f.mu[i]
		for j := range i + 1 {
			x[i] += f.l[i*m+j] * x[lead-m+j] * root
		}
	}
	f.multiplyFactors(f.d, f.l, f.r)
	at := first
	for i := range m {
		for j := range i {
			x[at] = f.d[i*m+j] / (f.d[i*m+i] * f.d[j*m+j])
			at++
		}
		x[at] = math.Log(f.d[i*m+i])
		at++
	}
	return true
}
