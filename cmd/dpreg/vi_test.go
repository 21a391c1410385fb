package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/testsize"
	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mechanisms/ledger"
	"github.com/dpreg/dpreg/table"
	"github.com/dpreg/dpreg/vi"
)

// votes is a table with a factor, a number, a group and a response with two levels.
func votes(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	rng := rand.New(rand.NewPCG(1, 0))
	var b strings.Builder
	b.WriteString("age,town,state,dose,vote\n")
	for range 400 {
		age, town, vote := rng.IntN(60)+20, []string{"yes", "no"}[rng.IntN(2)], "no"
		if rng.Float64() < float64(age)/80 {
			vote = "yes"
		}
		fmt.Fprintf(&b, "%d,%s,%s,%.2f,%s\n", age, town, []string{"a", "b", "c"}[rng.IntN(3)], float64(age)/10+rng.Float64(), vote)
	}
	write(t, "votes.csv", b.String())
	write(t, "votes.schema.json", `{"fields":[
		{"name":"age","type":"number","constraints":{"minimum":20,"maximum":80}},
		{"name":"town","type":"string","constraints":{"enum":["no","yes"]}},
		{"name":"state","type":"string","constraints":{"enum":["a","b","c"]}},
		{"name":"dose","type":"number","constraints":{"minimum":0,"maximum":10}},
		{"name":"vote","type":"string","constraints":{"enum":["no","yes"]}}]}`)
}

func variational(args ...string) result {
	return command(append([]string{"vi", "votes.csv", "--steps", "50", "--draws", "200"}, args...)...)
}

// unpaid is a run that needs no accountant.
var unpaid = []string{"--non-private", "--i-hold-the-data"}

func TestVI(t *testing.T) {
	testsize.Full(t, "TestVIModels, TestVILedger and TestVIClipsNothing have the command")
	votes(t)
	r := variational("--rate", "0.5", "--eps", "3", "--delta", "1e-4", "--save", "out", "--plot", "trace.svg", "--neighbours", "add-remove").finished(t)
	must.Say(t, must.Folded(r.stdout), "epsilon = 3, delta = 0.0001, add-remove", "vote = yes", "townyes", "stateb", "50 steps", "do not account for the noise")
	for _, word := range strings.Fields(r.stdout) {
		if strings.Trim(word, ".,;:()") == "400" { // a drawn number, such as 0.00400, may have these digits
			t.Errorf("add-remove, and the number of rows is told:\n%s", r.stdout)
		}
	}
	r.says(t, "this run spent ε = 3, δ = 0.0001; another spends as much again")
	if text := read(t, "out/draws-1.csv"); !strings.Contains(text, "label: theta.2 is age") {
		t.Errorf("draws:\n%.300s", text)
	}
	labelled(t, "out")
	if text := read(t, "trace.svg"); strings.Contains(text, "ELBO") || !strings.Contains(text, "original units") {
		t.Error("the ELBO of a private run is drawn, or its picture has no units")
	}
	for _, path := range []string{"out", "out/draws-4.csv", "out/summary.json"} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

// The fits are of the data's units: of votes by age, and of dose = age/10 + ½.
func TestVIModels(t *testing.T) {
	votes(t)
	long := append([]string{"--steps", "1500", "--rate", "1", "--format", "csv"}, unpaid...)
	r := variational(append(long, "--model", "linear", "--formula", "dose ~ age")...).finished(t)
	var name, label string
	var mean float64
	for line := range strings.Lines(r.stdout) {
		if strings.Contains(line, ",age,") {
			fields := strings.Split(line, ",")
			name, label = fields[0], fields[1]
			fmt.Sscan(fields[2], &mean)
		}
	}
	if name != "theta[1]" || label != "age" || mean < 0.095 || mean > 0.105 {
		t.Errorf("the slope %s of %s is %v:\n%s", name, label, mean, r.stdout)
	}
	r = variational(append([]string{"--model", "hierarchical", "--group", "state", "--formula", "vote ~ age"}, unpaid...)...).finished(t)
	must.Say(t, r.stdout, "a: (Intercept)", "c: age", "mean of age")
	r.says(t, "NOT private")
}

// By default no gradient of a row within bounds is clipped, whatever the parameters: logistic
// regression with privacy is biased by its noise alone. Of an event that happens once in
// twenty times, half that norm moves slopes by several standard deviations; the noise of ε = 100
// moves them by a tenth of one.
func TestVIClipsNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	rng := rand.New(rand.NewPCG(14, 0))
	var b strings.Builder
	b.WriteString("x,f,y\n")
	for _, corner := range []string{"0,a,0", "0,a,1", "20,b,0", "20,c,1", "99,c,0"} {
		b.WriteString(corner + "\n")
	}
	for range 20000 {
		x, y := 20*rng.Float64(), 0
		if rng.Float64() < 1/(1+math.Exp(4.5-0.15*x)) {
			y = 1
		}
		fmt.Fprintf(&b, "%.3f,%s,%d\n", x, []string{"a", "b", "c"}[rng.IntN(3)], y)
	}
	write(t, "rare.csv", b.String())
	write(t, "rare.schema.json", `{"fields":[
		{"name":"x","type":"number","constraints":{"minimum":0,"maximum":20}},
		{"name":"f","type":"string","constraints":{"enum":["a","b","c"]}},
		{"name":"y","type":"number","constraints":{"minimum":0,"maximum":1}}]}`)
	for _, model := range []string{vi.LogisticKind, vi.HierarchicalKind} {
		f := &flags{cmd: silent(t), model: model, priorSD: 1}
		if model == vi.HierarchicalKind {
			f.group = "f"
		}
		r := viFitOf(t, f, "rare.csv")
		rows, group, err := r.design.Read(r.source, table.Options{})
		must.Do(t, err)
		m, longest := r.design.Of(rows, group, r.priorSD), 0.
		of := vi.NewGradients(m, nil)
		grad, theta := make([]float64, m.Dim()), make([]float64, m.Dim())
		for _, sign := range []float64{-1, 1} {
			for j := range theta {
				theta[j] = 50 * sign
			}
			for i := range m.Records {
				of.LogLik(grad, theta, i)
				longest = max(longest, floats.Norm(grad, 2))
			}
		}
		if got := r.design.Norm(); math.Abs(got/longest-1) > 1e-9 {
			t.Errorf("%s: gradients are up to %v long, and clipped to %v", model, longest, got)
		}
	}
	r := command(strings.Fields("vi rare.csv --steps 20 --rate 1 --eps 100 --delta 1e-5 --clip 0.5")...).finished(t)
	must.Say(t, must.Folded(r.stdout), "biases estimates at any epsilon; --clip 1.732 clips none")
	if testing.Short() {
		return
	}
	estimate := func(args ...string) (mean, sd []float64) {
		r := command(append(strings.Fields("vi rare.csv --steps 600 --rate 0.1 --format csv"), args...)...).finished(t)
		for line := range strings.Lines(r.stdout) {
			fields := strings.Split(line, ",")
			if strings.HasPrefix(line, "theta") {
				mean, sd = append(mean, parsed(t, fields[2])), append(sd, parsed(t, fields[3]))
			}
		}
		return mean, sd
	}
	exact, sd := estimate(unpaid...)
	private, _ := estimate("--eps", "100", "--delta", "1e-5")
	for j := range exact {
		if len(private) != 4 || math.Abs(private[j]-exact[j]) > 1.5*sd[j] {
			t.Errorf("coefficient %d: %v with ε = 100, %v ± %v without privacy", j, private[j], exact[j], sd[j])
		}
	}
}

