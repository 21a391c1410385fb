package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

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

// table is rows of cells below a header, the first Left columns aligned left and the
// others right.
type table struct {
	Header []string
	Rows   [][]string
	Left   int
	widest []int // most characters of a line of the first columns, which are folded; nil: any
}

// column adds a column with a cell for each row; false leaves out one that is empty and, where
// names is true, one that names what all rows share.
func (t *table) column(header string, names bool, cell func(i int) string) bool {
	cells := make([]string, len(t.Rows))
	for i := range cells {
		cells[i] = cell(i)
	}
	if kinds := slices.Compact(slices.Clone(cells)); len(kinds) < 2 && (names || slices.Contains(kinds, "")) {
		return false
	}
	t.Header = append(t.Header, header)
	for i, text := range cells {
		t.Rows[i] = append(t.Rows[i], text)
	}
	return true
}

// joined makes one column of those that name a row, so that a narrow screen shows all
// of the name while numbers scroll past it.
func (t table) joined() table {
	join := func(row []string) []string {
		name := slices.DeleteFunc(slices.Clone(row[:t.Left]), func(part string) bool { return part == "" })
		return append([]string{strings.Join(name, ", ")}, row[t.Left:]...)
	}
	all := table{Header: join(t.Header), Left: 1}
	for _, row := range t.Rows {
		all.Rows = append(all.Rows, join(row))
	}
	return all
}

// write writes a table as text.
func (t table) write(w io.Writer) error {
	rows := make([][]string, len(t.Rows))
	for i, row := range t.Rows {
		rows[i] = slices.Clone(row)
		for j, most := range t.widest {
			rows[i][j] = fold(row[j], most)
		}
	}
	return grid(w, t.Header, rows, t.Left)
}

// grid writes rows of cells below a header, without rules. The first left
// columns are aligned left, the others right. A cell may have several lines.
func grid(w io.Writer, header []string, rows [][]string, left int) error {
	align := make(tw.Alignment, len(header))
	padding := make([]tw.Padding, len(header))
	for j := range header {
		align[j], padding[j] = tw.AlignRight, tw.Padding{Left: " ", Overwrite: true}
		if j < left {
			align[j] = tw.AlignLeft
		}
	}
	padding[0] = tw.PaddingNone
	blueprint := renderer.NewBlueprint(tw.Rendition{
		Borders:  tw.BorderNone,
		Symbols:  tw.NewSymbols(tw.StyleNone),
		Settings: tw.Settings{Separators: tw.SeparatorsNone, Lines: tw.LinesNone},
	})
	var text strings.Builder
	t := tablewriter.NewTable(&text,
		tablewriter.WithRenderer(blueprint),
		tablewriter.WithAlignment(align),
		tablewriter.WithHeaderPaddingPerColumn(padding),
		tablewriter.WithRowPaddingPerColumn(padding),
		tablewriter.WithHeaderAutoFormat(tw.Off), // else "2.5%" becomes "2 . 5 %"
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithTrimSpace(tw.Off),
		tablewriter.WithEastAsian(tw.Off), // else "…" is as wide as the locale says
	)
	t.Header(header)
	if err := t.Bulk(rows); err != nil {
		return err
	}
	if err := t.Render(); err != nil {
		return err
	}
	for line := range strings.Lines(text.String()) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}
