package posterior

import (
	"context"
	"math"
	"sync"

	"github.com/dpreg/dpreg/internal/parallel"
)

// load prepares chains for one diagnostic.
func load(chains [][]float64) *column {
	c := new(column)
	c.load(chains)
	return c
}

// RHat returns the rank-normalised split R-hat of one quantity, chains[c]
// its draws in chain c. Values above 1.01 say that the chains have not
// mixed.
//
// This and the other diagnostics are NaN where they mean nothing: a draw is
// NaN, all draws lie within 2⁻⁵² of each other, or half a chain has fewer
// than three draws (two, for RHat). A middle draw of an odd chain is left
// out. Infinite draws have ranks, so RHat and ESSBulk bear them, as long as
// the median is finite; the others are NaN. All of them panic where chains
// differ in length.
func RHat(chains [][]float64) float64 { return load(chains).rhat() }

// ESSBulk returns the effective sample size, over all chains, of the normal
// scores of the draws: the efficiency of estimates of location.
func ESSBulk(chains [][]float64) float64 { return load(chains).essBulk() }

// ESSTail returns the smaller of the effective sample sizes of the 5 % and
// the 95 % quantile.
func ESSTail(chains [][]float64) float64 { return load(chains).essTail() }

// ESSMean returns the effective sample size of the mean.
func ESSMean(chains [][]float64) float64 { return load(chains).essMean() }

// ESSSD returns the effective sample size of the standard deviation.
func ESSSD(chains [][]float64) float64 { return load(chains).essSD() }

// ESSQuantile returns the effective sample size of the p-quantile, NaN for
// p outside [0, 1].
func ESSQuantile(p float64, chains [][]float64) float64 { return load(chains).essQuantile(p) }

// MCSEMean returns the Monte Carlo standard error of the mean.
func MCSEMean(chains [][]float64) float64 { return load(chains).mcseMean() }

// MCSESD returns the Monte Carlo standard error of the standard deviation.
func MCSESD(chains [][]float64) float64 { return load(chains).mcseSD() }

// MCSEQuantile returns the Monte Carlo standard error of the p-quantile, NaN
// for p outside [0, 1].
func MCSEQuantile(p float64, chains [][]float64) float64 { return load(chains).mcseQuantile(p) }

// MinESS returns the smallest bulk or tail effective sample size over all
// parameters and the index of a parameter that has it. A parameter that is
// the same in every draw of every chain is known, not estimated, and left
// out; any other whose size is NaN counts as 0. Where nothing is left the
// result is 0, -1. Parameters are shared among the given number of
// goroutines, at least one.
func (d *Draws) MinESS(workers int) (ess float64, parameter int) {
	sizes := make([]float64, len(d.Names))
	columns := sync.Pool{New: func() any { return new(column) }}
	parallel.Each(context.Background(), max(1, workers), len(sizes), nil, func(_ context.Context, j int) error {
		c := columns.Get().(*column)
		defer columns.Put(c)
		c.loadFrom(d, j)
		sizes[j] = c.minESS()
		return nil
	})
	ess, parameter = math.Inf(1), -1
	for j, size := range sizes {
		if size < ess {
			ess, parameter = size, j
		}
	}
	if parameter < 0 {
		return 0, -1
	}
	return ess, parameter
}

// minESS is +Inf for a parameter that never moved.
func (c *column) minESS() float64 {
	if low, high := extremes(c.x); low == high {
		return math.Inf(1)
	}
	ess := min(c.essBulk(), c.essTail())
	if math.IsNaN(ess) {
		return 0
	}
	return ess
}
