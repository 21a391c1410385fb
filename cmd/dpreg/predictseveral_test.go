package main

import (
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
)

// TestPredictSeveral: predictions from releases are those from the draws that they
// give, for a new custodian and for a named one, and stderr says which.
func TestPredictSeveral(t *testing.T) {
	testsize.Full(t, "TestPredictFromRelease has the command, and TestPredictJointly of the library the draws")
	twoHospitals(t)
	write(t, "new.csv", someRows)
	given := []string{"north.json", "south.json", "new.csv", "--pooling", "partial", "--chains", "2", "--warmup", "100", "--ess", "1"}
	inferred := []string{"infer", "north.json", "south.json", "--pooling", "partial", "--chains", "2", "--warmup", "100", "--ess", "1"}
	for _, units := range []string{"original", "scaled"} {
		command(append(inferred, "--save", units, "--units", units)...).finished(t)
	}
	for _, whose := range [][]string{nil, {"--custodian", "south.json"}} {
		want, says := command(append(append([]string{"predict"}, given...), whose...)...).finished(t), "new custodian"
		if whose != nil {
			says = "predicted for the custodian south.json"
		}
		want.says(t, says)
		first := predictions(t, want.stdout)
		for _, units := range []string{"original", "scaled"} {
			got := command(append([]string{"predict", "new.csv", "--draws", units}, whose...)...).says(t, says)
			for k, row := range predictions(t, got.stdout)[1:] {
				for j := 2; j < 6; j++ {
					a := parsed(t, first[k+1][j])
					must.Near(t, "prediction", parsed(t, row[j]), a, 1e-6*max(a, -a)+1e-6)
				}
			}
		}
	}
	command("infer", "north.json", "south.json", "--save", "complete", "--warmup", "100", "--draws", "100").finished(t)
	if r := command("predict", "new.csv", "--draws", "complete"); r.code != done || r.stderr != "" {
		t.Errorf("complete pooling: exit code %d, %s", r.code, r.stderr)
	}
}

func TestPredictSeveralRefuses(t *testing.T) {
	twoHospitals(t)
	write(t, "new.csv", someRows)
	command(append(append([]string{"infer"}, quick...), "north.json", "south.json", "--save", "out")...).finished(t)
	for want, args := range map[string][]string{
		"behind the releases, and south.json":                                        {"north.json", "south.json"},
		"the custodians are north.json, south.json":                                  {"north.json", "south.json", "new.csv", "--pooling", "partial", "--custodian", "east"},
		"--custodian south.json: with complete pooling":                              {"north.json", "south.json", "new.csv", "--custodian", "south.json"},
		"--custodian is of several releases":                                         {"north.json", "new.csv", "--custodian", "north.json"},
		"--pooling is of several releases":                                           {"north.json", "new.csv", "--pooling", "partial"},
		"north.json and same.json are the same release":                              {"north.json", "same.json", "new.csv"},
		"--pooling cannot be combined with --draws":                                  {"new.csv", "--draws", "out", "--pooling", "partial"},
		"--custodian south.json: with complete pooling all custodians":               {"new.csv", "--draws", "out", "--custodian", "south.json"},
		"east.json: no such file or directory (`dpreg release` makes one from data)": {"north.json", "east.json", "new.csv"},
	} {
		command(append([]string{"predict"}, args...)...).says(t, want).ends(t, misused)
	}
	write(t, "out/draws-release-3.json", read(t, "out/draws-release-2.json"))
	command("predict", "new.csv", "--draws", "out").says(t, "of 2 releases, and 3 are beside it").ends(t, misused)
}
