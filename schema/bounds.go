package schema

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Bounds are bounds, or levels, told apart from a schema file, as on a command line.
type Bounds []Column

// WithBounds returns a copy of d in which the bounds b stand in place of those that
// d had. It is an error if d has not such a column, or is not valid then.
func (d *Design) WithBounds(b Bounds) (*Design, error) {
	out := *d
	out.Covariates = slices.Clone(d.Covariates)
	for _, c := range b {
		at := &out.Response
		if i := Index(out.Covariates, c.Name); i >= 0 {
			at = &out.Covariates[i]
		}
		if at.Name != c.Name {
			return nil, fmt.Errorf("bounds: the model has no column %q", c.Name)
		}
		at.Lower, at.Upper = c.Lower, c.Upper
	}
	return &out, out.Validate()
}

// ParseBounds reads texts of the form NAME=LOWER:UPPER, more than one in a text
// where commas stand between them, such as "x=0:40,y=-1e3:1e3". The last "="
// ends the name; a name with a comma needs a schema file.
//
// Errors name the text: another form, a bound that is no finite number, LOWER not
// below UPPER, a name that stands twice.
func ParseBounds(texts ...string) (Bounds, error) {
	var bounds Bounds
	for _, text := range texts {
		for item := range strings.SplitSeq(text, ",") {
			c, err := parseBound(item)
			if err != nil {
				return nil, fmt.Errorf("bounds %q: %w", item, err)
			}
			if Index(bounds, c.Name) >= 0 {
				return nil, fmt.Errorf("bounds %q: column %q already has bounds", item, c.Name)
			}
			bounds = append(bounds, c)
		}
	}
	return bounds, nil
}

func parseBound(item string) (Column, error) {
	eq := strings.LastIndexByte(item, '=')
	if eq < 0 {
		return Column{}, fmt.Errorf("want NAME=LOWER:UPPER, as in x=0:40")
	}
	lower, upper, ok := strings.Cut(item[eq+1:], ":")
	if !ok {
		return Column{}, fmt.Errorf("want LOWER:UPPER after the \"=\", as in x=0:40")
	}
	c := Column{Name: strings.TrimSpace(item[:eq])}
	if err := checkTyped(c.Name); err != nil {
		return Column{}, err
	}
	var err error
	if c.Lower, err = ParseNumber(lower); err != nil {
		return Column{}, fmt.Errorf("lower bound: %w", err)
	}
	if c.Upper, err = ParseNumber(upper); err != nil {
		return Column{}, fmt.Errorf("upper bound: %w", err)
	}
	return c, c.checkBounds()
}

// ParseLevels reads texts of the form NAME=LEVEL,LEVEL, …, such as "colour=red,green": a factor
// each, its public levels, the baseline first. The first "=" ends the name; a name with one needs
// a schema file. A level with a comma stands in quotes, as in a CSV file.
//
// Errors name the text: another form, fewer than two levels, a level or a name that stands twice.
func ParseLevels(texts ...string) (Bounds, error) {
	var factors Bounds
	for _, text := range texts {
		name, list, ok := strings.Cut(text, "=")
		if !ok {
			return nil, fmt.Errorf("levels %q: want NAME=LEVEL,LEVEL, as in colour=red,green", text)
		}
		c := Column{Name: strings.TrimSpace(name), Type: typeString}
		fields := csv.NewReader(strings.NewReader(list))
		fields.LazyQuotes, fields.TrimLeadingSpace = true, true
		levels, _ := fields.Read() // its one error is that there is none
		for _, level := range levels {
			c.Levels = append(c.Levels, strings.TrimSpace(level))
		}
		err := cmp.Or(checkTyped(c.Name), checkLevels(c.Levels))
		if err == nil && Index(factors, c.Name) >= 0 {
			err = errors.New("the column already has levels")
		}
		if err != nil {
			return nil, fmt.Errorf("levels %q: %w", text, err)
		}
		factors = append(factors, c)
	}
	return factors, nil
}

// Space is what may stand around a cell, a name or a number and does not count: spaces
// and tabs, in files and in databases. Anything else, such as a line feed or a no-break
// space, is part of the text.
const Space = " \t"

// Trim returns text without the space around it.
func Trim(text string) string { return strings.Trim(text, Space) }

// errNumber does not repeat the text: where that is a cell, it is secret.
var errNumber = errors.New("not a finite decimal number")

// ParseNumber reads a finite decimal number such as -1.5 or 2e3, with Space
// around it allowed. Infinities, NaN, hexadecimal floats and underscores are
// errors. The error never repeats the text, which may be a cell of the data.
func ParseNumber(text string) (float64, error) {
	text = Trim(text)
	for i := range len(text) {
		switch c := text[i]; {
		case c >= '0' && c <= '9', c == '+', c == '-', c == '.', c == 'e', c == 'E':
		default:
			return math.NaN(), errNumber
		}
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN(), errNumber
	}
	return v, nil
}
