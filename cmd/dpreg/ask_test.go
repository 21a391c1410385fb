package main

import (
	"strings"
	"testing"
)

// What is asked of a release and of the draws that were saved of it is answered alike.
func TestAsk(t *testing.T) {
	workspace(t)
	command("infer", "good.json", "--save", "post").finished(t)
	questions := []string{"educ > 0", "0 < educ < 5000", "educ / sigma", "educ = 0", "cor(educ, income)"}
	asked := command(append([]string{"ask", "good.json", "--format", "csv"}, questions...)...).finished(t)
	saved := command(append([]string{"ask", "post", "--format", "csv"}, questions...)...).finished(t)
	if asked.stdout != saved.stdout || strings.Count(asked.stdout, "\n") != 6 {
		t.Errorf("a release answers\n%s, its draws\n%s", asked.stdout, saved.stdout)
	}
	if r := command("ask", "post", "--quiet", "educ > 0"); r.code != done || strings.Contains(r.stdout, "units") || !strings.Contains(r.stdout, "0.9929") {
		t.Errorf("--quiet shows %s", r.stdout)
	}
	for format, has := range map[string]string{"json": "dpreg-answers/1", "markdown": "| educ &lt; 1", "latex": `educ $<$ 1`, "html": "<td>educ &lt; 1</td>"} {
		if r := command("ask", "post", "--format", format, "educ < 1"); r.code != done || !strings.Contains(r.stdout, has) {
			t.Errorf("--format %s lacks %q:\n%s", format, has, r.stdout)
		}
	}
}

// Tables for documents are the table of the text.
func TestTableFormats(t *testing.T) {
	workspace(t)
	for format, has := range map[string][]string{
		"markdown": {"income ~ educ, method mcmc-exact, n = 1000, original units, epsilon = 1, delta = 0, replace-one neighbours\n\n|  | Estimate |", "| (Intercept) |", "P(>0)"},
		"latex":    {`\toprule`, `Bulk\_ESS`, `l-95\%`, `income $\sim$ educ`, `\bottomrule`},
		"html":     {"<table>", "<caption>income ~ educ", "</table>"},
	} {
		r := command(append([]string{"infer", "good.json", "--positive", "--format", format}, append(quick, "--draws", "400")...)...).finished(t)
		for _, text := range has {
			if !strings.Contains(r.stdout, text) {
				t.Errorf("--format %s lacks %q:\n%s", format, text, r.stdout)
			}
		}
	}
}

// Models of a release of one covariate are that with it and that without.
func TestModels(t *testing.T) {
	workspace(t)
	r := command(append(strings.Fields("models good.json --format csv"), quick...)...).finished(t)
	lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
	if len(lines) != 3 || !strings.Contains(r.stdout, "income ~ 1,0,") || !strings.Contains(r.stdout, "income ~ educ,1,") {
		t.Errorf("stdout is\n%s", r.stdout)
	}
	if testing.Short() {
		return
	}
	if text := command("models", "good.json", "--quiet").finished(t).stdout; !strings.Contains(text, "income ~ 1") || strings.Contains(text, "BF hangs") {
		t.Errorf("--quiet shows\n%s", text)
	}
}

func TestWrongAsk(t *testing.T) {
	for _, w := range []wrong{
		{name: "nothing", args: "ask", code: misused, says: "needs a release"},
		{name: "a question alone", args: "ask educ_>_0", code: misused, says: "needs a release"},
		{name: "no such release", args: "ask god.json educ", code: misused, says: "god.json"},
		{name: "a wrong name", args: "ask good.json edu_>_0", code: misused, says: `did you mean "educ"?`},
		{name: "an empty directory", args: "ask . educ", code: misused, says: "draws-release.json"},
		{name: "a file that is no release", args: "ask pums.csv educ", code: misused, says: "pums.csv"},
		{name: "a level", args: "ask good.json educ --level 1", code: misused, says: "between 0 and 1"},
		{name: "digits", args: "ask good.json educ --digits 0", code: misused, says: "from 1 to 15"},
		{name: "the priors of draws", args: "ask . educ --prior-sd educ=1", code: misused, says: "--prior-sd cannot be combined"},
		{name: "models of two releases", args: "models good.json good.json", code: misused, says: "takes one file"},
		{name: "models of no release", args: "models pums.csv", code: misused, says: "pums.csv"},
		{name: "what if in LaTeX", args: "infer good.json --what-if --format latex", code: misused, says: "has no latex"},
	} {
		t.Run(w.name, w.run)
	}
}
