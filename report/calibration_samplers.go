package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/dpreg/dpreg/calibration"
)

// samplerTable has a row for each method, kernel and noise: what its sampler says of
// itself.
func samplerTable(s *calibration.Summary) table {
	t := table{Header: []string{"method", "failed", "capped", "ESS", "least ESS", "draws", "acceptance", "projected", "divergent"}, Left: 1}
	for _, a := range tallies(s) {
		t.Rows = append(t.Rows, []string{a.name(), fmt.Sprint(a.failed), fmt.Sprint(a.capped), a.ess.text(1, 0), number(a.leastESS, 0), a.draws.text(1, 0),
			a.accept.text(1, 2), a.projected.text(100, 1), a.divergent.text(100, 2)})
	}
	return t
}

const samplerLegend = "Ranges are over cells. failed, capped: trials that ended with an error, or at the sampler's limit; ESS: median over trials of the smallest effective sample size; " +
	"least ESS: that of the worst trial; draws: mean over trials; projected, divergent: per cent of steps."

// samplerWords says in words whether trials came to their end.
func samplerWords(s *calibration.Summary) []string {
	failed, capped, trials := 0, 0, 0
	var short []string
	for _, a := range tallies(s) {
		failed, capped, trials = failed+a.failed, capped+a.capped, trials+a.trials
		if a.short > 0 {
			short = append(short, fmt.Sprintf("%s (%d of %d)", a.name(), a.short, a.trials))
		}
	}
	words := []string{fmt.Sprintf("Of %s %d failed, and %d met the sampler's limit. None is left out.", count(trials, "trial"), failed, capped)}
	if short != nil {
		words = append(words, fmt.Sprintf("The truth is ranked among %d draws. In trials of these samplers they were worth fewer independent ones, "+
			"so that ranks need not be uniform even where the sampler's target is right: %s.", calibration.Ranked, strings.Join(short, "; ")))
	}
	return words
}

// limits of a number; those of nothing are empty.
type limits struct{ low, high float64 }

func noLimits() limits { return limits{math.Inf(1), math.Inf(-1)} }

func (s *limits) add(v *float64) {
	if v != nil {
		s.low, s.high = min(s.low, *v), max(s.high, *v)
	}
}

func (s limits) text(times float64, decimals int) string {
	if s.low > s.high {
		return ""
	}
	low, high := number(times*s.low, decimals), number(times*s.high, decimals)
	if low == high {
		return low
	}
	return low + "-" + high
}
