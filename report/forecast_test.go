package report_test

import (
	"bytes"
	"errors"
	"image/png"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/plan"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/report"
	"github.com/dpreg/dpreg/whatif"
)

// foreseen is a forecast by hand: widths that fall as 1/(1 + εn/c).
func foreseen(truth float64, epsilons []float64, ns ...int64) *plan.Forecast {
	f := &plan.Forecast{
		Design: dpreg.UnitDesign(3), Method: "gibbs-ss-update", Level: 0.95, Releases: 40,
		Alone:   []plan.PriorSlope{{Name: "slope", Width: 2.076, Truth: truth}},
		Assumed: &plan.Assumption{R2: 0.3, Correlation: 0.25},
	}
	for _, name := range []string{"x1", "x2", "x3", "y"} {
		f.Assumed.Columns = append(f.Assumed.Columns, plan.AssumedColumn{Name: name, Mean: -0.25, SD: 0.25})
	}
	for _, n := range ns {
		for _, epsilon := range epsilons {
			sd, without := 0.5196/(1+epsilon*float64(n)/400), 1/math.Sqrt(float64(n))
			f.Points = append(f.Points, plan.Point{N: n, Epsilon: epsilon, Noise: release.Noise{Kind: release.Laplace, Scale: 14.4 / epsilon},
				Slopes: []plan.SlopeForecast{{
					Width: 3.92 * sd, WidthError: 0.041, Contraction: 1 - sd*sd/0.27, ContractionError: 0.0321, Price: sd / without, PriceError: 0.05 * sd / without,
					SD: sd, NoiselessSD: without, Detected: 1 / (1 + sd), DetectedError: 0.044,
				}}})
		}
	}
	return f
}

func TestForecast(t *testing.T) {
	grid := []float64{0.125, 0.5, 2}
	some := foreseen(math.NaN(), grid, 125, 500, 2000)
	truth := foreseen(0.3, grid[:2], 200, 100_000)
	truth.Delta, truth.Points[1].Noise.Kind = 1e-6, release.Gaussian
	truth.Warnings = []string{"chains mixed slowly"}
	truth.Alone[0].Name, truth.Level = "educ", 0.9
	none := foreseen(math.NaN(), grid[:1], 50)
	none.Points[0].Slopes[0].WidthError, none.Points[0].Slopes[0].ContractionError = math.NaN(), math.NaN()
	steps := foreseen(math.NaN(), grid[1:], 2000)
	steps.Points[1].Steps, steps.Points[0].Noise.Kind, steps.Points[1].Noise.Kind = 3, release.Ball, release.Ball
	steps.Points[0].Slopes[0].Median, steps.Points[1].Slopes[0].Median = 0.55, 0.17
	steps.Wanted = &plan.Wanted{Name: "slope", Width: 0.56, Failed: []plan.Failure{{N: 12, Noiseless: 1.13}, {N: 500}, {Epsilon: 0.01}}}
	wantNarrow(t, golden(t, "forecast", each([]*plan.Forecast{some, truth, none, steps}, "\n", func(w io.Writer, f *plan.Forecast) error {
		return report.Forecast(w, f, report.ForecastOptions{Units: dpreg.Scaled})
	})))
}

// A picture is drawn of any grid, and says what its axes are.
func TestForecastPlot(t *testing.T) {
	for _, c := range []struct {
		f    *plan.Forecast
		says []string
	}{
		{foreseen(math.NaN(), []float64{0.1, 1}, 100, 1000), []string{"privacy budget", "n = 100", "n = 1000", "prior alone", "without noise", "95%"}},
		{foreseen(math.NaN(), []float64{0.1}, 100, 1000), []string{"number of records", "ε = 0.1"}},
		{foreseen(0.2, []float64{1}, 100), []string{"number of records"}},
		{foreseen(0.2, []float64{1e-3, 1e-2, 1, 100}, 10, 20, 30, 40, 50, 60, 70, 80, 90), []string{"n = 90"}},
	} {
		c.f.Points[0].Slopes[0].WidthError = math.NaN()
		var svg, raster bytes.Buffer
		must.Do(t, report.ForecastPlot(c.f, report.ForecastOptions{}).Write(&svg, "svg"))
		for _, text := range c.says {
			must.Say(t, svg.String(), text)
		}
		// What a figure's key has is drawn: a line of dashes, or a ring, in the panel as well.
		if drawn := strings.Count(svg.String(), "dasharray:6,4") + strings.Count(svg.String(), "A3,3 0 1 1")/2; drawn < 2 {
			t.Errorf("%v: without noise is drawn %d times, in the key and in the panel", c.says, drawn)
		}
		must.Do(t, report.ForecastPlot(c.f, report.ForecastOptions{}).Write(&raster, "png"))
		picture, err := png.Decode(&raster)
		if err != nil || picture.Bounds().Dx() < 600 {
			t.Errorf("%v: %v", picture.Bounds(), err)
		}
	}
	if err := report.ForecastPlot(foreseen(0, []float64{1}, 9), report.ForecastOptions{}).Write(io.Discard, "bmp"); err == nil {
		t.Error("a format that is not there is drawn")
	}
}

func whatIf() *whatif.Answers {
	effects := func(shift, width float64, sign int) []whatif.Effect {
		return []whatif.Effect{
			{Name: "theta[0]", Label: "(Intercept)", Shift: shift / 2, Width: 1.01, Sign: 0},
			{Name: "theta[1]", Label: "years of schooling completed", Shift: shift, Width: width, Sign: sign, Changed: sign != 1},
		}
	}
	return &whatif.Answers{Units: dpreg.Original, Level: 0.95, Variants: []whatif.Variant{
		{Name: "coefficients' prior sd halved", Effects: effects(-0.214, 0.93, 1)},
		{Name: "sigma2's prior scale doubled", Effects: effects(0.1, 1.11, 1)},
	}}
}

func TestWhatIf(t *testing.T) {
	stands, wider, turns := whatIf(), whatIf(), whatIf()
	wider.Moved, turns.Moved = true, true
	wider.Variants[0].Effects[1].Width = 0.6
	wider.Variants[1].Reason = "R-hat of educ is 1.050, above 1.02"
	turns.Variants[1].Effects[1].Sign, turns.Variants[1].Effects[1].Changed = -1, true
	wantNarrow(t, golden(t, "what-if", each([]*whatif.Answers{stands, wider, turns}, "", report.WhatIf)))
}

func TestForecastWriteErrors(t *testing.T) {
	f := foreseen(0.3, []float64{1, 2}, 100)
	for name, write := range map[string]func(io.Writer) error{
		"Forecast":     func(w io.Writer) error { return report.Forecast(w, f, report.ForecastOptions{}) },
		"ForecastPlot": func(w io.Writer) error { return report.ForecastPlot(f, report.ForecastOptions{}).Write(w, "svg") },
		"WhatIf":       func(w io.Writer) error { return report.WhatIf(w, whatIf()) },
	} {
		for left := 0; left < 600; left += 149 {
			if err := write(&short{left}); !errors.Is(err, errFull) {
				t.Fatalf("%s: after %d bytes: %v", name, left, err)
			}
		}
	}
}
