// Package vi is variational inference under differential privacy, for any
// differentiable log joint density whose records are independent given the
// parameters (Jälkö, Dikmen & Honkela, UAI 2017; Prediger et al., PETS 2022).
//
// Records leave a run through one door: at each step, the sum over a random batch of
// the records' gradients, each clipped to a norm and rounded to a lattice, plus exact
// normal noise. docs/vi.md has the proof.
package vi

// Model is a log joint density
//
//	log p(θ) + Σ_i log p(record i | θ)
//
// over unconstrained parameters θ ∈ R^Dim; parameters with a support are transformed,
// as in automatic differentiation variational inference (Kucukelbir et al., JMLR 18,
// 2017). A Model holds its records. It need not serve several goroutines at once, so it
// may keep a workspace, and no method should allocate.
type Model interface {
	// Dim is the length of θ.
	Dim() int
	// Len is the number of records.
	Len() int
	// LogLik returns log p(record i | θ) and overwrites grad, of length Dim, with its
	// gradient. Both are functions of record i and θ alone, to the last bit: that is what
	// the guarantee rests on. Where either is not finite, the record's gradient counts as 0.
	LogLik(grad, theta []float64, i int) float64
	// LogPrior returns the log density of θ, with the Jacobian of the transformations,
	// and overwrites grad with its gradient. It does not depend on records.
	LogPrior(grad, theta []float64) float64
	// Names are those of the parameters as they are shown.
	Names() []string
	// Constrain writes the parameters as they are shown, len(Names()) of them.
	Constrain(dst, theta []float64)
}

// Linear is a Model whose records bear on θ through one linear predictor each,
//
//	log p(record i | θ) = f_i(η_i),  η_i = Σ_j x_ij θ_j,
//
// the sum being over the first Predictors() parameters: the gradient is f′_i(η_i) x_i there
// and 0 elsewhere. Such a model need not write gradients out, and no noise is added where
// they are 0.
type Linear interface {
	Model
	// Predictors is the length of every x_i, whether there are records or not.
	Predictors() int
	// Covariates returns x_i, which is not to be changed.
	Covariates(i int) []float64
	// Slope returns f′_i(η).
	Slope(i int, eta float64) float64
}
