package posterior

import (
	"fmt"
	"math"
	"slices"
)

// SummaryFormat is the first member of a summary's JSON.
const SummaryFormat = "dpreg-summary/3"

// NormalIQR is the interquartile range of a standard normal law.
const NormalIQR = 1.3489795003921634

// DefaultLevel is the level whose equal-tailed interval is that of the 2.5 %
// and 97.5 % quantiles.
const DefaultLevel = 0.95

// Summary says what draws tell of each parameter, and what they are draws of. What is
// empty there does not exist, or is not known.
type Summary struct {
	Version       string // of the program
	Method        string // the method's name, as on the command line
	Kernel        string // of a method that has a choice of them
	Formula       string
	ModelClamping bool
	Pooling       string  // of several releases, like Covariates
	SameRows      bool    // several releases are of the same rows
	Covariates    string  // separate or shared
	N             int64   // rows behind the releases; 0 where it is not public
	Units         string  // "original" or "scaled"
	Level         float64 // of the intervals Lower, Upper
	Releases      []Release
	Prior         any // what marshals to its JSON
	Seed          uint64
	Chains        int     // number of chains
	Warmup        int     // steps of each chain before its draws
	Draws         int     // kept draws of each chain
	Seconds       float64 // sampling time: Draws.Seconds
	Converged     *bool   // nil: draws of no Markov chain
	Warnings      []string

	Parameters []Parameter
	// Checked are those by which Converged was found, where they are not Parameters: a
	// summary in other units has another intercept.
	Checked []Parameter

	WhatIf any // what marshals to the JSON's last member, "what_if"
}

// Release is what was released: a release that was inferred from, or a law that was
// fitted to rows with noise.
type Release struct {
	Name      string // such as the file's
	N         int64  // rows; 0 where it is not public
	Simulated bool   // the noise came from a seed
	Privacy   any    // what marshals to epsilon, delta and neighbours; nil: not stated
	Noise     string // its kind
	NoiseSD   float64
	// Contradicts: of several with complete pooling, it contradicts the regression of all.
	Contradicts bool
}

// Parameter summarises one parameter. What does not exist is NaN.
type Parameter struct {
	Name, Label                string
	Mean, SD, MCSEMean         float64
	Q2_5, Q25, Q50, Q75, Q97_5 float64
	RHat, ESSBulk, ESSTail     float64
	Undefined                  string // why one of these three is NaN; else empty
	// Contraction is set by Contract, Price is the price of privacy, and Shrinkage how far partial pooling drew custodians together; nil if unknown.
	Contraction, Price, Shrinkage *float64
	// Lower and Upper bound the equal-tailed interval at Summary.Level.
	Lower, Upper float64
}

// Summarise fills what draws know. Method, N, Units, Contraction and labels
// other than the names are the caller's. It panics unless 0 < level < 1.
func Summarise(d *Draws, level float64) *Summary {
	if !(level > 0 && level < 1) {
		panic(fmt.Sprintf("posterior: level %v is not between 0 and 1", level))
	}
	s := &Summary{
		Chains:     d.NumChains(),
		Draws:      d.NumDraws(),
		Warmup:     d.Warmup,
		Seconds:    d.Seconds,
		Level:      level,
		Warnings:   slices.Clone(d.Warnings),
		Parameters: make([]Parameter, len(d.Names)),
	}
	var c column
	for j, name := range d.Names {
		c.loadFrom(d, j)
		s.Parameters[j] = c.summarise(name, level)
	}
	return s
}

// Worst returns the parameters with the largest R-hat and with the smallest ESS, of those
// that have both; nil where none has.
func Worst(parameters []Parameter) (rhat, ess *Parameter) {
	for i := range parameters {
		p := &parameters[i]
		if p.Undefined != "" {
			continue
		}
		if rhat == nil || p.RHat > rhat.RHat {
			rhat = p
		}
		if ess == nil || p.ESS() < ess.ESS() {
			ess = p
		}
	}
	return rhat, ess
}

// Contract sets the posterior contraction,
//
//	1 − (w/w₀)²,
//
// w and w₀ the interquartile ranges of the posterior and of the prior: 1 − posterior variance
// / prior variance of normal laws, and there where a heavy tail leaves no variance. It is below
// 0 where the posterior is the wider one. Without a positive, finite w₀ it stays nil.
func (p *Parameter) Contract(prior float64) {
	if prior > 0 && !math.IsInf(prior, 1) {
		ratio := (p.Q75 - p.Q25) / prior
		contraction := 1 - ratio*ratio
		p.Contraction = &contraction
	}
}

// ESS is the smaller of the two effective sample sizes.
func (p *Parameter) ESS() float64 { return min(p.ESSBulk, p.ESSTail) }

func (c *column) summarise(name string, level float64) Parameter {
	p := Parameter{
		Name:     name,
		Label:    name,
		Mean:     c.mean,
		SD:       math.Sqrt(variance(c.x, c.mean)),
		MCSEMean: c.mcseMean(),
		Q2_5:     c.quantile(0.025),
		Q25:      c.quantile(0.25),
		Q50:      c.quantile(0.5),
		Q75:      c.quantile(0.75),
		Q97_5:    c.quantile(0.975),
		RHat:     c.rhat(),
		ESSBulk:  c.essBulk(),
		ESSTail:  c.essTail(),
		Lower:    c.quantile(tail(level)),
		Upper:    c.quantile(1 - tail(level)),
	}
	switch {
	case c.n < shortestESS:
		p.Undefined = fmt.Sprintf("the chains are too short, R-hat needs %d draws of each and ESS %d", shortestRHat, shortestESS)
	case c.constant:
		p.Undefined = "the draws do not vary"
	case math.IsNaN(p.RHat + p.ESS()):
		p.Undefined = "not all draws are finite, or too few of them differ"
	}
	return p
}

// Draws of a chain from which each half has the two draws of a variance, and the three of
// an effective sample size.
const (
	shortestRHat = 4
	shortestESS  = 6
)

// tail is (1 − level)/2, with 0.95 giving 0.025 and not its neighbour.
func tail(level float64) float64 {
	return math.Round((1-level)/2*1e15) / 1e15
}
