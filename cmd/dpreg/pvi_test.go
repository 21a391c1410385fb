package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// adultDirectory has files like UCI's, with rows that a few numbers explain.
func adultDirectory(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(1, 1))
	for name, end := range map[string]string{"adult.data": "", "adult.test": "."} {
		var text strings.Builder
		for range 250 {
			age, income := 20+rng.IntN(50), "<=50K"
			if age+rng.IntN(20) > 55 {
				income = ">50K"
			}
			fmt.Fprintf(&text, "%d, Private, 1, HS-grad, %d, Divorced, Sales, Husband, White, %s, %d, 0, 40, Cuba, %s%s\n",
				age, rng.IntN(16), []string{"Male", "Female"}[rng.IntN(2)], rng.IntN(2), income, end)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestPVIWorkshop(t *testing.T) {
	dir := adultDirectory(t)
	for _, accounting := range []string{"pld", "paper"} {
		args := strings.Fields("pvi --preset workshop-A --method dp-pvi --eps 3 --seeds 2 --accounting " + accounting)
		r := command(append(args, dir)...)
		if r.code != done || r.stderr != "" {
			t.Fatalf("exit code %d, stderr %q", r.code, r.stderr)
		}
		for _, text := range []string{"400 rows to train and 100 to test", "a\nleak", "simulated", "±", accounting} {
			if !strings.Contains(r.stdout, text) {
				t.Errorf("stdout does not say %q:\n%s", text, r.stdout)
			}
		}
		r = command(append(args, "--format", "csv", dir)...)
		lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
		if r.code != done || len(lines) != 3 || lines[0] != "method,eps,accounting,seed,accuracy,log_lik,updates_small,updates_large,epsilon_small,epsilon_large" {
			t.Fatalf("exit code %d: %q", r.code, lines)
		}
		for _, line := range lines[1:] {
			cells := strings.Split(line, ",")
			spent, err := strconv.ParseFloat(cells[len(cells)-1], 64)
			if err != nil || (spent <= 3) != (accounting == "pld") {
				t.Errorf("%s: spent %v of 3, %v", accounting, spent, err)
			}
		}
	}
}

func TestPVIThesis(t *testing.T) {
	for preset, text := range map[string]string{"thesis-dataset": "9.998", "thesis-datapoint": "hybrid"} {
		r := command("pvi", "--preset", preset, "--seeds", "1")
		if r.code != done || !strings.Contains(r.stdout, text) || !strings.Contains(r.stdout, "median KL") {
			t.Errorf("%s: exit code %d\n%s%s", preset, r.code, r.stdout, r.stderr)
		}
	}
}

func TestPVIWrong(t *testing.T) {
	dir := adultDirectory(t)
	for args, want := range map[string]string{
		"pvi":                                                                "--preset is missing",
		"pvi --preset workshop-E":                                            "choose one of",
		"pvi --preset workshop-A":                                            "the directory of adult.data",
		"pvi --preset workshop-A " + t.TempDir():                             "adult.data",
		"pvi --preset workshop-A --rho 1 " + dir:                             "rho must lie in [0, 1)",
		"pvi --preset workshop-A --rho 0.99 " + dir:                          "without records",
		"pvi --preset workshop-A --kappa 9 " + dir:                           "kappa = 9",
		"pvi --preset workshop-A --method sgd " + dir:                        "pvi, global-vi and dp-pvi",
		"pvi --preset workshop-A --eps x " + dir:                             "--eps",
		"pvi --preset workshop-A --method dp-pvi --eps 0.01 " + dir:          "too small for one update",
		"pvi --preset workshop-A --accounting rdp " + dir:                    "choose one of pld, paper",
		"pvi --preset workshop-A --seeds 0 " + dir:                           "--seeds 0",
		"pvi --preset thesis-dataset --eps 1":                                "for workshop presets",
		"pvi --preset thesis-dataset " + dir:                                 "takes no file",
		"pvi --preset workshop-A --method dp-pvi --format json " + dir:       "choose one of table, csv",
		"pvi --preset workshop-A --method dp-pvi --kappa NaN --eps 1 " + dir: "kappa = NaN",
	} {
		r := command(strings.Fields(args)...)
		if r.code != misused || !strings.Contains(r.stderr, want) || r.stdout != "" {
			t.Errorf("%s: exit code %d, %q, want %q", args, r.code, r.stderr, want)
		}
	}
}
