package vi

// Guide is a family of normal laws over θ, in parameters λ without constraints: with ε
// standard normal, θ = m + Sε, S = S(λ).
type Guide interface {
	// Len is the length of λ.
	Len() int
	// Set writes the λ of mean m and covariance sd²·I.
	Set(lambda, mean []float64, sd float64)
	// Draw writes θ for ε.
	Draw(theta, lambda, epsilon []float64)
	// Gradient writes the gradient of gᵀθ + share·entropy with respect to λ, θ being
	// what Draw made of λ and ε.
	Gradient(dst, lambda, g, epsilon []float64, share float64)
	// Entropy is that of the law, up to a constant.
	Entropy(lambda []float64) float64
	// Moments write mean and standard deviations of θ.
	Moments(mean, sd, lambda []float64)
}
