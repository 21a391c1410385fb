package compare

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/dpreg/dpreg/calibration"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
)

// The methods that do not infer from a release.
const (
	DPVI   = "dp-vi"
	DPPVI  = "dp-pvi"
	AdaSSP = "adassp"
)

// MethodNames lists what a design's method may be.
func MethodNames() []string { return append(calibration.MethodNames(), DPVI, DPPVI, AdaSSP) }

// DefaultMethods are all but mcmc-ind, whose cost grows as the number of rows does, and
// gibbs-ss-prior, which takes a law of the covariates from the prior that is not theirs.
func DefaultMethods() []string {
	return slices.DeleteFunc(MethodNames(), func(name string) bool { return name == "mcmc-ind" || name == "gibbs-ss-prior" })
}

// NeedsDelta tells whether a method has no other than Gaussian noise.
func NeedsDelta(method string) bool { return slices.Contains([]string{DPVI, DPPVI, AdaSSP}, method) }

// method is one of the methods, set for a data set and a budget.
type method interface {
	// run says how the method is set, in a few words.
	run() string
	// ready returns why the method cannot serve; what follows from budget and number of
	// rows alone is found here, once.
	ready() error
	// fit infers. Where it refuses, the error says why.
	fit(ctx context.Context, e *example, noise *mechanisms.Entropy, rng *rand.Rand) (*fitted, error)
}

// fitted is what a method gives, in scaled units.
type fitted struct {
	theta   []float64        // posterior mean, or the estimate
	draws   *posterior.Draws // of θ and σ²; nil of a point estimate
	epsilon float64          // that was spent; 0 where the method is not private
	capped  bool             // the sampler met its limit
}

// newMethod sets a method of MethodNames.
func newMethod(name string, d *Design, s size, budget release.Privacy) method {
	switch name {
	case DPVI:
		return newDPVI(s, budget)
	case DPPVI:
		return newDPPVI(s, d.Clients, budget)
	case AdaSSP:
		return adaSSP{budget}
	}
	return released{name, budget}
}

// means are those of the first columns.
func means(d *posterior.Draws, columns int) []float64 {
	mean, width := make([]float64, columns), len(d.Names)
	for _, chain := range d.Chains {
		for at := 0; at < len(chain); at += width {
			for j := range mean {
				mean[j] += chain[at+j]
			}
		}
	}
	for j := range mean {
		mean[j] /= float64(d.NumChains() * d.NumDraws())
	}
	return mean
}
