package individual

import (
	"math"

	"gonum.org/v1/gonum/floats"

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
// At fixed U, |∂U_ij/∂P_ij| = R_ii for j < i with U_ij = L_ij/(L_ii L_jj), and for
// model.Coordinates, i < p, R_ii L_jj;
// |∂β/∂(row of y in U)| = σ^p; the other changes have Jacobian 1. So
//
//	log|∂φ/∂(v̄, P)| = p log σ + Σ_i i log R_ii + Σ_{j<p} (p − 1 − j) log L_jj,  i = 0, …, m − 1.
//
// The unit of v̄ and P is τ = r/√(1 + r²), r the noise's scale over n: about what z
// leaves open of them, so that a chain need not find out by itself that they are
// narrower than U.
//
// Coordinates lie in the order v̄ (without that of y where there is no intercept:
// it is then βᵀx̄ + σē_y), P row by row, u_1, and the columns of u_2 … u_n.
type frame struct {
	shape   model.Shape
	m, p, n int
	kappa   float64
	unit    float64 // τ
	coords  *model.Coordinates
	params  *model.Params

	kurtosis model.Kurtosis

	centre        []float64 // ē
	rows          []float64 // U's other rows, by column
	scatter       []float64 // S, m×m symmetric
	mean, mu      []float64 // v̄, μ
	lower         []float64 // P
	d, l, r, rinv []float64 // D, L, R, R⁻¹, m×m
	phi           []float64 // φ in model.Coordinates

	gMean, gMu []float64 // gradients in v̄ and μ
	gL         []float64 // in L, lower triangle
	gS         []float64 // in S, m×m symmetric
	gPhi       []float64 // the prior's in φ
	gRow       []float64 // L_x⁻¹ times that in β
	work       [3][]float64
}

func newFrame(s model.Shape, prior *model.Prior, n int, unit float64) *frame {
	m := s.M()
	vec := func() []float64 { return make([]float64, m) }
	square := func() []float64 { return make([]float64, m*m) }
	f := &frame{shape: s, m: m, p: s.P, n: n, kappa: priorRows(prior), unit: unit,
		coords: model.NewCoordinates(s, prior), params: model.NewParams(s), kurtosis: prior.Kurtosis,
		centre: vec(), scatter: square(), mean: vec(), mu: vec(), lower: make([]float64, m*(m+1)/2), d: square(), l: square(), r: square(), rinv: square(),
		gMean: vec(), gMu: vec(), gL: square(), gS: square(), gRow: vec(), work: [3][]float64{square(), square(), square()}}
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
	first := f.means()
	floats.ScaleTo(f.mean[:first], f.unit, x[:first])
	floats.ScaleTo(f.lower, f.unit, x[first:][:len(f.lower)])
	root := math.Sqrt(float64(f.n))
	for j, u := range x[lead-m : lead] {
		f.centre[j] = u / root
	}
	f.rows = x[lead:]
	if !f.factor() {
		return false
	}
	f.triangle()
	dense.MulLower(f.l, f.d, f.rinv, m)
	f.slopes()
	if !f.shape.Intercept {
		v := f.l[m*m-1] * f.centre[p]
		for j, b := range f.beta() {
			v += b * f.mean[j]
		}
		f.mean[p] = v
	}
	for i := range m {
		v := f.mean[i]
		for j, l := range f.l[i*m : i*m+i+1] {
			v -= l * f.centre[j]
		}
		f.mu[i] = v
	}
	f.parameters()
	return true
}

// factor computes S, R and R⁻¹.
func (f *frame) factor() bool {
	m := f.m
	scatter(f.scatter, f.rows, m, f.n-1)
	scale := 1 / (float64(f.n-1) + f.kappa)
	for i := range m {
		floats.ScaleTo(f.r[i*m:i*m+i+1], scale, f.scatter[i*m:i*m+i+1])
		f.r[i*m+i] += f.kappa * scale
	}
	if !dense.Cholesky(f.r, m) {
		return false
	}
	dense.InvertLower(f.rinv, f.r, m)
	return true
}

// triangle takes D of P.
func (f *frame) triangle() {
	m, p, at := f.m, f.lower, 0
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

// slopes takes β of L: L_xᵀβ is L's row of y.
func (f *frame) slopes() {
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

// parameters takes φ and the parameters, of μ, L and the logarithms in P.
func (f *frame) parameters() {
	m, p, q := f.m, f.p, f.shape.Q()
	if f.shape.Intercept {
		v := f.mu[p]
		for j, b := range f.beta() {
			v -= b * f.mu[j]
		}
		f.params.Theta[0] = v
	}
	copy(f.phi, f.params.Theta)
	f.phi[q] = 2 * (f.lower[diagonal(p)] - math.Log(f.r[m*m-1]))
	at := q + 1 + copy(f.phi[q+1:], f.mu[:p])
	for i := range p {
		for j := range i {
			f.phi[at] = f.l[i*m+j] / f.l[i*m+i]
			at++
		}
		f.phi[at] = f.lower[diagonal(i)] - math.Log(f.r[i*m+i])
		at++
	}
	f.coords.Constrain(f.params, f.phi)
}

// coordinates writes v̄ and P of parameters to x, whose residuals U stand there. It
// reports false where rounding forbids that.
func (f *frame) coordinates(x []float64, params *model.Params) bool {
	m, p := f.m, f.p
	lead := f.lead()
	f.rows = x[lead:]
	if !f.factor() {
		return false
	}
	tau := f.work[0]
	copy(tau, params.Tau)
	if !dense.Cholesky(tau, p) {
		return false
	}
	clear(f.l)
	model.JointFactor(f.mu, f.l, params.Theta, params.MuX, tau, math.Sqrt(params.Sigma2))
	root := math.Sqrt(float64(f.n))
	first := f.means()
	for i := range first {
		x[i] = f.mu[i]
		for j := range i + 1 {
			x[i] += f.l[i*m+j] * x[lead-m+j] / root
		}
		x[i] /= f.unit
	}
	dense.MulLower(f.d, f.l, f.r, m)
	f.writeTriangle(x[first:])
	return true
}

// writeTriangle writes P of D.
func (f *frame) writeTriangle(p []float64) {
	m, at := f.m, 0
	for i := range m {
		for j := range i {
			p[at] = f.d[i*m+j] / (f.d[i*m+i] * f.d[j*m+j] * f.unit)
			at++
		}
		p[at] = math.Log(f.d[i*m+i]) / f.unit
		at++
	}
}
