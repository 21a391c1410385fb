package report_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/report"
	"github.com/dpreg/dpreg/schema"
)

func fitted(t *testing.T, r *release.Release, method string) *dpreg.Fit {
	t.Helper()
	return fittedBy(t, r, method, 100)
}

func fittedBy(t *testing.T, r *release.Release, method string, draws int) *dpreg.Fit {
	t.Helper()
	plan := mcmc.Plan{Chains: 2, Warmup: 200, Draws: draws, Seed: 1}
	return must.Get(dpreg.Infer(context.Background(), dpreg.One(r), dpreg.Options{Method: method, Plan: plan}))(t)
}

// The parts of a fit come in order, each once, and the release's warnings are
// not repeated after the table.
func TestFit(t *testing.T) {
	r := made()
	r.Simulated = true
	var b bytes.Buffer
	must.Do(t, report.Fit(&b, fitted(t, r, ""), report.Options{}))
	text, at := b.String(), 0
	for _, part := range []string{"SIMULATED", "epsilon = 1", "Warning: the noise of this release", "income ~ educ + a, method mcmc-exact", "Method mcmc-exact was taken: ",
		"Estimate", "l-95%", "\nsigma ", "2 chains of 100 draws", "Price of privacy"} {
		i := strings.Index(text[at:], part)
		if i < 0 || strings.Count(text, part) != 1 {
			t.Fatalf("%q is missing, repeated or not in order in\n%s", part, text)
		}
		at += i
	}
	wantNarrow(t, text)
}

func TestFitOptions(t *testing.T) {
	f := fitted(t, made(), "")
	var b bytes.Buffer
	must.Do(t, report.Fit(&b, f, report.Options{Units: dpreg.Scaled, Level: 0.8}))
	must.Say(t, b.String(), "scaled units", "u-80%")
	b.Reset()
	must.Do(t, report.Fit(&b, fitted(t, made(), "naive"), report.Options{}))
	if text := b.String(); strings.Contains(text, "Price") || !strings.Contains(text, "Warning: naive") {
		t.Errorf("naive:\n%s", text)
	}
}

// short takes so many bytes, and then fails.
type short struct{ left int }

var errFull = errors.New("full")

func (s *short) Write(p []byte) (int, error) {
	if len(p) > s.left {
		return 0, errFull
	}
	s.left -= len(p)
	return len(p), nil
}

// A writer's error is returned, wherever it strikes.
func TestWriteErrors(t *testing.T) {
	f := fitted(t, made(), "")
	for name, write := range map[string]func(io.Writer) error{
		"Fit":  func(w io.Writer) error { return report.Fit(w, f, report.Options{}) },
		"Show": func(w io.Writer) error { return report.Show(w, made()) },
	} {
		var whole bytes.Buffer
		must.Do(t, write(&whole))
		for left := 0; left < whole.Len(); left += 89 {
			if err := write(&short{left}); !errors.Is(err, errFull) {
				t.Fatalf("%s: after %d bytes: %v", name, left, err)
			}
		}
	}
}

// TestShowWide: of many columns each has its sums listed, and products are counted.
func TestShowWide(t *testing.T) {
	for m, lines := range map[int]int{40: 40 + 40*41/2, 1000: 2000} {
		r := made()
		r.Schema.Covariates = nil
		for j := range m - 1 {
			r.Schema.Covariates = append(r.Schema.Covariates, schema.Column{Name: fmt.Sprint("x", j), Lower: 0, Upper: 1})
		}
		r.Statistics = release.StatisticsFromVector(m, make([]float64, release.Length(m)))
		var out strings.Builder
		must.Do(t, report.Show(&out, r))
		if got := strings.Count(out.String(), "\nsum of "); got != lines {
			t.Errorf("%d columns: %d sums are listed, not %d", m, got, lines)
		}
		if told := strings.Contains(out.String(), "sums of 499500 products"); told != (m == 1000) {
			t.Errorf("%d columns: %s", m, out.String()[out.Len()-200:])
		}
	}
}

// A table fits the width that it is written to, by folding names and leaving out what the line below
// it sums up; digits are those of the standard error.
func TestFitWidth(t *testing.T) {
	f := fitted(t, made(), "")
	for _, c := range []struct {
		o          report.Options
		has, lacks string
	}{
		{report.Options{}, "Bulk_ESS", "P(>0)"},
		{report.Options{Sign: true}, "P(>0)", "Bulk_ESS"},
		{report.Options{Sign: true, Width: 120}, "Bulk_ESS", "NA%"},
		{report.Options{Width: 50}, "Est.Error", "Rhat"},
		{report.Options{Brief: true}, "Estimate", "Privacy"},
	} {
		var b strings.Builder
		must.Do(t, report.Fit(&b, f, c.o))
		if !strings.Contains(b.String(), c.has) || strings.Contains(b.String(), c.lacks) {
			t.Errorf("%+v lacks %q or has %q:\n%s", c.o, c.has, c.lacks, b.String())
		}
		width := c.o.Width
		if width == 0 {
			width = 80
		}
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > width {
				t.Errorf("%+v: a line of %d characters: %s", c.o, n, line)
			}
		}
	}
	if err := report.Fit(io.Discard, f, report.Options{Format: "docx"}); err == nil {
		t.Error("a format that does not exist was taken")
	}
}
