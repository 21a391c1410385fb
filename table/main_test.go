package table

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain collects garbage seldom: each of thousands of damaged files leaves buffers, and little that lives.
func TestMain(m *testing.M) {
	debug.SetGCPercent(1000)
	os.Exit(m.Run())
}
