package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

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

// write writes a table as text, without rules. The first columns are aligned left, the others
// right. A cell may have several lines.
func (t table) write(w io.Writer) error {
	align, padding := make(tw.Alignment, len(t.Header)), make([]tw.Padding, len(t.Header))
	for j := range t.Header {
		align[j], padding[j] = tw.AlignRight, tw.Padding{Left: " ", Overwrite: true}
		if j < t.Left {
			align[j] = tw.AlignLeft
		}
	}
	padding[0] = tw.PaddingNone
	var text strings.Builder
	drawn := tablewriter.NewTable(&text,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders:  tw.BorderNone,
			Symbols:  tw.NewSymbols(tw.StyleNone),
			Settings: tw.Settings{Separators: tw.SeparatorsNone, Lines: tw.LinesNone},
		})),
		tablewriter.WithAlignment(align),
		tablewriter.WithHeaderPaddingPerColumn(padding),
		tablewriter.WithRowPaddingPerColumn(padding),
		tablewriter.WithHeaderAutoFormat(tw.Off), // else "2.5%" becomes "2 . 5 %"
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithTrimSpace(tw.Off),
		tablewriter.WithEastAsian(tw.Off), // else "…" is as wide as the locale says
	)
	drawn.Header(t.Header)
	for _, row := range t.Rows {
		cells := slices.Clone(row)
		for j, most := range t.widest {
			cells[j] = fold(row[j], most)
		}
		if err := drawn.Append(cells); err != nil {
			return err
		}
	}
	if err := drawn.Render(); err != nil {
		return err
	}
	for line := range strings.Lines(text.String()) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}
