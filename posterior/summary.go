package posterior

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// SummaryFormat is the first member of a summary's JSON.
const SummaryFormat = "dpreg-summary/1"

// DefaultLevel is the level whose equal-tailed interval is that of the 2.5 %
// and 97.5 % quantiles; files repeat the bounds at other levels only.
const DefaultLevel = 0.95

// Summary says what draws tell of each parameter.
type Summary struct {
	Format   string  // SummaryFormat
	Method   string  // the method's name, as on the command line
	N        int64   // rows behind the release
	Chains   int     // number of chains
	Draws    int     // kept draws of each chain
	Seconds  float64 // sampling time: Draws.Seconds
	Units    string  // "original" or "scaled"
	Level    float64 // of the intervals Lower, Upper
	Warnings []string

	Parameters []Parameter

	// WhatIf and Custodians, where not nil, are the JSON's last members, "what_if" and
	// "custodians".
	WhatIf, Custodians json.Marshaler
}

// Parameter summarises one parameter. What does not exist is NaN.
type Parameter struct {
	Name, Label                string
	Mean, SD, MCSEMean         float64
	Q2_5, Q25, Q50, Q75, Q97_5 float64
	RHat, ESSBulk, ESSTail     float64
	// Learned is 1 − posterior variance / prior variance, nil if unknown.
	Learned *float64
	// Lower and Upper bound the equal-tailed interval at Summary.Level.
	Lower, Upper float64
}

// Summarise fills what draws know. Method, N, Units, Learned and labels
// other than the names are the caller's. It panics unless 0 < level < 1.
func Summarise(d *Draws, level float64) *Summary {
	if !(level > 0 && level < 1) {
		panic(fmt.Sprintf("posterior: level %v is not between 0 and 1", level))
	}
	s := &Summary{
		Format:     SummaryFormat,
		Chains:     d.NumChains(),
		Draws:      d.NumDraws(),
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

func (c *column) summarise(name string, level float64) Parameter {
	return Parameter{
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
}

// tail is (1 − level)/2, with 0.95 giving 0.025 and not its neighbour.
func tail(level float64) float64 {
	return math.Round((1-level)/2*1e15) / 1e15
}
