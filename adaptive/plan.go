// Package adaptive decides how a release looks at its rows in several steps: what share of
// the budget each step has, how far a look reaches, and in which frame the next one is taken.
// All of it is post-processing: it sees public facts and what was released with noise, never
// rows, and gives the same frames for the same numbers. Frames are rounded by
// ssp.RoundFrame. docs/adaptive.md has the mechanism.
package adaptive

import (
	"fmt"
	"math"
	"slices"

	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/release"
)

// Plan has the shares of the budget by step, of the sums of a look and of the radii before
// it; they add up to at most 1. Of Gaussian noise they are shares of μ² (√Σμ_t²-GDP), of
// pure ε shares of ε.
type Plan struct {
	Looks, Radii []float64
	Parts        int // of the rows, see release.ClippingMoves; below 2: the release is of all
}

// The last look alone is evidence; those before it have to find its frame, and no more. A
// look at m columns in the box, with all of the budget, has noise whose spectral norm is
// about √m·SD, SD = (m+1)·unit, so that directions are found in which rows spread by more
// than
//
//	x = (m+1)√m·unit/n
//
// of variance in scaled units, with a share s by more than x/√s (Gaussian) or x/s. An early
// look gets the share that finds a variance of fine, and no less or more than the bounds.
//
// Radii that say nothing waste a look: early ones have besides what tells one row of wellSeenEarly, up to
// leastShare and a step's own. The clipping of the last look counts: its radii get the part of its share that
// tells one row of wellSeen, within bounds.
const (
	fine          = .05
	leastShare    = .02
	mostEarly     = .35 // of all early looks together
	radiiEarly    = .2  // of the share of an early step
	wellSeenEarly = 50
	wellSeen      = 1500
	leastLast     = .03
	mostLast      = .25

	coarseRadii = 1.1
)

// NewPlan returns the shares for m columns and n rows, a public number (0: not known).
func NewPlan(m int, n float64, pr release.Privacy, steps int) Plan {
	early := shareOf(perRow(m, n, pr)*math.Sqrt(float64(m))/fine, pr)
	p, left := Plan{}, 1-1./(1<<40) // rounded shares may add up to more
	seen := shareOf(binSD(pr, 1)*wellSeenEarly/max(n, 1), pr)
	for range steps - 1 {
		share := min(max(early, leastShare), mostEarly/float64(max(2, steps-1))) // a single one has no more than one of two
		look, radii := share*(1-radiiEarly), max(share*radiiEarly, min(seen, leastShare, share))
		p.Looks, p.Radii = append(p.Looks, look), append(p.Radii, radii)
		left -= look + radii
	}
	part := shareOf(binSD(pr, left)*wellSeen/max(n, 1), pr)
	part = min(max(part, leastLast), mostLast)
	return Plan{Looks: append(p.Looks, left*(1-part)), Radii: append(p.Radii, left*part)}
}

// shareOf is the share whose noise is 1 where all of the budget has noise x.
func shareOf(x float64, pr release.Privacy) float64 {
	if pr.Delta > 0 {
		return x * x
	}
	return x
}

// Loss is the log of what a plan comes to: of the noise on the last look, and of how much more
// variance than fine an early one misses. Laws of noise are compared by it. Ball noise has coarser
// radii beside it, which is worth a tenth.
func (p Plan) Loss(m int, n float64, pr release.Privacy) float64 {
	noise := func(share float64) float64 { // times the standard deviation with all of the budget
		if pr.Delta > 0 {
			return 1 / math.Sqrt(share)
		}
		return 1 / share
	}
	last := len(p.Looks) - 1
	loss := math.Log(unit(m, pr) * noise(p.Looks[last]))
	for _, share := range p.Looks[:last] {
		missed := perRow(m, n, pr) * math.Sqrt(float64(m)) * noise(share/(1-radiiEarly)) / fine
		loss += math.Log(max(missed, 1))
	}
	if pr.Delta == 0 {
		loss += math.Log(coarseRadii)
	}
	return loss
}

// perRow is x/√m: the noise on a mean square in the box, for κ = 1 and all of the budget.
func perRow(m int, n float64, pr release.Privacy) float64 {
	return float64(m+1) * unit(m, pr) / max(n, 1)
}

// unit is the standard deviation of the noise on a square for κ² + R² = 1 and all of the
// budget. The Gaussian one is √2 S or S, S = Sigma(ε, δ, 1). Ball noise of k entries has
// √(k+1)·√2/ε or √(k+1)/ε.
func unit(m int, pr release.Privacy) float64 {
	u := 1.
	if pr.Neighbours != release.AddRemove {
		u = math.Sqrt2
	}
	if pr.Delta > 0 {
		if s, err := accounting.Sigma(pr.Epsilon, pr.Delta, 1); err == nil {
			return u * s
		}
	}
	return u * math.Sqrt(float64(release.Length(m)+1)) / pr.Epsilon
}

// A first look finds nothing where noise hides the box: then one look serves. The bounds are
// those of x beyond which some of many small tables lost by more steps. Of pure ε they are
// stricter: there a share s costs 1/s in noise, and not 1/√s.
const (
	mostGaussian = .6
	mostPure     = .25
)

// The noise on a count of radii may be one in so many of the rows. Where it is more, radii say
// nothing: R may be anything, and nearly all rows are clipped. Where it is a third of that, a fourth look
// finds directions behind directions, also in bounds that are ten times too wide, and costs a tenth at
// most.
const (
	leastSeen  = 10
	fourthSeen = 30
)

// binSD is the standard deviation of the noise on a count of radii with this share.
func binSD(pr release.Privacy, share float64) float64 {
	changed := 2. // counts that one row changes by 1
	if pr.Neighbours == release.AddRemove {
		changed = 1
	}
	if pr.Delta > 0 {
		if s, err := accounting.Sigma(pr.Epsilon, pr.Delta, 1); err == nil {
			return math.Sqrt(changed/share) * s
		}
	}
	return math.Sqrt2 * changed / (pr.Epsilon * share)
}

// Auto returns a number of steps, and why, from public facts alone.
func Auto(m int, n float64, pr release.Privacy) (int, string) {
	most, steps := mostPure, 3
	if pr.Delta > 0 {
		most = mostGaussian
	}
	if binSD(pr, slices.Min(NewPlan(m, n, pr, steps+1).Radii)) <= n/fourthSeen {
		steps++
	}
	switch {
	case m == 1:
		return 1, "one step: of one numeric column one look is enough"
	case n <= 0:
		return 1, "one step: the number of rows is not known beforehand"
	case perRow(m, n, pr)*math.Sqrt(float64(m)) > most || binSD(pr, slices.Min(NewPlan(m, n, pr, steps).Radii)) > n/leastSeen:
		return 1, fmt.Sprintf("one step: %.6g rows are too few at this privacy for a first look to find where they lie", n)
	}
	return steps, fmt.Sprintf("%d steps: %.6g rows are enough at this privacy for a first look to find where they lie", steps, n)
}
