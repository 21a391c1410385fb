// Package testdir has the folders of tests.
package testdir

import (
	"os"
	"testing"
)

// memory is where Linux keeps files that are on no disk.
const memory = "/dev/shm"

// Run runs the tests with t.TempDir in memory, where that can be and TMPDIR names no other place:
// thousands of files are synced, for which a disk takes longer than the tests for all else.
func Run(m *testing.M) int {
	if os.Getenv("TMPDIR") == "" {
		if dir, err := os.MkdirTemp(memory, "dpreg"); err == nil {
			os.Remove(dir)
			os.Setenv("TMPDIR", memory)
		}
	}
	return m.Run()
}
