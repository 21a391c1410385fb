// Command population asks of many populations whether intervals hold what is true of them: it
// runs `dpreg calibrate --population` on tables of testdata and on normal rows, and says how
// slopes did in all of them.
//
//	go run ./bench/population DIR
//	go run ./bench/population -only census,wine DIR --n 300 --eps 1 --trials 20
//
// It runs in the root of the repository. What stands after DIR is given to calibrate, and wins
// over the command's own --n 300,1000,10000 --eps 0.05,0.3,1,3,10 --trials 150. The study of a
// population is in DIR/NAME, and goes on there when the same command is run again; rows of
// all results are in DIR/population.csv.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/dpreg/dpreg/bench/program"
	"github.com/dpreg/dpreg/calibration"
	"github.com/dpreg/dpreg/report"
)

func main() { program.Main("population", run) }

// population is a table, its public bounds, and a regression on it.
type population struct {
	name, table, schema, formula string
	seed                         string // of its study, so that populations have noise of their own

	sd, mean float64 // of normal rows, in scaled units; sd 0: of a table
	wide     float64 // by how many times the bounds of x are wider, the upper one alone; 0: 1
}

// populations are those of the study. wide has boxes of numbers ten times too wide.
func populations() []population {
	const one, four, wide = "income ~ educ", "income ~ educ + age + married + sex", "bench/population/wide.schema.json"
	table := func(name string) string { return "testdata/" + name + ".csv" }
	all := []population{
		{name: "census", table: table("pums10000"), formula: one},
		{name: "census-4", table: table("pums10000"), formula: four},
		{name: "census-wide", table: table("pums10000"), formula: one, schema: wide},
		{name: "census-4-wide", table: table("pums10000"), formula: four, schema: wide},
		{name: "adult", table: table("adult-factors")},
		{name: "gain", table: table("adult"), formula: "gain ~ age + education"},
		{name: "of-gain", table: table("adult"), formula: "above50k ~ gain + education"},
		{name: "wine", table: table("wine-white"), formula: "quality ~ alcohol + `volatile acidity` + `residual sugar`"},
		{name: "abalone", table: table("abalone-sizes")},
		{name: "diabetes", table: table("diabetes")},
	}
	for _, sd := range []float64{0.3, 0.1, 0.05, 0.03} {
		all = append(all, population{name: fmt.Sprintf("normal-%g", sd), sd: sd}, population{name: fmt.Sprintf("normal-%g-off", sd), sd: sd, mean: 0.5})
	}
	for _, wide := range []float64{10, 30} {
		all = append(all, population{name: fmt.Sprintf("x-%g", wide), sd: 0.2, wide: wide})
	}
	for i := range all {
		all[i].seed = strconv.Itoa(i)
	}
	return all
}

func run(ctx context.Context, stdout, stderr io.Writer, args []string) error {
	f := flag.NewFlagSet("population", flag.ContinueOnError)
	f.SetOutput(stderr)
	only := f.String("only", "", "`NAMES` of populations, with commas between; default: all")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() == 0 {
		return errors.New("name a directory for the results: go run ./bench/population DIR")
	}
	chosen, err := choose(*only)
	if err != nil {
		return err
	}
	dir, more := f.Arg(0), f.Args()[1:]
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	dpreg := filepath.Join(dir, "dpreg")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", dpreg, "./cmd/dpreg").CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w: %s", err, out)
	}
	var all []*calibration.Summary
	for _, p := range chosen {
		fmt.Fprintf(stdout, "== %s\n", p.name)
		if err := p.study(ctx, stdout, stderr, dpreg, dir, more); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		s, err := p.summary(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist): // a shard
			continue
		case err != nil:
			return err
		}
		all = append(all, s)
	}
	if len(all) == 0 {
		return nil
	}
	fmt.Fprintf(stdout, "== all\n%s\n", report.Judgement(calibration.Judge(all...)))
	return writeAll(filepath.Join(dir, "population.csv"), all)
}

func choose(names string) (chosen []population, err error) {
	all := populations()
	if names == "" {
		return all, nil
	}
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(all, func(p population) bool { return p.name == name })
		if i < 0 {
			return nil, fmt.Errorf("-only %q: there is none of this name", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// unconverged is dpreg's exit code of a study that is done, but not sound in every cell.
const unconverged = 4

func (p population) study(ctx context.Context, stdout, stderr io.Writer, dpreg, dir string, more []string) error {
	if p.sd > 0 {
		p.table = filepath.Join(dir, p.name+".csv")
		if err := p.writeRows(); err != nil {
			return err
		}
	}
	args := []string{"calibrate", "--population", p.table, "--i-hold-the-data", "--save", filepath.Join(dir, p.name), "--plots",
		"--n", "300,1000,10000", "--eps", "0.05,0.3,1,3,10", "--trials", "150", "--seed", p.seed}
	if p.schema != "" {
		args = append(args, "--schema", p.schema)
	}
	if p.formula != "" {
		args = append(args, "--formula", p.formula)
	}
	if slices.ContainsFunc(more, func(arg string) bool { return strings.HasPrefix(arg, "--shard") }) {
		args = slices.DeleteFunc(args, func(arg string) bool { return arg == "--plots" })
	}
	command := exec.CommandContext(ctx, dpreg, append(args, more...)...)
	command.Stdout, command.Stderr = stdout, stderr
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	err := command.Run()
	if exit := new(exec.ExitError); errors.As(err, &exit) && exit.ExitCode() == unconverged {
		return nil
	}
	return err
}

// normalRows is how many there are.
const normalRows = 100_000

// writeRows writes rows (x, y) with bounds -1 and 1, but for a wide x, x about the mean and y about its negative,
// both with sd and a correlation of 1/2.
func (p population) writeRows() error {
	schema := fmt.Sprintf(`{"fields": [{"name": "x", "type": "number", "constraints": {"minimum": -1, "maximum": %g}}, {"name": "y", "type": "number", "constraints": {"minimum": -1, "maximum": 1}}]}`, 2*max(1, p.wide)-1)
	if err := os.WriteFile(strings.TrimSuffix(p.table, ".csv")+".schema.json", []byte(schema), 0o600); err != nil {
		return err
	}
	rng, text := rand.New(rand.NewPCG(17, 0)), bytes.NewBufferString("x,y\n")
	for range normalRows {
		x, e := rng.NormFloat64(), rng.NormFloat64()
		fmt.Fprintf(text, "%.7f,%.7f\n", p.mean+p.sd*x, -p.mean+p.sd*(x/2+math.Sqrt(0.75)*e))
	}
	return os.WriteFile(p.table, text.Bytes(), 0o600)
}

// summary reads what the study found; it is of the population by this program's name.
func (p population) summary(dir string) (*calibration.Summary, error) {
	path := filepath.Join(dir, p.name, "summary.json")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s := new(calibration.Summary)
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s.Population = p.name
	return s, nil
}

// writeAll writes one table of all studies.
func writeAll(path string, all []*calibration.Summary) error {
	var text []byte
	for i, s := range all {
		var b bytes.Buffer
		if err := s.WriteCSV(&b); err != nil {
			return err
		}
		rows := b.Bytes()
		if i > 0 {
			_, rows, _ = bytes.Cut(rows, []byte("\n"))
		}
		text = append(text, rows...)
	}
	return os.WriteFile(path, text, 0o600)
}
