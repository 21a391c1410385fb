// Package number writes numbers into files in full precision.
package number

import (
	"encoding/json"
	"math"
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
