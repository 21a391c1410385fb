package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/dpreg/dpreg/mechanisms/accounting"
)

// Account is what accountants answer to one question.
type Account struct {
	Subject  string // what is accounted for, in words
	Quantity string // what is asked for: epsilon, delta, sigma, scale, q, steps or count
	Delta    float64
	Answers  []Answer
}

// Answer is one accountant's.
type Answer struct {
	Accountant accounting.Accountant
	Value      float64
}

// accountants are the names of accountants in tables and pictures.
var accountants = map[accounting.Accountant]string{
	accounting.PLD:        "privacy-loss distributions, upper",
	accounting.Optimistic: "privacy-loss distributions, lower",
	accounting.RDP:        "Rényi divergences",
}

// WriteAccount writes the subject, a table with a row for each accountant that has an
// answer, and what the first two are.
func WriteAccount(w io.Writer, a Account) error {
	p := &printer{w: w}
	p.paragraph(a.Subject + ":")
	p.printf("\n")
	var rows [][]string
	for _, answer := range a.Answers {
		rows = append(rows, []string{accountants[answer.Accountant], strconv.FormatFloat(answer.Value, 'g', 8, 64)})
	}
	p.do(func(w io.Writer) error { return grid(w, []string{"accountant", a.Quantity}, rows, 1) })
	p.printf("\n")
	p.paragraph(a.words())
	return p.err
}

// words say what the first two lines are; a search that ends where accounts do has one.
func (a *Account) words() string {
	bracketed := slices.ContainsFunc(a.Answers, func(answer Answer) bool { return answer.Accountant == accounting.Optimistic })
	switch a.Quantity {
	case "epsilon", "delta":
		return "The smallest " + a.Quantity + " lies between the first two lines, rounding errors included; the third is an upper bound."
	case "sigma", "scale":
		if !bracketed {
			return "The first line is enough noise, and none is known that is not: there are no accounts of less. The last line is what Rényi divergences need to show that it is enough."
		}
		return "The first line is enough noise, and less than the second is not enough; the third is what Rényi divergences need to show that it is enough."
	}
	if !bracketed {
		return "The first line is allowed, and no number is known that is not: there are no accounts of more. The last line is what Rényi divergences can allow."
	}
	return "The first line is allowed, and more than the second is not; the third is what Rényi divergences can allow."
}

// PlotAccount draws each accountant's ε against the number of releases, up to count or
// a little more where that is small, both on logarithmic scales. A format that is none
// of PlotFormats is an error.
func PlotAccount(w io.Writer, a Account, count int, epsilon func(accounting.Accountant, int) (float64, error), format string) error {
	p := newPlot()
	p.X.Label.Text, p.Y.Label.Text = "releases", "ε"
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = logTicks{pageRoom}, logTicks{pageRoom}
	var names []string
	for _, answer := range a.Answers {
		names = append(names, strings.TrimSuffix(accountants[answer.Accountant], ", upper"))
	}
	all, keys := SeriesKeys(names...), []Key(nil)
	counts := accountCounts(max(count, 10))
	for i, answer := range a.Answers {
		if answer.Accountant == accounting.Optimistic {
			continue // it would hide the upper bound
		}
		var points plotter.XYs
		for _, n := range counts {
			// A value that an accountant does not have has no point.
			if v, err := epsilon(answer.Accountant, n); err == nil && v > 0 && !math.IsInf(v, 0) {
				points = append(points, plotter.XY{X: float64(n), Y: v})
			}
		}
		if len(points) < 2 {
			continue
		}
		if err := all[i].Add(p, points); err != nil {
			return fmt.Errorf("plot: %w", err)
		}
		keys = append(keys, all[i])
	}
	if p.Y.Min >= p.Y.Max { // there is no point, or but one height
		p.Y.Min, p.Y.Max = 0.1, 10
	}
	p.X.Min, p.X.Max = 1, float64(counts[len(counts)-1])
	p.Y.Min, p.Y.Max = p.Y.Min/1.2, p.Y.Max*1.2
	return alone("account", fmt.Sprintf("ε for δ = %s", general(a.Delta)), p, aloneHeight, keys...).Write(w, format)
}

// accountCounts are 1, 2, 5, 10, … below most, and most.
func accountCounts(most int) []int {
	var all []int
	for power := 1; power < most; power *= 10 {
		for _, m := range []int{1, 2, 5} {
			if m*power < most {
				all = append(all, m*power)
			}
		}
	}
	return append(all, most)
}
