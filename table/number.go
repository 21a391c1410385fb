package table

import (
	"math"
	"math/bits"

	"github.com/dpreg/dpreg/schema"
)

// A decimal of this many digits, as an integer, fits in 64 bits; so do the powers of ten
// that divide it.
const maxDigits = 19

// powers are 10^i, and normal ones are shifted until the highest of the 64 bits is set.
var powers, normal = func() (powers [maxDigits + 1]float64, normal [maxDigits + 1]uint64) {
	power := uint64(1)
	for i := range powers {
		powers[i], normal[i] = float64(power), power<<bits.LeadingZeros64(power)
		power *= 10
	}
	return powers, normal
}()

// decimal reads a decimal number such as -12.5, of up to 19 digits and without exponent,
// at the beginning of text, and returns of how many bytes it is, 0 where there is none.
// The value is that of strconv.ParseFloat, to the bit.
func decimal(text []byte) (v float64, n int) {
	if len(text) > 0 && text[0] == '-' {
		n = 1
	}
	start, point := n, 0
	var mantissa uint64
	for ; n < len(text); n++ {
		digit := uint64(text[n]) - '0'
		if digit > 9 {
			break
		}
		mantissa = 10*mantissa + digit
	}
	digits := n - start
	if n < len(text) && text[n] == '.' {
		n++
		point = n
		for ; n < len(text); n++ {
			digit := uint64(text[n]) - '0'
			if digit > 9 {
				break
			}
			mantissa = 10*mantissa + digit
		}
		point = n - point
		digits += point
	}
	switch {
	case digits == 0 || digits > maxDigits:
		return 0, 0
	case mantissa <= 1<<53:
		// Both are float64, so that the quotient is rounded once (Clinger, How to Read
		// Floating Point Numbers Accurately, PLDI 1990).
		v = float64(mantissa) / powers[point]
	default:
		v = quotient(mantissa, point)
	}
	if start > 0 {
		v = -v
	}
	return v, n
}

// quotient is w/10^e, w > 0, rounded to nearest, ties to even. With w and 10^e shifted
// into [2⁶³, 2⁶⁴), q = ⌊2⁶³w/10^e⌋ has 63 bits at least: nine more than a float64 and the
// bit that decides how it is rounded, but for a tie, which the remainder breaks. In q's
// last bit it does the same.
func quotient(w uint64, e int) float64 {
	shift := bits.LeadingZeros64(w)
	w <<= shift
	q, remainder := bits.Div64(w>>1, w<<63, normal[e])
	if remainder != 0 {
		q |= 1
	}
	exponent := bits.LeadingZeros64(uint64(powers[e])) - shift - 63
	return float64(q) * math.Float64frombits(uint64(1023+exponent)<<52) // 2^exponent
}

// parseNumber reads a number. Its errors do not hold the text, unlike strconv's.
func parseNumber(text string) (float64, error) {
	v, err := schema.ParseNumber(text)
	if err != nil {
		return math.NaN(), errCell
	}
	return v, nil
}
