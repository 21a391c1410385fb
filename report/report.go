// Package report writes results as text, pictures and pages: fits, checks, plans, studies
// and what releases say. Text is for people, at most 80 columns
// wide where names are reasonable; programs read the JSON of package posterior.
package report

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/dpreg/dpreg/schema"
)

// block is one thing of a result: the field that is not empty. A table may have a text right
// below it.
type block struct {
	Table   *table
	Text    string
	Warning string
	Picture *picture
	Facts   []fact
	Command string
}

// fact is a line of a list: what is the case of what.
type fact struct{ Name, Value string }

// say makes a block of each text that says something.
func say(texts ...string) (blocks []block) {
	for _, text := range texts {
		if text != "" {
			blocks = append(blocks, block{Text: text})
		}
	}
	return blocks
}

// warn makes a block of each warning.
func warn(warnings []string) (blocks []block) {
	for _, text := range warnings {
		blocks = append(blocks, block{Warning: "Warning: " + strings.TrimRight(text, ".") + "."})
	}
	return blocks
}

// show makes a block of each table.
func show(tables ...table) []block {
	blocks := make([]block, len(tables))
	for i := range tables {
		blocks[i].Table = &tables[i]
	}
	return blocks
}

// blank is an empty line of a text.
var blank = []block{{}}

// write writes blocks as text, with an empty line around each table.
func write(w io.Writer, parts ...[]block) error {
	var b strings.Builder
	apart := false // from what was before
	for i, x := range slices.Concat(parts...) {
		text := x.Text + x.Warning
		if x.Table == nil && text == "" {
			apart = true
			continue
		}
		if apart || x.Table != nil && i > 0 {
			b.WriteByte('\n')
		}
		if apart = x.Table != nil; apart {
			if err := x.Table.write(&b); err != nil {
				return err
			}
		}
		if text != "" {
			b.WriteString(wrap(text) + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Formula writes a design as one types it.
func Formula(d *schema.Design) string {
	text := d.Response.Name + " ~ " + strings.Join(d.Terms(), " + ")
	if !d.Intercept {
		text += " - 1"
	}
	return text
}

// count writes a number of things.
func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}
