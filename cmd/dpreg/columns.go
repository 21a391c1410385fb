package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/files"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// writeTemplate writes a schema file with the bounds and levels that are stated.
func writeTemplate(f *flags, args []string) error {
	if f.share > 0 {
		return usagef("--bounds auto belongs to dpreg release and dpreg fit: they find bounds in the rows, at a price")
	}
	d := &dataset{flags: f}
	data, err := d.locate(args, f.output)
	if err != nil {
		return err
	}
	defer d.close()
	columns, err := d.header(data)
	if err == nil {
		columns, err = columns.WithBounds(f.stated)
		err = usage(err)
	}
	if err := cmp.Or(err, f.ctx().Err()); err != nil {
		return err
	}
	if f.output == "" {
		if err := columns.WriteTemplate(f.stdout()); err != nil {
			return err
		}
		f.note("fill in the bounds, from public knowledge, and save this as %s", cmp.Or(sidecar(data), "a file for --schema"))
		return nil
	}
	if _, err := os.Lstat(f.output); !errors.Is(err, fs.ErrNotExist) { // bounds that somebody thought about
		return usagef("%s exists already: choose another name, or remove it first", f.output)
	}
	if err := checkWritable(f.output); err != nil {
		return err
	}
	if err := files.Write(f.output, public, columns.WriteTemplate); err != nil {
		return err
	}
	f.note("%s written: fill in the bounds, from public knowledge", f.output)
	return nil
}

// sidecar is where the schema of a data file is looked for: data.schema.json
// beside data.csv; empty where there is no such place.
func sidecar(data string) string {
	return besides(data, ".schema.json")
}

// header finds the rows and reads the schema file, if there is one, and gives the columns of the
// rows without bounds.
func (f *dataset) header(data string) (_ *schema.Schema, err error) {
	if err := f.findRows(data); err != nil {
		return nil, err
	}
	if f.described, f.from, err = custody.ReadSchema(f.schema, sidecar(data)); err != nil {
		return nil, err
	}
	var names []string
	if f.remote == nil {
		known := schema.Known(f.described, f.stated, f.formula)
		if f.person != "" {
			known = append(known, f.person)
		}
		f.names = len(known) > 0 || f.source.Files[0].Format.Named()
		names, err = f.source.Header(known...)
	} else if f.names, names = true, f.remote.Header(); names == nil {
		names, err = f.publicColumns()
	}
	if err == nil && schema.Index(f.stated, f.person) >= 0 {
		err = fmt.Errorf("--person %s: %[1]s says whose a row is, and is no column of a model: leave it out of --bounds and --levels", f.person)
	}
	if err != nil {
		return nil, usage(err)
	}
	columns, described, err := custody.Named(names, f.person, f.described, f.place())
	f.described = described
	return columns, err
}

// place is what messages call the rows.
func (f *dataset) place() string {
	if f.remote != nil {
		return f.remote.String()
	}
	return f.source.Name
}

// design resolves the formula, after a look at whether the columns that it uses
// have bounds at all: that is not a mistake in typing but a matter of privacy.
// unbounded are the columns whose bounds are to be found; the design gives them
// others, which are not to be used.
func (f *dataset) design(data string) (d *schema.Design, unbounded []string, err error) {
	columns, used, err := f.usedColumns(data)
	if err != nil {
		return nil, nil, err
	}
	if unbounded, err = f.unbounded(used, data); err != nil {
		return nil, nil, err
	}
	if columns, err = columns.WithBounds(custody.AnyBounds(unbounded)); err != nil {
		return nil, nil, err
	}
	if d, err = columns.Design(f.formula); err != nil {
		return nil, nil, formulaError(err)
	}
	if strings.TrimSpace(f.formula) == "" {
		f.note("without --formula the last column is the response: %s", d.Formula())
	}
	return d, unbounded, nil
}

// formulaError lets what is wrong with a formula begin with the flag's name.
func formulaError(err error) error {
	if err != nil && strings.HasPrefix(err.Error(), "formula") {
		err = fmt.Errorf("--%w", err)
	}
	return usage(err)
}

// usedColumns gives all columns, and those that the formula names; what it names wrongly,
// schema.Design will say. Public bounds are those of the schema file, which is the sidecar where
// none is named, and over them those of --bounds. Where there is a schema file, columns that it
// leaves out are not used unless --bounds names them.
func (f *dataset) usedColumns(data string) (s *schema.Schema, used []schema.Column, err error) {
	if s, err = f.header(data); err != nil {
		return nil, nil, err
	}
	if s, err = custody.Columns(s, f.described, f.stated, data, f.from, f.say); err != nil {
		return nil, nil, err
	}
	if s, err = s.WithOther(f.other); err != nil {
		return nil, nil, usagef("--%w", err)
	}
	if strings.TrimSpace(f.formula) == "" {
		return s, s.Columns, nil
	}
	formula, err := schema.ParseFormula(f.formula)
	if err != nil || formula.All {
		return s, s.Columns, formulaError(err)
	}
	for _, name := range formula.Columns() {
		if i := s.Index(name); i >= 0 {
			used = append(used, s.Columns[i])
		}
	}
	return s, used, nil
}

