package report

import (
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
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

// Table writes the summary's coefficients and sigma, or all parameters, a row
// each under the names that brms has. Decimals are common to a row: as many as
// show three digits of its sd.
func Table(w io.Writer, s *posterior.Summary, all bool) error {
	t := summaryTable(s, all)
	limit := leastLabel
	if all {
		limit = leastLabelAll
	}
	if slices.ContainsFunc(s.Parameters, func(p posterior.Parameter) bool { return isCustodians(p.Name) }) {
		limit = leastLabelCustodians
	}
	t.widest = []int{max(limit, width-numbersWidth(t.Header, t.Rows))}
	return t.write(w)
}

func summaryTable(s *posterior.Summary, all bool) table {
	level := exactly(percent(s.Level)) + "%"
	header := []string{"", "Estimate", "Est.Error", "l-" + level, "u-" + level, "Rhat", "Bulk_ESS", "Tail_ESS", "Contr."}
	var rows [][]string
	far := farthest(s.Parameters)
	for i := range s.Parameters {
		p := &s.Parameters[i]
		if all || isMain(p.Name) || isCustodians(p.Name) && (far == nil || far[i] || !isOneCustodians(p.Name)) {
			rows = append(rows, row(p))
		}
	}
	return table{Header: header, Rows: rows, Left: 1}
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

// isOneCustodians tells a coefficient, or the residual sd, of one custodian.
func isOneCustodians(name string) bool { return strings.Contains(name, "_at[") }

func row(p *posterior.Parameter) []string {
	d := common(p.SD, p.Mean, p.SD, p.Lower, p.Upper)
	contraction := "NA"
	if p.Contraction != nil {
		contraction = number(*p.Contraction, 3)
	}
	return []string{p.Label, number(p.Mean, d), number(p.SD, d), number(p.Lower, d), number(p.Upper, d),
		number(p.RHat, 3), number(p.ESSBulk, 0), number(p.ESSTail, 0), contraction}
}

// numbersWidth is the width of all columns but the first, with their gaps.
func numbersWidth(header []string, rows [][]string) int {
	total := 0
	for j := 1; j < len(header); j++ {
		most := utf8.RuneCountInString(header[j])
		for _, r := range rows {
			most = max(most, len(r[j]))
		}
		total += 1 + most
	}
	return total
}
