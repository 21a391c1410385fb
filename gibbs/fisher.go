package gibbs

import (
	"math"

	"github.com/dpreg/dpreg/internal/dense"
)

// fisher is a metric from draws x of warm-up and the gradients g of the log density there:
// Σ = F Fᵀ with
//
//	Σ G Σ = C,   G = E ggᵀ,   C = Cov x,
//
// which is of least Fisher divergence between the density whitened by F and a standard
// normal (Seyboldt, Carlson & Carpenter 2026, "Preconditioning Hamiltonian Monte Carlo by
// minimizing Fisher divergence"). G alone tells how wide the densities are when others
// are held, C where they lie and along which ridges. With G = LLᵀ and LᵀCL = VΛVᵀ,
//
//	F = L⁻ᵀ V Λ^¼.
type fisher struct {
	k               int
	factor          []float64 // F, k×k
	count           float64
	mean            []float64 // of x
	draws, slopes   []float64 // sums of squares about the mean, and of ggᵀ: lower triangles
	delta           []float64
	lower, products []float64 // scratch
	values, vectors []float64
	work            []float64
}

func newFisher(k int) *fisher {
	vec := func() []float64 { return make([]float64, k) }
	square := func() []float64 { return make([]float64, k*k) }
	f := &fisher{k: k, factor: square(), mean: vec(), draws: square(), slopes: square(), delta: vec(),
		lower: square(), products: square(), values: vec(), vectors: square(), work: square()}
	for i := range k {
		f.factor[i*k+i] = 1
	}
	return f
}

func (f *fisher) Push(dst []float64, a float64, p []float64) {
	for i := range dst {
		dst[i] += a * dot(f.factor[i*f.k:(i+1)*f.k], p)
	}
}

func (f *fisher) Pull(dst, g []float64) {
	clear(dst)
	for i, v := range g {
		axpy(dst, v, f.factor[i*f.k:(i+1)*f.k])
	}
}

// add takes a draw and the gradient there.
func (f *fisher) add(x, g []float64) {
	f.count++
	for i, v := range x {
		f.delta[i] = v - f.mean[i]
		f.mean[i] += f.delta[i] / f.count
	}
	for i, v := range g {
		at := i * f.k
		axpy(f.slopes[at:at+i+1], v, g)
		axpy(f.draws[at:at+i+1], x[i]-f.mean[i], f.delta)
	}
}

// Update takes the metric of the window, correlations shrunk by n/(n + 5 + k), and starts
// a new one. It reports false, and leaves F as it is, where some coordinate never moved.
func (f *fisher) Update() bool {
	ok := f.estimate()
	f.count = 0
	for _, v := range [][]float64{f.mean, f.draws, f.slopes} {
		clear(v)
	}
	return ok
}

func (f *fisher) estimate() bool {
	k := f.k
	shrink := f.count / (f.count + 5 + float64(k))
	for i := range k {
		for j := range i {
			f.draws[i*k+j] *= shrink
			f.slopes[i*k+j] *= shrink
		}
		if !(f.draws[i*k+i] > 0) {
			return false
		}
	}
	copy(f.lower, f.slopes)
	if !dense.Cholesky(f.lower, k) {
		return false
	}
	dense.Symmetrise(f.draws, k)
	for i := range k { // CL, then LᵀCL, both without 1/n
		dense.MulLowerTVec(f.work[i*k:(i+1)*k], f.lower, k, f.draws[i*k:(i+1)*k])
	}
	for i := range k {
		for j := range i + 1 {
			sum := 0.0
			for h := i; h < k; h++ {
				sum += f.lower[h*k+i] * f.work[h*k+j]
			}
			f.products[i*k+j] = sum
		}
	}
	if !dense.SymEigen(f.values, f.vectors, f.products, k, f.work) {
		return false
	}
	for j, v := range f.values {
		if !(v > 0) {
			return false
		}
		// C has 1/(n−1) and L 1/√n: LᵀCL 1/(n(n−1)), and L⁻ᵀ √n.
		scale := math.Sqrt(f.count) * math.Pow(v/(f.count*(f.count-1)), 0.25)
		column := f.work[:k]
		for i := range k {
			column[i] = f.vectors[i*k+j]
		}
		dense.SolveLowerT(f.lower, k, column)
		for i, u := range column {
			f.factor[i*k+j] = scale * u
		}
	}
	return true
}
