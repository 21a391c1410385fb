// Package testsize has the sizes of tests.
package testsize

import "testing"

// Of is the size of a test: short under go test -short, else full.
func Of(short, full int) int {
	if testing.Short() {
		return short
	}
	return full
}

// Planted is of a test that plants a fault, to show that another test finds it: the full form alone
// does.
func Planted(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("faults are planted in the full form")
	}
}
