package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/whatif"
)

// leastLabel is the width of labels, which are folded to it, however wide the numbers
// are: that of (Intercept). Four numbers of nine characters leave about as much of a line.
// All parameters' labels have more, and custodians', which end in the names of files, more
// still; these tables may be wider.
const (
	leastLabel           = 11
	leastLabelAll        = 24
	leastLabelCustodians = 60
)

// summaryTable has the summary's coefficients and sigma, or all parameters, a row
// each under the names that brms has. Decimals are common to a row: as many as
// show three digits of its sd.
func summaryTable(s *posterior.Summary, all bool, o Options) table {
	level := percent(s.Level) + "%"
	t := table{Header: []string{"", "Estimate", "Est.Error", "l-" + level, "u-" + level, "Rhat", bulk, ofTail, "Contr."}, Left: 1}
	if o.Sign {
		t.Header = append(t.Header, "P(>0)")
	}
	limit, far := leastLabel, farthest(s.Parameters)
	if all {
		limit = leastLabelAll
	}
	for i := range s.Parameters {
		p := &s.Parameters[i]
		if isCustodians(p.Name) {
			limit = leastLabelCustodians
		}
		if all || isMain(p.Name) || p.Name == "dispersion" || isCustodians(p.Name) && (far == nil || far[i] || !isOneCustodians(p.Name)) {
			t.Rows = append(t.Rows, row(p, o))
		}
	}
	var spare []string // columns
	if o.Format == "" && (o.Sign || o.Width != width) {
		spare = []string{bulk, ofTail, "Rhat", "Contr."}
	}
	return t.fitting(o.Width, limit, spare...)
}

// bulk and ofTail head the columns of effective sample sizes.
const bulk, ofTail = "Bulk_ESS", "Tail_ESS"

// kindOf names the regression of a family.
func kindOf(f model.Family) string {
	switch f {
	case model.Normal:
		return "linear"
	case model.Binomial:
		return "logistic"
	case model.Poisson:
		return "Poisson"
	}
	return string(f)
}

// mostRatioDecimals are those of ratios near 1, as of a column in dollars.
const mostRatioDecimals = 6

// ratios is a table of exp(θ) of slopes where that is a ratio of odds or rates; nothing elsewhere.
func ratios(s *posterior.Summary) []block {
	if s.Family == nil || model.Family(*s.Family).Ratio() == "" {
		return nil
	}
	level := percent(s.Level) + "%"
	t := table{Header: []string{model.Family(*s.Family).Ratio() + " ratio", "exp(Est.)", "l-" + level, "u-" + level}, Left: 1, widest: []int{leastLabelAll}}
	for i := range s.Parameters {
		if p := &s.Parameters[i]; isMain(p.Name) && p.Name != "theta[0]" {
			centre, lower, upper := math.Exp(p.Mean), math.Exp(p.Lower), math.Exp(p.Upper)
			d := min(common(centre*p.SD, centre, lower, upper), mostRatioDecimals)
			if d == scientific && centre*p.SD < 1 {
				d = mostRatioDecimals
			}
			t.Rows = append(t.Rows, []string{p.Label, number(centre, d), number(lower, d), number(upper, d)})
		}
	}
	return show(t)
}

// isMain tells the parameters that are always shown.
func isMain(name string) bool {
	kind := model.KindOf(name)
	return kind == model.Sigma || kind == model.Theta
}

// isCustodians tells those of partially pooled custodians, which tables show too.
func isCustodians(name string) bool {
	return strings.HasPrefix(name, "spread") || isOneCustodians(name)
}

// toRead is the summary that tables to read have, and what they leave out: parts that coins made are nobody's, and
// have no rows of their own.
func toRead(f *dpreg.Fit, s *posterior.Summary) (*posterior.Summary, string) {
	own := func(p posterior.Parameter) bool { return isOneCustodians(p.Name) }
	if !f.OneDealing() || !slices.ContainsFunc(s.Parameters, own) {
		return s, leftOut(s)
	}
	out := *s
	out.Parameters = slices.DeleteFunc(slices.Clone(s.Parameters), own)
	return &out, "Each part of the rows has coefficients of its own, which --format csv or json has."
}

// isOneCustodians tells a coefficient, or the residual sd, of one custodian.
func isOneCustodians(name string) bool { return strings.Contains(name, "_at[") }

func row(p *posterior.Parameter, o Options) []string {
	d := commonOf(o.Digits, p.SD, p.Mean, p.SD, p.Lower, p.Upper)
	cells := []string{p.Label, number(p.Mean, d), number(p.SD, d), number(p.Lower, d), number(p.Upper, d),
		number(p.RHat, 3), number(p.ESSBulk, 0), number(p.ESSTail, 0), known(p.Contraction, 3)}
	if o.Sign {
		cells = append(cells, probability(p.Positive, p.ESS()))
	}
	return cells
}

// probability writes a share of draws; where all agree, the limit that so many independent ones
// set to the others at 95 % (3/ESS).
func probability(p, ess float64) string {
	least := 3 / ess
	if !(least > 0 && least < 1) {
		return number(p, 4)
	}
	switch d := max(2, precision(least)-1); p {
	case 0:
		return "<" + number(least, d)
	case 1:
		return ">" + number(1-least, d)
	}
	return number(p, 4)
}

