package main

import (
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
)

// TestFamily fits, infers again, predicts and saves.
func TestFamily(t *testing.T) {
	workspace(t)
	const formula = "married ~ age + educ"
	first := fit("--eps", "3", "--formula", formula, "--family", "binomial", "--steps", "1").finished(t)
	must.Say(t, first.stdout, "family binomial (logit link)", "Odds ratio", "educ", "Contr.", "Price of privacy")
	for _, part := range []string{"sigma"} {
		if strings.Contains(first.stdout, part) {
			t.Errorf("the result has %q, which it cannot:\n%s", part, first.stdout)
		}
	}
	brief := []string{"--chains", "2", "--warmup", "100", "--ess", "100"}
	again := append([]string{"infer", "pums.release.json"}, brief...)
	saved := command(append(again, "--family", "binomial", "--save", "d", "--report", "r.html")...).finished(t)
	if text := read(t, "d/summary.json"); !strings.Contains(text, `"family": "binomial"`) || strings.Contains(text, "sigma") {
		t.Errorf("the summary is %s", text)
	}
	if page := read(t, "r.html"); !strings.Contains(page, "Bayesian logistic regression") || !strings.Contains(saved.stdout, "Odds ratio") {
		t.Error("the page is of another model")
	}
	along := command("predict", "--draws", "d", "--along", "age").finished(t).stdout
	if lines := strings.Split(strings.TrimSpace(along), "\n"); len(lines) != 102 || lines[0] != "age,.fitted,.lower,.upper" || !strings.HasPrefix(lines[101], "100,0.") {
		t.Errorf("along age it predicts\n%s", along)
	}
	command("predict", "--draws", "d", "--along", "age", "--plot", "curve.svg").finished(t)
	if picture := read(t, "curve.svg"); !strings.Contains(picture, "Probability of married along age") {
		t.Errorf("the picture is %s", picture)
	}
	write(t, "new.csv", "age,educ\n20,10\n90,10\n")
	own := command("predict", "--draws", "d", "new.csv").finished(t)
	if made := command(append([]string{"predict", "pums.release.json", "new.csv", "--family", "binomial"}, brief...)...).finished(t); !strings.Contains(made.stdout, ".fitted") {
		t.Errorf("predictions are %s", made.stdout)
	}
	for _, line := range strings.Split(strings.TrimSpace(own.stdout), "\n")[1:] {
		if cells := strings.Split(line, ","); !strings.HasPrefix(cells[2], "0.") || !strings.HasPrefix(cells[4], "0.") || !strings.HasPrefix(cells[5], "0.") {
			t.Errorf("%s has no probabilities", line)
		}
	}
	if testing.Short() {
		return
	}
	asked := command(append(again, "--family", "binomial", "--what-if")...).finished(t)
	if !strings.Contains(asked.stdout, "coefficients' prior sd tripled") || strings.Contains(asked.stdout, "sigma") {
		t.Errorf("asked what if, it says\n%s", asked.stdout)
	}
	probit := command(append(again, "--family", "probit", "--prior", "age ~ normal(0, 1)")...).finished(t)
	if !strings.Contains(probit.stdout, "family probit (probit link)") || strings.Contains(probit.stdout, "Odds ratio") {
		t.Errorf("of probit it says\n%s", probit.stdout)
	}
	printed := command("infer", "pums.release.json", "--family", "binomial", "--print-prior").finished(t)
	if !strings.Contains(printed.stdout, "(Intercept) ~ normal(0, 2.5)") || strings.Contains(printed.stdout, "sigma") {
		t.Errorf("the prior is\n%s", printed.stdout)
	}
	if r := command(again...).finished(t); !strings.Contains(r.stdout, "--family binomial") {
		t.Errorf("of a line through 0 and 1 it says\n%s", r.stdout)
	}
}

// TestFamilyOfCustodians infers from two releases, and says what of them it cannot.
func TestFamilyOfCustodians(t *testing.T) {
	testsize.Full(t, "TestInferSeveral has several releases, TestFamily a family")
	workspace(t)
	for _, name := range []string{"north.json", "south.json"} {
		command("release", "pums.csv", "--eps", "3", "--formula", "married ~ age", "--steps", "1", "-o", name).finished(t)
	}
	joint := command(append(strings.Fields("infer north.json south.json --family binomial"), quick...)...).finished(t)
	must.Say(t, must.Folded(joint.stdout), "family binomial (logit link)", "complete pooling, separate covariates", "Odds ratio", "one regression for all custodians. A release can tell (dpreg check) of columns that bounds cut and custodians that differ by much; it cannot of curves")
	checked := command(append(strings.Fields("check north.json south.json --family binomial --calibrate 0"), quick...)...).finished(t)
	must.Say(t, must.Folded(checked.stdout), "at 2 custodians", "age × married", "all releases", "the logistic model has as many parameters")
	pooled := command(append(strings.Fields("infer north.json south.json --family binomial --pooling partial --save d --report r.html"), quick...)...).finished(t)
	must.Say(t, must.Folded(pooled.stdout), "partial pooling", "spread(age)", "age @ south.json", "coefficients normal about common ones")
	if page, summary := read(t, "r.html"), read(t, "d/summary.json"); !strings.Contains(page, "Coefficients of each custodian") || strings.Contains(summary+pooled.stdout, "sigma") {
		t.Errorf("of partial pooling it says\n%s", summary)
	}
	write(t, "new.csv", "age\n20\n")
	command("predict", "--draws", "d", "new.csv").finished(t).says(t, "a new custodian")
	command("predict", "--draws", "d", "new.csv", "--custodian", "south.json").finished(t)
	same := command(append(strings.Fields("infer north.json south.json --family binomial --same-rows"), quick...)...).finished(t)
	if text := strings.Join(strings.Fields(same.stdout), " "); !strings.Contains(text, "n = 1000, original units, 2 releases of the same rows") {
		t.Errorf("of the same rows it says\n%s", same.stdout)
	}
}

