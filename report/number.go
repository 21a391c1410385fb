package report

import (
	"math"
	"strconv"
)

// scientific stands for three digits and a power of ten in place of a number of
// decimals.
const scientific = -1

// precision is the number of decimals that shows three digits of an sd;
// scientific where there would be more than seven.
func precision(sd float64) int {
	if !(sd > 0) || math.IsInf(sd, 0) {
		return 3
	}
	// Rounding to three digits first: 0.9996 has the magnitude of 1.00.
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(sd, 'e', 2, 64), 64)
	decimals := 2 - int(math.Floor(math.Log10(rounded)))
	switch {
	case decimals > 7:
		return scientific
	case decimals < 0:
		return 0
	}
	return decimals
}

// longest is the most characters of a number with decimals in a table, unless
// its three leading digits would not tell it from a number an sd away.
const (
	longest = 9
	mostSDs = 50
)

// common is the number of decimals for a row of numbers with this sd.
func common(sd float64, row ...float64) int {
	d, long, most := precision(sd), false, 0.0
	for _, x := range row {
		long = long || len(number(x, d)) > longest
		most = max(most, math.Abs(x))
	}
	if long && most < mostSDs*sd {
		return scientific
	}
	return d
}

// number writes x with so many decimals; NA where it does not exist.
func number(x float64, decimals int) string {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return "NA"
	case decimals == scientific:
		return strconv.FormatFloat(x, 'e', 2, 64)
	}
	return unsigned(strconv.FormatFloat(x, 'f', decimals, 64))
}

// unsigned takes the sign off a zero such as -0.00.
func unsigned(text string) string {
	if text[0] != '-' {
		return text
	}
	for _, c := range text[1:] {
		if c != '0' && c != '.' {
			return text
		}
	}
	return text[1:]
}

// general writes a number that stands alone in a sentence, in four digits.
func general(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }

// exactly writes a number that has to be read back, such as a bound or ε.
func exactly(x float64) string {
	if a := math.Abs(x); a >= 1e-4 && a < 1e15 || a == 0 {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// percent is 100·level, with 0.95 giving 95 and not its neighbour.
func percent(level float64) float64 { return math.Round(level*1e12) / 1e10 }
