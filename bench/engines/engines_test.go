package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/posterior"
)

// TestOneCell: the command runs, and writes its table.
func TestOneCell(t *testing.T) {
	var stdout bytes.Buffer
	covariates, epsilons, rows = []int{1}, []float64{1}, []int{12}
	if err := run(t.Context(), &stdout, io.Discard, strings.Fields("-warmup 150 -ess 50")); err != nil {
		t.Fatal(err)
	}
	text := stdout.String()
	for _, want := range []string{"\n| 1 | 1 | 12 | ", "`--kernel plain`"} {
		if !strings.Contains(text, want) {
			t.Errorf("the table lacks %q:\n%s", want, text)
		}
	}
}

// TestOne: an engine runs on a release, as bench/stan has it run.
func TestOne(t *testing.T) {
	dir := t.TempDir()
	var stdout bytes.Buffer
	args := strings.Fields("-method mcmc-ind -warmup 150 -draws 25 -prior ../stan/cases/prior1.json -save " + dir + " ../stan/cases/lap1_n100_eps1.release.json")
	if err := run(t.Context(), &stdout, io.Discard, args); err != nil {
		t.Fatal(err)
	}
	seconds := map[string]float64{}
	if err := json.Unmarshal(stdout.Bytes(), &seconds); err != nil || !(seconds["warmup"] > 0) || len(seconds) != 2 {
		t.Errorf("%v: %s", err, &stdout)
	}
	for chain := 1; chain <= 2; chain++ {
		file, err := os.Open(filepath.Join(dir, fmt.Sprintf("draws-%d.csv", chain)))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if d, _, err := posterior.ReadStanCSV(file, "draws"); err != nil || d.NumDraws() != 25 || d.Index("theta[2]") < 0 || d.Index("sigma2") < 0 {
			t.Errorf("%v: %v", err, d)
		}
	}
}

// TestLimit: a run that the limit cuts in warm-up says so, and nothing else.
func TestLimit(t *testing.T) {
	var stdout bytes.Buffer
	covariates, epsilons, rows = []int{3}, []float64{1}, []int{3000}
	args := strings.Fields("-warmup 1000000 -limit 0.01")
	if err := run(t.Context(), &stdout, io.Discard, args); err != nil {
		t.Fatal(err)
	}
	if row := "| 3 | 1 | 3000 | ‡ | – | ‡ | ‡ |\n"; !strings.Contains(stdout.String(), row) {
		t.Errorf("no row %q:\n%s", row, &stdout)
	}
}

// TestUsage: what cannot be meant is an error.
func TestUsage(t *testing.T) {
	for _, args := range []string{"-limit 0", "x.release.json stray", "-method nobody x.release.json", "missing.release.json"} {
		if err := run(t.Context(), io.Discard, io.Discard, strings.Fields(args)); err == nil {
			t.Errorf("%s: no error", args)
		}
	}
}

func TestShort(t *testing.T) {
	for x, want := range map[float64]string{0.000123: "0.00012", 0.996: "1.0", 1.25: "1.2", 12.4: "12", 996: "1,000", 1234: "1,200", 99600: "100,000"} {
		if got := short(x); got != want {
			t.Errorf("short(%g) = %q, want %q", x, got, want)
		}
	}
}
