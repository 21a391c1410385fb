package dpreg_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testdir"
	"github.com/dpreg/dpreg/internal/testsize"
)

// heavy are modules that the main module never needs, by a part of their paths: what needs
// a distributed engine, DuckDB or another library in C is in a module of its own.
var heavy = []string{"apache/beam", "apache/arrow", "duckdb/duckdb-go", "google.golang.org/grpc", "mattn/go-sqlite3"}

// maxProgram bounds dpreg without symbols and without the paths of where it was built, in bytes:
// fonts are 4.5 MB of it, SQLite 2, Parquet 1, a server of HTTP 1, connect 1; cgo, where there is a C compiler, 0.05.
const maxProgram = 44_100_000

// TestModules: neither what is built nor what go.mod leads to has a heavy module. That
// nothing needs cgo is a part of TestArchitecture.
func TestModules(t *testing.T) {
	out := must.Get(exec.Command("go", "list", "-m", "all").Output())(t)
	modules := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(modules) < 10 {
		t.Errorf("go list saw %d modules only", len(modules))
	}
	var packages []string
	for _, p := range list(t) {
		packages = append(packages, p.ImportPath)
	}
	for _, path := range append(heavyOf(modules), heavyOf(packages)...) {
		t.Errorf("the main module needs %s, which is for a module of its own", path)
	}
}

func heavyOf(paths []string) (found []string) {
	for _, path := range paths {
		for _, part := range heavy {
			if strings.Contains(path, part) {
				found = append(found, path)
			}
		}
	}
	return found
}

// The test above can fail.
func TestHeavyOf(t *testing.T) {
	paths := []string{"github.com/apache/beam/sdks/v2 v2.77.0", "github.com/duckdb/duckdb-go/v2", "gonum.org/v1/gonum v0.17.0"}
	if found := heavyOf(paths); len(found) != 2 {
		t.Errorf("found %q", found)
	}
}

// programFolder is where dpreg was built, if it was.
var programFolder string

func TestMain(m *testing.M) {
	code := testdir.Run(m)
	os.RemoveAll(programFolder)
	os.Exit(code)
}

// program builds dpreg for all tests that run it, and returns its path.
var program = sync.OnceValues(func() (path string, err error) {
	if programFolder, err = os.MkdirTemp("", "dpreg"); err != nil {
		return "", err
	}
	path = filepath.Join(programFolder, "dpreg.exe") // the suffix harms nowhere
	// No setting but that of the tests, whose packages are compiled.
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, "./cmd/dpreg")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return path, nil
})

// TestProgramIsSmall: dpreg stays small enough to be carried to where the rows are.
func TestProgramIsSmall(t *testing.T) {
	testsize.Full(t, "it builds dpreg")
	if info := must.Get(os.Stat(must.Get(program())(t)))(t); info.Size() > maxProgram {
		t.Errorf("dpreg has %d bytes, more than %d: go tool nm -size -sort size tells of what", info.Size(), maxProgram)
	}
}
