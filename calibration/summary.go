package calibration

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/posterior"
)

// SummaryFormat is the first member of a summary's JSON.
const SummaryFormat = "dpreg-calibration/1"

// Summary says what the trials of a study tell that is no comparison. It does not depend on how long they
// took, and so is the same whenever the study is run again.
type Summary struct {
	Format string `json:"format"`
	// Uniform: ranks of a right sampler are uniform here, so that the tests judge it.
	Uniform bool `json:"uniform"`
	// Population is the name of the table from which rows were drawn; empty: there is none.
	Population string `json:"population,omitempty"`
	Note       string `json:"note,omitempty"`
	Trials     int    `json:"trials"` // of each cell
	Seed       uint64 `json:"seed"`
	// Tests is the number of p-values, over quantities and cells, by which
	// Bonferroni's correction multiplies.
	Tests int           `json:"tests"`
	Cells []CellSummary `json:"cells"`
}

// CellSummary is of one cell. What does not exist is nil.
type CellSummary struct {
	Setting
	Failed int    `json:"failed"` // trials that ended with an error
	Capped int    `json:"capped"` // trials that met the sampler's limit
	Short  int    `json:"short"`  // trials with an ESS below Ranked, whose ranks are not of independent draws
	Error  string `json:"error,omitempty"`
	// Sound: no more than 1 % of the trials failed or were capped.
	Sound     bool     `json:"sound"`
	ESSMedian float64  `json:"ess_median"`
	ESSLeast  float64  `json:"ess_least"`
	Draws     float64  `json:"draws"` // mean over trials
	MMD2      *float64 `json:"mmd2,omitempty"`
	MMD2Error *float64 `json:"mmd2_error,omitempty"` // standard error of the mean
	Accept    *float64 `json:"accept,omitempty"`
	Projected *float64 `json:"projected,omitempty"`
	Divergent *float64 `json:"divergent,omitempty"`
	Clamped   float64  `json:"clamped"`
	// Unmixed is the share of fits of which R-hat of some parameter is above RHatLimit, where
	// trials have the measure RHat.
	Unmixed *float64 `json:"unmixed,omitempty"`

	Quantities []QuantitySummary `json:"quantities"`
}

// QuantitySummary is of one quantity in one cell.
type QuantitySummary struct {
	Name string `json:"name"`
	// Pooled: a trial has several quantities of this name, which share a posterior, so
	// that there are no tests and the intervals of coverage are rough.
	Pooled bool `json:"pooled,omitempty"`
	// KS is the Kolmogorov–Smirnov statistic of Cook's quantiles, P its p-value, and
	// PBonferroni min(1, Tests·P).
	KS          *float64 `json:"ks,omitempty"`
	P           *float64 `json:"p_value,omitempty"`
	PBonferroni *float64 `json:"p_bonferroni,omitempty"`
	// ECDF is the p-value of the ranks by the test of Band.
	ECDF     *float64              `json:"ecdf_p_value,omitempty"`
	Coverage [len(Levels)]Coverage `json:"coverage"`
	// Coefficient says more of one in a population.
	Coefficient *CoefficientSummary `json:"coefficient,omitempty"`

	Ranks []int     `json:"-"` // in order of trials
	U     []float64 `json:"-"`
}

// Coverage is how often central intervals of a level held the truth.
type Coverage struct {
	Level float64 `json:"level"`
	Hits  int     `json:"hits"`
	Of    int     `json:"of"`
	// Share is Hits/Of, and Lower and Upper its binomial interval.
	Share float64 `json:"share"`
	Lower float64 `json:"lower"`
	Upper float64 `json:"upper"`
}

// binomialLevel is that of the intervals of coverage.
const binomialLevel = 0.95

// newCoverage has the exact interval of Clopper & Pearson.
func newCoverage(level float64, hits, of int) Coverage {
	const tail = (1 - binomialLevel) / 2
	return Coverage{level, hits, of, float64(hits) / float64(of), LeastShare(hits, of, tail), 1 - LeastShare(of-hits, of, tail)}
}

// LeastShare is the lower bound of Clopper & Pearson (The Use of Confidence or
// Fiducial Limits Illustrated in the Case of the Binomial, Biometrika 1934) for k of n:
// the x at which P(Binomial(n, x) ≥ k) = I_x(k, n−k+1) is level.
func LeastShare(k, n int, level float64) float64 {
	if k == 0 {
		return 0
	}
	return distuv.Beta{Alpha: float64(k), Beta: float64(n - k + 1)}.Quantile(level)
}

// SE is the Monte Carlo standard error of a share.
func (c Coverage) SE() float64 { return math.Sqrt(c.Share * (1 - c.Share) / float64(c.Of)) }

// sound tells whether no more than 1 % of so many trials failed or were capped.
func sound(failed, capped, trials int) bool { return float64(failed+capped) <= 0.01*float64(trials) }

// Unsound implements Results.
func (s *Summary) Unsound() (n int) {
	for _, c := range s.Cells {
		n += number.Indicator[int](!c.Sound)
	}
	return n
}

