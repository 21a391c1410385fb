package calibration

import (
	"math"
	"slices"
)

// RHat names the measure that is the largest R-hat over all parameters of a fit.
const RHat = "rhat"

// RHatLimit and SharpContraction are where a fit has not mixed, and where the release
// tells nearly all of a coefficient.
const (
	RHatLimit        = 1.05
	SharpContraction = 0.9
)

// last is the place of the 95 % interval among Levels.
const last = len(Levels) - 1

// CoefficientSummary is of a coefficient in a population, over the trials of a cell. What does
// not exist is nil. Widths are those of 95 % intervals, in the data's units.
type CoefficientSummary struct {
	Truth float64 `json:"truth"`
	// LeastSquares is how often normal intervals of least squares on the same rows without
	// noise hold the truth, of the trials that have them.
	LeastSquares *[len(Levels)]Coverage `json:"least_squares,omitempty"`
	Width        float64                `json:"width"`           // median
	Ratio        *float64               `json:"ratio,omitempty"` // to that of least squares, median
	Contraction  *float64               `json:"contraction,omitempty"`
	// Sharp is the coverage of 95 % intervals of the fits with a contraction of at least SharpContraction.
	Sharp *Coverage `json:"sharp,omitempty"`
}

// summariseCoefficient is nil of a quantity that is none.
func summariseCoefficient(trials []*Trial, name string) *CoefficientSummary {
	c := new(CoefficientSummary)
	var widths, ratios, contractions []float64
	var plain [len(Levels)]int
	sharp, held := 0, 0
	for _, t := range trials {
		i := slices.IndexFunc(t.Scores, func(s Score) bool { return s.Name == name })
		if i < 0 || t.Scores[i].Coefficient == nil {
			continue
		}
		score, of := t.Scores[i], t.Scores[i].Coefficient
		c.Truth, widths = score.Truth, append(widths, of.Width)
		if l := of.LeastSquares; l != nil {
			ratios = append(ratios, of.Width/l.Width)
			for k, hit := range l.Hits {
				plain[k] += int(indicator(hit))
			}
		}
		if of.Contraction == nil {
			continue
		}
		if contractions = append(contractions, *of.Contraction); *of.Contraction >= SharpContraction {
			sharp++
			held += int(indicator(score.Hits[last]))
		}
	}
	if widths == nil {
		return nil
	}
	c.Width, c.Ratio, c.Contraction = *median(widths), median(ratios), median(contractions)
	if sharp > 0 {
		coverage := newCoverage(Levels[last], held, sharp)
		c.Sharp = &coverage
	}
	if ratios != nil {
		c.LeastSquares = new([len(Levels)]Coverage)
		for k, level := range Levels {
			c.LeastSquares[k] = newCoverage(level, plain[k], len(ratios))
		}
	}
	return c
}

// Margin is by how much the share of 95 % intervals that hold the coefficient exceeds what is
// asked: 90 %, or 3 % less than the share of least squares, if that is less. It is NaN of what
// is no coefficient.
func (q *QuantitySummary) Margin() float64 {
	if q.Coefficient == nil {
		return math.NaN()
	}
	asked := 0.90
	if l := q.Coefficient.LeastSquares; l != nil {
		asked = min(asked, l[last].Share-0.03)
	}
	return q.Coverage[last].Share - asked
}

// Judged is a slope in one cell of a study of a population.
type Judged struct {
	Population string
	Setting
	*QuantitySummary
}

// Verdict is what studies of populations tell of slopes. Intercepts are left out of it: most
// lie where there are no rows.
type Verdict struct {
	Cells, Failing int     // Failing have a slope whose margin is below 0
	Worst          *Judged // the slope of the least margin
	Sharp          *Judged // of those of which fits learned at least SharpContraction, as a median: the least coverage
}

// Judge finds the verdict on studies; nil where none is of a population.
func Judge(studies ...*Summary) *Verdict {
	v := new(Verdict)
	for _, s := range studies {
		for _, c := range s.Cells {
			fails := false
			for i := range c.Quantities {
				q := &c.Quantities[i]
				if q.Coefficient == nil || q.Name == interceptName {
					continue
				}
				at := &Judged{s.Population, c.Setting, q}
				fails = fails || q.Margin() < 0
				if v.Worst == nil || q.Margin() < v.Worst.Margin() {
					v.Worst = at
				}
				if l := q.Coefficient.Contraction; l != nil && *l >= SharpContraction && (v.Sharp == nil || q.Coverage[last].Share < v.Sharp.Coverage[last].Share) {
					v.Sharp = at
				}
			}
			v.Cells++
			v.Failing += int(indicator(fails))
		}
	}
	if v.Worst == nil {
		return nil
	}
	return v
}

// interceptName is the label that a fit gives its intercept.
const interceptName = "(Intercept)"
