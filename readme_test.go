package dpreg_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
)

const goRun = "go run ./cmd/dpreg "

// TestPrintedREADME runs README's commands. Those that start from the committed
// release print the same each time. fit draws new noise, so of its output only
// what does not hang on that is compared; its release goes to a new folder.
func TestPrintedREADME(t *testing.T) {
	testsize.Full(t, "it builds dpreg, and runs what README shows")
	dpreg := must.Get(program())(t)
	commands := regexp.MustCompile(`(?m)^\$ `+goRun+`(.*)\n`).FindAllStringSubmatch(read(t, "README.md"), -1)
	var inferred, fitted string
	for _, c := range commands {
		args := words(c[1])
		if args[0] == "fit" {
			fitted = stdout(t, dpreg, append(args, "--release", filepath.Join(t.TempDir(), "r.json"))...)
			continue
		}
		inferred = stdout(t, dpreg, args...)
		printed(t, "README.md", c[0], "```", inferred)
	}
	ofFit, _, ok := strings.Cut(fitted, " looks")
	if ofInfer, _, _ := strings.Cut(inferred, " looks"); !ok || ofFit != ofInfer {
		t.Errorf("README shows the output of infer for that of fit, which begins otherwise:\n%s", fitted)
	}
}

// stdout runs a command that may end with exit code 4, not converged: the noise
// of a release that nobody seeded may be unlucky.
func stdout(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() != 4 {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, exit.Stderr)
	} else if !errors.As(err, &exit) {
		must.Do(t, err)
	}
	return string(out)
}

// words splits a line as a shell does where it has single quotes only.
func words(line string) []string {
	var words []string
	for _, m := range regexp.MustCompile(`'([^']*)'|(\S+)`).FindAllStringSubmatch(line, -1) {
		words = append(words, m[1]+m[2])
	}
	return words
}

// TestPrintedCode holds README's code to the Example, and the Example's output
// to README's, which TestPrintedREADME computes.
func TestPrintedCode(t *testing.T) {
	_, code, _ := strings.Cut(read(t, "example_test.go"), "func Example() {\n")
	code, _, ok := strings.Cut(code, "\t// Output:\n")
	if !ok {
		t.Fatal("example_test.go has no func Example with an output")
	}
	code = strings.ReplaceAll("\n"+code, "\n\t", "\n")[1:]
	printed(t, "README.md", "```go\n", "```", code)

	_, shown, _ := strings.Cut(read(t, "README.md"), "$ "+goRun+"infer ")
	_, shown, _ = strings.Cut(shown, "\n")
	shown, _, _ = strings.Cut(shown, "```")
	var comment strings.Builder
	for line := range strings.Lines(shown) {
		comment.WriteString(strings.TrimRight("\t// "+line, " \n") + "\n")
	}
	printed(t, "example_test.go", "\t// Output:\n", "}\n", comment.String())
}

// The tests that README names are those that CI runs.
func TestREADMETests(t *testing.T) {
	must.Say(t, read(t, "README.md"), "\n$ go test ./...\n")
	if !regexp.MustCompile(`(?m)^step go test \./\.\.\.$`).MatchString(read(t, ".ci/run")) {
		t.Error(".ci/run does not run the tests as README.md says")
	}
}