// TestFamilyOfNoisyRows fits rows whose number is noisy.
func TestFamilyOfNoisyRows(t *testing.T) {
	workspace(t)
	made := fit("--eps", "3", "--formula", "married ~ age", "--family", "binomial", "--neighbours", "add-remove", "--draws", "300", "--save", "d").finished(t)
	if !strings.Contains(made.stdout, "Odds ratio") || !strings.Contains(read(t, "d/summary.json"), `"n"`) {
		t.Errorf("it says\n%s", made.stdout)
	}
	write(t, "new.csv", "age\n20\n")
	command("predict", "--draws", "d", "new.csv").finished(t)
}

// TestFamilyRefusals come before ε is spent.
func TestFamilyRefusals(t *testing.T) {
	workspace(t)
	before := tree(t)
	const formula = "married ~ age + educ"
	for _, c := range []struct {
		says string
		args []string
	}{
		{"--steps 1", []string{"--formula", formula, "--family", "binomial", "--steps", "2"}},
		{"a response that is 0 or 1", []string{"--formula", "income ~ age", "--family", "binomial"}},
		{"the largest count", []string{"--formula", formula, "--family", "poisson"}},
		{"needs an intercept", []string{"--formula", formula + " - 1", "--family", "binomial"}},
		{"no law of the response but the normal one", []string{"--formula", formula, "--family", "probit", "--method", "naive"}},
		{"has no sigma", []string{"--formula", formula, "--family", "binomial", "--prior", "sigma ~ half_t(3, 1)"}},
		{"has no --family", []string{"--formula", formula, "--family", "binomial", "--method", "non-private", "--i-hold-the-data"}},
		{"--family", []string{"--formula", formula, "--family", "gamma"}},
	} {
		fit(append(c.args, "--eps", "1")...).says(t, c.says).ends(t, misused)
	}
	unchanged(t, before)
}

// TestCounts fits counts, of which rates are told, and checks them.
func TestCounts(t *testing.T) {
	testsize.Full(t, "TestFamily has a family, and TestFamilyOfNoisyRows a latent number of rows")
	workspace(t)
	first, _ := noisy(t, "pums.release.json", "fit", "pums.csv", "--eps", "3", "--formula", "educ ~ age + married", "--bounds", "educ=0:12,age=0:100", "--family", "poisson", "--draws", "150", "--chains", "2", "--warmup", "200")
	must.Say(t, must.Folded(first.stdout), "family poisson (log link, of counts above 12 the law of 12 or more)", "Rate ratio", "married", "counts whose variance is in one proportion to their mean. A release can tell (dpreg check) of columns that bounds cut; it cannot of curves, another link", "dispersion")
	// What is said of a check needs no 50 refits, each of which takes a second.
	checked := command("check", "pums.release.json", "--family", "poisson", "--draws", "100", "--chains", "2", "--warmup", "100", "--calibrate", "1").finished(t)
	if !strings.Contains(checked.stdout, "sum of y²") || !strings.Contains(checked.stdout, "the model of counts has as many parameters") {
		t.Errorf("the check is\n%s", checked.stdout)
	}
	write(t, "new.csv", "age,married\n20,0\n")
	if made := command("predict", "pums.release.json", "new.csv", "--family", "poisson", "--ess", "1", "--chains", "2", "--warmup", "100").finished(t); !strings.Contains(made.stdout, "20,0,9.") && !strings.Contains(made.stdout, "20,0,10") {
		t.Errorf("predictions are %s", made.stdout)
	}
}

