package table

import (
	"errors"
	"strings"

	"github.com/dpreg/dpreg/schema"
)

var errCell = errors.New("a cell is not a finite decimal number such as -1.5 or 2e3")

// parseCell reads a number. Its errors do not hold the text, unlike strconv's.
func parseCell(text string) (float64, error) {
	v, err := schema.ParseNumber(text)
	if err == nil {
		return v, nil
	}
	switch strings.TrimSpace(text) {
	case "", "NA":
		return 0, ErrMissing
	}
	return 0, errCell
}
