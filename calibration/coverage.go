package calibration

import "gonum.org/v1/gonum/stat/distuv"

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

// newCoverage has the exact interval of Clopper & Pearson (1934, Biometrika 26(4)):
// its ends are quantiles of beta laws.
func newCoverage(level float64, hits, of int) Coverage {
	c := Coverage{Level: level, Hits: hits, Of: of, Share: float64(hits) / float64(of), Upper: 1}
	k, n, tail := float64(hits), float64(of), (1-binomialLevel)/2
	if hits > 0 {
		c.Lower = distuv.Beta{Alpha: k, Beta: n - k + 1}.Quantile(tail)
	}
	if hits < of {
		c.Upper = distuv.Beta{Alpha: k + 1, Beta: n - k}.Quantile(1 - tail)
	}
	return c
}