// TestFamilyInSteps: of a truth value that responds several looks are taken, by its levels, and the release says of
// which model it is.
func TestFamilyInSteps(t *testing.T) {
	testsize.Full(t, "TestFamily has the commands")
	workspace(t)
	schema := strings.Replace(read(t, "pums.schema.json"), `{"name": "married", "type": "integer"`, `{"name": "married", "type": "boolean"`, 1)
	write(t, "pums.schema.json", schema)
	order := []string{"--eps", "10", "--formula", "married ~ age + educ + income", "--no-ledger"}
	first := fit(append(order, "--family", "binomial")...).finished(t).says(t, "--by-level married")
	must.Say(t, must.Folded(first.stdout), "Odds ratio", "rows of each level of married", "as the last of 4 looks", "normal covariates")
	brief := append([]string{"pums.release.json"}, quick...)
	command(append([]string{"infer"}, brief...)...).says(t, "say --family binomial or probit")
	line := command(append([]string{"infer", "--formula", "income ~ married + age"}, brief...)...).finished(t)
	must.Say(t, line.stdout, "it alone has the law of sums by levels")
	checked := command(append([]string{"check", "--family", "binomial", "--calibrate", "0"}, brief...)...).finished(t)
	if !strings.Contains(checked.stdout, "u(age) in true") || !strings.Contains(checked.stdout, "1 in false") {
		t.Errorf("its check is\n%s", checked.stdout)
	}
	command("show", "pums.release.json", "--plot", "r.png").finished(t)
	command(append([]string{"release", "pums.csv", "-o", "s.json", "--by-level", "married"}, order...)...).finished(t).says(t, "next: dpreg infer s.json --family binomial")
	command("release", "pums.csv", "-o", "one.json", "--eps", "10", "--formula", "married ~ age + educ + income", "--no-ledger", "--steps", "1").finished(t)
	joint := command(append([]string{"infer", "one.json", "s.json", "--family", "binomial", "--save", "d", "--report", "r.html"}, brief...)...).finished(t)
	if !strings.Contains(joint.stdout, "complete pooling, separate covariates") || !strings.Contains(read(t, "d/summary.json"), `"name": "s.json"`) {
		t.Errorf("of three releases it says\n%s", joint.stdout)
	}
	write(t, "new.csv", "age,educ,income\n20,8,0\n")
	command("predict", "--draws", "d", "new.csv").finished(t)
	command(append([]string{"infer", "one.json"}, brief...)...).says(t, "pums.release.json: the sums of this release are by the levels of its response")
}

// TestFamilyByLevel fits by the levels of a factor, from one look, and infers, checks, predicts and plans.
func TestFamilyByLevel(t *testing.T) {
	testsize.Full(t, "TestFamilyInSteps has a family by levels, TestByLevelEndToEnd a factor")
	workspace(t)
	brief := []string{"--chains", "2", "--warmup", "100", "--family", "binomial"}
	order := []string{"--levels", "race=1,2,3,4,5,6", "--by-level", "race"}
	first := fit(append(append(order, "--eps", "5", "--formula", "married ~ race + age"), brief...)...).finished(t).says(t, "one look (--steps 1)")
	must.Say(t, must.Folded(first.stdout), "race3", "Odds ratio", "Price of privacy", "covariates normal at each level of race")
	run := func(name string, args ...string) string {
		return command(append([]string{name, "pums.release.json"}, append(args, brief...)...)...).finished(t).stdout
	}
	write(t, "new.csv", "age,race\n20,1\n20,3\n")
	if made := run("predict", "new.csv", "--ess", "10"); !strings.Contains(made, "20,3,0.") {
		t.Errorf("predictions are %s", made)
	}
	if checked := run("check", "--calibrate", "0", "--draws", "100"); !strings.Contains(checked, "married in 3") || !strings.Contains(checked, "sums of y by level") {
		t.Errorf("the check is %s", checked)
	}
	if printed := run("infer", "--print-prior"); !strings.Contains(printed, "race") {
		t.Errorf("the prior is %s", printed)
	}
	if alone := run("infer", "--formula", "married ~ race", "--draws", "100"); !strings.Contains(alone, "race6") {
		t.Errorf("of levels alone it says %s", alone)
	}
	write(t, "plan.json", `{"fields": [{"name": "married", "type": "integer", "constraints": {"minimum": 0, "maximum": 1}},
		{"name": "race", "type": "string", "constraints": {"enum": ["1", "2", "3"]}}, {"name": "age", "type": "number", "constraints": {"minimum": 0, "maximum": 100}}]}`)
	planned := command(strings.Fields("plan --schema plan.json --family binomial --by-level race --eps 1 --n 500 --no-grid --releases 1 --covariate race2 --formula married~race+age")...)
	if planned.code != 0 || !strings.Contains(planned.stdout, "race2") {
		t.Errorf("%d: %s%s", planned.code, planned.stdout, planned.stderr)
	}
	command("release", "pums.csv", "--eps", "5", "--formula", "married ~ race + age + educ", order[0], order[1], order[2], order[3], "--steps", "3", "-o", "looks.json").finished(t)
	if moved := command("infer", "looks.json", "--family", "binomial"); moved.code == 0 || !strings.Contains(moved.stderr, "--steps 1") {
		t.Errorf("of several looks: %s", moved.stderr)
	}
}
