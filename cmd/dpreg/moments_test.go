package main

import (
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/release"
)

// From rows to the posterior of gibbs-ss-noisy.
func TestMomentsEndToEnd(t *testing.T) {
	workspace(t)
	noisy := append([]string{"--method", "gibbs-ss-noisy"}, quick...)
	two := "income ~ educ + age"
	r := command("release", "pums.csv", "--eps", "5", "--with-moments", "--formula", two, "-o", "m.json").says(t, "9 moments of degree 3 and 4, as one vector")
	if r.code != done || !strings.Contains(r.stdout, "9 sums of products") {
		t.Fatalf("exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	command(append([]string{"infer", "m.json"}, noisy...)...).finished(t)
	command(append([]string{"infer", "m.json", "--formula", educ}, noisy...)...).finished(t)
	command(append([]string{"infer", "m.json"}, quick...)...).finished(t)
	command(append([]string{"infer", "m.json", "--formula", "educ ~ income"}, noisy...)...).says(t, "moments of this release are left out").says(t, "--with-moments").ends(t, misused)
	if r := command("show", "m.json"); r.code != done || !strings.Contains(r.stdout, "educ² × age²") {
		t.Errorf("show: exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	command(append([]string{"infer", "good.json", "--formula", educ}, noisy...)...).says(t, "--with-moments").ends(t, misused)
}

func TestMomentsApart(t *testing.T) {
	workspace(t)
	r := command("release", "pums.csv", "--eps", "5", "--with-moments", "--formula", "income ~ educ + age + sex").says(t, "34 moments of degree 1 to 4 with half of ε")
	if r.code != done || !strings.Contains(r.stdout, "34 sums of products") {
		t.Fatalf("exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	made := must.Get(release.ReadFile("pums.release.json"))(t)
	if made.Moments == nil || made.Moments.Together() {
		t.Errorf("moments %+v", made.Moments)
	}
}

// fit makes such a release, uses it again, and takes none for another.
func TestFitWithMoments(t *testing.T) {
	workspace(t)
	args := []string{"--eps", "5", "--formula", educ, "--method", "gibbs-ss-noisy"}
	before := tree(t)
	fit(args...).says(t, "--with-moments").ends(t, misused)
	unchanged(t, before)
	args = append(args, "--with-moments")
	fit(args...).finished(t)
	fit(args...).finished(t).says(t, "no further cost")
	made := tree(t)
	fit("--eps", "5", "--formula", educ).says(t, "it has moments").ends(t, refused)
	unchanged(t, made)
	command("release", "pums.csv", "--eps", "5", "--steps", "1", "--formula", educ, "-o", "plain.json").ends(t, done)
	fit(append(args, "--release", "plain.json")...).says(t, "it has no moments").ends(t, refused)
	fit("--eps", "1", "--delta", "1e-6", "--neighbours", "add-remove", "--formula", educ, "--with-moments", "--release", "g.json", "--no-ledger").finished(t)
}

func TestMomentsRefused(t *testing.T) {
	workspace(t)
	before := tree(t)
	for args, want := range map[string]string{
		"release pums.csv --eps 1 --with-moments":                                                  "1 to 3 covariates",
		"fit pums.csv --with-moments --method non-private --i-hold-the-data --formula income~educ": "--with-moments cannot be combined",
	} {
		command(strings.Fields(args)...).says(t, want).ends(t, misused)
	}
	unchanged(t, before)
}
