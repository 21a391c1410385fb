package dpreg_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/dpreg/dpreg"

// floors is the house: a package imports only packages on lower floors. A new
// package gets its place here first.
var floors = map[string]int{
	"internal/dense":        0,
	"internal/golden":       0,
	"internal/variate":      0,
	"docs/help":             0,
	"schema":                0,
	"mechanisms":            0,
	"mechanisms/accounting": 0,
	"mechanisms/ledger":     0,
	"posterior":             0,
	"table":                 1,
	"release":               1,
	"conjugate":             1,
	"mcmc":                  1,
	"ssp":                   2,
	"nuts":                  2,
	"model":                 2,
	"vi":                    2,
	"vi/pvi":                3,
	"ssp/adassp":            3,
	"vi/published":          3,
	"pushdown":              3,
	"pushdown/pushdowntest": 3,
	"gibbs":                 3,
	"rivals":                3,
	"nuts/individual":       3,
	"nuts/exact":            3,
	"model/modeltest":       3,
	"pushdown/duckdb":       4,
	"pushdown/postgres":     4,
	".":                     4,
	"calibration":           5,
	"calibration/audit":     5,
	"calibration/compare":   6,
	"report":                7,
	"cmd/dpreg":             8,
	"bench/custodians":      8,
	"bench/population":      8,
	"bench/federated":       8,
	"bench/engines":         8,
	"bench/identity":        7,
	"bench/stan/engines":    7,
}

// What infers sees a release, and rows live elsewhere: no package of inference
// reaches one of rows, by any path.
var (
	inference = []string{"gibbs", "rivals", "nuts", "nuts/individual", "nuts/exact", "model", "release", "posterior", "conjugate", "mcmc"}
	rows      = []string{"table", "ssp", "mechanisms", "mechanisms/accounting", "mechanisms/ledger", "vi", "vi/pvi", "vi/published", "ssp/adassp", "pushdown", "pushdown/pushdowntest", "pushdown/postgres", "pushdown/duckdb"}
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
	command := exec.Command("go", "list", "-deps", "-json=ImportPath,Standard,Imports,Deps,CgoFiles,Error", "./...")
	command.Env = append(os.Environ(), "CGO_ENABLED=1") // else go list ignores cgo files
	out, err := command.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go list: %s", exit.Stderr)
		}
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := decoder.Decode(&p); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

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
	for _, path := range p.Imports {
		if other, ok := inside(path); ok && floors[other] >= floors[place] {
			faults = append(faults, place+" imports "+other+", which is not on a lower floor")
		}
	}
	if !slices.Contains(inference, place) {
		return faults
	}
	for _, path := range p.Deps {
		if other, ok := inside(path); ok && slices.Contains(rows, other) {
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