// viFitOf is a fit to rows whose design is known.
func viFitOf(t *testing.T, f *flags, data string) *viFit {
	t.Helper()
	r := &viFit{dataset: &dataset{flags: f}, method: "vi-" + f.model}
	r.design = must.Get(r.viDesign(data))(t)
	return r
}

// A picture has the table's parameters in the table's units: those of a narrow law are its
// estimates.
func TestVIPictureIsOfTheTable(t *testing.T) {
	votes(t)
	for _, c := range []struct{ model, group, formula string }{
		{vi.LinearKind, "", "dose ~ age + town"}, {vi.LogisticKind, "", "vote ~ age + town"}, {vi.HierarchicalKind, "state", "vote ~ age + town"},
	} {
		for _, units := range []string{"original", "scaled"} {
			r := viFitOf(t, &flags{cmd: silent(t), model: c.model, group: c.group, formula: c.formula, units: units, draws: 10, level: 0.95, priorSD: 1}, "votes.csv")
			model := r.design.Of(&vi.Rows{P: r.design.Coefficients()}, nil, r.priorSD)
			mean, sd := make([]float64, model.Dim()), make([]float64, model.Dim())
			for j := range mean {
				mean[j], sd[j] = 0.3*float64(j+1), 1e-9
			}
			r.fit = vi.NewFit(model, mean, sd)
			r.fit.Trace = []vi.Point{{Mean: mean}}
			drawn := r.trace()[0].Mean
			for j, p := range r.summary(r.drawn()).Parameters {
				if math.Abs(drawn[j]/p.Mean-1) > 1e-6 {
					t.Errorf("%s of %s units: %v is drawn, and the table has %v", p.Label, units, drawn[j], p.Mean)
				}
			}
		}
	}
}

