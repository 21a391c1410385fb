// Package number writes numbers into files in full precision.
package number

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"
)

// JSON is a float64 whose NaN and infinities are null.
type JSON float64

// MarshalJSON implements json.Marshaler.
func (n JSON) MarshalJSON() ([]byte, error) {
	if v := float64(n); math.IsNaN(v) || math.IsInf(v, 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// CSV is a field of a CSV file: NA for NaN and infinities.
func CSV(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "NA"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
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