// farthest returns the places of those custodians' coefficients that lie lowest and highest,
// of each coefficient and of sigma, where custodians are too many to show them all; nil otherwise.
func farthest(parameters []posterior.Parameter) map[int]bool {
	ends, most := map[model.Parameter]*[2]int{}, 0 // lowest and highest
	for i, p := range parameters {
		of, _ := model.ParseParameter(p.Name)
		if of.Kind != model.ThetaAt && of.Kind != model.SigmaAt {
			continue
		}
		k := model.Parameter{Kind: of.Kind, K: of.K}
		if ends[k] == nil {
			ends[k] = &[2]int{i, i}
		}
		if p.Mean < parameters[ends[k][0]].Mean {
			ends[k][0] = i
		}
		if p.Mean > parameters[ends[k][1]].Mean {
			ends[k][1] = i
		}
		most = max(most, of.Custodian)
	}
	if most <= mostCustodians {
		return nil
	}
	places := map[int]bool{}
	for _, end := range ends {
		places[end[0]], places[end[1]] = true, true
	}
	return places
}

// leftOut says of which custodians the table has coefficients; empty where it has all.
func leftOut(s *posterior.Summary) string {
	if farthest(s.Parameters) == nil {
		return ""
	}
	return "Of each coefficient the table has the two custodians with the lowest and the highest estimate; --format csv or json has all."
}

// From which posterior contraction on a release says much, and below which next to nothing.
const (
	muchContracted   = 0.9
	hardlyContracted = 0.1
)

// contraction says in words on which side of 0 the slopes are, and which parameters'
// priors the release narrows, and how much.
func contraction(s *posterior.Summary) []string {
	const above, below, about, some = "above 0 for", "below 0 for", "about 0 for", "somewhat for"
	much := fmt.Sprintf("much (contraction at least %v) for", muchContracted)
	hardly := fmt.Sprintf("hardly or not at all (contraction below %v) for", hardlyContracted)
	labels := map[string][]string{}
	for _, p := range s.Parameters {
		if !isMain(p.Name) {
			continue
		}
		side, amount := about, hardly
		switch {
		case p.Lower > 0:
			side = above
		case p.Upper < 0:
			side = below
		}
		if p.Name != "theta[0]" && p.Name != "sigma" {
			labels[side] = append(labels[side], p.Label)
		}
		switch c := p.Contraction; {
		case c == nil:
			continue
		case *c >= muchContracted:
			amount = much
		case *c >= hardlyContracted:
			amount = some
		}
		labels[amount] = append(labels[amount], p.Label)
	}
	return []string{sentence("The slope's "+percent(s.Level)+" % interval lies", labels, above, below, about),
		sentence("The release narrows the prior", labels, much, some, hardly)}
}

// sentence says of each of these words the names that it has; it is empty where none has any.
func sentence(start string, names map[string][]string, words ...string) string {
	var said []string
	for _, w := range words {
		if names[w] != nil {
			said = append(said, w+" "+strings.Join(names[w], ", "))
		}
	}
	if said == nil {
		return ""
	}
	return start + " " + strings.Join(said, "; ") + "."
}

// WhatIf writes what became of each coefficient under each variant of a fit, and
// whether the conclusions move.
func WhatIf(w io.Writer, what *whatif.Answers) error {
	return write(w, blank, say("What if"), whatIf(what))
}

// whatIf is a table with a row for each coefficient under each variant, and what follows.
func whatIf(what *whatif.Answers) []block {
	t := table{Header: []string{"", "", "Shift", "Width", "Sign"}, Left: 2, widest: []int{40, 20}}
	text := []string{"Shift: of the estimate, in posterior sds of the fit above. Width: of the interval, over the fit's. " +
		"Sign: where the interval lies, + above 0, - below, 0 about it; ! where the fit's lies elsewhere.", whetherMoved(what)}
	for _, v := range what.Variants {
		name := v.Name
		for _, e := range v.Effects {
			sign := [...]string{"-", "0", "+"}[e.Sign+1]
			if e.Changed {
				sign += "!"
			}
			t.Rows = append(t.Rows, []string{name, e.Label, number(e.Shift, 2), number(e.Width, 2), sign})
			name = ""
		}
		if v.Reason != "" {
			text = append(text, fmt.Sprintf("Not converged, %s: %s.", v.Name, v.Reason))
		}
	}
	return append(show(t), say(text...)...)
}

// whetherMoved says in a sentence whether the conclusions move, and which one most.
func whetherMoved(what *whatif.Answers) string {
	var shift, width float64 // the largest
	var shiftWhere, widthWhere string
	var changed []string
	for _, v := range what.Variants {
		for _, e := range v.Effects {
			where := e.Label + ", " + v.Name
			if size := math.Abs(e.Shift); size > shift {
				shift, shiftWhere = size, where
			}
			if size := max(e.Width, 1/e.Width); size > width {
				width, widthWhere = size, where
			}
			if e.Changed {
				changed = append(changed, fmt.Sprintf("%s (%s)", e.Label, v.Name))
			}
		}
	}
	level := percent(what.Level)
	if !what.Moved {
		return fmt.Sprintf("The conclusions stand: estimates shift by at most %s posterior sds, no interval is more than %s times as wide or as narrow, and no sign at %s %% changes.",
			number(shift, 2), number(width, 2), level)
	}
	text := fmt.Sprintf("The conclusions move with what was assumed: by up to %s posterior sds (%s), and intervals by a factor of up to %s (%s); ",
		number(shift, 2), shiftWhere, number(width, 2), widthWhere)
	if changed == nil {
		return text + fmt.Sprintf("no sign at %s %% changes.", level)
	}
	return text + fmt.Sprintf("the sign at %s %% changes of %s.", level, strings.Join(changed, ", "))
}