// A run is charged before it starts, as one of many sampled sums, and beside releases; what
// has no room is refused, and nothing is charged for it.
func TestVILedger(t *testing.T) {
	votes(t)
	command("ledger", "init", "b.db", "--data", "votes.csv", "--eps", "3", "--delta", "1e-4").ends(t, done)
	paid := func(epsilon string) result {
		return variational("--eps", epsilon, "--delta", "1e-5", "--rate", "1", "--formula", "vote ~ age", "--ledger", "b.db", "--save", "fit")
	}
	paid("1").finished(t).says(t, "charged to b.db as No 1")
	command("release", "votes.csv", "--formula", "dose ~ age", "--eps", "0.5", "--delta", "1e-5", "--mechanism", "gaussian", "--ledger", "b.db", "-o", "r.json").ends(t, done)
	paid("1.5").finished(t)
	r := paid("2.9")
	r.ends(t, refused)
	r.says(t, "no room for epsilon = 2.9, delta = 1e-05: nothing was charged").says(t, "for a run of dpreg vi")
	var noises []ledger.Noise
	for _, e := range charges(t, "b.db") {
		noises = append(noises, e.Noise)
		if !e.Written || e.Neighbours != "replace-one" {
			t.Errorf("%+v", e)
		}
	}
	if want := []ledger.Noise{ledger.Sampled, ledger.Gaussian, ledger.Sampled}; !slices.Equal(noises, want) {
		t.Errorf("charged %v, want %v", noises, want)
	}
}

// A run that is interrupted stays charged, and is not known to have been written.
func TestVIInterruptedStaysCharged(t *testing.T) {
	votes(t)
	command("ledger", "init", "b.db", "--data", "votes.csv", "--eps", "3", "--delta", "1e-4").ends(t, done)
	ctx, cancel := context.WithCancel(context.Background())
	var stdout bytes.Buffer
	stderr := &watcher{text: "charged to b.db as No 1", then: cancel}
	args := strings.Fields("vi votes.csv --steps 50 --rate 1 --eps 1 --delta 1e-5 --formula vote~age --ledger b.db")
	if code := run(ctx, &stdout, stderr, args); code != interrupted || stdout.Len() > 0 {
		t.Errorf("exit code %d, stdout %q", code, stdout.String())
	}
	must.Say(t, stderr.String(), "b.db keeps the charge No 1")
	if all := charges(t, "b.db"); len(all) != 1 || all[0].Written {
		t.Errorf("charged %+v", all)
	}
}

// watcher keeps what is written, and calls then when text has been.
type watcher struct {
	bytes.Buffer
	text string
	then func()
}

func (w *watcher) Write(p []byte) (int, error) {
	n, err := w.Buffer.Write(p)
	if strings.Contains(w.String(), w.text) {
		w.then()
	}
	return n, err
}

func TestWrongVI(t *testing.T) {
	votes(t)
	refusals(t, map[string]string{
		"":                               "2 --eps is missing",
		"--eps 1":                        "2 --delta is missing",
		"--eps 1 --delta 1e-5 --steps 0": "2 --steps 0",
		"--eps 1 --delta 1e-5 --formula state~age":               "2 has 3 levels",
		"--eps 1 --delta 1e-5 --formula dose~age":                "2 bounds 0:1",
		"--eps 1 --delta 1e-5 --formula vote~dosage":             "2 no column",
		"--eps 1 --delta 1e-5 --bounds auto":                     "2 --bounds auto",
		"--eps 1 --delta 1e-5 --model probit":                    "2 --model",
		"--eps 1 --delta 1e-5 --model hierarchical":              "2 --group",
		"--eps 1 --delta 1e-5 --model hierarchical --group age":  "2 categories",
		"--eps 1 --delta 1e-5 --rate 2":                          "2 --rate 2",
		"--eps 1 --delta 1e-5 --rate 0.1 --batch 5":              "2 exclude",
		"--eps 1 --delta 1e-5 --batch 500":                       "2 400 rows",
		"--eps 1 --delta 1e-5 --batch 5 --neighbours add-remove": "2 secret",
		"--eps 1 --delta 1e-5 --missing drop":                    "3 drop",
		"--eps 1e-9 --delta 1e-10 --rate 1":                      "2 budget is too small",
		"--eps 1 --delta 1e-5 --save votes.csv":                  "2 --save",
		"--eps 1 --delta 1e-5 --plot trace.pdf":                  "2 --plot",
		"--non-private":                                          "3 --i-hold-the-data",
		"--non-private --eps 1":                                  "2 spends nothing",
		"--eps 1 --delta 1e-5 --rate 1 --ledger none.db":         "2 no such ledger",
		"--non-private --ledger b.db":                            "2 spends nothing",
		"--eps 1 --delta 1e-5 --clip 0":                          "2 --clip",
	}, func(args string) result { return variational(strings.Fields(args)...) })
}

// Interrupted, a run says what its steps would have spent, and shows nothing.
func TestVIInterrupted(t *testing.T) {
	votes(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r := commandContext(ctx, "vi", "votes.csv", "--eps", "3", "--delta", "1e-4", "--steps", "50", "--rate", "1").ends(t, interrupted)
	r.says(t, "interrupted")
}
