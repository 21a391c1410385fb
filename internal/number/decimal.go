package number

import (
	"encoding/json"
	"io"
	"math/big"
	"strconv"
)

// Indented writes v as JSON, a member a line.
func Indented(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

// Decimal is the value of the shortest decimal that reads back as a finite x: what a
// user who typed 0.1 meant, and what a file says. It panics if x is not finite.
func Decimal(x float64) *big.Rat {
	q, ok := new(big.Rat).SetString(strconv.FormatFloat(x, 'g', -1, 64))
	if !ok {
		panic("number: not finite")
	}
	return q
}
