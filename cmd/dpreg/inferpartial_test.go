package main

import (
	"strings"
	"testing"
)

// TestInferPartially: table, shrinkage and saved summary of partial pooling by the methods
// beside mcmc-exact, and who refuses it.
func TestInferPartially(t *testing.T) {
	twoHospitals(t)
	for _, method := range [][]string{{"--method", "naive"}, {"--method", "gibbs-ss-update"}, {"--method", "gibbs-ss-update", "--kernel", "plain"}} {
		args := append(append([]string{"infer", "north.json", "south.json", "--pooling", "partial", "--save", "out"}, quick...), method...)
		out := strings.Join(strings.Fields(command(args...).finished(t).stdout), " ")
		for _, want := range []string{method[1], "spread(educ)", "educ @ south.json", "Shrinkage"} {
			if !strings.Contains(out, want) {
				t.Errorf("%v: the table does not say %q:\n%s", method, want, out)
			}
		}
		labelled(t, "out")
		if json := read(t, "out/summary.json"); !strings.Contains(json, `"pooling": "partial"`) || !strings.Contains(json, `"shrinkage"`) {
			t.Errorf("%v: summary.json:\n%s", method, json)
		}
	}
	if r := command("infer", "north.json", "south.json", "--pooling", "partial", "--method", "gibbs-ss-prior"); r.code == done || !strings.Contains(r.stderr, "take several") {
		t.Errorf("gibbs-ss-prior: exit code %d, %s", r.code, r.stderr)
	}
}
