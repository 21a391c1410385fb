package main

import (
	"strings"
	"testing"
)

const throughZero = "income ~ educ + age - 1"

// fit takes a release without Σy² from rows to the posterior of normalx, once, and
// uses it again; what asks for Σy² says that it is not there.
func TestFitWithoutYY(t *testing.T) {
	workspace(t)
	args := []string{"--eps", "1", "--delta", "1e-6", "--mechanism", "gaussian", "--formula", throughZero}
	without := append(args, "--without-yy")
	r := fit(without...).says(t, "it spent ε = 1").says(t, "noise of scale").finished(t)
	if !strings.Contains(r.stdout, "Method normalx was taken") || !strings.Contains(r.stdout, "but the square of income") {
		t.Errorf("stdout:\n%s", r.stdout)
	}
	if !made(t).WithoutYY() {
		t.Fatal("the release has Σy²")
	}
	fit(without...).says(t, "used again, at no further cost").finished(t)
	if r := fit(args...).says(t, "withholds the sum of squares of \"income\""); r.code != refused {
		t.Errorf("exit code %d", r.code)
	}
	command(append([]string{"infer", "pums.release.json", "--method", "fixeds"}, quick...)...).finished(t)
	if r := command("infer", "pums.release.json", "--method", "mcmc-exact").says(t, "normalx and fixeds"); r.code != misused {
		t.Errorf("exit code %d", r.code)
	}
	if r := command("infer", "pums.release.json", "--formula", "educ ~ income - 1").says(t, "withholds the sum of squares of \"income\""); r.code != misused {
		t.Errorf("exit code %d", r.code)
	}
	command(append([]string{"infer", "pums.release.json", "--formula", "educ ~ age - 1"}, quick...)...).finished(t)
	if r := command("show", "pums.release.json"); r.code != done || !strings.Contains(r.stdout, "withheld") {
		t.Errorf("show: %s%s", r.stdout, r.stderr)
	}
}

// Nothing is spent on a release that the method would refuse; release makes it, and
// warns.
func TestWithoutYYRefused(t *testing.T) {
	workspace(t)
	for _, c := range []struct{ args, says string }{
		{"--without-yy", "no intercept"},
		{"--without-yy --formula income~educ-1", "Gaussian noise"},
		{"--without-yy --with-moments --formula income~educ-1", "exclude each other"},
		{"--without-yy --sensitivity paper", "--sensitivity exact"},
		{"--without-yy --method mcmc-exact --formula income~educ-1", "normalx and fixeds"},
		{"--without-yy --neighbours add-remove --delta 1e-6 --mechanism gaussian --formula income~educ-1", "n for exact"},
	} {
		r := fit(append([]string{"--eps", "1"}, strings.Fields(c.args)...)...).says(t, c.says)
		if r.code != misused {
			t.Errorf("%s: exit code %d", c.args, r.code)
		}
	}
	r := command("release", "pums.csv", "--eps", "1", "--without-yy", "--formula", "income ~ educ").says(t, "no method will infer \"income\"")
	if r.code != done || made(t).Noise.Scale != 5 {
		t.Errorf("%s%s", r.stdout, r.stderr)
	}
}

// What it costs goes to the ledger as for any release.
func TestWithoutYYIsCharged(t *testing.T) {
	workspace(t)
	if r := command("ledger", "init", "l.json", "--data", "pums.csv", "--eps", "1", "--delta", "1e-5"); r.code != done {
		t.Fatal(r.stderr)
	}
	args := []string{"release", "pums.csv", "--eps", "0.9", "--delta", "1e-6", "--mechanism", "gaussian", "--formula", throughZero, "--without-yy", "--ledger", "l.json"}
	if r := command(args...); r.code != done {
		t.Fatal(r.stderr)
	}
	if r := command(append(args, "-o", "second.json")...); r.code != refused {
		t.Errorf("exit code %d:\n%s", r.code, r.stderr)
	}
}
