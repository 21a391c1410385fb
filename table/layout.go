package table

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/dpreg/dpreg/internal/files"
	"github.com/dpreg/dpreg/schema"
)

// layout is how the records of a file become rows.
type layout struct {
	wanted
	name   string
	header []string
	fields []field   // in the order in which a row needs them
	inline []int     // of each field of a record its index in fields, or -1
	absent []float64 // texts that mean missing and are numbers, as numbers
	delim  byte      // between fields
	middle []float64 // of the columns' public bounds
}

// wanted is what rows hold, whatever the file.
type wanted struct {
	columns []schema.Column
	factors []schema.Factor
	frame   *schema.Frame // nil: rows stay in the data's units, and are not clamped
	made    *made         // nil: rows have no terms
	options Options

	enclosed *enclosed
	marks    *Marks // nil: nobody asks
	numbered bool   // columns are called by their numbers
}

// names are those of the columns in files.
func (w wanted) names() (names []string) {
	for _, c := range w.columns {
		names = append(names, cmp.Or(c.Factor, c.Name))
	}
	if w.options.Person != "" {
		names = append(names, w.options.Person)
	}
	return names
}

// layout finds the columns wanted in a file's header.
func (w wanted) layout(name string, header []string, delim byte) (*layout, error) {
	fields, err := fieldsOf(name, header, w.columns, w.factors, w.options.NA)
	if err == nil && w.options.Person != "" {
		whose := []field{{label: w.options.Person, at: len(w.columns), person: NewPersonHash(w.options.PersonKey)}}
		whose = append(whose, whose[0])
		whose[1].at, whose[1].half = whose[0].at+1, 1
		err = place(whose, name, header, nil)
		fields = append(fields, whose...)
	}
	if err != nil {
		return nil, err
	}
	l := &layout{wanted: w, name: name, header: header, delim: delim, fields: fields, inline: slices.Repeat([]int{-1}, len(header))}
	for i, f := range fields {
		if f.half == 0 { // else the field before it has the place
			l.inline[f.place] = i
		}
		l.fields[i].label = l.label(f.place)
	}
	for _, text := range w.options.NA {
		if v, err := parseNumber(text); err == nil {
			l.absent = append(l.absent, v)
		}
	}
	for _, c := range w.columns {
		middle := 0.5 // of a dummy
		if c.Factor == "" {
			middle = c.Lower/2 + c.Upper/2 // halves first, so that no sum overflows
		}
		l.middle = append(l.middle, middle)
	}
	return l, nil
}

// label is what errors call a column.
func (l *layout) label(place int) string {
	if l.numbered {
		return strconv.Itoa(place + 1)
	}
	return l.header[place]
}

// complete finishes a row of which all cells are read. It tells whether the row stays.
func (l *layout) complete(row []float64, missing bool) bool {
	if missing && l.options.Missing == Drop {
		return false
	}
	if missing {
		for j, middle := range l.middle {
			if math.IsNaN(row[j]) {
				row[j] = middle
			}
		}
	}
	if l.frame != nil {
		row = row[:len(l.columns)]
		l.frame.Scale(row, row)
	}
	return true
}

// record reads a record of encoding/csv into row.
func (l *layout) record(row []float64, record []string, r *recordReader) (missing bool, err error) {
	for i := range l.fields {
		f := &l.fields[i]
		v, err := f.parse(record[f.place], &l.options)
		none, err := f.put(row, v, err, &l.options)
		if err != nil {
			return false, &Error{l.name, r.line(f.place), f.label, err}
		}
		missing = missing || none
	}
	for i, text := range record {
		if r.lines && strings.IndexByte(text, '\n') >= 0 {
			if err := l.lines(record, i, r.line(i)); err != nil {
				return false, err
			}
		}
	}
	return missing, nil
}

// lines looks at a cell that has several lines. A comment may have them. But two stray
// quotation marks make one cell of all between them, the end of a row, rows and the
// beginning of one: then its lines are rows of this table, and that is an error.
func (l *layout) lines(record []string, at, line int) error {
	lines := strings.Count(record[at], "\n")
	if l.rows(record, at) {
		return &Error{l.name, line, l.label(at), fmt.Errorf("quotation marks make one cell of %d lines, and these are rows: "+
			"remove the marks that are out of place, or the column, if its texts do hold rows", lines+1)}
	}
	l.enclosed.add(l.name, line, lines)
	return nil
}

