package report_test

import (
	"bytes"
	"fmt"
	"image/png"
	"io"
	"strings"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/report"
)

// checkOf is a check of made(), with what can be found and what can be missing.
func checkOf(calibrated bool) *dpreg.Check {
	c := &dpreg.Check{Format: dpreg.CheckFormat, Method: "gibbs-ss-update", N: 1000, Draws: 2000}
	p := func(p, rank float64) dpreg.PValue {
		if !calibrated {
			return dpreg.PValue{P: p}
		}
		c.Refits = 50
		return dpreg.PValue{P: p, Calibrated: &rank}
	}
	for i, label := range []string{"educ", "a", "income", "educ²", "educ × a", "educ × income", "a²", "a × income", "income²"} {
		z := 100*float64(i) - 300.123
		c.Entries = append(c.Entries, dpreg.CheckEntry{Label: label, Z: z, PValue: p(0.6-0.07*float64(i), 0.5),
			Replicated: dpreg.Replicated{Mean: z - 3*float64(i), SD: 20, Q2_5: z - 40, Q25: z - 15, Q50: z, Q75: z + 15, Q97_5: z + 40}})
	}
	for i, name := range []string{"sums of x", "sums of x x'", "sum of y", "sums of x y", "sum of y²", "all sums"} {
		c.Blocks = append(c.Blocks, dpreg.CheckBlock{Name: name, Size: i + 1, PValue: p(0.5-0.09*float64(i), 0.02+0.3*float64(i%2))})
	}
	c.Columns = []dpreg.CheckColumn{{Label: "educ", Outside: 0.0412}, {Label: "a", Outside: 0.1}, {Label: "income", Outside: 0.271}}
	c.Warnings = []string{"n is small"}
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
		fine, unlike := checkOf(true), checkOf(true)
		fine.Blocks, fine.Columns = fine.Blocks[1:2], fine.Columns[:1]
		unlike.Blocks = unlike.Blocks[:5]
		if err := report.Check(w, unlike, &origin); err != nil {
			return err
		}
		fmt.Fprintln(w)
		return report.Check(w, fine, &origin)
	}))
}

// A picture of either format has every label; another format is an error.
func TestPlotCheck(t *testing.T) {
	d := made().Schema
	var svg, raster bytes.Buffer
	if err := report.PlotCheck(&svg, checkOf(true), &d, "svg"); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"educ × a", "income²", "released", "replicates", "standard deviations"} {
		if !strings.Contains(svg.String(), text) {
			t.Errorf("the SVG has no %q", text)
		}
	}
	if err := report.PlotCheck(&raster, checkOf(true), &d, "png"); err != nil {
		t.Fatal(err)
	}
	if _, err := png.Decode(&raster); err != nil {
		t.Error(err)
	}
	if err := report.PlotCheck(io.Discard, checkOf(true), &d, "bmp"); err == nil {
		t.Error("bmp was taken")
	}
}
