package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mechanisms/ledger"
)

// hospitals are the files of three clients, of y = ½ + age/10 with errors of sd 1, and of
// a response that is 1 for y above 5.
func hospitals(t *testing.T) []string {
	t.Helper()
	t.Chdir(t.TempDir())
	rng := rand.New(rand.NewPCG(2, 0))
	files := []string{"north.csv", "south.csv", "west.csv"}
	for m, file := range files {
		var b strings.Builder
		b.WriteString("age,y,high\n")
		for range 100 * (m + 1) {
			age := 20 + rng.IntN(60)
			y := 0.5 + float64(age)/10 + rng.NormFloat64()
			high := "no"
			if y > 5 {
				high = "yes"
			}
			fmt.Fprintf(&b, "%d,%.3f,%s\n", age, y, high)
		}
		write(t, file, b.String())
	}
	write(t, "all.schema.json", `{"fields":[
		{"name":"age","type":"number","constraints":{"minimum":20,"maximum":80}},
		{"name":"y","type":"number","constraints":{"minimum":0,"maximum":10}},
		{"name":"high","type":"string","constraints":{"enum":["no","yes"]}}]}`)
	return files
}

// partitioned is a run of all rows in each step, for which noise is found at once.
func partitioned(files []string, args ...string) result {
	fixed := []string{"pvi", "--schema", "all.schema.json", "--rate", "1", "--delta", "1e-5"}
	return command(append(append(fixed, args...), files...)...)
}

func TestPVIRows(t *testing.T) {
	testsize.Full(t, "TestWrongPVIRows and TestPVIChargesBeforeNoise have the command")
	files := hospitals(t)
	command("ledger", "init", "b.db", "--data", "hospitals", "--eps", "60", "--delta", "1e-4").ends(t, done)
	r := partitioned(files, "--eps", "50", "--model", "linear", "--error-sd", "1", "--formula", "y ~ age", "--format", "csv", "--ledger", "b.db", "--save", "fit").finished(t).says(t, "3 clients, each of which").says(t, "charged to b.db as No 1")
	slope := 0.
	for line := range strings.Lines(r.stdout) {
		if strings.Contains(line, ",age,") {
			fmt.Sscan(strings.Split(line, ",")[2], &slope)
		}
	}
	if slope < 0.09 || slope > 0.11 {
		t.Errorf("the slope is %v, not 0.1:\n%s", slope, r.stdout)
	}
	if _, err := os.Stat("fit/draws-4.csv"); err != nil {
		t.Error(err)
	}
	if all := charges(t, "b.db"); len(all) != 1 || all[0].Noise != ledger.Sampled || !all[0].Written {
		t.Errorf("charged %+v", all)
	}
	r = partitioned(files, "--eps", "10", "--formula", "high ~ age", "--no-ledger").finished(t)
	must.Say(t, must.Folded(r.stdout), "epsilon = 10, delta = 1e-05, replace-one", "high = yes", "n = 600", "500 steps", "do not account for the noise")
	if r = partitioned(files, "--eps", "50", "--formula", "high ~ age", "--ledger", "b.db"); r.code != refused || r.stdout != "" {
		t.Errorf("exit code %d, stdout %q", r.code, r.stdout)
	}
}

func TestPVIRowsInterrupted(t *testing.T) {
	files := hospitals(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	args := append(strings.Fields("pvi --no-ledger --schema all.schema.json --rate 1 --eps 1 --delta 1e-5 --formula high~age"), files...)
	commandContext(ctx, args...).ends(t, interrupted)
}

// withoutLedger says so where arguments name none.
func withoutLedger(args string) []string {
	if !strings.Contains(args, "--ledger") {
		args += " --no-ledger"
	}
	return strings.Fields(args)
}

func TestWrongPVIRows(t *testing.T) {
	hospitals(t)
	write(t, "empty.csv", "age,y,high\n")
	write(t, "other.csv", "age,y,high\n30,1,no\n")
	write(t, "other.schema.json", strings.Replace(read(t, "all.schema.json"), "80", "90", 1))
	write(t, "west.schema.json", read(t, "all.schema.json"))
	write(t, "tiny.csv", "age,y,high\n30,1,no\n40,7,yes\n")
	refusals(t, map[string]string{
		"--eps 1 --delta 1e-5 --formula high~age west.csv other.csv": "2 do not have the same columns, bounds and levels",
		"north.csv":                                                                                                      "2 dpreg vi is for that",
		"--formula high~age north.csv south.csv":                                                                         "2 --eps is missing",
		"--eps 1 --formula high~age north.csv south.csv":                                                                 "2 --delta is missing",
		"--eps 0.5,1 --delta 1e-5 north.csv south.csv":                                                                   "2 --eps",
		"--eps 1 --delta 1e-5 --formula high~age north.csv":                                                              "2 one client",
		"--eps 1 --delta 1e-5 --formula high~age north.csv empty.csv --schema all.schema.json":                           "2 empty.csv",
		"--eps 1 --delta 1e-5 --formula high~age north.csv tiny.csv --schema all.schema.json":                            "2 less than one row",
		"--eps 1 --delta 1e-5 --formula high~age north.csv none.csv --schema all.schema.json":                            "2 none.csv",
		"--eps 1 --delta 1e-5 --formula y~age north.csv south.csv --schema all.schema.json":                              "2 bounds 0:1",
		"--eps 1 --delta 1e-5 --formula y~age north.csv south.csv --model linear":                                        "2 needs --error-sd",
		"--eps 1 --delta 1e-5 --error-sd 1 north.csv south.csv":                                                          "2 --model linear",
		"--eps 1 --delta 1e-5 --model hierarchical north.csv south.csv":                                                  "2 choose one of",
		"--eps 1 --delta 1e-5 --damping 2 north.csv south.csv":                                                           "2 --damping 2",
		"--eps 1 --delta 1e-5 --rounds 0 north.csv south.csv":                                                            "2 --rounds 0",
		"--eps 1 --delta 1e-5 --ledger none.db --rate 1 --formula high~age north.csv south.csv --schema all.schema.json": "2 no such ledger",
		"": "2 files of two clients",
	}, func(args string) result { return command(append([]string{"pvi"}, withoutLedger(args)...)...) })
}
