package report_test

import (
	"bytes"
	"fmt"
	"image/png"
	"io"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/check"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/report"
)

// checkOf is a check of made(), with what can be found and what can be missing.
func checkOf(calibrated bool) *check.Result { return checkOne(releaseCheckOf(calibrated)) }

// checkOne is the check of one release.
func checkOne(r *check.Release) *check.Result {
	return &check.Result{Method: r.Method, N: r.N, Refits: r.Refits, All: r.Blocks[len(r.Blocks)-1].PValue, Releases: []*check.Release{r}, Warnings: []string{"n is small"}}
}

func releaseCheckOf(calibrated bool) *check.Release {
	c := &check.Release{Format: check.Format, Method: "gibbs-ss-update", N: 1000, Draws: 2000}
	p := func(p, rank float64) check.PValue {
		if !calibrated {
			return check.PValue{P: p}
		}
		c.Refits = 50
		return check.PValue{P: p, Calibrated: &rank}
	}
	for i, label := range []string{"educ", "a", "income", "educ²", "educ × a", "educ × income", "a²", "a × income", "income²"} {
		z := 100*float64(i) - 300.123
		c.Entries = append(c.Entries, check.Entry{Label: label, Z: z, PValue: p(0.6-0.07*float64(i), 0.5),
			Replicated: check.Replicated{Mean: z - 3*float64(i), SD: 20, Q2_5: z - 40, Q25: z - 15, Q50: z, Q75: z + 15, Q97_5: z + 40}})
	}
	for i, name := range []string{"sums of x", "sums of x x'", "sum of y", "sums of x y", "sum of y²", "all sums"} {
		c.Blocks = append(c.Blocks, check.Block{Name: name, Size: i + 1, PValue: p(0.5-0.09*float64(i), 0.02+0.3*float64(i%2))})
	}
	c.Columns = []check.Column{{Label: "educ", Outside: 0.0412}, {Label: "a", Outside: 0.1}, {Label: "income", Outside: 0.271}}
	return c
}

func TestCheck(t *testing.T) {
	d := made().Schema
	origin := d
	origin.Intercept = false
	wantNarrow(t, golden(t, "check", func(w io.Writer) error {
		for _, calibrated := range []bool{true, false} {
			if err := report.Check(w, checkOf(calibrated), &d); err != nil {
				return err
			}
			fmt.Fprintln(w)
		}
		fine, unlike := releaseCheckOf(true), releaseCheckOf(true)
		fine.Blocks, fine.Columns = fine.Blocks[1:2], fine.Columns[:1]
		unlike.Blocks = unlike.Blocks[:5]
		if err := report.Check(w, checkOne(unlike), &origin); err != nil {
			return err
		}
		fmt.Fprintln(w)
		return report.Check(w, checkOne(fine), &origin)
	}))
}

// A picture of either format has every label; another format is an error.
func TestPlotCheck(t *testing.T) {
	d := made().Schema
	var svg, raster bytes.Buffer
	c := checkOf(true)
	c.Releases[0].Entries[7].Label, c.Releases[0].Entries[8].Label = "u(a) × u(income)", "1 in red:old" // of looks, and of levels
	must.Do(t, report.CheckPlot(c, &d).Write(&svg, "svg"))
	must.Say(t, svg.String(), "educ × a", "a²", "u(a) × u(income)", "1 in red:old", "released", "replicates", "standard deviations")
	must.Do(t, report.CheckPlot(checkOf(true), &d).Write(&raster, "png"))
	if _, err := png.Decode(&raster); err != nil {
		t.Error(err)
	}
	if err := report.CheckPlot(checkOf(true), &d).Write(io.Discard, "bmp"); err == nil {
		t.Error("bmp was taken")
	}
}

// jointCheckOf is a check of several releases, the last of which is unlike the model's.
func jointCheckOf(count int, calibrated bool, covariates, pooling string) *check.Result {
	c := &check.Result{Format: check.SeveralFormat, Method: "mcmc-exact", N: 3000, Covariates: covariates, Pooling: pooling, Warnings: []string{"n is small"}}
	for j := range count {
		r := releaseCheckOf(calibrated)
		r.Name, c.Refits = fmt.Sprintf("hospital%d.json", j+1), r.Refits
		last := &r.Blocks[len(r.Blocks)-1]
		last.P = 0.5
		if j == count-1 {
			last.P, c.All = 0.001, check.PValue{P: 0.004, Calibrated: last.Calibrated}
		}
		if calibrated {
			rank := 0.02 + last.P
			last.Calibrated, c.All.Calibrated = &rank, &rank
		}
		c.Releases = append(c.Releases, r)
	}
	return c
}

func TestCheckJointly(t *testing.T) {
	d := made().Schema
	golden(t, "check-joint", each([]*check.Result{jointCheckOf(2, true, "shared", "complete"), jointCheckOf(2, false, "separate", "partial")}, "\n", func(w io.Writer, c *check.Result) error {
		return report.Check(w, c, &d)
	}))
}

// TestCheckJointlyOfMany: of many releases the sums of the least likely are shown, and of
// all the blocks.
func TestCheckJointlyOfMany(t *testing.T) {
	d := made().Schema
	var text bytes.Buffer
	must.Do(t, report.Check(&text, jointCheckOf(40, false, "shared", "complete"), &d))
	for name, want := range map[string]bool{"\nhospital40.json\n": true, "\nhospital29.json\n": true, "\nhospital30.json\n": false, "\nhospital39.json ": true, "30 releases with the smallest p": true} {
		if strings.Contains(text.String(), name) != want {
			t.Errorf("%q: want %v in\n%s", name, want, text.String())
		}
	}
}
