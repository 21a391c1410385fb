package dpreg_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
)

const module = "github.com/dpreg/dpreg"

// floors is the house: a package imports only packages on lower floors. A new
// package gets its place here first.
var floors = map[string]int{
	"internal/chromium":     -1,
	"internal/cputime":      -1,
	"internal/dense":        0,
	"internal/expression":   -1,
	"internal/files":        -1,
	"internal/golden":       0,
	"internal/jsontree":     -1,
	"internal/must":         -1,
	"internal/number":       -1,
	"internal/pace":         -1,
	"internal/parallel":     -1,
	"internal/testca":       -1,
	"internal/testdir":      -1,
	"internal/testsize":     -1,
	"internal/variate":      0,
	"docs/help":             0,
	"schema":                0,
	"signature":             0,
	"mechanisms":            0,
	"mechanisms/accounting": -1,
	"mechanisms/ledger":     0,
	"posterior":             0,
	"table":                 1,
	"release":               1,
	"conjugate":             1,
	"mcmc":                  1,
	"adaptive":              2,
	"ssp":                   2,
	"nuts":                  2,
	"model":                 2,
	"vi":                    2,
	"vi/pvi":                3,
	"vi/pvi/network":        4,
	"ssp/adassp":            3,
	"pushdown":              3,
	"pushdown/pushdowntest": 3,
	"gibbs":                 3,
	"nuts/individual":       3,
	"nuts/exact":            3,
	"model/modeltest":       3,
	"custody":               3,
	"persons":               1,
	"shares":                0,
	"agree":                 3,
	"internal/reference":    3,
	"pushdown/duckdb":       4,
	"pushdown/postgres":     4,
	".":                     4,
	"check":                 5,
	"predict":               5,
	"ask":                   5,
	"plan":                  5,
	"whatif":                5,
	"models":                6,
	"calibration":           5,
	"calibration/audit":     6,
	"report":                7,
	"serve":                 8,
	"saved":                 5,
	"cmd/dpreg":             9,
	"bench/program":         0,
	"bench/adaptive":        8,
	"bench/rivals":          7,
	"bench/families":        8,
	"bench/population":      8,
	"bench/published":       8,
	"bench/engines":         8,
	"bench/identity":        7,
}

// What infers sees a release, and rows live elsewhere: no package of inference
// reaches one of rows, by any path.
var (
	inference = []string{"gibbs", "bench/rivals", "nuts", "nuts/individual", "nuts/exact", "model", "agree", "internal/reference", "release", "posterior", "conjugate", "mcmc"}
	rows      = []string{"table", "persons", "shares", "ssp", "custody", "mechanisms", "mechanisms/accounting", "mechanisms/ledger", "vi", "vi/pvi", "vi/pvi/network", "ssp/adassp", "pushdown", "pushdown/pushdowntest", "pushdown/postgres", "pushdown/duckdb"}
)

// listed is what go list says of a package.
type listed struct {
	ImportPath    string
	Standard      bool
	Imports, Deps []string
	CgoFiles      []string
	Error         *struct{ Err string }
}

// inside returns the place of an import path in the module.
func inside(path string) (place string, ok bool) {
	if path == module {
		return ".", true
	}
	return strings.CutPrefix(path, module+"/")
}

// list returns all packages that the module's need, tests aside.
func list(t *testing.T) []listed {
	t.Helper()
	return must.Get(listAll())(t)
}

var listAll = sync.OnceValues(func() (all []listed, err error) {
	command := exec.Command("go", "list", "-deps", "-json=ImportPath,Standard,Imports,Deps,CgoFiles,Error", "./...")
	command.Env = append(os.Environ(), "CGO_ENABLED=1") // else go list ignores cgo files
	out, err := command.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil, fmt.Errorf("go list: %s", exit.Stderr)
	}
	for decoder := json.NewDecoder(bytes.NewReader(out)); err == nil; {
		var p listed
		if err = decoder.Decode(&p); err == io.EOF {
			return all, nil
		}
		all = append(all, p)
	}
	return nil, fmt.Errorf("go list: %w", err)
})

func TestArchitecture(t *testing.T) {
	seen := 0
	for _, p := range list(t) {
		if !p.Standard && len(p.CgoFiles) > 0 {
			t.Errorf("%s needs cgo: %s", p.ImportPath, strings.Join(p.CgoFiles, ", "))
		}
		place, ok := inside(p.ImportPath)
		if !ok {
			continue
		}
		seen++
		if _, ok := floors[place]; !ok {
			t.Errorf("package %s has no floor", place)
			continue
		}
		for _, fault := range faults(place, p) {
			t.Error(fault)
		}
	}
	if seen < 12 {
		t.Errorf("go list saw %d packages of the module only", seen)
	}
}

