// Package calibration asks whether posteriors are right: it draws parameters
// from the prior, data from the parameters, samples the posterior given the
// data, and looks where among its draws the truth lies. If and only if the draws
// come from the posterior is the truth's rank uniform, for every quantity
// (Cook, Gelman & Rubin 2006, Journal of Computational and Graphical Statistics
// 15(3); Talts, Betancourt, Simpson, Vehtari & Gelman 2018, arXiv:1804.06788).
//
// A Study is a list of cells, each a Subject: whatever can do one such trial. A
// Design is a study of the regression of package dpreg, over numbers of rows,
// budgets ε, covariates and methods; Fig3 and Fig4 are those of Bernstein &
// Sheldon (2019), Differentially Private Bayesian Linear Regression, NeurIPS. A Design
// of a population takes its truths from real rows in place of the prior, and asks for
// coverage beside that of least squares.
//
// Results are data: package report writes tables and draws pictures of them.
package calibration

import (
	"context"
	"math/rand/v2"

	"github.com/dpreg/dpreg/posterior"
)

// Subject is what is on trial: a model together with a sampler of its posterior.
type Subject interface {
	// Trial draws a truth and data from the model with the generator data, and
	// the posterior given those data with the generator sampler, and takes no
	// randomness from elsewhere. Several goroutines call it at once.
	//
	// An error other than ctx's is a result: the trial is kept and counted as
	// failed, and the study goes on.
	Trial(ctx context.Context, data, sampler *rand.Rand) (*Sample, error)
}

// Sample is what one trial gives: quantities with a truth and draws, or measures, or
// both.
type Sample struct {
	// Names are those of the quantities, in the same order in every trial. A
	// name that stands several times is of quantities that are alike; a summary
	// pools them.
	Names []string
	// Truth is each quantity's true value.
	Truth []float64
	// Draws are of the posterior: column j is quantity j. At least Ranked of
	// them, over all chains.
	Draws *posterior.Draws
	// Coefficients, if not nil, say more of each quantity: a coefficient in a population.
	Coefficients []Coefficient
	// Reference are draws of the first quantities, as many as it has columns,
	// from a posterior to compare with by MMD; nil compares with none.
	Reference *posterior.Draws
	// Capped: the sampler stopped at its limit before it reached the effective
	// sample size that it was to reach.
	Capped bool
	// Clamped is the share of simulated values that were clamped to their bounds.
	Clamped float64
	// Measures are numbers that the subject itself makes of the trial. They are kept, and
	// a Summary leaves them to whoever knows what they mean.
	Measures []Measure
	// Seconds that the sampler took; 0 stands for all of the trial.
	Seconds float64
}

// Measure is a number with a name.
type Measure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// Setting names a cell: two cells of a study differ in it. What a study does not
// vary stays zero. Method names the sampler; cells that differ only in Method,
// Kernel, Sensitivity and Run see the same data.
type Setting struct {
	N           int64   `json:"n,omitempty"`
	Epsilon     float64 `json:"epsilon,omitempty"`
	P           int     `json:"p,omitempty"`
	Method      string  `json:"method"`
	Kernel      string  `json:"kernel,omitempty"`
	Sensitivity string  `json:"sensitivity,omitempty"`
	Run         string  `json:"run,omitempty"` // how long the sampler runs
}

// Cell is a subject under its setting.
type Cell struct {
	Setting
	Subject Subject
}
