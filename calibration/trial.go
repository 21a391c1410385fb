package calibration

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/dpreg/dpreg/internal/reference"
	"github.com/dpreg/dpreg/posterior"
)

// Levels are those of the central intervals whose coverage is kept.
var Levels = [...]float64{0.50, 0.80, 0.90, 0.95}

// Trial is what is kept of one trial of a cell.
type Trial struct {
	Cell   int     `json:"cell"`
	Trial  int     `json:"trial"`
	Scores []Score `json:"scores,omitempty"` // empty where the trial failed
	// Measures are the sample's.
	Measures []Measure `json:"measures,omitempty"`

	Error string  `json:"error,omitempty"` // what the subject refused, or why it failed
	ESS   float64 `json:"ess,omitempty"`   // the smallest over quantities, bulk or tail
	Draws int     `json:"draws,omitempty"` // over all chains
	// Capped: the sampler stopped at its limit, before its effective sample size.
	Capped  bool     `json:"capped,omitempty"`
	MMD2    *float64 `json:"mmd2,omitempty"`    // to the reference, where there is one
	Clamped float64  `json:"clamped,omitempty"` // share of values
	// What the sampler says of itself, where it does: means over draws.
	Accept    *float64 `json:"accept,omitempty"`
	Projected *float64 `json:"projected,omitempty"`
	Divergent *float64 `json:"divergent,omitempty"`

	// Seconds that the sampler, or all of the trial, took. All else is the same whenever
	// it is run again.
	Seconds float64 `json:"seconds"`
}

// Score is where the truth of a quantity lies among its draws.
type Score struct {
	Name  string  `json:"name"`
	Truth float64 `json:"truth"`
	// U is the share of all draws below the truth, ties counted half: Cook's
	// posterior quantile.
	U float64 `json:"u"`
	// Rank is that of the truth among Ranked draws, ties at random.
	Rank int `json:"rank"`
	// Hits tells for each of Levels whether the central interval holds the truth.
	Hits [len(Levels)]bool `json:"hits"`
	// Coefficient is the sample's, where it has any.
	Coefficient *Coefficient `json:"coefficient,omitempty"`
}

// score turns a sample into what is kept of it. rng breaks ties.
func score(s *Sample, rng *rand.Rand) (*Trial, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	t := &Trial{Capped: s.Capped, Clamped: s.Clamped, Measures: s.Measures, Seconds: s.Seconds}
	if s.Draws == nil {
		return t, nil
	}
	t.Draws = s.Draws.NumChains() * s.Draws.NumDraws()
	if t.ESS, _ = s.Draws.MinESS(1); math.IsInf(t.ESS, 0) || math.IsNaN(t.ESS) {
		t.ESS = 0
	}
	ranked := points(s.Draws, Ranked, len(s.Names))
	for j, name := range s.Names {
		column := slices.Concat(s.Draws.Column(j)...)
		rank := rankOf(reference.Column(ranked, j), s.Truth[j], rng)
		slices.Sort(column)
		scored := Score{Name: name, Truth: s.Truth[j], U: quantileOf(column, s.Truth[j]), Rank: rank, Hits: hits(column, s.Truth[j])}
		if s.Coefficients != nil {
			scored.Coefficient = &s.Coefficients[j]
		}
		t.Scores = append(t.Scores, scored)
	}
	if s.Reference != nil {
		v := Distance(s.Draws, s.Reference, len(s.Reference.Names))
		t.MMD2 = &v
	}
	t.Accept, t.Projected, t.Divergent = infoMean(s.Draws, "accept_stat__"), infoMean(s.Draws, "projected__"), infoMean(s.Draws, "divergent__")
	return t, nil
}

