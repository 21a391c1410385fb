package individual

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/internal/dense"
)

// prior returns the log density of parameters and residuals in these coordinates,
// and starts the gradients gMean, gL, gS.
func (f *frame) prior() float64 {
	m, p := f.m, f.p
	logp := f.coords.LogPrior(f.gPhi, f.params) + 0.5*float64(p)*f.phi[f.shape.Q()]
	squares := 0.0
	for i := range m {
		logp += float64(i) * math.Log(f.r[i*m+i])
		if i < p {
			logp += float64(p-1-i) * math.Log(f.l[i*m+i])
		}
		squares += f.centre[i]*f.centre[i]*float64(f.n) + f.scatter[i*m+i]
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
	f.pullVariances()
	for i, g := range f.gMu {
		f.gMean[i] += g
		floats.AddScaled(f.gL[i*m:i*m+i+1], -g, f.centre[:i+1])
	}
	first := copy(grad, f.gMean[:f.means()])
	f.pullFactors(grad[first:])
	floats.Scale(f.unit, grad[:lead-m])
	f.pullCentre(grad[lead-m:lead], x[lead-m:lead])
	f.pullScatter(grad[lead:])
}

// pullScatter writes the gradient in the other rows of U by S and by their law,
// ∂U = U(2∂S − I).
func (f *frame) pullScatter(grad []float64) {
	of := f.work[0]
	floats.ScaleTo(of, 2, f.gS)
	for i := range f.m {
		of[i*f.m+i]--
	}
	times(grad, f.rows, of, f.m, f.n-1)
}

// pullCentre finishes the gradient in u_1 = √n ē: −Lᵀ∂μ/√n − u_1.
func (f *frame) pullCentre(grad, u []float64) {
	of, root := f.work[0][:f.m], math.Sqrt(float64(f.n))
	dense.MulLowerTVec(of, f.l, f.m, f.gMu)
	for j, g := range of {
		grad[j] -= g/root + u[j]
	}
}

// pullRegression takes the prior's gradient in θ and μ_x to μ and L, and where
// there is no intercept that in ȳ to what ȳ depends on, ē by gCentre, in u_1.
func (f *frame) pullRegression(gCentre []float64) {
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
		f.gL[m*m-1] += g * f.centre[p]
		gCentre[p] += g * f.l[m*m-1] / math.Sqrt(float64(f.n))
	}
	// β = L_x⁻ᵀℓ: ∂ℓ = a = L_x⁻¹∂β, ∂L_x = −βaᵀ
	for j := range p {
		v := gBeta[j]
		for k, u := range f.gRow[:j] {
			v -= f.l[j*m+k] * u
		}
		f.gRow[j] = v / f.l[j*m+j]
		f.gL[p*m+j] += f.gRow[j]
		for i := j; i < p; i++ {
			f.gL[i*m+j] -= beta[i] * f.gRow[j]
		}
	}
}

// pullVariances takes the prior's gradient in log σ² and in T's coordinates to L.
func (f *frame) pullVariances() {
	m, p, q := f.m, f.p, f.shape.Q()
	f.gL[m*m-1] += (2*f.gPhi[q] + float64(p)) / f.l[m*m-1]
	at := q + 1 + p
	for i := range p {
		lii := f.l[i*m+i]
		for j := range i {
			g := f.gPhi[at] / lii
			f.gL[i*m+j] += g
			f.gL[i*m+i] -= g * f.phi[at]
			at++
		}
		f.gL[i*m+i] += (f.gPhi[at] + float64(p-1-i)) / lii
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
	gD, gR, half := f.work[0], f.work[1], f.work[2]
	for i := range m { // above the diagonal too, for ∂R
		dense.MulLowerVec(gD[i*m:(i+1)*m], f.rinv, m, f.gL[i*m:(i+1)*m])
	}
	f.pullTriangle(gP, gD)
	for i := range m {
		for j := range i + 1 {
			sum := 0.0
			for k := i; k < m; k++ {
				sum += f.l[k*m+i] * gD[k*m+j]
			}
			gR[i*m+j] = -sum
		}
		gR[i*m+i] += float64(i) / f.r[i*m+i]
	}
	for i := range m {
		for j := range i + 1 {
			sum := 0.0
			for k := i; k < m; k++ {
				sum += f.r[k*m+i] * gR[k*m+j]
			}
			half[i*m+j] = sum
		}
		half[i*m+i] *= 0.5
	}
	dense.MulLower(gR, half, f.rinv, m) // Φ R⁻¹
	scale := 0.5 / (float64(f.n-1) + f.kappa)
	for i := range m {
		for j := range m {
			sum := 0.0
			for k := max(i, j); k < m; k++ {
				sum += f.rinv[k*m+i] * gR[k*m+j]
			}
			f.gS[i*m+j] += scale * sum
			f.gS[j*m+i] += scale * sum
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
