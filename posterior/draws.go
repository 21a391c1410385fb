// Package posterior holds the draws of a Markov chain Monte Carlo run and
// says what they are worth: quantiles, rank-normalised R-hat, effective
// sample sizes, Monte Carlo standard errors, summaries, and files that
// other software reads.
//
// The diagnostics are those of Vehtari, Gelman, Simpson, Carpenter and
// Bürkner (2021), Bayesian Analysis 16(2), 667–718, and agree with version
// 1.4 of the R package posterior.
package posterior

import (
	"errors"
	"fmt"
	"slices"
)

// Draws holds the kept draws of a run, chain by chain. All chains have the
// same length.
type Draws struct {
	// Names are the parameters', for example theta[0], sigma2, tau[1,2].
	Names []string
	// Chains[c] is row-major, NumDraws() × len(Names).
	Chains [][]float64
	// InfoNames are the sampler's own columns. By Stan's convention they
	// end in two underscores (lp__, accept_stat__); readers of Stan CSV
	// would take another name for a parameter.
	InfoNames []string
	// Info[c] is row-major, NumDraws() × len(InfoNames).
	Info [][]float64
	// Warmup is the number of discarded steps of each chain.
	Warmup int
	// Seconds is the wall-clock time of the run.
	Seconds float64
	// Warnings are printed with every summary.
	Warnings []string
}

// NumChains returns the number of chains.
func (d *Draws) NumChains() int { return len(d.Chains) }

// NumDraws returns the number of kept draws of each chain.
func (d *Draws) NumDraws() int {
	if len(d.Chains) == 0 || len(d.Names) == 0 {
		return 0
	}
	return len(d.Chains[0]) / len(d.Names)
}

// Index returns the position of the named parameter, or -1.
func (d *Draws) Index(name string) int { return slices.Index(d.Names, name) }

// Column returns parameter j's draws, one new slice of length NumDraws() for
// each chain. It panics where j is no parameter.
func (d *Draws) Column(j int) [][]float64 {
	columns := make([][]float64, len(d.Chains))
	for c := range columns {
		columns[c] = make([]float64, d.NumDraws())
		d.copyColumn(columns[c], c, j)
	}
	return columns
}

// copyColumn writes parameter j of chain c to dst, length NumDraws().
func (d *Draws) copyColumn(dst []float64, c, j int) {
	width := len(d.Names)
	if j < 0 || j >= width {
		panic(fmt.Sprintf("posterior: parameter %d of %d", j, width))
	}
	chain := d.Chains[c]
	for i := range dst {
		dst[i] = chain[i*width+j]
	}
}

// Map returns new draws whose row i is what f writes to dst (length
// len(names)) from row i of d (src, length len(d.Names), not to be changed).
// Names are copied; the sampler's columns are shared with d.
func (d *Draws) Map(names []string, f func(dst, src []float64)) *Draws {
	mapped := *d
	mapped.Names = slices.Clone(names)
	mapped.Warnings = slices.Clone(d.Warnings)
	mapped.Chains = make([][]float64, len(d.Chains))
	in, out, n := len(d.Names), len(names), d.NumDraws()
	for c, chain := range d.Chains {
		rows := make([]float64, n*out)
		for i := range n {
			f(rows[i*out:(i+1)*out:(i+1)*out], chain[i*in:(i+1)*in:(i+1)*in])
		}
		mapped.Chains[c] = rows
	}
	return &mapped
}

// Thin returns about count draws, evenly spaced in all chains, chain after chain.
func (d *Draws) Thin(count int) [][]float64 {
	width, n := len(d.Names), d.NumDraws()
	step := max(1, n*d.NumChains()/count)
	var rows [][]float64
	for _, chain := range d.Chains {
		for i := step - 1; i < n; i += step {
			rows = append(rows, chain[i*width:(i+1)*width])
		}
	}
	return rows
}

// Bind puts chains of one run together, with the first one's Warmup. Errors: no
// chains, names that differ, lengths that differ.
func Bind(parts ...*Draws) (*Draws, error) {
	if len(parts) == 0 {
		return nil, errors.New("there are no chains")
	}
	all := &Draws{Names: parts[0].Names, InfoNames: parts[0].InfoNames, Warmup: parts[0].Warmup}
	for i, d := range parts {
		if !slices.Equal(d.Names, all.Names) || !slices.Equal(d.InfoNames, all.InfoNames) {
			return nil, fmt.Errorf("chain %d has other parameters than the first", i+1)
		}
		if d.NumDraws() != parts[0].NumDraws() {
			return nil, fmt.Errorf("chain %d has %d draws, the first %d", i+1, d.NumDraws(), parts[0].NumDraws())
		}
		all.Chains, all.Info = append(all.Chains, d.Chains...), append(all.Info, d.Info...)
	}
	return all, nil
}
