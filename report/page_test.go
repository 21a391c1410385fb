package report_test

import (
	"bytes"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/calibration"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/report"
	"github.com/dpreg/dpreg/whatif"
)

// ran is as a command line gives it.
var ran = report.Run{
	Command: "dpreg fit d.csv --eps 1 --formula 'income ~ educ + a' --report r.html", Repeat: "dpreg infer d.release.json --seed 1",
	Version: "v1.2.3", Release: "d.release.json", Digest: strings.Repeat("0123456789abcdef", 4), Method: "auto",
}

func fitPage(w io.Writer, f, naive *dpreg.Fit, what *whatif.Answers) error {
	return report.FitPage(w, f, what, report.FitPlots(f, naive, report.Options{}), report.Options{}, ran)
}

var anySVG = regexp.MustCompile(`(?s)<svg .*?</svg>`)

// without writes a page with its style sheet and pictures left out.
func without(w io.Writer, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	text := anySVG.ReplaceAllString(b.String(), "<svg/>")
	style := regexp.MustCompile(`(?s)<style>.*?</style>`)
	_, err := io.WriteString(w, style.ReplaceAllString(text, "<style/>"))
	return err
}

func TestPages(t *testing.T) {
	f := fitted(t, made(), "naive")
	golden(t, "page-fit", func(w io.Writer) error {
		return without(w, func(w io.Writer) error { return fitPage(w, f, nil, whatIf()) })
	})
	golden(t, "page-check", func(w io.Writer) error {
		return without(w, func(w io.Writer) error { return report.CheckPage(w, checkOf(true), f, ran) })
	})
	golden(t, "page-plan", func(w io.Writer) error {
		return without(w, func(w io.Writer) error {
			return report.ForecastPage(w, foreseen(math.NaN(), []float64{0.125, 0.5}, 125, 500), report.ForecastOptions{Units: dpreg.Scaled}, ran)
		})
	})
}

// written are the pages once they are made.
var written map[string]string

// pages are those that a browser is shown: full ones, with names that would be mark-up
// or too long, were they not escaped and wrapped.
func pages(t *testing.T) map[string]string {
	t.Helper()
	if written != nil {
		return written
	}
	r := made()
	r.Simulated = true
	r.Schema.Response.Name = strings.Repeat("unbroken", 12)
	r.Schema.Covariates[1].Name = `<script>alert("a")</script>&`
	f, naive := fitted(t, r, ""), fitted(t, r, "naive")
	long := ran
	long.Command += " --schema " + strings.Repeat("directory/", 20) + "d.schema.json"
	check, plan := checkOf(true), foreseen(0.3, []float64{0.125, 0.5, 2}, 125, 500, 2000)
	check.Releases[0].Entries[0].Label = strings.Repeat("long", 20)
	design := fig3()
	design.Epsilons, design.Arms = design.Epsilons[:1], calibration.Arms([]string{calibration.NonPrivate, "naive", "gibbs-ss-update"}, nil, []string{"exact"})
	study, times := studied(t, design)
	study.Cells[1].Sound, study.Cells[1].Failed, study.Cells[1].Error = false, 9, strings.Repeat("unbroken", 12)
	texts := make(map[string]string)
	for name, write := range map[string]func(io.Writer) error{
		"fit":   func(w io.Writer) error { return fitPage(w, f, naive, whatIf()) },
		"check": func(w io.Writer) error { return report.CheckPage(w, check, f, long) },
		"plan":  func(w io.Writer) error { return report.ForecastPage(w, plan, report.ForecastOptions{}, long) },
		"study": func(w io.Writer) error { return report.CalibrationPage(w, study, times, long) },
	} {
		var b bytes.Buffer
		must.Do(t, write(&b))
		texts[name] = b.String()
	}
	written = texts
	return texts
}

// A page asks for nothing from elsewhere, runs nothing, and stays small.
func TestPagesStandAlone(t *testing.T) {
	foreign := regexp.MustCompile(`<script|<link|<img|<iframe|@import|url\(|src=|href=["'][^"']`)
	for name, text := range pages(t) {
		for _, found := range foreign.FindAllString(text, -1) {
			t.Errorf("%s has %q", name, found)
		}
		for _, picture := range anySVG.FindAllString(text, -1) {
			wellFormed(t, picture)
			if strings.Contains(picture, ":#") {
				t.Errorf("%s: a colour that does not follow light and dark in %.300s", name, picture)
			}
		}
		if len(text) > 400_000 {
			t.Errorf("%s has %d bytes", name, len(text))
		}
	}
}

// What is not private says so.
func TestPageOfNonPrivate(t *testing.T) {
	f := fitted(t, made(), "naive")
	f.Custodians = nil
	var b bytes.Buffer
	must.Do(t, fitPage(&b, f, nil, nil))
	if text := b.String(); !strings.Contains(text, "NOT PRIVATE") || strings.Contains(text, "What is private") {
		t.Error("the page does not say that it is not private")
	}
}

func TestPageWriteErrors(t *testing.T) {
	f := fitted(t, made(), "naive")
	for name, write := range map[string]func(io.Writer) error{
		"fit":   func(w io.Writer) error { return fitPage(w, f, nil, nil) },
		"check": func(w io.Writer) error { return report.CheckPage(w, checkOf(true), f, ran) },
		"plan": func(w io.Writer) error {
			return report.ForecastPage(w, foreseen(0.3, []float64{1}, 100), report.ForecastOptions{}, ran)
		},
	} {
		if err := write(&short{1000}); err != errFull {
			t.Errorf("%s: %v", name, err)
		}
	}
}
