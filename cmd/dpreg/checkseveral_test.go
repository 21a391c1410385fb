package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/testsize"
)

// TestCheckSeveral: table, JSON, CSV, plot and page of a check of two releases.
func TestCheckSeveral(t *testing.T) {
	testsize.Full(t, "TestCheck has the command, and TestLayouts its files of several")
	twoHospitals(t)
	args := append([]string{"check", "north.json", "south.json", "--calibrate", "2"}, quick...)
	table := command(append(args, "--plot", "c.svg", "--report", "c.html")...).finished(t)
	for _, part := range []string{"at 2 custodians", "complete pooling, separate covariates", "south.json", "all releases", "what its release alone says", "2 refits to releases", "With 2 refits no calibrated p"} {
		if text := strings.Join(strings.Fields(table.stdout), " "); !strings.Contains(strings.Replace(text, "what its release alone says", "what its release alone says", 1), part) {
			t.Errorf("no %q in\n%s", part, table.stdout)
		}
	}
	if svg := read(t, "c.svg"); !strings.Contains(svg, "south.json") || !strings.Contains(svg, "educ × income") {
		t.Errorf("the plot is %.200s", svg)
	}
	if page := read(t, "c.html"); !strings.Contains(page, "epsilons add up") || !strings.Contains(page, "all releases") {
		t.Error("the page lacks the releases")
	}
	var check struct {
		Format, Pooling, Covariates string
		Releases                    []struct {
			Name    string
			Entries []struct{ P, Calibrated float64 }
		}
	}
	r := command(append(args, "--format", "json", "--covariates", "shared", "--pooling", "partial", "--calibrate", "0")...).finished(t)
	if err := json.Unmarshal([]byte(r.stdout), &check); err != nil || check.Format != "dpreg-joint-check/1" || check.Covariates != "shared" || check.Pooling != "partial" || len(check.Releases) != 2 || check.Releases[1].Name != "south.json" || len(check.Releases[1].Entries) != 5 {
		t.Errorf("%v: %+v", err, check)
	}
	records := predictions(t, command(append(args, "--format", "csv", "--calibrate", "0")...).finished(t).stdout)
	if len(records) != 1+2*(5+6+2)+1 || records[1][0] != "north.json" || records[len(records)-1][2] != "all releases" {
		t.Errorf("CSV %v", records)
	}
}

func TestCheckSeveralRefuses(t *testing.T) {
	twoHospitals(t)
	for want, args := range map[string][]string{
		"check needs a release":                 {},
		"north.json and same.json are the same": {"north.json", "same.json"},
		"--pooling is of several":               {"north.json", "--pooling", "partial"},
		"does not learn the law":                {"north.json", "south.json", "--method", "naive"},
	} {
		command(append([]string{"check"}, args...)...).says(t, want).ends(t, misused)
	}
}
