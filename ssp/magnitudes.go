package ssp

import (
	"fmt"
	"math"
	"math/big"
	"slices"

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

// bin is the one that x is in. With |x| = f·2^e, f in [½, 1), x lies in
// (2^(e-1), 2^e], or at the outer edge 2^(e-1) of the bin before where f = ½.
func bin(x float64) (i int, ok bool) {
	if x == 0 || math.IsNaN(x) {
		return 0, false
	}
	exponent := maxExponent
	if !math.IsInf(x, 0) {
		f, e := math.Frexp(math.Abs(x))
		if f == 0.5 {
			e--
		}
		exponent = min(max(e, minExponent), maxExponent)
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

// Format prints no count, whatever the verb.
func (h Magnitudes) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "ssp.Magnitudes(%d columns, counts withheld)", len(h.count))
}
