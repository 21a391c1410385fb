package ssp

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// The grid of magnitudes is the same for all data: for each sign the bins
//
//	(0, 2^-30], (2^-30, 2^-29], …, (2^58, 2^59], (2^59, ∞).
//
// 0 is in none, since it moves no bound. The outer edge of the last bin counts as
// 2^60: what lies beyond is clamped to it.
const (
	minExponent = -30
	maxExponent = 60
	perSign     = maxExponent - minExponent + 1
	binsAColumn = 2 * perSign
)

// Magnitudes counts, for each of some columns, the rows whose value falls into each
// bin of the grid. It is not safe for concurrent use.
type Magnitudes struct {
	withheld
	n     int64
	count [][binsAColumn]int64 // of a column: positive values from the innermost bin on, then negative ones
}

// NewMagnitudes returns empty histograms of so many columns. It panics if there is
// none.
func NewMagnitudes(columns int) *Magnitudes {
	if columns < 1 {
		panic("ssp: magnitudes of no column")
	}
	return &Magnitudes{count: make([][binsAColumn]int64, columns)}
}

// N is the number of rows added.
func (h *Magnitudes) N() int64 { return h.n }

// Add counts a row: a value for each column, in the data's units. NaN, a cell that
// is missing, is in no bin. It is an error, and the row is not added, if MaxRows is
// reached. It panics if the row has another length.
func (h *Magnitudes) Add(row []float64) error {
	if len(row) != len(h.count) {
		panic(fmt.Sprintf("ssp: a row of length %d for %d columns", len(row), len(h.count)))
	}
	if h.n >= MaxRows {
		return errTooManyRows
	}
	for j, x := range row {
		if i, ok := bin(x); ok {
			h.count[j][i]++
		}
	}
	h.n++
	return nil
}

// bin is the one that x is in.
func bin(x float64) (i int, ok bool) {
	if x == 0 || math.IsNaN(x) {
		return 0, false
	}
	exponent := maxExponent
	if !math.IsInf(x, 0) {
		exponent = min(max(ceilLog2(math.Abs(x)), minExponent), maxExponent)
	}
	i = exponent - minExponent
	if x < 0 {
		i += perSign
	}
	return i, true
}

// Bounds finds bounds of the columns, which have these names, with epsilon-differential
// privacy for all of them together: every count gets noise of the law that
// CalibrateBounds gives, and those that reach its threshold are significant. The
// upper bound is the outer edge of the outermost significant bin of positive values,
// the lower one of negative values, and 0 where the other side alone has one. A
// column without any has ±2^-30, the innermost bin of both signs: as far as can be
// seen it is 0. It neither keeps nor changes h; each call draws new noise and spends
// epsilon again.
//
// e is mechanisms.OS() for a release. Errors: those of CalibrateBounds. It panics if
// there are not as many names as columns, or if e was not made by mechanisms.OS or
// mechanisms.Simulated.
func (h *Magnitudes) Bounds(names []string, epsilon float64, nb release.Neighbours, e *mechanisms.Entropy) (schema.Bounds, error) {
	if len(names) != len(h.count) {
		panic(fmt.Sprintf("ssp: %d names of %d columns", len(names), len(h.count)))
	}
	c, err := CalibrateBounds(len(h.count), epsilon, nb)
	if err != nil {
		return nil, err
	}
	z, err := h.noisy(c, e)
	if err != nil {
		return nil, err
	}
	bounds := make(schema.Bounds, len(names))
	for j, name := range names {
		lower, upper := between(z[j*binsAColumn:(j+1)*binsAColumn], big.NewInt(c.Threshold))
		bounds[j] = schema.Column{Name: name, Lower: lower, Upper: upper}
	}
	return bounds, nil
}

// between are the bounds of a column with these noisy counts.
func between(z []*big.Int, threshold *big.Int) (lower, upper float64) {
	lower, upper = 0-edge(z[perSign:], threshold), edge(z[:perSign], threshold) // 0-0 is no -0
	if lower == 0 && upper == 0 {
		return -InnermostBound, InnermostBound
	}
	return lower, upper
}

// InnermostBound is the outer edge of the innermost bin.
const InnermostBound = 1. / (1 << -minExponent)

