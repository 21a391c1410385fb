// Package testsize has the sizes of tests.
package testsize

import (
	"os"
	"runtime/debug"
	"testing"
)

// init has tests collect garbage seldom, unless GOGC says how often: they leave much, and little that lives, and
// collecting it takes up to a quarter of their time.
func init() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

// Of is the size of a test: short under go test -short, else full.
func Of(short, full int) int {
	if testing.Short() {
		return short
	}
	return full
}

// Full is of a test that the full form alone runs, and says why.
func Full(t testing.TB, why string) {
	t.Helper()
	if testing.Short() {
		t.Skip(why)
	}
}

// Planted is of a test that plants a fault, to show that another test finds it: the full form alone
// does.
func Planted(t testing.TB) {
	t.Helper()
	Full(t, "faults are planted in the full form")
}
