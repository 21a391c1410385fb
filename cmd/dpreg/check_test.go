package main

import (
	"encoding/json"
	"image/png"
	"os"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
)

func TestCheck(t *testing.T) {
	workspace(t)
	args := append([]string{"check", "good.json", "--calibrate", "3"}, quick...)
	table := command(append(args, "--plot", "c.svg")...).finished(t).says(t, "plot written to c.svg")
	must.Say(t, table.stdout, "Posterior predictive check of income ~ educ", "educ × income", "all sums", "outside the bounds", "3 refits to releases")
	if svg := read(t, "c.svg"); !strings.Contains(svg, "<svg") || !strings.Contains(svg, "educ × income") {
		t.Errorf("the plot is %.200s", svg)
	}
	var check struct {
		Format  string
		Refits  int
		Entries []struct{ P, Calibrated float64 }
	}
	r := command(append(args, "--format", "json", "--plot", "c.png")...).finished(t)
	if err := json.Unmarshal([]byte(r.stdout), &check); err != nil || check.Format != "dpreg-check/1" || check.Refits != 3 || len(check.Entries) != 5 {
		t.Errorf("%v: %+v", err, check)
	}
	file := must.Get(os.Open("c.png"))(t)
	defer file.Close()
	if _, err := png.Decode(file); err != nil {
		t.Error(err)
	}
	records := predictions(t, command(append(args, "--format", "csv", "--calibrate", "0")...).finished(t).stdout)
	if len(records) != 1+5+6+2 || records[1][0] != "entry" || records[1][12] != "NA" {
		t.Errorf("CSV %v", records)
	}
}

// Where there are many sums nothing is calibrated unasked.
func TestCheckOfMany(t *testing.T) {
	testsize.Full(t, "TestCheck has the command")
	workspace(t)
	write(t, "pums.csv", widened(t, "pums.csv", 3))
	command("release", "pums.csv", "--eps", "1", "--bounds", "a0=0:100,a1=0:100,a2=0:100", "-o", "wide.json").finished(t)
	c := command("check", "wide.json", "--method", "gibbs-ss-update", "--warmup", "100", "--draws", "10").says(t, "not calibrated")
	must.Say(t, c.stdout, "Not calibrated")
}

// widened repeats the first column of a file, as a0, a1 and so on.
func widened(t *testing.T, path string, times int) string {
	t.Helper()
	var b strings.Builder
	for i, line := range strings.Split(strings.TrimSpace(read(t, path)), "\n") {
		first, _, _ := strings.Cut(line, ",")
		for k := range times {
			if i == 0 {
				first = "a" + string(rune('0'+k))
			}
			b.WriteString(first + ",")
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

func TestWrongCheck(t *testing.T) {
	for _, w := range []wrong{
		{name: "nothing", args: "check", code: misused, says: "needs a release"},
		{name: "not a release", args: "check pums.csv", code: misused, says: "pums.csv"},
		{name: "plot's format", args: "check good.json --plot c.pdf", code: misused, says: ".svg or .png"},
		{name: "plot's directory", args: "check good.json --plot nowhere/c.svg", code: misused, says: "nowhere/c.svg"},
		{name: "plot over the release", args: "check good.svg --plot good.svg", code: misused, says: "overwritten", files: map[string]string{"good.svg": read(t, "../../testdata/pums-eps1.release.json")}},
		{name: "calibrate", args: "check good.json --calibrate -1", code: misused, says: "--calibrate -1"},
		{name: "method", args: "check good.json --method naive", code: misused, says: "naive does not learn"},
		{name: "format", args: "check good.json --format xml", code: misused, says: "table, json, csv"},
		{name: "formula", args: "check good.json --formula income~agee", code: misused, says: `no column "agee"`},
		{name: "level", args: "check good.json --level 0.9", code: misused, says: "--level belongs to"},
		{name: "no draws", args: "check good.json --draws 0", code: misused, says: "--draws"},
		{name: "no value", args: "check good.json --draws", code: misused, says: "needs an argument: --draws"},
	} {
		t.Run(w.name, w.run)
	}
}