// check finds what a subject may not return.
func (s *Sample) check() error {
	for _, m := range s.Measures {
		if math.IsNaN(m.Value) || math.IsInf(m.Value, 0) {
			return fmt.Errorf("the measure %s is %v", m.Name, m.Value)
		}
	}
	switch {
	case s.Coefficients != nil && len(s.Coefficients) != len(s.Names):
		return errors.New("a sample that says more of its quantities says it of each")
	case s.Draws == nil && len(s.Names) == 0 && len(s.Truth) == 0 && s.Reference == nil && len(s.Measures) > 0:
		return nil
	case s.Draws == nil || len(s.Names) == 0 || len(s.Names) != len(s.Truth) || len(s.Names) != len(s.Draws.Names):
		return errors.New("a sample needs quantities, and of each a name, its truth and a column of draws")
	case s.Draws.NumChains()*s.Draws.NumDraws() < Ranked:
		return fmt.Errorf("%d draws: a truth is ranked among %d", s.Draws.NumChains()*s.Draws.NumDraws(), Ranked)
	case s.Reference != nil && len(s.Reference.Names) > len(s.Names):
		return errors.New("a reference has more columns than the draws")
	}
	for j, v := range s.Truth {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("the truth of %s is %v", s.Names[j], v)
		}
	}
	for _, chain := range s.Draws.Chains {
		if slices.ContainsFunc(chain, math.IsNaN) {
			return errors.New("a draw is not a number")
		}
	}
	return nil
}

// rankOf counts the draws below the truth, and of those that equal it a number
// uniform on 0 … all.
func rankOf(draws []float64, truth float64, rng *rand.Rand) int {
	below, equal := 0, 0
	for _, v := range draws {
		switch {
		case v < truth:
			below++
		case v == truth:
			equal++
		}
	}
	return below + rng.IntN(equal+1)
}

// quantileOf is the share of sorted draws below the truth, ties counted half.
func quantileOf(sorted []float64, truth float64) float64 {
	low, found := slices.BinarySearch(sorted, truth)
	high := low
	for found && high < len(sorted) && sorted[high] == truth {
		high++
	}
	return float64(low+high) / float64(2*len(sorted))
}

// hits tells which central intervals of sorted draws hold the truth.
func hits(sorted []float64, truth float64) (hit [len(Levels)]bool) {
	for i, level := range Levels {
		tail := (1 - level) / 2
		hit[i] = posterior.Quantile(sorted, tail) <= truth && truth <= posterior.Quantile(sorted, 1-tail)
	}
	return hit
}

// points are so many draws of the first columns, evenly spaced, a row each.
func points(d *posterior.Draws, number, columns int) [][]float64 {
	n, width := d.NumDraws(), len(d.Names)
	rows := make([][]float64, number)
	for i := range rows {
		at := (2*i + 1) * n * d.NumChains() / (2 * number)
		first := at % n * width
		rows[i] = d.Chains[at/n][first : first+columns]
	}
	return rows
}

// infoMean is the mean of one of the sampler's own columns, nil where it has none.
func infoMean(d *posterior.Draws, name string) *float64 {
	v := d.InfoMean(name)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// MMD2 returns the unbiased estimate of the squared maximum mean discrepancy between
// the laws of x and y (Gretton, Borgwardt, Rasch, Schölkopf & Smola 2012, A Kernel
// Two-Sample Test, JMLR 13, equation 3),
//
//	1/(m(m−1)) Σ_{i≠j} k(x_i, x_j) + 1/(n(n−1)) Σ_{i≠j} k(y_i, y_j) − 2/(mn) Σ_ij k(x_i, y_j),
//
// with the standard normal kernel k(a, b) = exp(−½|a − b|²). Its mean is 0 where the
// laws are one, and so it may be negative. Both samples need two points at least.
func MMD2(x, y [][]float64) float64 {
	m, n := float64(len(x)), float64(len(y))
	return (kernels(x, x)-m)/(m*(m-1)) + (kernels(y, y)-n)/(n*(n-1)) - 2*kernels(x, y)/(m*n)
}

// Distance is MMD2 of Ranked draws of x and of y, evenly spaced, each a point of its first
// so many columns. It panics if either has fewer draws or columns.
func Distance(x, y *posterior.Draws, columns int) float64 {
	return MMD2(points(x, Ranked, columns), points(y, Ranked, columns))
}

// kernels sums k over all pairs; k(a, a) is 1.
func kernels(x, y [][]float64) (sum float64) {
	for _, a := range x {
		for _, b := range y {
			s := 0.0
			for k, v := range a {
				d := v - b[k]
				s += float64(d * d)
			}
			sum += math.Exp(-s / 2)
		}
	}
	return sum
}
