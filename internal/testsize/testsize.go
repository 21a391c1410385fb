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
