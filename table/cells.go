package table

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"os"
	"runtime/debug"
	"slices"
	"strconv"

	"github.com/dpreg/dpreg/schema"
)

// Files of columns, Parquet and Arrow, have cells that are numbers already, or truth values, or
// texts, which are read as those of comma-separated values are.

// columnsFile is such a file.
type columnsFile interface {
	// open reads what the file says of itself, and gives the names of its columns.
	open(file *os.File, size int64) (names []string, err error)
	// rows reads the rows of a file that is open.
	rows(l *layout, progress func(bytes int64)) (rowsFile, error)
}

// columns opens a file of columns, and gives their names.
func (f File) columns() (file *os.File, columns columnsFile, names []string, err error) {
	if file, err = os.Open(f.Path); err != nil {
		return nil, nil, nil, err
	}
	defer func() {
		if err != nil {
			file.Close()
		}
	}()
	info, err := file.Stat()
	if err != nil {
		return nil, nil, nil, err
	}
	columns, damaged := columnsFile(&parquetFile{}), errParquet
	if f.Format == ArrowFormat {
		columns, damaged = &arrowFile{}, errArrow
	}
	err = soundly(func() (err error) {
		names, err = columns.open(file, info.Size())
		return err
	})
	// A library's errors may hold what the file does, and so a row.
	if err != nil && !slices.Contains([]error{errFeather, errBigEndian, errJoined, errUnended}, err) {
		err = damaged
	}
	if err == nil {
		if _, err = schema.FromHeader(names); err != nil {
			err = fmt.Errorf("names of columns: %w", err)
		}
	}
	if err != nil {
		return nil, nil, nil, &Error{File: f.Path, Err: err}
	}
	return file, columns, names, nil
}

// cells are some cells of a column that are at hand, one after another.
type cells struct {
	field  *field
	layout *layout
	scale  int // of decimals: values are integers over 10^scale

	decoded
	next int // cell
}

var errNotCells = errors.New("it holds lists or groups in the file, not one value a row")

// ofType is the error that a column has a type of which the field's cells cannot be.
func (f *field) ofType(t any) error {
	want := "numbers"
	switch {
	case f.boolean:
		want = "truth values"
	case f.levels != nil:
		want = "levels of a factor"
	case f.person != nil:
		want = "names or whole numbers of persons"
	}
	return fmt.Errorf("it is of type %v in the file, and %s are wanted: cast it there, or correct the schema", t, want)
}

// columns takes up to n rows from columns that have so many cells ready, and returns how
// many it took. The first row is on this line.
func (w *worker) columns(l *layout, columns []*cells, n, line int) (int, error) {
	width := w.width
	n = min(n, (cap(w.rows)-len(w.rows))/width)
	rows := w.rows[len(w.rows) : len(w.rows)+n*width]
	var missing [batch]bool
	var failed error
	for _, c := range columns {
		for i := range n {
			v, err := c.at(c.next + i)
			none, err := c.field.put(rows[i*width:(i+1)*width], v, err, &l.options)
			if err != nil {
				n, failed = i, &Error{l.name, line + i, c.field.label, err}
				break
			}
			missing[i] = missing[i] || none
		}
	}
	for _, c := range columns {
		c.next += n
	}
	for i := range n {
		row := w.row()
		copy(row, rows[i*width:]) // rows before it may have been left out
		if err := w.finish(l, row, missing[i]); err != nil {
			return i, err
		}
	}
	if failed != nil {
		return n, cmp.Or(w.flush(), failed)
	}
	return n, nil
}

// text is a cell that is read as one of comma-separated values is.
func (c *cells) text(text string) (float64, error) { return c.field.parse(text, &c.layout.options) }

var errFinite = errors.New("a cell is not a finite number")

// number is a cell that holds one: it must be finite, and may mean missing.
func (c *cells) number(v float64) (float64, error) {
	switch {
	case v-v != 0:
		return 0, errFinite
	case slices.Contains(c.layout.absent, v):
		return 0, ErrMissing
	case c.field.boolean && v != 0 && v != 1:
		return 0, errBoolean
	}
	return v, nil
}

// integer is a cell that holds one: as a number, over 10^scale, or as text.
func (c *cells) integer(v int64) (float64, error) {
	switch {
	case c.scale != 0:
		return c.decimal(big.NewInt(v))
	case !c.field.number():
		return c.text(strconv.FormatInt(v, 10))
	}
	return c.number(float64(v))
}

// decimal is a cell that holds an integer over 10^scale.
func (c *cells) decimal(v *big.Int) (float64, error) {
	quotient, err := parseNumber(fmt.Sprintf("%de%d", v, -c.scale))
	if err != nil {
		return 0, err
	}
	return c.number(quotient)
}

func finite(values []float64) bool {
	for _, v := range values {
		if v-v != 0 { // NaN of NaN and of infinities
			return false
		}
	}
	return true
}

// decoded are cells as field.parse returns them; errs is nil where all are nil.
type decoded struct {
	values []float64
	errs   []error
}

func (d *decoded) clear() { d.values, d.errs = d.values[:0], nil }

func (d *decoded) at(i int) (v float64, err error) {
	if d.errs != nil {
		err = d.errs[i]
	}
	return d.values[i], err
}

func (d *decoded) add(v float64, err error) {
	if err != nil && d.errs == nil {
		d.errs = make([]error, len(d.values))
	}
	d.values = append(d.values, v)
	if d.errs != nil {
		d.errs = append(d.errs, err)
	}
}

// soundly calls what reads a file that may be anything: it, or a library, may panic then, or reach
// for memory that is not there. Errors of a library may hold what the file does, and so a row.
func soundly(read func() error) (err error) {
	fault := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(fault)
		switch recover() {
		case nil:
		case errLargeBatch:
			err = errLargeBatch
		default:
			err = errPage
		}
	}()
	return read()
}
