package table

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dpreg/dpreg/schema"
)

var (
	errCell    = errors.New("a cell is not a finite decimal number such as -1.5 or 2e3")
	errBoolean = errors.New("a cell is neither true nor false")
	errLevel   = errors.New("a cell is none of the levels that the schema lists")
)

// source is a column of the file, and what it gives to a row: a number, or the
// dummies of a factor.
type source struct {
	label  string
	field  int // of a record
	read   func(text string) (float64, error)
	at     int            // of the value in the row, where it is no factor
	levels map[string]int // of a factor: the dummy's place in the row, -1 where it has none
	dummy  []int          // places of all dummies
	middle float64        // of the public bounds
}

// sources lists the columns of a file that hold these columns, in the order in
// which a row needs them first. factors are those of the dummies; na are the texts
// that mean missing, and must not be levels.
func (r *recordReader) sources(header []string, columns []schema.Column, factors []schema.Factor, na []string) ([]source, error) {
	var list []source
	for j, c := range columns {
		if c.Factor != "" {
			i := slices.IndexFunc(list, func(s source) bool { return s.levels != nil && s.label == c.Factor })
			if i < 0 {
				i = len(list)
				list = append(list, factorSource(factors, c.Factor))
			}
			list[i].levels[c.Level] = j
			list[i].dummy = append(list[i].dummy, j)
			continue
		}
		read := parseNumber
		if c.Boolean() {
			read = parseBoolean
		}
		// Halves first, so that no sum overflows.
		list = append(list, source{label: c.Name, read: read, at: j, middle: c.Lower/2 + c.Upper/2})
	}
	for i := range list {
		if list[i].field = slices.Index(header, list[i].label); list[i].field < 0 {
			return nil, &Error{r.name, 1, list[i].label, errors.New("the header has no such column")}
		}
		if err := list[i].unmistakable(r.name, na); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func factorSource(factors []schema.Factor, name string) source {
	s := source{label: name, levels: make(map[string]int)}
	for _, f := range factors {
		if f.Name == name {
			for _, level := range f.Levels {
				s.levels[level] = -1
			}
		}
	}
	return s
}

// unmistakable refuses texts that mean missing and are levels too.
func (s *source) unmistakable(name string, na []string) error {
	for _, text := range na {
		if _, ok := s.levels[text]; ok {
			return &Error{File: name, Column: s.label, Err: fmt.Errorf(
				"%q is a level, and means that a cell is missing, too: say which texts mean so (--na TEXT), or rename the level", text)}
		}
	}
	return nil
}

// fill writes what a cell gives to the row, in the data's units.
func (s *source) fill(row []float64, text string) (err error) {
	if s.levels == nil {
		row[s.at], err = s.read(text)
		return err
	}
	at, ok := s.levels[text]
	if !ok {
		return errLevel
	}
	for _, j := range s.dummy {
		row[j] = 0
	}
	if at >= 0 {
		row[at] = 1
	}
	return nil
}

// fillMiddle writes the middle of the bounds.
func (s *source) fillMiddle(row []float64) {
	if s.levels == nil {
		row[s.at] = s.middle
	}
	for _, j := range s.dummy {
		row[j] = 0.5
	}
}

// parseNumber reads a number. Its errors do not hold the text, unlike strconv's.
func parseNumber(text string) (float64, error) {
	v, err := schema.ParseNumber(text)
	if err != nil {
		return 0, errCell
	}
	return v, nil
}

// parseBoolean reads a truth value as Frictionless writes it.
func parseBoolean(text string) (float64, error) {
	switch text {
	case "true", "True", "TRUE", "1":
		return 1, nil
	case "false", "False", "FALSE", "0":
		return 0, nil
	}
	return 0, errBoolean
}

// cells reads the cells of a record into row, in the data's units. missing tells
// that one was missing, where that is no error.
func (r *recordReader) cells(row []float64, record []string, sources []source, o Options) (missing bool, err error) {
	for i := range sources {
		s := &sources[i]
		text := strings.TrimSpace(record[s.field])
		switch {
		case !slices.Contains(o.NA, text):
			err = s.fill(row, text)
		case o.Missing == MissingError:
			err = ErrMissing
		default:
			s.fillMiddle(row)
			missing = true
		}
		if err != nil {
			return missing, &Error{r.name, r.line(s.field), s.label, err}
		}
	}
	return missing, nil
}
