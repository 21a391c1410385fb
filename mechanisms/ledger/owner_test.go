//go:build unix

package ledger

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
)

// A ledger, and what stands beside it, is its owner's alone, whatever the umask; one that was
// made otherwise becomes so where it is opened, and a file that is no ledger stays as it is.
func TestOwnerOnly(t *testing.T) {
	mode := func(path string, want os.FileMode) {
		t.Helper()
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, want %v (%v)", filepath.Base(path), info.Mode(), want, err)
		}
	}
	for _, umask := range []int{0, 0o777} {
		old := syscall.Umask(umask)
		path := create(t, budget("1", "0", Auto))
		mode(path, 0o600)
		l := open(t, path)
		tx, err := l.db.Begin()
		if err == nil {
			_, err = tx.Exec("UPDATE charge SET written = 1 WHERE number = 1; CREATE TABLE t (x)")
		}
		must.Do(t, err)
		mode(path+"-journal", 0o600)
		syscall.Umask(old)
		must.Do(t, errors.Join(tx.Rollback(), l.Close()))
	}
	path := create(t, budget("1", "0", Auto))
	link := filepath.Join(t.TempDir(), "link")
	data := filepath.Join(t.TempDir(), "data.csv")
	must.Do(t, errors.Join(os.Symlink(path, link), os.WriteFile(path+"-journal", nil, 0o600), os.WriteFile(data, nil, 0o600),
		os.Chmod(path, 0o664), os.Chmod(path+"-journal", 0o664), os.Chmod(data, 0o664)))
	for _, taken := range []bool{true, false} { // from others, and at the first use alone
		if l := open(t, link); l.Taken != taken {
			t.Errorf("rights were taken: %v", l.Taken)
		}
	}
	mode(path, 0o600)
	if _, err := os.Stat(path + "-journal"); err == nil {
		mode(path+"-journal", 0o600)
	}
	if _, err := Open(t.Context(), data); !errors.Is(err, ErrUnusable) {
		t.Errorf("error %v", err)
	}
	mode(data, 0o664)
}
