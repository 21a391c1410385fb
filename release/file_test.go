package release

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// entries are the names in a directory.
func entries(t *testing.T, dir string) string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "r.json")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := example()
	if err := r.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != 0o644 {
		t.Errorf("mode %v", info.Mode())
	}
	back, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
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
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("r.json", link); err != nil {
		t.Skip(err)
	}
	if err := example().WriteFile(link); err != nil {
		t.Fatal(err)
	}
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
	if err := os.WriteFile(old, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	invalid := example()
	invalid.Statistics.SumX[0] = math.NaN()
	if err := invalid.WriteFile(old); err == nil || !strings.Contains(err.Error(), "statistics.sum_x[0]: must be a finite number") {
		t.Errorf("error %v", err)
	}
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
