package vi

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// Guide is a family of normal laws over R^Dim, θ = μ + Sε with ε standard normal, in
// parameters λ without constraints: μ, then the rows of S, the last entry of each being the
// logarithm of its diagonal. S is diagonal, or lower triangular where Full:
//
//	∂(gᵀSε)/∂S_jk = g_j ε_k,  entropy = Σ log S_jj.
type Guide struct {
	Dim  int
	Full bool
}

// Len is the length of λ.
func (g Guide) Len() int {
	if g.Full {
		return g.Dim + g.Dim*(g.Dim+1)/2
	}
	return 2 * g.Dim
}

// row is the j-th row of S from its first entry that may not be 0, up to the diagonal.
func (g Guide) row(lambda []float64, j int) []float64 {
	if !g.Full {
		return lambda[g.Dim+j : g.Dim+j+1]
	}
	start := g.Dim + j*(j+1)/2
	return lambda[start : start+j+1]
}

// Set writes the λ of mean μ and covariance sd²·I.
func (g Guide) Set(lambda, mean []float64, sd float64) {
	clear(lambda)
	copy(lambda[:g.Dim], mean)
	for j := range g.Dim {
		row := g.row(lambda, j)
		row[len(row)-1] = math.Log(sd)
	}
}

// Draw writes θ for ε.
func (g Guide) Draw(theta, lambda, epsilon []float64) {
	for j := range g.Dim {
		row := g.row(lambda, j)
		last := len(row) - 1
		theta[j] = lambda[j] + floats.Dot(row[:last], epsilon[j-last:j]) + math.Exp(row[last])*epsilon[j]
	}
}

// Gradient writes the gradient of gᵀθ + share·entropy with respect to λ, θ being
// what Draw made of λ and ε.
func (g Guide) Gradient(dst, lambda, gradient, epsilon []float64, share float64) {
	copy(dst[:g.Dim], gradient[:g.Dim])
	for j := range g.Dim {
		to := g.row(dst, j)
		last := len(to) - 1
		for k := range last {
			to[k] = gradient[j] * epsilon[j-last+k]
		}
		to[last] = gradient[j]*epsilon[j]*math.Exp(g.row(lambda, j)[last]) + share
	}
}

// Entropy is that of the law, up to a constant.
func (g Guide) Entropy(lambda []float64) (sum float64) {
	for j := range g.Dim {
		row := g.row(lambda, j)
		sum += row[len(row)-1]
	}
	return sum
}

// Moments write mean and standard deviations of θ.
func (g Guide) Moments(mean, sd, lambda []float64) {
	copy(mean, lambda[:g.Dim])
	for j := range g.Dim {
		row := g.row(lambda, j)
		last := len(row) - 1
		sd[j] = math.Hypot(norm(row[:last]), math.Exp(row[last]))
	}
}
