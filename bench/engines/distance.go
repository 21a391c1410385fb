//go:build unix

package main

import (
	"fmt"
	"math"

	"github.com/dpreg/dpreg/posterior"
)

// distance says how far draws are from the reference, over θ, log σ², μ_x, log T_jj
// and the correlations in T: logarithms and correlations have sds that can be
// estimated. A difference is told from the draws' errors where it is told times
// those or more; mean and sd are the largest such, 0 where there is none, and the
// bounds are the largest differences that would not have been told.
type distance struct {
	mean, meanBound float64 // |mean − reference| in reference sds
	sd, sdBound     float64 // |log(sd / reference sd)|
	mixed           bool    // else the errors mean nothing
}

// A difference by chance alone is told in 6e-7 of the comparisons, a few per cent of
// whole tables.
const told = 5

// Chains with a larger R-hat have not mixed.
const (
	mixes          = 1.05
	referenceMixes = 1.01
)

// apart compares draws of p covariates with the reference.
func apart(d, reference *posterior.Draws, p int) distance {
	d, reference = better(d, p), better(reference, p)
	r := distance{mixed: reference.NumDraws() >= fewest}
	for j := 0; j < len(d.Names) && r.mixed; j++ {
		x, y := d.Column(j), reference.Column(j)
		mean, sd := moments(x)
		want, unit := moments(y)
		tell(&r.mean, &r.meanBound, (mean-want)/unit, math.Hypot(posterior.MCSEMean(x), posterior.MCSEMean(y))/unit)
		tell(&r.sd, &r.sdBound, math.Log(sd/unit), math.Hypot(posterior.MCSESD(x)/sd, posterior.MCSESD(y)/unit))
		r.mixed = posterior.RHat(x) < mixes && posterior.RHat(y) < referenceMixes
	}
	return r
}

// tell takes a difference and its error.
func tell(largest, bound *float64, difference, err float64) {
	if a := math.Abs(difference); a > told*err {
		*largest = max(*largest, a)
	}
	*bound = max(*bound, told*err)
}

// better maps draws, in the order of model.Shape.Names, to what is compared.
func better(d *posterior.Draws, p int) *posterior.Draws {
	names, first := d.Names, d.Index("tau[1,1]")
	return d.Map(names, func(dst, src []float64) {
		copy(dst, src)
		dst[p+1] = math.Log(src[p+1])
		at := first
		for j := range p {
			for k := j; k < p; k++ {
				if dst[at] = math.Log(src[at]); k > j {
					dst[at] = src[at] / math.Sqrt(src[diagonal(first, p, j)]*src[diagonal(first, p, k)])
				}
				at++
			}
		}
	})
}

// diagonal is the position of T_jj in an upper triangle of p rows that begins at first.
func diagonal(first, p, j int) int { return first + j*p - j*(j-1)/2 }

// moments are the mean and sd of all chains.
func moments(chains [][]float64) (mean, sd float64) {
	n, sum := 0.0, 0.0
	for _, x := range chains {
		for _, v := range x {
			mean += v
			n++
		}
	}
	mean /= n
	for _, x := range chains {
		for _, v := range x {
			sum += (v - mean) * (v - mean)
		}
	}
	return mean, math.Sqrt(sum / (n - 1))
}

// merge is the largest distance of several releases.
func (a distance) merge(b distance) distance {
	return distance{max(a.mean, b.mean), max(a.meanBound, b.meanBound), max(a.sd, b.sd), max(a.sdBound, b.sdBound), a.mixed && b.mixed}
}

// String is such as "0.13; 4 %", with "< " before what was not told from 0.
func (a distance) String() string {
	if !a.mixed {
		return "?"
	}
	mean, sd := fmt.Sprintf("< %.2f", a.meanBound), fmt.Sprintf("< %.0f %%", 100*math.Expm1(a.sdBound))
	if a.mean > 0 {
		mean = fmt.Sprintf("**%.2f**", a.mean)
	}
	if a.sd > 0 {
		sd = fmt.Sprintf("**%.0f %%**", 100*math.Expm1(a.sd))
	}
	return mean + "; " + sd
}
