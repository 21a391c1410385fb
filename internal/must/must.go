// Package must has what many tests ask for.
package must

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// Do ends a test where what it needs has an error.
func Do(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Get is what a call returns, with a function that ends a test where the call has an error: must.Get(f())(t).
func Get[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		Do(t, err)
		return value
	}
}

// Fail asks for an error that says all texts.
func Fail(t testing.TB, err error, says ...string) {
	t.Helper()
	for _, text := range says {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("error %v, want one that says %q", err, text)
		}
	}
}

// Say asks for a text that says all parts.
func Say(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("it does not say %q:\n%s", part, text)
		}
	}
}

// Folded is a text in one line.
func Folded(text string) string { return strings.Join(strings.Fields(text), " ") }

// Err is the error of a call that returns a value, too.
func Err[T any](_ T, err error) error { return err }

// Near asks for a number within a tolerance of another.
func Near(t testing.TB, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s: got %v, want %v (difference %.3g, tolerance %.3g)", what, got, want, got-want, tolerance)
	}
}

// RootD is √n·D, D the distance of Kolmogorov and Smirnov of n values, which it sorts, from a continuous law. It is above
// √(½ log(2/α)) with probability α at most (Massart 1990).
func RootD(x []float64, cdf func(float64) float64) (d float64) {
	slices.Sort(x)
	n := float64(len(x))
	for i, v := range x {
		p := cdf(v)
		d = max(d, p-float64(i)/n, float64(i+1)/n-p)
	}
	return d * math.Sqrt(n)
}

// Follows asks for a sample of a continuous law, by RootD, at a false-alarm rate.
func Follows(t testing.TB, what string, x []float64, cdf func(float64) float64, falseAlarm float64) {
	t.Helper()
	if d, limit := RootD(x, cdf), math.Sqrt(0.5*math.Log(2/falseAlarm)); !(d <= limit) {
		t.Errorf("%s: √n·D = %.3f of %d values, limit %.3f", what, d, len(x), limit)
	}
}

// Uniform is the law on (0, 1) of values in it.
func Uniform(u float64) float64 { return u }

// Moved returns scores of the mean difference that a move makes to functions of draws from a law: all are 0 if and only if
// it leaves the law as it is (Gandy & Scott 2021, "Unit Testing for MCMC and Other Monte Carlo Methods"). They have no
// Monte Carlo error to be guessed from a chain.
func Moved(draws int, draw, move func(), test func(dst []float64) []float64) []float64 {
	var before, after, sum, squares []float64
	for range draws {
		draw()
		before = test(before[:0])
		move()
		after = test(after[:0])
		if sum == nil {
			sum, squares = make([]float64, len(after)), make([]float64, len(after))
		}
		for i, v := range after {
			d := v - before[i]
			if math.Abs(d) < 1e-12*(1+math.Abs(v)) {
				d = 0 // rounding, which may have a direction
			}
			sum[i] += d
			squares[i] += d * d
		}
	}
	for i, v := range sum {
		if squares[i] > 0 { // else nothing moved
			sum[i] = v / math.Sqrt(squares[i])
		}
	}
	return sum
}

// Largest is the largest of scores, whatever their sign; +Inf where one is NaN.
func Largest(z []float64) (worst float64) {
	for _, v := range z {
		if math.IsNaN(v) {
			return math.Inf(1)
		}
		worst = max(worst, math.Abs(v))
	}
	return worst
}
