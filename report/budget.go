package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/dpreg/dpreg/calibration/audit"
	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/mechanisms/ledger"
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
	t := table{Header: []string{"accountant", a.Quantity}, Left: 1}
	for _, answer := range a.Answers {
		t.Rows = append(t.Rows, []string{accountants[answer.Accountant], strconv.FormatFloat(answer.Value, 'g', 8, 64)})
	}
	return write(w, say(a.Subject+":"), show(t), say(a.words()))
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
	all, keys := seriesKeys(names...), []key(nil)
	var counts []int
	for n := 1; n < max(count, 10); n *= 2 {
		counts = append(counts, n)
	}
	counts = append(counts, max(count, 10))
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
		all[i].add(p, points)
		keys = append(keys, all[i])
	}
	if p.Y.Min >= p.Y.Max { // there is no point, or but one height
		p.Y.Min, p.Y.Max = 0.1, 10
	}
	p.X.Min, p.X.Max = 1, float64(counts[len(counts)-1])
	p.Y.Min, p.Y.Max = p.Y.Min/1.2, p.Y.Max*1.2
	return alone("account", fmt.Sprintf("ε for δ = %s", general(a.Delta)), p, aloneHeight, keys...).Write(w, format)
}

// Audit writes what audits certify beside what is claimed, and the checks of noise.
func Audit(w io.Writer, results []*audit.Result) error {
	bounds := table{Header: []string{"m", "noise", "quantity", "claim", "certified", "share", "releases", "c", "right", "wrong", "confidence"}, Left: 3}
	checks := table{Header: []string{"m", "noise", "check", "value", ""}, Left: 3}
	subject := ""
	for _, r := range results {
		m, noise := strconv.Itoa(r.Columns), string(r.Noise.Kind)
		subject = auditSubject(r)
		for _, b := range r.Bounds {
			bounds.Rows = append(bounds.Rows, []string{
				m, noise, b.Quantity, general(b.Claim), general(b.Certified), number(100*b.Share, 1) + "%",
				fmt.Sprint(float64(r.Releases)), general(b.Threshold), strconv.Itoa(b.Correct), strconv.Itoa(b.Wrong), fmt.Sprintf("1-%.1g", 1-b.Confidence),
			})
		}
		for _, c := range r.Checks {
			verdict := "passed"
			if !c.Passed {
				verdict = "FAILED"
			}
			checks.Rows = append(checks.Rows, []string{m, noise, c.Name, fmt.Sprintf("%.3g", c.Value), verdict})
		}
	}
	return write(w, say(subject), show(bounds, checks), say(fmt.Sprintf("What is certified is a lower bound, for any mechanism: above the truth, in an audit of one m, with a probability of %v at most. "+
		"Releases are those of each of two neighbouring data sets; guesses are made where the log-likelihood ratio is at least c. "+
		"Checks count what must not be, or give a p-value, for all tests of the kind: a fault is below %.1g.", audit.FalseAlarm, audit.FalseAlarm/3)))
}

func auditSubject(r *audit.Result) string {
	words := []string{fmt.Sprintf("Audit of epsilon = %v", r.Privacy.Epsilon)}
	if r.Privacy.Delta > 0 {
		words = append(words, fmt.Sprintf("delta = %v", r.Privacy.Delta))
	}
	words = append(words, string(r.Privacy.Neighbours)+" neighbours")
	if r.Steps > 1 {
		words = append(words, fmt.Sprintf("%d steps", r.Steps))
	}
	return strings.Join(words, ", ") + "."
}

