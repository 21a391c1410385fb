package table

import (
	"slices"

	"github.com/dpreg/dpreg/schema"
)

// made makes rows of a design with terms from rows of the columns that these are made of: clamped
// to their bounds first, so that a term is defined, and lies between the bounds that follow from
// theirs, whatever a cell holds.
type made struct {
	*schema.Maker
	frame schema.Frame
}

// width is that of the rows that are handed on.
func (w wanted) width() int {
	if w.made == nil {
		return len(w.columns)
	}
	return len(w.made.frame.Half)
}

// extra is how many values follow a row, which stand for its person.
func (w wanted) extra() int {
	if w.options.Person == "" {
		return 0
	}
	return PersonValues
}

// make makes a row as it is handed on of one that was read.
func (w wanted) make(row, base []float64) {
	copy(row[w.width():], base[len(w.columns):])
	row, base = row[:w.width()], base[:len(w.columns)]
	w.made.Row(row, base)
	w.made.frame.Scale(row, row)
}

// yielded are rows as they are handed on, one by one.
func (w wanted) yielded(yield func([]float64, error) bool) func([]float64, error) bool {
	if w.made == nil {
		return yield
	}
	row := make([]float64, w.width()+w.extra())
	return func(base []float64, err error) bool {
		if err != nil {
			return yield(nil, err)
		}
		w.make(row, base)
		return yield(row, nil)
	}
}

// sunk are rows as they are handed on, some at a time.
func (w wanted) sunk(sink func(rows []float64) error) func(rows []float64) error {
	if w.made == nil {
		return sink
	}
	from, to := len(w.columns)+w.extra(), w.width()+w.extra()
	var rows []float64
	return func(base []float64) error {
		n := len(base) / from
		rows = slices.Grow(rows[:0], n*to)[:n*to]
		for i := range n {
			w.make(rows[i*to:(i+1)*to], base[i*from:(i+1)*from])
		}
		return sink(rows)
	}
}