// rows tells whether the lines of a cell, with the fields before and after it, are rows. All
// have the table's number of fields then; in a table of two columns, and where only two
// lines met, a text with commas may have it too, and the cells of a line must fit as well.
func (l *layout) rows(record []string, at int) bool {
	var text []byte
	for i, cell := range record {
		if i != at {
			cell = strings.NewReplacer(string(rune(l.delim)), " ", "\n", " ").Replace(cell)
		}
		text = append(append(text, cell...), l.delim)
	}
	text[len(text)-1] = '\n'
	lenient := *l
	lenient.options.Missing = Midpoint
	row, n, fit := make([]float64, len(l.columns)+l.extra()), 0, false
	for line := range bytes.Lines(text) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if bytes.Count(line, []byte{l.delim}) != len(record)-1 {
			return false
		}
		if n++; n > 1 && !fit {
			length, _ := lenient.line(row, line, new(hashState))
			fit = length > 0
		}
	}
	return n > 1 && (fit || n > 2 && len(record) > 2)
}

// line reads the line at the beginning of text, which has no quotation marks and ends
// with a line feed, into row, and returns its length; 0 where anything is wrong with
// it: what, encoding/csv and record say.
func (l *layout) line(row []float64, text []byte, state *hashState) (length int, missing bool) {
	last := len(l.inline) - 1
	for i, k := range l.inline {
		delimiter := l.delim
		if i == last {
			delimiter = '\n'
		}
		if k >= 0 && l.fields[k].number() && !l.options.Form.Comma {
			if v, n := decimal(text[length:]); n > 0 {
				end := length + n
				if i == last && text[end] == '\r' {
					end++
				}
				if text[end] == delimiter && !slices.Contains(l.absent, v) {
					row[l.fields[k].at] = v
					length = end + 1
					continue
				}
			}
		}
		end := length
		for text[end] != l.delim && text[end] != '\n' {
			end++
		}
		if text[end] != delimiter {
			return 0, false
		}
		if k >= 0 {
			f, cell := &l.fields[k], text[length:end]
			if i == last {
				cell = bytes.TrimSuffix(cell, []byte("\r"))
			}
			if f.person != nil {
				if !l.whose(row[f.at:], cell, state) {
					return 0, false
				}
				length = end + 1
				continue
			}
			v, err := f.parse(string(cell), &l.options)
			none, err := f.put(row, v, err, &l.options)
			if err != nil {
				return 0, false
			}
			missing = missing || none
		}
		length = end + 1
	}
	return length, missing
}

// whose writes what stands for the person of a cell, unless it may be none that it says.
func (l *layout) whose(to []float64, cell []byte, state *hashState) bool {
	if space := func(c byte) bool { return c == ' ' || c == '\t' }; len(cell) > 0 && (space(cell[0]) || space(cell[len(cell)-1])) {
		cell = bytes.Trim(cell, schema.Space)
	}
	if slices.ContainsFunc(l.options.NA, func(text string) bool { return text == string(cell) }) {
		return false
	}
	id := hashed(l.fields[len(l.fields)-1].person, state, cell)
	copy(to, id[:])
	return true
}

// Enclosed counts the cells that have several lines. As an error it is a warning of them.
type Enclosed struct{ Cells, Lines int }

// Add adds others.
func (e *Enclosed) Add(other Enclosed) {
	e.Cells += other.Cells
	e.Lines += other.Lines
}

func (e Enclosed) Error() string {
	return fmt.Sprintf("cells that the model does not use have line ends within quotation marks, %d cells and %d line ends in all: "+
		"if a mark is out of place, rows are lost in them", e.Cells, e.Lines)
}

// enclosed are those of files, and where the first one is.
type enclosed struct {
	sync.Mutex
	Enclosed
	first Error
}

func (e *enclosed) add(name string, line, lines int) {
	e.Lock()
	defer e.Unlock()
	if e.Cells == 0 || name < e.first.File || name == e.first.File && line < e.first.Line {
		e.first.File, e.first.Line = name, line
	}
	e.Add(Enclosed{1, lines})
}

// warning tells of them, nil where there are none.
func (e *enclosed) warning() error {
	if e == nil || e.Cells == 0 {
		return nil
	}
	e.first.Err = e.Enclosed
	return &e.first
}

// Missing says what becomes of a row in which a cell of the model is missing.
type Missing string

const (
	// MissingError ends the sequence with ErrMissing; the empty Missing means it too.
	MissingError Missing = "error"
	// Midpoint puts the middle of the public bounds in place of the cell; a factor
	// has all its dummies at ½. Rows stay rows, so any neighbours are served; slopes
	// are biased, as a rule towards 0.
	Midpoint Missing = "midpoint"
	// Drop leaves the row out. Exchanging one row for another may then change the
	// number of rows, so this is for add-remove neighbours only: the caller sees
	// to it. That no row is left is not an error, which would tell of the rows.
	Drop Missing = "drop"
)

