package report_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/report"
	"github.com/dpreg/dpreg/schema"
)

func plotted(t *testing.T, f, naive *dpreg.Fit) map[string]*report.Figure {
	t.Helper()
	named := make(map[string]*report.Figure)
	for _, figure := range report.FitPlots(f, naive, report.Options{}) {
		named[figure.Name] = figure
	}
	return named
}

// wellFormed fails unless text is XML.
func wellFormed(t *testing.T, text string) {
	t.Helper()
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := d.Token(); err == io.EOF {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// Each picture of a fit says what it shows, in both formats, and stays small.
func TestFitPlots(t *testing.T) {
	r := made()
	r.Schema.Covariates[1].Name = `<b>&"a"`
	figures := plotted(t, fitted(t, r, ""), fitted(t, r, "naive"))
	for name, says := range map[string][]string{
		"posterior": {"Posterior against prior", "posterior", "naive: noise ignored", "prior", "educ", "sigma", "&lt;b&gt;&amp;"},
		"trace":     {"chain 1", "chain 2", "draw", "educ"},
		"ranks":     {"chain 2", "rank among all draws", "educ"},
		"pairs":     {"(Intercept)", "educ", "…"},
	} {
		var svg, raster bytes.Buffer
		must.Do(t, figures[name].Write(&svg, "svg"))
		wellFormed(t, svg.String())
		for _, text := range says {
			if !strings.Contains(svg.String(), text) {
				t.Errorf("%s: no %q", name, text)
			}
		}
		if svg.Len() > 120_000 {
			t.Errorf("%s has %d bytes", name, svg.Len())
		}
		must.Do(t, figures[name].Write(&raster, "png"))
		if picture, err := png.Decode(&raster); err != nil || picture.Bounds().Dx() < 1000 {
			t.Errorf("%s: %v, %v", name, err, picture.Bounds())
		}
		if err := figures[name].Write(&short{100}, "svg"); !errors.Is(err, errFull) {
			t.Errorf("%s: %v", name, err)
		}
		if err := figures[name].Write(io.Discard, "bmp"); err == nil {
			t.Errorf("%s: bmp was taken", name)
		}
	}
}

// Of long chains some draws are drawn, so that files do not grow with them.
func TestFitPlotsOfLongChains(t *testing.T) {
	sizes := make(map[string]int)
	for _, draws := range []int{1000, testsize.Of(5000, 20_000)} {
		for name, figure := range plotted(t, fittedBy(t, made(), "naive", draws), nil) {
			var svg bytes.Buffer
			must.Do(t, figure.Write(&svg, "svg"))
			if before, ok := sizes[name]; ok && float64(svg.Len()) > 1.2*float64(before) {
				t.Errorf("%s: %d bytes of 1000 draws, %d of %d", name, before, svg.Len(), draws)
			}
			sizes[name] = svg.Len()
		}
	}
	if len(sizes) != 4 {
		t.Errorf("%d figures", len(sizes))
	}
}

// wide is made() with p covariates, which do not correlate, and products with the
// response that are moved by so much.
func wide(p int, moved float64) *release.Release {
	r := made()
	r.Schema.Covariates, r.Privacy, r.Noise.Sensitivity = nil, nil, 0
	values := make([]float64, p+1)
	for i := range p {
		r.Schema.Covariates = append(r.Schema.Covariates, schema.Column{Name: fmt.Sprintf("x%d", i+1), Lower: -1, Upper: 1})
		for j := range p - i {
			values = append(values, 0)
			if j == 0 {
				values[len(values)-1] = 330
			}
		}
		values = append(values, 60*float64(i%3)+moved)
	}
	r.Statistics = release.StatisticsFromVector(p+1, append(values, 640))
	return r
}

// A panel shows the posterior: its axis holds the draws of it but for few, and is not
// longer than twice their interval, wherever the naive posterior lies. One that lies
// beside the axis is told in words.
func TestPosteriorSetsTheAxis(t *testing.T) {
	testsize.Full(t, "TestFitPlots draws both posteriors")
	f := fittedBy(t, wide(3, 0), "naive", 1000)
	for moved, beside := range map[float64]string{0: "", 150: "naive: ", -150: "← naive: "} {
		var svg bytes.Buffer
		posterior := plotted(t, f, fittedBy(t, wide(3, moved), "naive", 1000))["posterior"]
		must.Do(t, posterior.Write(&svg, "svg"))
		parameters := f.Summary(dpreg.Original, 0.95).Parameters
		for i, panel := range posterior.Plots()[:4] { // the coefficients
			p := parameters[i]
			if low, high := panel.X.Min, panel.X.Max; low > p.Lower || high < p.Upper || high-low > 2*(p.Upper-p.Lower) {
				t.Errorf("naive moved by %g: the axis of %s is %g … %g, its interval %g … %g", moved, p.Label, low, high, p.Lower, p.Upper)
			}
		}
		if told := strings.Count(svg.String(), "naive: ") - 1; (told > 0) != (beside != "") || !strings.Contains(svg.String(), beside) {
			t.Errorf("naive moved by %g: told of %d times", moved, told)
		}
	}
}

// Every parameter has its panel, or the picture says which are left out and where they
// are; sigma is never left out, and no axis has less than two labels.
func TestFitPlotsOfMany(t *testing.T) {
	testsize.Full(t, "TestFitPlots has few parameters")
	for p, said := range map[int]string{4: "", 14: "", 60: "Shown are the first 39 of 62 parameters and sigma; --save writes the draws of all."} {
		if testing.Short() && p == 14 {
			continue
		}
		for name, figure := range plotted(t, fitted(t, wide(p, 0), "naive"), nil) {
			var svg bytes.Buffer
			must.Do(t, figure.Write(&svg, "svg"))
			text := regexp.MustCompile(`</text>[^>]*>`).ReplaceAllString(svg.String(), " ")
			panels, want, says := len(figure.Plots()), min(p+2, 40), said
			if name == "pairs" {
				want, says = 36, ""
				if p > 4 {
					says = fmt.Sprintf("those 5 of the %d other parameters", min(p+1, 39))
				}
			}
			if panels != want || !strings.Contains(text, "sigma") || !strings.Contains(text, says) || (says == "") == strings.Contains(text, "Shown") {
				t.Errorf("%s of %d covariates: %d panels, want %d and %q", name, p, panels, want, says)
			}
			for i, panel := range figure.Plots() {
				labels := 0
				for _, tick := range panel.X.Tick.Marker.Ticks(panel.X.Min, panel.X.Max) {
					if tick.Label != "" {
						labels++
					}
				}
				if labels < 2 && name != "pairs" {
					t.Errorf("%s of %d covariates, panel %d: %d labels", name, p, i, labels)
				}
			}
		}
	}
}