// Ledger writes a ledger's budget, its releases with what they used, and what is
// left. Used is the part of the budget that is used, by the count that decides.
func Ledger(w io.Writer, h *ledger.History) error {
	b := h.Budget
	entries, err := ledgerTable(h)
	if err != nil {
		return err
	}
	noise, delta := usual(h)
	total, rest := "no total", custody.Spent(h)
	if b.Epsilon != nil {
		left, err := custody.Left(h, noise, delta)
		if err != nil {
			return err
		}
		total = fmt.Sprintf("epsilon = %s, delta = %s in all", custody.Rational(b.Epsilon), custody.Rational(b.Delta))
		rest = "Left for one more release: " + left
	}
	return write(w, say(fmt.Sprintf("Ledger of %s: %s, %s neighbours, filter %s.", b.Data, total, b.Neighbours, b.Filter)),
		entries, say(unwritten(h), rest+".", "Head: "+h.Head()))
}

// ledgerTable has a row for each release, whose names are folded.
func ledgerTable(h *ledger.History) ([]block, error) {
	uses, err := h.Uses()
	if err != nil || len(uses) == 0 {
		return nil, err
	}
	t := table{Header: []string{"No", "Time (UTC)", "Release", "Noise", "epsilon", "delta", "Sum(eps)", "Used"}, Left: 4, widest: []int{6, 16, 19}}
	for i, e := range h.Entries {
		t.Rows = append(t.Rows, []string{
			strconv.FormatInt(e.Number, 10), e.Time.UTC().Format("2006-01-02 15:04"), e.Release, string(e.Noise),
			custody.Rational(e.Epsilon), custody.Rational(e.Delta), custody.Rational(uses[i].Epsilon), number(100*uses[i].Part(), 1) + "%",
		})
	}
	return show(t), nil
}

// unwritten names the releases that were charged only, as far as the ledger knows.
func unwritten(h *ledger.History) string {
	var numbers []string
	for _, e := range h.Entries {
		if !e.Written {
			numbers = append(numbers, "No "+strconv.FormatInt(e.Number, 10))
		}
	}
	if numbers == nil {
		return ""
	}
	if more := len(numbers) - 5; more > 0 {
		numbers = append(numbers[:5], fmt.Sprintf("and %d more", more))
	}
	return "Charged, but not known to have been written: " + strings.Join(numbers, ", ") + ". The charge stays."
}

// usual is the noise and δ of the last release with δ above 0, or Gaussian noise and all
// that there is.
func usual(h *ledger.History) (ledger.Noise, *big.Rat) {
	for _, e := range slices.Backward(h.Entries) {
		if e.Delta.Sign() > 0 {
			return e.Noise, e.Delta
		}
	}
	return ledger.Gaussian, h.Budget.Delta
}

// LedgerEvents writes, as CSV, a row for each link of a ledger's chain.
func LedgerEvents(out io.Writer, h *ledger.History) error {
	w := csv.NewWriter(out)
	w.Write([]string{"link", "number", "time", "release", "noise", "epsilon", "delta", "mu", "sum_epsilon", "sum_delta", "written", "event", "hash"})
	epsilon, delta, left := new(big.Rat), new(big.Rat), h.Entries
	for i, e := range h.Events {
		row := []string{strconv.Itoa(i + 1)}
		if len(left) > 0 && left[0].IsOf(e) {
			c := left[0]
			epsilon.Add(epsilon, c.Epsilon)
			delta.Add(delta, c.Delta)
			mu := ""
			if c.Noise == ledger.Gaussian || c.Noise == ledger.Sampled {
				mu = strconv.FormatFloat(c.Sensitivity/c.Scale, 'g', -1, 64)
			}
			row = append(row, strconv.FormatInt(c.Number, 10), c.Time.UTC().Format("2006-01-02T15:04:05Z"), c.Release, string(c.Noise),
				custody.Rational(c.Epsilon), custody.Rational(c.Delta), mu, custody.Rational(epsilon), custody.Rational(delta), strconv.FormatBool(c.Written), "charge")
			left = left[1:]
		} else {
			row = append(row, "", "", "", "", "", "", "", "", "", "", e.Text)
		}
		w.Write(append(row, e.Hash))
	}
	w.Flush()
	return w.Error()
}
