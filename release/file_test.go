package release

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/files"
	"github.com/dpreg/dpreg/internal/must"
)

// entries are the names in a directory.
func entries(t *testing.T, dir string) string {
	t.Helper()
	list := must.Get(os.ReadDir(dir))(t)
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "r.json")
	must.Do(t, os.WriteFile(path, []byte("old"), 0o600))
	r := example()
	must.Do(t, r.WriteFile(path))
	info := must.Get(os.Stat(path))(t)
	if info.Mode() != 0o644 {
		t.Errorf("mode %v", info.Mode())
	}
	back := must.Get(ReadFile(path))(t)
	if write(t, back) != write(t, r) {
		t.Error("what was read is not what was written")
	}
	if got := entries(t, dir); got != "r.json" {
		t.Errorf("left behind: %s", got)
	}
}

func TestWriteFileThroughLink(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "r.json"), filepath.Join(dir, "link.json")
	must.Do(t, os.WriteFile(path, nil, 0o600))
	if err := os.Symlink("r.json", link); err != nil {
		t.Skip(err)
	}
	must.Do(t, example().WriteFile(link))
	if info, err := os.Lstat(link); err != nil || info.Mode().IsRegular() {
		t.Errorf("the link was replaced (%v)", err)
	}
	if _, err := ReadFile(path); err != nil {
		t.Error(err)
	}
}

func TestWriteFileFails(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "old.json")
	must.Do(t, os.WriteFile(old, []byte("old"), 0o600))
	invalid := example()
	invalid.Statistics.SumX[0] = math.NaN()
	must.Fail(t, invalid.WriteFile(old), "statistics.sum_x[0]: must be a finite number")
	if text, _ := os.ReadFile(old); string(text) != "old" {
		t.Errorf("the old file now holds %q", text)
	}
	for path, want := range map[string]string{
		dir:                            "is not a regular file",
		os.DevNull:                     "is not a regular file",
		filepath.Join(dir, "a", "b"):   "no such file or directory",
		filepath.Join(old, "in", "it"): "not a directory",
	} {
		if err := example().WriteFile(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v does not say %q", path, err, want)
		}
	}
	if got := entries(t, dir); got != "old.json" {
		t.Errorf("left behind: %s", got)
	}
}

// Of many writers at once exactly one has its release there, and the others
// know that theirs is not.
func TestWriteNewFile(t *testing.T) {
	t.Run("link", func(t *testing.T) { oneWriter(t, (*Release).WriteNewFile) })
	t.Run("claim", func(t *testing.T) {
		oneWriter(t, func(r *Release, path string) error { return r.place(path, files.ClaimNew) })
	})
}

func oneWriter(t *testing.T, write func(*Release, string) error) {
	dir := t.TempDir()
	path := filepath.Join(dir, "r.json")
	errs := make(chan error)
	for n := range int64(8) {
		r := example()
		r.N = 1000 + n
		go func() {
			err := write(r, path)
			if err == nil {
				if back, err := ReadFile(path); err != nil || back.N != r.N {
					t.Errorf("n = %d was written, and another release stands there (%v)", r.N, err)
				}
			}
			errs <- err
		}()
	}
	written := 0
	for range 8 {
		if err := <-errs; err == nil {
			written++
		} else if !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), ".tmp") {
			t.Errorf("error %v", err)
		}
	}
	if got := entries(t, dir); written != 1 || got != "r.json" {
		t.Errorf("%d writers succeeded, files: %s", written, got)
	}
}

func TestLinkToNowhere(t *testing.T) {
	link := filepath.Join(t.TempDir(), "r.json")
	if err := os.Symlink("unmounted/r.json", link); err != nil {
		t.Skip(err)
	}
	for _, write := range []func(string) error{example().WriteFile, example().WriteNewFile} {
		if err := write(link); err == nil || !strings.Contains(err.Error(), link) || !strings.Contains(err.Error(), "not there") {
			t.Errorf("error %v", err)
		}
	}
	if info, err := os.Lstat(link); err != nil || info.Mode().IsRegular() {
		t.Errorf("the link was replaced (%v)", err)
	}
}

func TestLeftovers(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a*.json")
	for _, name := range []string{".a*.json.17.tmp", ".a*.json.x.tmp", ".ab.json.17.tmp", "a*.json.17.tmp", ".a*.json.17.tmp.gz"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	got, err := files.Leftovers(path)
	if err != nil || !slices.Equal(got, []string{filepath.Join(dir, ".a*.json.17.tmp")}) {
		t.Errorf("found %q, error %v", got, err)
	}
	if _, err := files.Leftovers(filepath.Join(dir, "none", "r.json")); err == nil {
		t.Error("no error where there is no directory")
	}
}