// faults lists what a package on the table imports or reaches and may not.
func faults(place string, p listed) []string {
	var faults []string
	for _, imported := range p.Imports {
		if other, ok := inside(imported); ok && floors[other] >= floors[place] {
			faults = append(faults, place+" imports "+other+", which is not on a lower floor")
		}
	}
	if !slices.Contains(inference, place) {
		return faults
	}
	for _, reached := range p.Deps {
		if other, ok := inside(reached); ok && slices.Contains(rows, other) {
			faults = append(faults, place+" infers, and reaches "+other+", where rows live")
		}
	}
	return faults
}

// The test above can fail.
func TestFaults(t *testing.T) {
	bad := listed{
		Imports: []string{module + "/mcmc", module + "/model", module, "fmt"},
		Deps:    []string{module + "/schema", module + "/ssp", module + "/mechanisms"},
	}
	want := []string{
		"model imports model, which is not on a lower floor",
		"model imports ., which is not on a lower floor",
		"model infers, and reaches ssp, where rows live",
		"model infers, and reaches mechanisms, where rows live",
	}
	if got := faults("model", bad); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	for _, place := range slices.Concat(inference, rows) {
		if _, ok := floors[place]; !ok {
			t.Errorf("%s is on no floor", place)
		}
	}
}

// studies know what their rows are, and what they publish has simulated noise, as it says.
var studies = []string{"plan", "calibration", "bench/published"}

// spending are what draws noise on the sums of rows, and the directories that may name it.
// Noise of the operating system is custody's, but for that of vi and pvi, on gradients of
// samples: of these a custody.Payment is charged.
var spending = map[string][]string{
	"mechanisms.OS":        {"custody", "cmd/dpreg"},
	"mechanisms.Laplace":   {"ssp", "ssp/adassp"},
	"mechanisms.Gaussian":  {"ssp", "ssp/adassp"},
	"mechanisms.Ball":      {"ssp"},
	"mechanisms.NewStream": {"vi", "vi/pvi", "cmd/dpreg", "calibration", "bench/published", "custody"}, // coins of custody
	"ssp.Publish":          append([]string{"custody"}, studies...),
	"ssp.PublishCount":     {"custody"},
	"ssp.PublishMoments":   append([]string{"custody"}, studies...),
	"ssp.NewMagnitudes":    {"custody"},
	"ssp.NewBudget":        {"custody", "plan"}, // plan counts no row by it
}

// TestSpending: ε is spent in one place, by the modules beside this one, too.
func TestSpending(t *testing.T) {
	named := make(map[string]int)
	err := filepath.WalkDir(".", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, name := range spends(parsed) {
			named[name]++
			if place := filepath.ToSlash(filepath.Dir(file)); !slices.Contains(spending[name], place) {
				t.Errorf("%s names %s, which is for %v", file, name, spending[name])
			}
		}
		return nil
	})
	must.Do(t, err)
	for name := range spending {
		if named[name] == 0 {
			t.Errorf("nothing names %s any more", name)
		}
	}
}

// spends lists what a file names of the table above, whatever it calls the packages.
func spends(file *ast.File) (names []string) {
	packages := make(map[string]string)
	for _, spec := range file.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		place, ok := inside(imported)
		switch {
		case !ok:
		case spec.Name != nil:
			packages[spec.Name.Name] = path.Base(place)
		default:
			packages[path.Base(place)] = path.Base(place)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := selector.X.(*ast.Ident); ok {
				if name := packages[x.Name] + "." + selector.Sel.Name; spending[name] != nil {
					names = append(names, name)
				}
			}
		}
		return true
	})
	return names
}

// The test above can fail.
func TestSpends(t *testing.T) {
	const text = `package p
import m "github.com/dpreg/dpreg/mechanisms"
import "github.com/dpreg/dpreg/ssp"
import "example.com/mechanisms"
var _, _, _ = m.OS(), ssp.Publish, mechanisms.OS()`
	file := must.Get(parser.ParseFile(token.NewFileSet(), "", text, 0))(t)
	if names := spends(file); !slices.Equal(names, []string{"mechanisms.OS", "ssp.Publish"}) {
		t.Errorf("found %q", names)
	}
}
