package report

import (
	"fmt"
	"html"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

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
func (t table) write(b *strings.Builder) error {
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
		fmt.Fprintln(b, strings.TrimRight(line, " \n"))
	}
	return nil
}

// TableFormats are those of a table that goes into another document.
var TableFormats = []string{"markdown", "latex", "html"}

// writeAs writes a table in one of TableFormats below a caption.
func (t table) writeAs(w io.Writer, format, caption string) error {
	var b strings.Builder
	switch format {
	case "markdown":
		t.markdown(&b, caption)
	case "latex":
		t.latex(&b, caption)
	case "html":
		t.html(&b, caption)
	default:
		return fmt.Errorf("a table is written as %s, and not as %q", strings.Join(TableFormats, ", "), format)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t table) markdown(b *strings.Builder, caption string) {
	escape := strings.NewReplacer("\\", "\\\\", "|", "\\|", "*", "\\*", "_", "\\_", "<", "&lt;", "`", "\\`", "\n", " ")
	line := func(cells []string, escape func(string) string) {
		for _, cell := range cells {
			fmt.Fprintf(b, "| %s ", escape(cell))
		}
		b.WriteString("|\n")
	}
	fmt.Fprintf(b, "%s\n\n", escape.Replace(caption))
	line(t.Header, escape.Replace)
	rule := slices.Repeat([]string{"---:"}, len(t.Header))
	for j := range t.Left {
		rule[j] = ":---"
	}
	line(rule, strings.Clone)
	for _, row := range t.Rows {
		line(row, escape.Replace)
	}
}

// latex needs the package booktabs.
func (t table) latex(b *strings.Builder, caption string) {
	escape := strings.NewReplacer("\\", `\textbackslash{}`, "{", `\{`, "}", `\}`, "_", `\_`, "%", `\%`, "&", `\&`, "#", `\#`, "$", `\$`,
		"~", `$\sim$`, "^", `\textasciicircum{}`, "<", `$<$`, ">", `$>$`, "\n", " ")
	line := func(cells []string) {
		escaped := make([]string, len(cells))
		for j, cell := range cells {
			if escaped[j] = escape.Replace(cell); j >= t.Left && strings.HasPrefix(cell, "-") {
				escaped[j] = "$" + escaped[j] + "$"
			}
		}
		b.WriteString(strings.Join(escaped, " & ") + ` \\` + "\n")
	}
	fmt.Fprintf(b, "\\begin{table}\n\\caption{%s}\n\\begin{tabular}{%s%s}\n\\toprule\n",
		escape.Replace(caption), strings.Repeat("l", t.Left), strings.Repeat("r", len(t.Header)-t.Left))
	line(t.Header)
	b.WriteString("\\midrule\n")
	for _, row := range t.Rows {
		line(row)
	}
	b.WriteString("\\bottomrule\n\\end{tabular}\n\\end{table}\n")
}

func (t table) html(b *strings.Builder, caption string) {
	line := func(element string, cells []string) {
		b.WriteString("<tr>")
		for j, cell := range cells {
			align := ""
			if j >= t.Left {
				align = ` style="text-align: right"`
			}
			fmt.Fprintf(b, "<%s%s>%s</%[1]s>", element, align, html.EscapeString(cell))
		}
		b.WriteString("</tr>\n")
	}
	fmt.Fprintf(b, "<table>\n<caption>%s</caption>\n<thead>\n", html.EscapeString(caption))
	line("th", t.Header)
	b.WriteString("</thead>\n<tbody>\n")
	for _, row := range t.Rows {
		line("td", row)
	}
	b.WriteString("</tbody>\n</table>\n")
}

// fitting leaves out columns, of those named the first first, until the table is no wider than so
// many characters, and folds the first column to what the others leave, to least or more.
func (t table) fitting(width, least int, names ...string) table {
	for _, name := range names {
		if least+t.numbersWidth() <= width {
			break
		}
		at := slices.Index(t.Header, name)
		if at < 0 {
			continue
		}
		without := func(row []string) []string { return slices.Delete(slices.Clone(row), at, at+1) }
		t.Header = without(t.Header)
		rows := t.Rows
		t.Rows = nil
		for _, row := range rows {
			t.Rows = append(t.Rows, without(row))
		}
	}
	t.widest = []int{max(least, width-t.numbersWidth())}
	return t
}

// numbersWidth is the width of all columns but the first, with their gaps.
func (t table) numbersWidth() int {
	total := 0
	for j := 1; j < len(t.Header); j++ {
		most := utf8.RuneCountInString(t.Header[j])
		for _, row := range t.Rows {
			most = max(most, len(row[j]))
		}
		total += 1 + most
	}
	return total
}
