package vi

import "math"

// meanField is N(μ, diag s²), λ = (μ, log s):
//
//	∂θ/∂μ = I,  ∂θ/∂log s = diag(ε ⊙ s),  entropy = Σ log s.
type meanField int

// MeanField returns the guide of independent normal laws over R^dim.
func MeanField(dim int) Guide { return meanField(dim) }

func (m meanField) Len() int { return 2 * int(m) }

func (m meanField) Set(lambda, mean []float64, sd float64) {
	copy(lambda[:m], mean)
	for j := range int(m) {
		lambda[int(m)+j] = math.Log(sd)
	}
}

func (m meanField) Draw(theta, lambda, epsilon []float64) {
	for j := range int(m) {
		theta[j] = lambda[j] + math.Exp(lambda[int(m)+j])*epsilon[j]
	}
}

func (m meanField) Gradient(dst, lambda, g, epsilon []float64, share float64) {
	for j := range int(m) {
		dst[j] = g[j]
		dst[int(m)+j] = g[j]*epsilon[j]*math.Exp(lambda[int(m)+j]) + share
	}
}

func (m meanField) Entropy(lambda []float64) float64 {
	sum := 0.0
	for _, w := range lambda[m:] {
		sum += w
	}
	return sum
}

func (m meanField) Moments(mean, sd, lambda []float64) {
	copy(mean, lambda[:m])
	for j := range int(m) {
		sd[j] = math.Exp(lambda[int(m)+j])
	}
}
