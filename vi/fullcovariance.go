package vi

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// fullCovariance is N(μ, LLᵀ) with L lower triangular, λ = (μ, rows of L), the diagonal
// of L in logarithms:
//
//	∂(gᵀLε)/∂L_jk = g_j ε_k,  entropy = Σ log L_jj.
type fullCovariance int

// FullCovariance returns the guide of all normal laws over R^dim.
func FullCovariance(dim int) Guide { return fullCovariance(dim) }

func (f fullCovariance) Len() int { d := int(f); return d + d*(d+1)/2 }

// row is the j-th row of the triangle, its last entry the logarithm of the diagonal's.
func (f fullCovariance) row(lambda []float64, j int) []float64 {
	start := int(f) + j*(j+1)/2
	return lambda[start : start+j+1]
}

func (f fullCovariance) Set(lambda, mean []float64, sd float64) {
	clear(lambda)
	copy(lambda[:f], mean)
	for j := range int(f) {
		f.row(lambda, j)[j] = math.Log(sd)
	}
}

func (f fullCovariance) Draw(theta, lambda, epsilon []float64) {
	for j := range int(f) {
		row := f.row(lambda, j)
		theta[j] = lambda[j] + floats.Dot(row[:j], epsilon[:j]) + math.Exp(row[j])*epsilon[j]
	}
}

func (f fullCovariance) Gradient(dst, lambda, g, epsilon []float64, share float64) {
	copy(dst[:f], g[:f])
	for j := range int(f) {
		to := f.row(dst, j)
		for k := range j {
			to[k] = g[j] * epsilon[k]
		}
		to[j] = g[j]*epsilon[j]*math.Exp(f.row(lambda, j)[j]) + share
	}
}

func (f fullCovariance) Entropy(lambda []float64) float64 {
	sum := 0.0
	for j := range int(f) {
		sum += f.row(lambda, j)[j]
	}
	return sum
}

func (f fullCovariance) Moments(mean, sd, lambda []float64) {
	copy(mean, lambda[:f])
	for j := range int(f) {
		row := f.row(lambda, j)
		sd[j] = math.Hypot(norm(row[:j]), math.Exp(row[j]))
	}
}
