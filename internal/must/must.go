// Package must has what many tests ask for.
package must

import (
	"math"
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
