package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestSave(t *testing.T) {
	workspace(t)
	args := append([]string{"infer", "good.json", "--formula", educ, "--chains", "2", "--save", "s"}, quick...)
	for range 2 { // the second run writes over the first
		command(args...).finished(t).says(t, "saved in s")
	}
	files, err := filepath.Glob("s/*")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"s/draws-1.csv", "s/draws-2.csv", "s/draws-release.json", "s/summary.json"}; !slices.Equal(files, want) {
		t.Fatalf("files %v, want %v", files, want)
	}
	if !json.Valid([]byte(read(t, "s/summary.json"))) {
		t.Error("summary.json is no JSON")
	}
	var comments, rows int
	header := ""
	for line := range strings.Lines(read(t, "s/draws-1.csv")) {
		switch {
		case strings.HasPrefix(line, "#"):
			comments++
		case header == "":
			header = strings.TrimSpace(line)
		default:
			rows++
		}
	}
	if !strings.HasPrefix(header, "lp__,") || !strings.Contains(header, "theta.1,theta.2,sigma2,sigma") || rows != 200 || comments < 10 {
		t.Errorf("%d comments, header %q, %d rows", comments, header, rows)
	}
}

func TestSchema(t *testing.T) {
	workspace(t)
	r := command("schema", "pums.csv").says(t, "pums.schema.json")
	if r.code != done || !json.Valid([]byte(r.stdout)) || !strings.Contains(r.stdout, `"married"`) {
		t.Errorf("exit code %d, stdout:\n%s", r.code, r.stdout)
	}
	if f := command("schema", "pums.csv", "-o", "new.json"); f.code != done || f.stdout != "" || read(t, "new.json") != r.stdout {
		t.Errorf("exit code %d, stdout %q", f.code, f.stdout)
	}
	// A template that nobody filled in gives no bounds.
	if f := fit("--eps", "1", "--schema", "new.json"); f.code != refused {
		t.Errorf("exit code %d: %s", f.code, f.stderr)
	}
}
