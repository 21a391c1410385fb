package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
)

// TestPrintPrior: the prior is printed in words, which typed back give the same, and
// nothing is sampled or written.
func TestPrintPrior(t *testing.T) {
	workspace(t)
	before := tree(t)
	print := func(args ...string) string {
		t.Helper()
		r := command(append([]string{"infer", "good.json", "--print-prior"}, args...)...)
		if r.code != done || r.stderr != "" {
			t.Fatalf("%q: exit code %d, stderr:\n%s", args, r.code, r.stderr)
		}
		return r.stdout
	}
	first := print("--prior-sd", "educ=5000", "--prior", "sigma ~ half_normal(30000)")
	must.Say(t, first, "educ ~ normal(0, 5000)\n", "sigma ~ half_t(200, 30000)\n", "(Intercept) ~ normal(", "sd(educ) ~ half_t(2, ")
	var again []string
	for line := range strings.Lines(first) {
		if line = strings.TrimSuffix(line, "\n"); !strings.HasPrefix(line, "#") {
			again = append(again, "--prior", line)
		}
	}
	if second := print(again...); second != first {
		t.Errorf("typed back, the prior\n%sis\n%s", first, second)
	}
	write(t, "p.json", `{"sigma2":{"shape":3,"scale":0.5}}`)
	before["p.json"] = read(t, "p.json")
	if got := print("--prior", "p.json", "--prior", "educ ~ normal(1000, 500)"); !strings.Contains(got, "# sigma^2 ~ inv_gamma(3, ") || !strings.Contains(got, "educ ~ normal(1000, 500)") {
		t.Errorf("a file and words make\n%s", got)
	}
	if got := print("--shrink"); !strings.Contains(got, "# educ ~ normal(0, ") || strings.Contains(got, "\neduc ~") {
		t.Errorf("--shrink makes\n%s", got)
	}
	unchanged(t, before)
}

// What is wrong with a prior in words, wherever it is taken.
func TestWrongPriors(t *testing.T) {
	of := func(commands ...string) []string { return commands }
	const model = " --formula income~educ"
	for _, c := range []struct {
		commands   []string
		flag, says string
	}{
		{of("infer good.json", "check good.json", "predict good.json pums.csv", "fit pums.csv --eps 1"), "--prior edu~normal(0,1)",
			"there is no edu; the priors that can be stated are of (Intercept), educ, sigma, kurtosis, sd(educ)"},
		{of("infer good.json", "fit pums.csv --eps 1"), "--prior educ~normal(0)", "character 6: the prior of educ can be stated as normal(mean, sd)"},
		{of("infer good.json", "fit pums.csv --eps 1"), "--prior-sd educ=0", "--prior-sd \"educ=0\", character 6"},
		{of("infer good.json"), "--prior-sd educ=5 --prior educ~normal(0,1)", "stated twice"},
		{of("infer good.json"), "--prior educ=5", "a line in words has a '~'"},
		{of("infer good.json"), "--prior a.json --prior b.json", "there can be one file"},
		{of("infer good.json"), "--prior p.json --shrink", "exclude each other"},
		{of("infer good.json"), "--prior p.json --prior-sd educ=5", `"unscaled": true`},
	} {
		for _, name := range c.commands {
			w := wrong{args: name + model + " " + c.flag, code: misused, says: c.says, files: map[string]string{"p.json": `{"theta":{"precision":[[1,0],[0,1]]}}`}}
			t.Run(name+" "+c.flag, w.run)
		}
	}
	for flags, says := range map[string]string{
		"plan --n 100 --eps 1 --p 2 --prior-sd x3=1":                                                                         "there is no x3; the priors that can be stated are of (Intercept), x1, x2",
		"calibrate --n 100 --eps 1 --p 1,2 --prior-sd x1=1 --save s":                                                         "a prior in words is of one design",
		"calibrate --n 100 --eps 1 --p 1 --prior sigma~normal(0,1) --save s":                                                 "character 7",
		"calibrate --n 100 --eps 1 --p 1 --shrink --save s":                                                                  "--shrink belongs to",
		"calibrate --n 100 --eps 1 --population pums.csv --formula income~educ --i-hold-the-data --prior-sd educ=1 --save s": "--population takes a prior file",
		"predict --draws s pums.csv --prior-sd educ=1":                                                                       "--prior-sd cannot be combined with --draws",
		"predict --draws s pums.csv --shrink":                                                                                "--shrink cannot be combined with --draws",
	} {
		t.Run(flags, wrong{args: flags, code: misused, says: says}.run)
	}
}

// TestPriorFlagsRepeated: a page says every prior that was given.
func TestPriorFlagsRepeated(t *testing.T) {
	cmd := called(t, "fit")
	must.Do(t, cmd.Flags().Parse([]string{"--prior", "x ~ normal(0, 1)", "--shrink", "--prior", "p.json"}))
	want := []string{"--prior", "x ~ normal(0, 1)", "--prior", "p.json", "--shrink=true"}
	if got := givenFlags(cmd); !slices.Equal(got, want) {
		t.Errorf("%q are repeated as %q", want, got)
	}
}
