// Package must ends tests that cannot go on.
package must

import "testing"

// Do ends a test where what it needs has an error.
func Do(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
