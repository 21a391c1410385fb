//go:build unix

package ledger

import (
	"os"
	"syscall"
	"time"
)

// checkAlone refuses a file with several names: SQLite would not see, by one, what a killed run
// left beside another.
func checkAlone(path string) error {
	var names uint64
	for range 10 { // for a moment a ledger that is being made has two
		info, err := os.Stat(path)
		if err != nil {
			return unusable("%w", err)
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		if !ok || stat.Nlink == 1 {
			return nil
		}
		names = uint64(stat.Nlink)
		time.Sleep(20 * time.Millisecond)
	}
	return unusable("%s is one of %d names of the same file, and a charge may be lost between them: remove the other hard links", path, names)
}
