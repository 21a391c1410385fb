// Package number has what several packages do with numbers: written in full precision, rounded, counted by a truth value,
// found by bisection.
package number

import (
	"errors"
	"io"
	"math"
	"math/big"
	"strconv"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Null makes null of numbers that are NaN or infinite.
var Null = jsonv2.WithMarshalers(jsonv2.MarshalToFunc(func(e *jsontext.Encoder, x float64) error {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return e.WriteToken(jsontext.Null)
	}
	return errors.ErrUnsupported // else as without
}))

// Lines writes v as JSON, a member a line, with Null.
func Lines(w io.Writer, v any) error {
	text, err := jsonv2.Marshal(v, jsontext.WithIndent("  "), Null)
	if err == nil {
		_, err = w.Write(append(text, '\n'))
	}
	return err
}

// CSV is a field of a CSV file: NA for NaN and infinities.
func CSV(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "NA"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// CSVs are fields of a CSV file.
func CSVs(values ...float64) []string {
	fields := make([]string, len(values))
	for i, v := range values {
		fields[i] = CSV(v)
	}
	return fields
}

// Known is a number that may be unknown: NaN then.
func Known(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
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

// Exactly is the value of a finite x.
func Exactly(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

// RoundDown returns the largest float64 that is not above q.
func RoundDown(q *big.Rat) float64 {
	f, _ := q.Float64() // the nearest
	if Exactly(f).Cmp(q) > 0 {
		return math.Nextafter(f, math.Inf(-1))
	}
	return f
}

// Indicator is 1 of what is so, and 0 of what is not.
func Indicator[T int | float64](is bool) T {
	if is {
		return 1
	}
	return 0
}

// Bisect returns the ends of the interval, 2⁻⁶⁰ of that from low to high, in which below ends to hold.
func Bisect(low, high float64, below func(float64) bool) (float64, float64) {
	for range 60 {
		if middle := 0.5 * (low + high); below(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low, high
}
