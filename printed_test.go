package dpreg_test

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
)

// README.md, docs/priors.md and docs/examples.md print what programs computed, and the tests here
// whose names begin with Printed compare it with what is computed now. Where a
// change of the samplers is meant,
//
//	go test . -run Printed -update
//
// writes the new output into them and the Example of example_test.go. Read the difference before committing it, the prose around the
// numbers as well. Draws depend on the bits of float64 arithmetic: the printed
// ones are those of amd64.
var update = flag.Bool("update", false, "write what README.md, docs/priors.md, docs/examples.md and the Example print anew")

func read(t *testing.T, path string) string {
	t.Helper()
	return string(must.Get(os.ReadFile(path))(t))
}

// printed checks that a file holds got between two markers, of which the first
// occurs once; with -update it sees to it.
func printed(t *testing.T, path, from, to, got string) {
	t.Helper()
	text := read(t, path)
	before, rest, ok := strings.Cut(text, from)
	old, after, ended := strings.Cut(rest, to)
	if !ok || !ended || strings.Contains(rest, from) {
		t.Fatalf("%s: it has to hold %q once, and %q after it", path, from, to)
	}
	switch {
	case old == got:
	case *update:
		must.Do(t, os.WriteFile(path, []byte(before+from+got+to+after), 0o644))
	default:
		t.Errorf("%s prints what is no longer so (go test . -run Printed -update):\n%sIt is now:\n%s", path, old, got)
	}
}

// generated is printed for a part of a document that a test writes.
func generated(t *testing.T, path, name, got string) {
	t.Helper()
	printed(t, path, "<!-- "+name+": go test . -run Printed -->\n", "<!-- end -->", got)
}

// Links to files lead somewhere.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^):#]+)[#)]`)
	for path, folder := range map[string]string{"README.md": "", "docs/priors.md": "docs/", examplesPage: "docs/"} {
		for _, m := range link.FindAllStringSubmatch(read(t, path), -1) {
			if _, err := os.Stat(folder + m[1]); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
}
