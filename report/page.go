package report

import (
	"bytes"
	"cmp"
	_ "embed"
	"html/template"
	"io"
	"slices"
	"strings"
)

// page is a report that a browser shows: one file of HTML that needs no other, no
// network and no script. Its parts are values, so that any result can have a page.
type page struct {
	Title    string
	Lead     string   // what it is, in a sentence
	Alerts   []string // what must not be missed
	Sections []section
}

type section struct {
	Title  string
	Blocks []block
}

// picture is a figure on a page.
type picture struct {
	Caption string
	Keys    []pictureKey
	Panels  []template.HTML // SVG
	Wide    bool            // one panel that keeps its width on a narrow screen
}

type pictureKey struct {
	Name   string
	Sample template.HTML // SVG
}

// Run says how a result was made, and how to make it again.
type Run struct {
	Command string // as it was given
	Repeat  string // what repeats it at no further cost; empty: Command
	Version string // of the program
	Release string // the release's file; empty: none
	Digest  string // SHA-256 of that file, in hexadecimal
	Method  string // as asked for; the result says which one was taken
}

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string

	pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
		"style": func() template.CSS { return template.CSS(pageCSS) },
		// A command breaks between words, and not after the first dash of a flag.
		"words": strings.Fields,
	}).Parse(pageHTML))
)

// write writes the page, or nothing where a part of it cannot be made.
func (p *page) write(w io.Writer) error {
	var whole bytes.Buffer
	if err := pageTemplate.Execute(&whole, p); err != nil {
		return err
	}
	_, err := whole.WriteTo(w)
	return err
}

// add puts a section at the end, unless it is empty.
func (p *page) add(title string, parts ...[]block) {
	if blocks := slices.Concat(parts...); blocks != nil {
		p.Sections = append(p.Sections, section{title, blocks})
	}
}

// addRepeat ends a page: how to come by the same result.
func (p *page) addRepeat(r Run, how string, facts ...fact) {
	if r.Release != "" {
		facts = append(facts, fact{"Release", r.Release}, fact{"SHA-256 of the release", r.Digest})
	}
	facts = append(facts, fact{"Version of dpreg", r.Version})
	p.add("How to repeat it", []block{{Text: how}, {Command: cmp.Or(r.Repeat, r.Command)}, {Facts: facts}})
}

// picturesOf makes a block of each figure whose name begins with one of these.
func picturesOf(figures []*Figure, names ...string) (blocks []block) {
	for _, name := range names {
		for _, f := range figures {
			if strings.HasPrefix(f.Name, name) {
				blocks = append(blocks, block{Picture: f.picture()})
			}
		}
	}
	return blocks
}