// maxListed is how many columns a message lists with what to type for each.
const maxListed = 20

// boundsAuto is how a release may do without bounds.
const boundsAuto = `
  or have them found in the rows, for a part of ε, if there are enough: --bounds auto`

// checkBounded refuses columns without bounds, and says what to type, or what else may be done.
// Names that may be a row of data it does not show.
func (f *dataset) checkBounded(columns []schema.Column, data, instead string) error {
	var names, flags []string
	for _, c := range columns {
		if c.Type == "" && !c.Bounded() {
			names = append(names, c.Name)
			flags = append(flags, "--bounds "+files.Quoted(c.Name+"=LOWER:UPPER"))
		}
	}
	if names == nil {
		return nil
	}
	listed, column := schema.Listed(names), files.Quoted(names[0])
	if !f.names {
		listed, column, flags = "any column", "NAME", []string{"--bounds NAME=LOWER:UPPER", "..."}
	} else if len(flags) > maxListed {
		flags = append(flags[:maxListed], "...")
	}
	template := "dpreg schema " + files.Quoted(data)
	if f.remote != nil {
		template = "dpreg schema --from URL --table NAME"
	}
	return refusef(`no bounds for %s: the noise is calibrated to public bounds of every column.
  Give them:          %s
  or fill in a file:  %s -o %s
  or use fewer columns, by --formula%s
A column of categories needs its levels in place of bounds: --levels %s=LEVEL,LEVEL
Take bounds from public knowledge (a codebook, what is possible at all): bounds
read off the data would tell of the persons at the extremes and break the guarantee`,
		listed, strings.Join(flags, " "), template, files.Quoted(cmp.Or(sidecar(data), "data.schema.json (and --schema of that name)")), instead, column)
}

// --bounds auto: bounds that are found in the rows, for a part of ε.

// parseBounds gives those that --bounds states, and the share of ε for others that are to be
// found (auto and auto=SHARE), 0 where none are. A column that is called auto has bounds with
// a colon.
func parseBounds(texts []string) (stated schema.Bounds, share float64, err error) {
	var named []string
	for _, text := range texts {
		var rest []string
		for item := range strings.SplitSeq(text, ",") {
			name, value, given := strings.Cut(strings.TrimSpace(item), "=")
			if name != release.AutoBounds || strings.Contains(value, ":") {
				rest = append(rest, item)
				continue
			}
			if share != 0 {
				return nil, 0, usagef("--bounds %s: it stands twice", item)
			}
			share = custody.DefaultShare
			if given {
				share, err = schema.ParseNumber(value)
			}
			if err != nil || !(share > 0 && share < 1) {
				return nil, 0, usagef("--bounds %s: the share of ε must lie between 0 and 1, as in --bounds auto=0.1", item)
			}
		}
		if rest != nil {
			named = append(named, strings.Join(rest, ","))
		}
	}
	if stated, err = schema.ParseBounds(named...); err != nil {
		return nil, 0, usagef("--%w", err)
	}
	return stated, share, nil
}

// isForRelease is why runs on rows have no --bounds auto.
const isForRelease = "is for a release; this needs public bounds of every column (dpreg schema)"

// refuseAuto refuses --bounds auto where it cannot be.
func (f *flags) refuseAuto(reason string) error {
	if f.share == 0 {
		return nil
	}
	return usagef("--bounds auto %s", reason)
}

// unbounded lists the columns whose bounds are to be found. Without --bounds auto
// there must be none, and a column of which one bound is known is a mistake.
func (f *dataset) unbounded(columns []schema.Column, data string) ([]string, error) {
	switch {
	case f.share == 0 && f.remote != nil:
		return nil, f.checkBounded(columns, data, "")
	case f.share == 0:
		return nil, f.checkBounded(columns, data, boundsAuto)
	}
	var names []string
	for _, c := range columns {
		if c.Type != "" || c.Bounded() || slices.Contains(names, c.Name) {
			continue
		}
		if !math.IsNaN(c.Lower) || !math.IsNaN(c.Upper) {
			return nil, usagef("--bounds auto: column %q has one bound only; give both, or none, and both are found", c.Name)
		}
		names = append(names, c.Name)
	}
	return names, nil
}
