package table

import (
	"math"

	"github.com/dpreg/dpreg/schema"
)

// powers are those of ten that float64 holds exactly.
var powers = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// decimal reads a short decimal number such as -12.5 at the beginning of text, and
// returns of how many bytes it is, 0 where there is none. It takes those of up to 19
// digits that as an integer are at most 2⁵³: float64 then holds the integer and the
// power of ten that divides it, and the quotient, rounded once, is what strconv.ParseFloat
// returns (Clinger, How to Read Floating Point Numbers Accurately, PLDI 1990).
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
	if digits == 0 || digits > 19 || mantissa > 1<<53 {
		return 0, 0
	}
	v = float64(mantissa) / powers[point]
	if start > 0 {
		v = -v
	}
	return v, n
}

// parseNumber reads a number. Its errors do not hold the text, unlike strconv's.
func parseNumber(text string) (float64, error) {
	v, err := schema.ParseNumber(text)
	if err != nil {
		return math.NaN(), errCell
	}
	return v, nil
}
