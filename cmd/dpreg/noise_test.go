package main

import (
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/release"
)

func made(t *testing.T) *release.Release {
	t.Helper()
	return must.Get(release.ReadFile("pums.release.json"))(t)
}

// What is asked for, and what comes of it: Laplace noise is the smaller for two
// columns at δ = 1e-6, Gaussian noise for all six.
func TestMechanisms(t *testing.T) {
	for _, c := range []struct {
		name, args string
		kind       release.Kind
		delta      float64
		says       string
	}{
		{"default", "", release.Laplace, 0, "ε = 1 (replace-one)"},
		{"auto without delta", "--mechanism auto", release.Laplace, 0, ""},
		{"laplace", "--mechanism Laplace", release.Laplace, 0, ""},
		{"delta", "--delta 1e-6", release.Gaussian, 1e-6, "Gaussian noise, which is smaller than Laplace noise here (sd by a factor of 1.33)"},
		{"delta, two columns", "--delta 1e-6 --mechanism auto --formula income~educ", release.Laplace, 0, "Laplace noise, which is smaller"},
		{"gaussian", "--delta 1e-6 --mechanism gaussian", release.Gaussian, 1e-6, "ε = 1, δ = 1e-06 (replace-one)"},
		{"gaussian, two columns", "--delta 1e-6 --mechanism gaussian --formula income~educ", release.Gaussian, 1e-6, "Laplace noise would be smaller here (sd by a factor of 1.5"},
		{"large delta", "--delta 0.01", release.Gaussian, 0.01, "δ = 0.01 is not below 1/n = 0.001"},
	} {
		t.Run(c.name, func(t *testing.T) {
			workspace(t)
			run := command(append([]string{"release", "pums.csv", "--eps", "1", "--steps", "1"}, strings.Fields(c.args)...)...).says(t, c.says).ends(t, done)
			r := made(t)
			if r.Noise.Kind != c.kind || r.Privacy.Delta != c.delta || r.Noise.Sensitivity == 0 {
				t.Errorf("%+v with %+v", r.Noise, r.Privacy)
			}
			must.Say(t, strings.ToLower(run.stdout), string(c.kind)+" noise")
			if c.name != "large delta" && strings.Contains(run.stderr, "1/n") {
				t.Errorf("a warning astray:\n%s", run.stderr)
			}
		})
	}
}

// fit infers from Gaussian noise, and uses a release again only for the same δ
// and the same noise.
func TestFitGaussianSpendsOnce(t *testing.T) {
	workspace(t)
	asked := []string{"--eps", "1", "--delta", "1e-3", "--formula", "income ~ educ + age + married"}
	with := func(args ...string) []string { return append(append([]string{}, asked...), args...) }
	first := fit(asked...).finished(t).says(t, "Gaussian noise, which is smaller")
	if !strings.Contains(first.stdout, "delta = 0.001") || !strings.Contains(first.stdout, "Gaussian noise") {
		t.Errorf("the result does not say its privacy:\n%s", first.stdout)
	}
	before := tree(t)
	for _, args := range [][]string{with(), with("--mechanism", "gaussian")} {
		if again := fit(args...).finished(t).says(t, "no further cost"); again.stdout != first.stdout {
			t.Error("another result")
		}
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{with("--delta", "1e-4", "--mechanism", "gaussian"), "it has delta 0.001, not 0.0001"},
		{with("--eps", "2"), "it has epsilon 1, not 2"},
		{[]string{"--eps", "1", "--formula", asked[5]}, "it has delta 0.001, not 0"},
		{[]string{"--eps", "1", "--delta", "1e-3", "--mechanism", "gaussian", "--formula", "income ~ educ"}, "answers this one at no further cost"},
	} {
		fit(c.args...).says(t, c.says).ends(t, refused)
	}
	unchanged(t, before)
	fit(with("--spend-again")...).finished(t).says(t, "ε adds up to 2 and δ to 0.002")
}