// noisy are the counts with noise, column after column.
func (h *Magnitudes) noisy(c BoundsCalibration, e *mechanisms.Entropy) ([]*big.Int, error) {
	m, err := mechanisms.Laplace(c.Scale)
	if err != nil {
		return nil, err
	}
	z := make([]*big.Int, 0, len(h.count)*binsAColumn)
	for _, column := range h.count {
		for _, n := range column {
			z = append(z, big.NewInt(n))
		}
	}
	m.AddNoise(z, e)
	return z, nil
}

// edge is the outer edge of the outermost significant bin of one sign; 0 if there is
// none.
func edge(z []*big.Int, threshold *big.Int) float64 {
	for i, n := range slices.Backward(z) {
		if n.Cmp(threshold) >= 0 {
			return math.Ldexp(1, i+minExponent)
		}
	}
	return 0
}

// Failures of private bounds: the probability that a bin without rows is significant
// in any column, and the probability that a bin with BoundsCalibration.Found rows is
// not, where that would move a bound of any column. Each is at most
const boundsFailure = 0.005

// findable is the part of the rows that a bin must hold, at most, to be found: one in
// so many.
const findable = 10

// BoundsCalibration is what private bounds come to before a row is read.
type BoundsCalibration struct {
	Scale     *big.Rat // of the discrete Laplace noise on each count
	Threshold int64    // from which on a noisy count is significant
	Found     int64    // a bin of so many rows is significant, but for the failure above
	Rows      int64    // needed, so that a bin with a tenth of all rows is found
}

// CalibrateBounds returns the noise on the histograms of magnitudes of so many
// columns and what follows from it (docs/bounds-auto.md has the proofs). One row is
// in one bin of each column at most, so for K columns the L1 sensitivity is Δ = 2K
// for replace-one neighbours and K for add-remove ones; the scale is b = Δ/ε, ε the
// decimal it is written as. With q = e^{-1/b} and KJ bins in all,
//
//	P(noise ≥ k) = q^k/(1+q),  k = 1, 2, …,
//
// gives the smallest threshold T with KJ·q^T/(1+q) ≤ 0.005, and the smallest count C
// with 2K·P(C + noise < T) = 2K·q^(C-T+1)/(1+q) ≤ 0.005.
//
// Errors: no column, unknown neighbours, ε not in [MinEpsilon, MaxEpsilon].
func CalibrateBounds(columns int, epsilon float64, nb release.Neighbours) (BoundsCalibration, error) {
	if columns < 1 || columns > schema.MaxColumns {
		return BoundsCalibration{}, errors.New("private bounds are of one column at least")
	}
	if err := checkPrivacy(release.Privacy{Epsilon: epsilon, Neighbours: nb}, release.Laplace); err != nil {
		return BoundsCalibration{}, err
	}
	scale := new(big.Rat).Quo(BoundsSensitivity(columns, nb), number.Decimal(epsilon))
	b, _ := scale.Float64()
	above := func(events int) int64 { // the smallest k ≥ 1 with events·P(noise ≥ k) ≤ boundsFailure
		return max(1, int64(math.Ceil(b*math.Log(float64(events)/(boundsFailure*(1+math.Exp(-1/b)))))))
	}
	c := BoundsCalibration{Scale: scale, Threshold: above(columns * binsAColumn)}
	c.Found = c.Threshold - 1 + above(2*columns)
	c.Rows = findable * c.Found
	return c, nil
}

// BoundsSensitivity is the L1 sensitivity of the histograms of magnitudes of so many
// columns, together.
func BoundsSensitivity(columns int, nb release.Neighbours) *big.Rat {
	if nb == release.AddRemove {
		return big.NewRat(int64(columns), 1)
	}
	return big.NewRat(2*int64(columns), 1)
}

// AfterBounds is what bounds that cost epsilon leave of a privacy for the statistics:
// the largest ε whose decimal and that of epsilon add up to no more than pr's. It is
// 0 where nothing is left.
func AfterBounds(pr release.Privacy, epsilon float64) release.Privacy {
	rest := new(big.Rat).Sub(number.Decimal(pr.Epsilon), number.Decimal(epsilon))
	pr.Epsilon = max(0, number.RoundDown(rest))
	if up := math.Nextafter(pr.Epsilon, math.Inf(1)); number.Decimal(up).Cmp(rest) <= 0 {
		pr.Epsilon = up // 1 - 0.1 is above the float64 that 0.9 stands for
	}
	for pr.Epsilon > 0 && number.Decimal(pr.Epsilon).Cmp(rest) > 0 {
		pr.Epsilon = math.Nextafter(pr.Epsilon, 0)
	}
	return pr
}
