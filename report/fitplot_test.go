package report_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"strings"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/report"
)

func plotted(t *testing.T, f, naive *dpreg.Fit) map[string]*report.Figure {
	t.Helper()
	figures, err := report.FitPlots(f, naive, report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	named := make(map[string]*report.Figure)
	for _, figure := range figures {
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
		if err := figures[name].Write(&svg, "svg"); err != nil {
			t.Fatal(err)
		}
		wellFormed(t, svg.String())
		for _, text := range says {
			if !strings.Contains(svg.String(), text) {
				t.Errorf("%s: no %q", name, text)
			}
		}
		if svg.Len() > 120_000 {
			t.Errorf("%s has %d bytes", name, svg.Len())
		}
		if err := figures[name].Write(&raster, "png"); err != nil {
			t.Fatal(err)
		}
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
	for _, draws := range []int{1000, 20_000} {
		for name, figure := range plotted(t, fittedBy(t, made(), "naive", draws), nil) {
			var svg bytes.Buffer
			if err := figure.Write(&svg, "svg"); err != nil {
				t.Fatal(err)
			}
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
