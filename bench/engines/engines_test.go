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

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/posterior"
)

// TestOne: an engine runs on a release, as bench/stan has it run.
func TestOne(t *testing.T) {
	dir := t.TempDir()
	var stdout bytes.Buffer
	args := strings.Fields("-method mcmc-ind -warmup 150 -draws 25 -prior ../stan/cases/prior1.json -save " + dir + " ../stan/cases/lap1_n100_eps1.release.json")
	must.Do(t, run(t.Context(), &stdout, io.Discard, args))
	seconds := map[string]float64{}
	if err := json.Unmarshal(stdout.Bytes(), &seconds); err != nil || !(seconds["warmup"] > 0) || len(seconds) != 2 {
		t.Errorf("%v: %s", err, &stdout)
	}
	for chain := 1; chain <= 2; chain++ {
		file := must.Get(os.Open(filepath.Join(dir, fmt.Sprintf("draws-%d.csv", chain))))(t)
		defer file.Close()
		if d, _, err := posterior.ReadStanCSV(file, "draws"); err != nil || d.NumDraws() != 25 || d.Index("theta[2]") < 0 || d.Index("sigma2") < 0 {
			t.Errorf("%v: %v", err, d)
		}
	}
}

// TestUsage: what cannot be meant is an error.
func TestUsage(t *testing.T) {
	for _, args := range []string{"", "x.release.json stray", "-method nobody x.release.json", "missing.release.json"} {
		if err := run(t.Context(), io.Discard, io.Discard, strings.Fields(args)); err == nil {
			t.Errorf("%s: no error", args)
		}
	}
}
