package vi

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/posterior"
)

// Guide is a family of normal laws over R^Dim, θ = μ + Sε with ε standard normal, in
// parameters λ without constraints: μ, then the rows of S, the last entry of each being the
// logarithm of its diagonal. S is diagonal, or lower triangular where Full:
//
//	∂(gᵀSε)/∂S_jk = g_j ε_k,  entropy = Σ log S_jj.
//
// Where Point, S is 0, without parameters.
type Guide struct {
	Dim         int
	Full, Point bool
}

// Len is the length of λ.
func (g Guide) Len() int {
	switch {
	case g.Point:
		return g.Dim
	case g.Full:
		return g.Dim + g.Dim*(g.Dim+1)/2
	}
	return 2 * g.Dim
}

// scales is how many rows of S have parameters.
func (g Guide) scales() int {
	if g.Point {
		return 0
	}
	return g.Dim
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
	for j := range g.scales() {
		row := g.row(lambda, j)
		row[len(row)-1] = math.Log(sd)
	}
}

// Draw writes θ for ε.
func (g Guide) Draw(theta, lambda, epsilon []float64) {
	copy(theta, lambda[:g.Dim])
	for j := range g.scales() {
		row := g.row(lambda, j)
		last := len(row) - 1
		theta[j] = lambda[j] + floats.Dot(row[:last], epsilon[j-last:j]) + math.Exp(row[last])*epsilon[j]
	}
}

// Gradient writes the gradient of gᵀθ + share·entropy with respect to λ, θ being
// what Draw made of λ and ε.
func (g Guide) Gradient(dst, lambda, gradient, epsilon []float64, share float64) {
	copy(dst[:g.Dim], gradient[:g.Dim])
	for j := range g.scales() {
		to := g.row(dst, j)
		last := len(to) - 1
		floats.ScaleTo(to[:last], gradient[j], epsilon[j-last:j])
		to[last] = gradient[j]*epsilon[j]*math.Exp(g.row(lambda, j)[last]) + share
	}
}

// Entropy is that of the law, up to a constant.
func (g Guide) Entropy(lambda []float64) (sum float64) {
	for j := range g.scales() {
		row := g.row(lambda, j)
		sum += row[len(row)-1]
	}
	return sum
}

// Moments are mean and standard deviations of θ.
func (g Guide) Moments(lambda []float64) (mean, sd []float64) {
	mean, sd = slices.Clone(lambda[:g.Dim]), make([]float64, g.Dim)
	for j := range g.scales() {
		row := g.row(lambda, j)
		last := len(row) - 1
		sd[j] = math.Hypot(norm(row[:last]), math.Exp(row[last]))
	}
	return mean, sd
}

// Fit is the result of Run. All in it is a function of the noisy sums and of what is
// public, except for ELBOs.
type Fit struct {
	Guide  Guide
	Lambda []float64
	// Training is what was done, to an accountant: fewer steps than asked for where the
	// run was interrupted.
	Training accounting.Training
	// Privacy is the budget, with the multiplier of the noise; nil where the run was not
	// private.
	Privacy *Privacy
	// Simulated says that the noise was, so that nothing is private.
	Simulated bool
	// Moved is by how many of its standard deviations the mean of each entry of θ moved
	// from the first to the second half of the steps that were averaged; nil where none
	// were. At 2 the average is as far off as the law is wide, about.
	Moved   []float64
	Trace   []Point
	Seconds float64

	model *Model
}

// NewFit is of independent normal laws that were found in another way, of the parameters
// of a model. It panics unless there are Dim means and positive standard deviations.
func NewFit(m *Model, mean, sd []float64) *Fit {
	if len(mean) != m.Dim() || len(sd) != m.Dim() {
		panic("vi: means and standard deviations are not those of the model's parameters")
	}
	lambda := slices.Clone(mean)
	for _, s := range sd {
		if !(s > 0) {
			panic("vi: a standard deviation is not positive")
		}
		lambda = append(lambda, math.Log(s))
	}
	return &Fit{Guide: Guide{Dim: m.Dim()}, Lambda: lambda, model: m}
}

// Point is one of the trace: mean and standard deviations of θ after a step, and the mean
// ELBO since the last point, NaN in a private run.
type Point struct {
	Step     int
	Mean, SD []float64
	ELBO     float64
}

// Spent is the ε, for the budget's δ, of the steps that were done. It panics where the
// run was not private.
func (f *Fit) Spent() (float64, error) {
	if f.Training.Steps == 0 {
		return 0, nil
	}
	return f.Training.Epsilon(accounting.PLD, f.Privacy.Delta)
}

// Moments are mean and standard deviations of θ.
func (f *Fit) Moments() (mean, sd []float64) { return f.Guide.Moments(f.Lambda) }

// Constrain returns θ as the model shows it.
func (f *Fit) Constrain(theta []float64) []float64 {
	shown := make([]float64, len(f.model.Names()))
	f.model.Constrain(shown, theta)
	return shown
}

// chains is how many Draws makes, for readers of files that expect more than one.
const chains = 4

// Draws returns four chains of n independent draws from the fitted law, as the model
// shows its parameters. They cost no privacy. It panics unless n > 0.
func (f *Fit) Draws(n int, seed uint64) *posterior.Draws {
	d := &posterior.Draws{Names: f.model.Names(), Seconds: f.Seconds}
	width := len(d.Names)
	theta, epsilon := make([]float64, f.model.Dim()), make([]float64, f.model.Dim())
	for c := range chains {
		rng := rand.New(rand.NewPCG(seed, uint64(3+c)))
		chain := make([]float64, n*width)
		for i := range n {
			normal(epsilon, rng)
			f.Guide.Draw(theta, f.Lambda, epsilon)
			f.model.Constrain(chain[i*width:(i+1)*width:(i+1)*width], theta)
		}
		d.Chains = append(d.Chains, chain)
	}
	return d
}
