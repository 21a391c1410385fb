package table

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// What is written with few digits is taken, and what is taken is right.
func TestDecimal(t *testing.T) {
	for _, text := range []string{"0", "-0", "0.0", "-0.000", "1", "-12.5", "007", "5.", ".5", "-.25", "0.1", "0.000000000000000001", "9007199254740992", "-9007199254740.992", "0000000000000000123", "9007199254740993", "9999999999999999999", "-0.30000000000000004", "0.999999999999999999"} {
		if !wantParsed(t, text) {
			t.Errorf("%s is not taken", text)
		}
	}
	for _, text := range []string{"", "-", ".", "-.", "+1", "1e3", "12345678901234567890", "00000000000000000001", "1_0", "0x1", "Inf", "NaN", " 1", "--1", "1-", "1..2"} {
		if wantParsed(t, text) {
			t.Errorf("%s is taken", text)
		}
	}
	rng := rand.New(rand.NewPCG(7, 7))
	for range 200000 {
		v := math.Ldexp(rng.Float64(), rng.IntN(80)-40)
		text := strconv.FormatFloat(v, 'f', rng.IntN(18)-1, 64)
		if taken := wantParsed(t, text); taken != (len(strings.Replace(text, ".", "", 1)) <= maxDigits) {
			t.Fatalf("%s: taken %v", text, taken)
		}
	}
	// Close to the middle between two numbers: 2⁵³+1 and its like, and a digit beside.
	for range 200000 {
		middle := (1<<53+rng.Uint64N(1<<53))<<rng.IntN(10)*2 + 1
		text := strconv.FormatUint(middle+rng.Uint64N(3)-1, 10)
		at := rng.IntN(len(text) + 1)
		text = text[:at] + "." + text[at:]
		if taken := wantParsed(t, text); taken != (len(text) <= maxDigits+1) {
			t.Fatalf("%s: taken %v", text, taken)
		}
	}
}

func FuzzDecimal(f *testing.F) {
	for _, text := range []string{"0.1", "-5.", "9007199254740993", "123456789.123456789", "1e5", "0.30000000000000004", "00.00"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { wantParsed(t, text) })
}