// Summarise summarises the trials that Run or Merge returned.
func (s *Study) Summarise(trials []*Trial) *Summary {
	sum := &Summary{Format: SummaryFormat, Uniform: s.Uniform, Population: s.Population, Note: s.Note, Trials: s.Trials, Seed: s.Seed, Cells: make([]CellSummary, len(s.Cells))}
	byCell := s.byCell(trials)
	var walks map[int]*walk // nil: no tests
	if s.Population == "" {
		walks = make(map[int]*walk)
	}
	var tested []*QuantitySummary
	for i, c := range s.Cells {
		sum.Cells[i] = summariseCell(c.Setting, byCell[i], walks)
		for j := range sum.Cells[i].Quantities {
			if q := &sum.Cells[i].Quantities[j]; q.P != nil {
				tested = append(tested, q)
			}
		}
	}
	sum.Tests = len(tested)
	for _, q := range tested {
		p := min(1, *q.P*float64(sum.Tests))
		q.PBonferroni = &p
	}
	return sum
}

func (s *Study) byCell(trials []*Trial) [][]*Trial {
	cells := make([][]*Trial, len(s.Cells))
	for _, t := range trials {
		cells[t.Cell] = append(cells[t.Cell], t)
	}
	return cells
}

func summariseCell(setting Setting, trials []*Trial, walks map[int]*walk) CellSummary {
	c := CellSummary{Setting: setting}
	var ess, draws, clamped []float64
	for _, t := range trials {
		if t.Error != "" {
			c.Failed, c.Error = c.Failed+1, cmp.Or(c.Error, t.Error)
			continue
		}
		c.Capped += number.Indicator[int](t.Capped)
		c.Short += number.Indicator[int](t.ESS < Ranked)
		ess, draws, clamped = append(ess, t.ESS), append(draws, float64(t.Draws)), append(clamped, t.Clamped)
	}
	c.Sound = sound(c.Failed, c.Capped, len(trials))
	if len(ess) > 0 {
		c.ESSMedian, c.ESSLeast = *median(ess), slices.Min(ess)
		c.Draws, c.Clamped = *mean(draws), *mean(clamped)
	}
	mmd := values(trials, func(t *Trial) *float64 { return t.MMD2 })
	c.MMD2, c.MMD2Error = mean(mmd), standardError(mmd)
	c.Accept = mean(values(trials, func(t *Trial) *float64 { return t.Accept }))
	c.Projected = mean(values(trials, func(t *Trial) *float64 { return t.Projected }))
	c.Divergent = mean(values(trials, func(t *Trial) *float64 { return t.Divergent }))
	unmixed := values(trials, func(t *Trial) *float64 { return t.measure(RHat) })
	for i, v := range unmixed {
		unmixed[i] = number.Indicator[float64](v > RHatLimit)
	}
	c.Unmixed = mean(unmixed)
	c.Quantities = summariseQuantities(trials, walks)
	return c
}

// summariseQuantities goes by name, in the order of the first trial that has any.
func summariseQuantities(trials []*Trial, walks map[int]*walk) []QuantitySummary {
	quantities, hits, at := []QuantitySummary{}, [][len(Levels)]int(nil), make(map[string]int)
	for _, t := range trials {
		for i, score := range t.Scores {
			j, known := at[score.Name]
			if !known {
				j = len(quantities)
				at[score.Name] = j
				quantities, hits = append(quantities, QuantitySummary{Name: score.Name}), append(hits, [len(Levels)]int{})
			}
			q := &quantities[j]
			q.Pooled = q.Pooled || i > 0 && slices.ContainsFunc(t.Scores[:i], func(o Score) bool { return o.Name == score.Name })
			q.Ranks, q.U = append(q.Ranks, score.Rank), append(q.U, score.U)
			for l, hit := range score.Hits {
				hits[j][l] += number.Indicator[int](hit)
			}
		}
	}
	for j := range quantities {
		quantities[j].conclude(hits[j], walks)
		quantities[j].Coefficient = summariseCoefficient(trials, quantities[j].Name)
	}
	return quantities
}

// conclude fills in what follows from the ranks and the hits.
func (q *QuantitySummary) conclude(hits [len(Levels)]int, walks map[int]*walk) {
	n := len(q.Ranks)
	for l, level := range Levels {
		q.Coverage[l] = newCoverage(level, hits[l], n)
	}
	if q.Pooled || walks == nil {
		return
	}
	if walks[n] == nil {
		walks[n] = newWalk(n)
	}
	d, p := KS(q.U)
	e := walks[n].test(q.Ranks)
	q.KS, q.P, q.ECDF = &d, &p, &e
}

// values are those that trials have.
func values(trials []*Trial, of func(*Trial) *float64) (all []float64) {
	for _, t := range trials {
		if v := of(t); v != nil {
			all = append(all, *v)
		}
	}
	return all
}

// known is a statistic of values, nil of fewer than it takes.
func known(values []float64, least int, of func([]float64) float64) *float64 {
	if len(values) < least {
		return nil
	}
	v := of(values)
	return &v
}

func mean(values []float64) *float64 {
	return known(values, 1, func(v []float64) float64 { return stat.Mean(v, nil) })
}

func deviation(values []float64) *float64 {
	return known(values, 2, func(v []float64) float64 { return stat.StdDev(v, nil) })
}

func standardError(values []float64) *float64 {
	return known(values, 2, func(v []float64) float64 { return stat.StdErr(stat.StdDev(v, nil), float64(len(v))) })
}

func median(values []float64) *float64 {
	return known(values, 1, func(v []float64) float64 { return posterior.Quantile(slices.Sorted(slices.Values(v)), 0.5) })
}
