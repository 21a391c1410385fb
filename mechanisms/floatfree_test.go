package mechanisms

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
)

// No source file of this package knows a floating-point number: not the types,
// not a literal, not package math, not a method of big or rand that makes one.
// crypto/rand is the only source of randomness that is called but a *rand.Rand
// handed to Simulated.
func TestNoFloatingPoint(t *testing.T) {
	entries := must.Get(os.ReadDir("."))(t)
	files := 0
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		files++
		source := must.Get(os.ReadFile(name))(t)
		for _, what := range floatsIn(t, name, string(source)) {
			t.Errorf("%s: %s", name, what)
		}
	}
	if files < 3 {
		t.Errorf("only %d files looked at", files)
	}
}

// The search itself must find what it looks for.
func TestFloatSearch(t *testing.T) {
	for _, body := range []string{
		"var x float64", "var x = 1.5", "var x = complex64(0)", "var x = 1e9",
		"import \"math\"", "func f(q *Rat) { q.Float64() }", "func f(r *Rand) { r.ExpFloat64() }",
	} {
		if len(floatsIn(t, "planted.go", "package p\n"+body+"\n")) == 0 {
			t.Errorf("not found: %s", body)
		}
	}
}

func floatsIn(t *testing.T, name, source string) (found []string) {
	t.Helper()
	file := must.Get(parser.ParseFile(token.NewFileSet(), name, source, 0))(t)
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			lower := strings.ToLower(n.Name)
			if strings.Contains(lower, "float") || strings.HasPrefix(lower, "complex") {
				found = append(found, n.Name)
			}
		case *ast.BasicLit:
			if n.Kind == token.FLOAT || n.Kind == token.IMAG {
				found = append(found, n.Value)
			}
		case *ast.ImportSpec:
			if path, _ := strconv.Unquote(n.Path.Value); path == "math" || path == "math/cmplx" {
				found = append(found, path)
			}
		}
		return true
	})
	return found
}
