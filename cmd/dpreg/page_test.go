package main

import (
	"crypto/sha256"
	"fmt"
	"html"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/signature"
)

// wantPage reads a page without its tags, and fails unless it says all parts.
func wantPage(t *testing.T, path string, parts ...string) string {
	t.Helper()
	whole := read(t, path)
	if !strings.HasPrefix(whole, "<!DOCTYPE html>") || !strings.HasSuffix(whole, "</html>\n") {
		t.Errorf("%s is not a whole page", path)
	}
	text := html.UnescapeString(regexp.MustCompile(`(?s)<style>.*?</style>|<svg.*?</svg>|<[^>]*>`).ReplaceAllString(whole, ""))
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s does not say %q", path, part)
		}
	}
	return text
}

func digest(t *testing.T, path string) string {
	t.Helper()
	return fmt.Sprintf("%x", sha256.Sum256([]byte(read(t, path))))
}

func TestReports(t *testing.T) {
	testsize.Full(t, "TestReportOfFit has a page")
	workspace(t)
	command(append([]string{"infer", "good.json", "--what-if", "--seed", "7", "--level", "0.9", "--report", "i.html"}, quick...)...).finished(t).says(t, "report written to i.html")
	wantPage(t, "i.html", "income ~ educ", "epsilon = 1", "u-90%", "Posterior contraction", "What if", "chains",
		"dpreg infer good.json --what-if --seed 7 --level 0.9 --report i.html", digest(t, "good.json"), signature.Version())

	command(append([]string{"check", "good.json", "--calibrate", "2", "--report", "c.html"}, quick...)...).finished(t)
	wantPage(t, "c.html", "Check of income ~ educ", "epsilon = 1", "educ × income", "dpreg check good.json --calibrate 2", digest(t, "good.json"))

	planned("--p", "2", "--report", "p.HTML").finished(t)
	wantPage(t, "p.HTML", "Plan for y ~ x1 + x2", "No row was read", "dpreg plan --releases 2")
}

// A page of fit says how to repeat it from the release, which is not how to spend ε
// again.
func TestReportOfFit(t *testing.T) {
	workspace(t)
	fit("--eps", "1", "--formula", educ, "--spend-again", "--report", "f.html", "--seed", "3").finished(t)
	text := wantPage(t, "f.html", "--eps 1 --formula 'income ~ educ'", "dpreg infer pums.release.json --chains 2 --warmup 100 --draws 30 --seed 3", digest(t, "pums.release.json"))
	if _, after, _ := strings.Cut(text, "How to repeat it"); strings.Contains(after, "spend-again") || strings.Contains(after, "--eps") {
		t.Errorf("to repeat it would spend again: %s", after)
	}
	fit("--method", "non-private", "--i-hold-the-data", "--formula", educ, "--report", "n.html").finished(t)
	wantPage(t, "n.html", "NOT PRIVATE")
	if info, err := os.Stat("n.html"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("n.html: %v, %v", info, err)
	}
}

func TestWrongReports(t *testing.T) {
	r := read(t, "../../testdata/pums-eps1.release.json")
	for _, w := range []wrong{
		{name: "no page", args: "infer good.json --report r.pdf", says: ".html"},
		{name: "no page of a plan", args: "plan --n 100 --eps 1 --p 1 --report r", says: ".html"},
		{name: "no directory", args: "fit pums.csv --eps 1 --report nowhere/r.html", says: "nowhere"},
		{name: "over the release", args: "infer r.html --report r.html", says: "overwritten", files: map[string]string{"r.html": r}},
		{name: "over the checked release", args: "check r.html --report r.html", says: "overwritten", files: map[string]string{"r.html": r}},
		{name: "over the release to be made", args: "fit pums.csv --eps 1 --release r.html --report r.html", says: "overwritten"},
		{name: "of predictions", args: "predict good.json pums.csv --report r.html", says: "--report belongs to"},
	} {
		w.code = misused
		t.Run(w.name, w.run)
	}
}
