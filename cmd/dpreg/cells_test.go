package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// readers are the commands that read rows, of bad.csv. Those that predict copy rows where
// they succeed.
var readers = []string{
	"schema bad.csv -o made.json",
	"release bad.csv --schema all.json --eps 1 -o made.json",
	"release bad.csv --schema all.json --eps 1 --missing midpoint --mechanism gaussian --delta 1e-5 -o made.json",
	"release bad.csv --schema all.json --eps 1 --missing drop --neighbours add-remove -o made.json",
	"release bad.csv --schema open.json --bounds auto --eps 60 -o made.json",
	"release bad.csv --schema all.json --eps 1 --steps 3 -o made.json",
	"release bad.csv --schema all.json --eps 1 --delta 1e-5 --steps 2 --missing drop --neighbours add-remove -o made.json",
	"release bad.csv --schema all.json --eps 1 --with-moments --formula y~x -o made.json",
	"fit bad.csv --schema all.json --eps 1 --method gibbs-ss-update --warmup 100 --draws 10 --save made",
	"vi bad.csv --schema all.json --eps 5 --delta 1e-4 --steps 3 --rate 1 --save made --plot made.svg",
	"vi bad.csv --schema all.json --eps 5 --delta 1e-4 --steps 3 --rate 1 --missing midpoint",
	"vi bad.csv --schema all.json --eps 5 --delta 1e-4 --steps 3 --rate 1 --model linear",
	"vi bad.csv --schema all.json --eps 5 --delta 1e-4 --steps 3 --rate 1 --model hierarchical --group f",
	"vi bad.csv --schema all.json --steps 3 --rate 1 --non-private --i-hold-the-data",
	"pvi bad.csv good.csv --schema all.json --no-ledger --eps 5 --delta 1e-4 --rounds 1 --steps 2 --rate 1",
	"pvi good.csv bad.csv --schema all.json --no-ledger --eps 5 --delta 1e-4 --rounds 1 --steps 2 --rate 1 --missing midpoint",
	"pvi good.csv bad.csv --schema all.json --no-ledger --eps 5 --delta 1e-4 --rounds 1 --steps 2 --rate 1 --model linear --error-sd 1",
	"pvi good.csv bad.csv --schema all.json --no-ledger --eps 5 --delta 1e-4 --rounds 1 --steps 2 --rate 1 --formula b~x+f",
	"predict --draws drawn bad.csv",
	"compare bad.csv --schema all.json --eps 5 --delta 1e-4 --trials 1 --method adassp,non-private,dp-vi --i-hold-the-data --save made",
}

// strays are what no cell, or line, should be, by column, but for the first; texts are unique.
var strays = []struct{ name, column, text string }{
	{"nothing", "y", "1"}, {"number", "x", digits + "x"}, {"huge", "x", digits + "e300"}, {"level", "f", digits}, {"boolean", "b", digits},
	{"response", "y", digits + "y"}, {"response out of bounds", "y", digits}, {"share", "y", "0." + digits}, {"infinite", "x", "-" + digits + "e999"},
	{"missing", "x", ""}, {"missing level", "f", ""}, {"missing boolean", "b", ""}, {"missing response", "y", ""},
	{"fields", "y", "0.5," + digits}, {"quote", "y", `0."` + digits},
}

// digits are of cells that are to be recognised, as those of the covariate are, among other numbers.
const digits = "739104286531"

// No cell's text is in a message, on stdout or in a file that a command leaves, whatever is
// wrong with it; a missing cell is treated as --missing says. In short each command reads a
// quarter of them, and each is read by a quarter of the commands.
func TestNoCellIsTold(t *testing.T) {
	t.Chdir(t.TempDir())
	rng := rand.New(rand.NewPCG(7, 391))
	header := []string{"x", "f", "b", "y"}
	var rows [][]string
	for range 60 {
		rows = append(rows, []string{fmt.Sprintf("%.15f", 9*rng.Float64()+0.5), []string{"red", "blue"}[rng.IntN(2)], []string{"true", "false"}[rng.IntN(2)], []string{"0", "1"}[rng.IntN(2)]})
	}
	fields := `{"fields":[{"name":"x","type":"number"%s},{"name":"f","type":"string","constraints":{"enum":["red","blue"]}},{"name":"b","type":"boolean"},{"name":"y","type":"number"%s}]}`
	write(t, "all.json", fmt.Sprintf(fields, `,"constraints":{"minimum":0,"maximum":10}`, `,"constraints":{"minimum":0,"maximum":1}`))
	write(t, "open.json", fmt.Sprintf(fields, "", `,"constraints":{"minimum":0,"maximum":1}`))
	table := func(rows [][]string) string {
		lines := []string{strings.Join(header, ",")}
		for _, row := range rows {
			lines = append(lines, strings.Join(row, ","))
		}
		return strings.Join(lines, "\n") + "\n"
	}
	write(t, "good.csv", table(rows))
	command("release", "good.csv", "--schema", "all.json", "--eps", "1", "--formula", "y~x+f+b", "-o", "good.json").finished(t)
	command("infer", "good.json", "--method", "gibbs-ss-update", "--warmup", "100", "--draws", "10", "--save", "drawn").finished(t)
	for i, stray := range strays {
		spoilt := slices.Clone(rows)
		spoilt[41] = slices.Clone(rows[41])
		spoilt[41][slices.Index(header, stray.column)] = stray.text
		write(t, "bad.csv", table(spoilt))
		var planted []string
		for _, row := range spoilt {
			if row[0] != "" {
				planted = append(planted, row[0])
			}
		}
		planted = append(planted, digits, "7.39104286", "0.739104286")
		before := tree(t)
		for j, line := range readers {
			if testing.Short() && (i+j)%4 != 0 {
				continue
			}
			r := command(strings.Fields(line)...)
			if stray.name == "nothing" || stray.text == "" && strings.Contains(line, "--missing") {
				r.finished(t)
			}
			after := tree(t)
			left := r.stdout
			for name, text := range after {
				if before[name] != text {
					left += text
				}
			}
			if strings.HasPrefix(line, "predict") && r.code == done {
				left = ""
			}
			for _, text := range planted {
				if strings.Contains(r.stderr, text) || strings.Contains(left, text) {
					t.Errorf("%s: %s tells %q:\n%s", stray.name, line, text, r.stderr)
				}
			}
			for _, name := range slices.Backward(slices.Sorted(maps.Keys(after))) {
				if _, was := before[name]; !was {
					os.Remove(name)
				}
			}
		}
	}
}