// BadCell says what becomes of a cell that is no number, truth value or level, as its column wants.
type BadCell string

const (
	// BadError ends the sequence.
	BadError BadCell = "error"
	// BadMissing takes it for a missing one, of which Missing says what becomes.
	BadMissing BadCell = "missing"
)

// Options say how cells are read. The zero value serves.
type Options struct {
	Missing Missing
	// NA are the texts of cells that mean missing, compared without schema.Space
	// around them. An empty cell always does. nil stands for "NA"; a list without
	// texts for none but the empty one.
	NA []string
	// ByLevels says that sums are by levels, of which each row has one: no Midpoint.
	ByLevels bool `json:"-"`
	// Empty says that a table may be without rows. Else that is an error, which tells it
	// from a table with a row: a release for add-remove neighbours must not.
	Empty bool
	// BadCell is BadError, which the empty BadCell means, too, or BadMissing.
	BadCell BadCell `json:",omitzero"`
	// Other, if not empty, is the level that a cell counts as which has none of its factor's;
	// of a factor without that level such a cell is an error.
	Other string `json:",omitzero"`
	// Form says how streams are written; of a Source its own does.
	Form Form `json:",omitzero"`
	// Person, where it is not empty, names the column that says whose a row is. Two values
	// follow each row then, which stand for the person: see PersonHash. A row must say one,
	// unless Missing is Drop.
	Person string `json:",omitempty"`
	// PersonKey is the key of the hash that stands for a person.
	PersonKey [32]byte `json:"-"`
}

// Settle returns o with its defaults, or what is wrong with it.
func (o Options) Settle() (Options, error) {
	if o.Missing == "" {
		o.Missing = MissingError
	}
	if !slices.Contains([]Missing{MissingError, Midpoint, Drop}, o.Missing) {
		return o, fmt.Errorf("missing cells: %q is none of error, midpoint and drop", o.Missing)
	}
	if !slices.Contains([]BadCell{"", BadError, BadMissing}, o.BadCell) {
		return o, fmt.Errorf("bad cells: %q is neither error nor missing", o.BadCell)
	}
	if o.BadCell == BadError {
		o.BadCell = "" // as it is where nobody says
	}
	if o.NA == nil {
		o.NA = []string{"NA"}
	}
	if err := o.Form.settle(); err != nil {
		return o, err
	}
	texts := []string{""}
	for _, text := range o.NA {
		texts = append(texts, schema.Trim(text))
	}
	o.NA = texts
	return o, nil
}

// scaled is what the rows of a design hold, in scaled units.
func (o Options) scaled(d *schema.Design) (wanted, error) {
	if err := d.Validate(); err != nil {
		return wanted{}, err
	}
	o, err := o.Settle()
	if err != nil {
		return wanted{}, err
	}
	frame := d.Frame()
	if !d.Made() {
		return wanted{columns: d.Columns(), factors: d.Factors, frame: &frame, options: o}, nil
	}
	m, err := d.Maker(d.Columns(), true)
	if err != nil {
		return wanted{}, err
	}
	return wanted{columns: m.Columns, factors: m.Factors, made: &made{m, frame}, options: o}, nil
}

// Error is what is wrong with a file, and where. It never holds a cell's text, so
// that a log or a bug report does not publish a row.
type Error struct {
	File   string
	Line   int    // 1-based, 0 where the whole file is meant
	Column string // name from the schema, empty where the whole line is meant
	Err    error
}

// ErrMissing is the error of a cell that is missing, which Options can allow.
var ErrMissing = errors.New("missing value: every row must be complete in the columns of the model")

// Offer says of an error what else can be done, where a cell is missing.
func (o Options) Offer(err error) error {
	if !errors.Is(err, ErrMissing) {
		return err
	}
	if !o.ByLevels {
		err = fmt.Errorf("%w; or put the middle of the public bounds in place of such cells: --missing midpoint", err)
	}
	return fmt.Errorf("%w; or, in a release, leave their rows out: --missing drop --neighbours add-remove", err)
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	b.WriteString(": ")
	if e.Column != "" {
		fmt.Fprintf(&b, "column %q: ", e.Column)
	}
	text := e.Err.Error()
	if errors.Is(e.Err, errBoolean) && e.Column != "" {
		text = strings.Replace(text, "NAME", files.Quoted(e.Column), 1)
	}
	b.WriteString(text)
	return b.String()
}

// Unwrap returns what is wrong, without the place.
func (e *Error) Unwrap() error { return e.Err }
