package schema

import (
	"math"
	"strconv"
	"testing"
)

// A number is finite and what strconv reads; and nothing else is a number.
func FuzzParseNumber(f *testing.F) {
	for _, text := range []string{"-1.5", " 2e3 ", "1e999", "1e-999", "0x1p3", "1_0", "Inf", "nan", "+.5", "-", ".", "e5", "1e", "--1", "1 2", "\u0661", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := ParseNumber(text)
		if err != nil {
			if err != errNumber || !math.IsNaN(v) {
				t.Fatalf("%v, error %q", v, err)
			}
			return
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			t.Fatalf("%v is no number", v)
		}
		if again, err := ParseNumber(strconv.FormatFloat(v, 'g', -1, 64)); err != nil || again != v {
			t.Fatalf("%v is read back as %v, error %v", v, again, err)
		}
	})
}
