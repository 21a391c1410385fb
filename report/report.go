// Package report writes results as text: the table of a fit and the lines that
// go with it, and what a release says. Text is for people, at most 80 columns
// wide where names are reasonable; programs read the JSON of package posterior.
package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/schema"
)

// Options say how a fit is written.
type Options struct {
	Units dpreg.Units // empty: dpreg.Original
	Level float64     // of the intervals; 0: posterior.DefaultLevel
	All   bool        // sigma2, mean(x), var(x) and cov(x, w) as well
}

// fill puts defaults where nothing was said.
func (o *Options) fill() {
	if o.Units == "" {
		o.Units = dpreg.Original
	}
	if o.Level == 0 {
		o.Level = posterior.DefaultLevel
	}
}

// Fit writes the whole result: what was released, the table, the diagnostics,
// the price of privacy and the warnings. It panics on units or a level that do
// not exist.
func Fit(w io.Writer, f *dpreg.Fit, o Options) error {
	o.fill()
	s := f.Summary(o.Units, o.Level)
	p := &printer{w: w}
	said := p.promises(f)
	p.paragraph(Formula(f.Design) + ", " + subject(f, o.Units))
	if f.Why != "" {
		p.paragraph(chosen(f))
	}
	p.printf("\n")
	p.do(func(w io.Writer) error { return Table(w, s, o.All) })
	p.printf("\n")
	if text := leftOut(s, o.All); text != "" {
		p.paragraph(text)
	}
	p.do(func(w io.Writer) error { return Diagnostics(w, s) })
	if price := f.PriceOfPrivacy(); price != nil {
		p.do(func(w io.Writer) error { return Price(w, s, price) })
	}
	if text := shrunk(f, o.Units); text != "" {
		p.paragraph(text)
	}
	p.do(func(w io.Writer) error { return Warnings(w, unsaid(s.Warnings, said)) })
	return p.err
}

// promises writes what the releases promise, and returns the warnings that it gave.
func (p *printer) promises(f *dpreg.Fit) (said []string) {
	switch len(f.Custodians) {
	case 0:
		return nil
	case 1:
		r := f.Custodians[0].Release
		p.do(func(w io.Writer) error { return Statement(w, r) })
		said = r.Warnings()
	default:
		p.do(func(w io.Writer) error { return custodiansTable(f).write(w) })
		p.paragraph(custodiansWords(f))
	}
	p.printf("\n")
	return said
}

// unsaid leaves out the warnings that were given before.
func unsaid(warnings, said []string) []string {
	return slices.DeleteFunc(slices.Clone(warnings), func(text string) bool { return slices.Contains(said, text) })
}

// chosen says which engine was taken, and why.
func chosen(f *dpreg.Fit) string {
	return fmt.Sprintf("Method %s was taken: %s.", f.Method, f.Why)
}

// Formula writes a design as one types it.
func Formula(d *schema.Design) string {
	text := d.Response.Name + " ~ "
	text += strings.Join(d.Terms(), " + ")
	if !d.Intercept {
		text += " - 1"
	}
	return text
}

// printer keeps the first error, after which it writes nothing.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) do(write func(io.Writer) error) {
	if p.err == nil {
		p.err = write(p.w)
	}
}

func (p *printer) printf(format string, args ...any) {
	p.do(func(w io.Writer) error {
		_, err := fmt.Fprintf(w, format, args...)
		return err
	})
}

func (p *printer) paragraph(text string) { p.printf("%s\n", wrap(text)) }
