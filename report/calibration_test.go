package report_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image/png"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/calibration"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/report"
)

// studies has the trials of the studies so far, by their designs.
var studies = make(map[string][]*calibration.Trial)

// studied is the summary of a small study, its times made up.
func studied(t *testing.T, d *calibration.Design) (*calibration.Summary, []calibration.Runtime) {
	t.Helper()
	d.Trials, d.Seed = 10, 2
	for i := range d.Arms {
		a := &d.Arms[i]
		a.Chains, a.Warmup, a.Draws, a.ESS = 1, 100, 127, 0
	}
	s := must.Get(d.Study(nil))(t)
	text := must.Get(json.Marshal(d))(t)
	trials, ok := studies[string(text)]
	if !ok {
		trials = must.Get(s.Run(context.Background(), calibration.Options{}))(t)
		for i := range trials {
			trials[i].Seconds = 0.01 * float64(1+trials[i].Cell)
		}
		studies[string(text)] = trials
	}
	return s.Summarise(trials), s.Runtimes(trials)
}

func fig3() *calibration.Design {
	d := calibration.Fig3()
	d.Ns, d.Epsilons = []int64{10, 1000}, []float64{0.1, 1}
	d.Arms = calibration.Arms([]string{calibration.NonPrivate, "naive", "gibbs-ss-update"}, nil, nil)
	return d
}

// The table names what cells differ in, and no more; the words say what fails.
func TestCalibration(t *testing.T) {
	say := func(s *calibration.Summary, times []calibration.Runtime) string {
		var b bytes.Buffer
		must.Do(t, report.Calibration(&b, s, times))
		return strings.Join(strings.Fields(b.String()), " ")
	}
	s, times := studied(t, fig3())
	text := say(s, times)
	must.Say(t, text, "10 trials of each of 28 cells", "no privacy guarantee", "n eps method kernel noise ESS KS p-value 50% 90% 95% MMD2 sec",
		"1000 1 gibbs-ss-update plain paper", "Not uniform at level 0.01", "n=10 eps=0.1 naive paper's noise", "naive; and", "chance")
	if strings.Contains(text, "clamped ") && strings.Contains(text, "capped") || strings.Contains(say(s, nil), "sec:") {
		t.Errorf("columns that say nothing: %s", text)
	}

	d := fig3()
	d.Data, d.X = calibration.Clamped, calibration.BinaryX
	d.Ns, d.Epsilons, d.Arms = d.Ns[:1], d.Epsilons[:1], d.Arms[:1]
	s, times = studied(t, d)
	s.Cells[0].Sound, s.Cells[0].Capped = false, 3
	text = say(s, times)
	must.Say(t, text, "binary covariates", "%", "clamped", "results do not stand", "non-private (3 capped, 0 failed)")
	if strings.Contains(text, "niform at level") {
		t.Errorf("uniformity is judged where it need not hold: %s", text)
	}
}

// The page says what was asked, what follows, and how far to trust it.
func TestCalibrationPage(t *testing.T) {
	s, times := studied(t, fig3())
	say := func() string {
		var b bytes.Buffer
		must.Do(t, report.CalibrationPage(&b, s, times, report.Run{Command: "dpreg calibrate --preset fig3", Version: "v1.2.3"}))
		if pictures := strings.Count(b.String(), "<figure>"); pictures != 12 {
			t.Errorf("%d pictures", pictures)
		}
		return b.String()
	}
	text := say()
	must.Say(t, text, "Calibration of non-private, naive, gibbs-ss-update", "Of theta[1]: empirical", "Of the log-likelihood: share", "<span>--preset</span>", "10 trials of each of 28 cells, seed 2.", "10; 1000",
		"no privacy guarantee", "Not uniform at level 0.01", "<td>gibbs-ss-update, plain, paper</td>", "Of 280 trials 0 failed", "fewer independent ones",
		"<td>1000, 1, gibbs-ss-update, plain, paper</td>", "study.json", "v1.2.3")
	if strings.Contains(text, `class="alert"`) {
		t.Error("an alert of a study that is sound")
	}
	s.Uniform, s.Cells[0].Sound, s.Cells[0].Failed = false, false, 7
	for text, part := range map[string]string{text: "uniform", say(): `class="alert">Warning: more than 1 % of the trials failed`} {
		must.Say(t, text, part)
	}
	if err := report.CalibrationPage(&short{1000}, s, times, report.Run{}); err != errFull {
		t.Error(err)
	}
}

// Every picture says what it shows, in both formats, and stays small.
func TestCalibrationPlots(t *testing.T) {
	testsize.Full(t, "TestCalibrationPage draws them")
	s, times := studied(t, fig3())
	figures := report.CalibrationPlots(s, times)
	names := make(map[string]bool)
	for _, f := range figures {
		names[f.Name] = true
		var svg, raster bytes.Buffer
		must.Do(t, f.Write(&svg, "svg"))
		wellFormed(t, svg.String())
		for _, text := range []string{"naive", "gibbs-ss-update, plain", "paper noise"} {
			if !strings.Contains(svg.String(), text) {
				t.Errorf("%s: no %q", f.Name, text)
			}
		}
		if svg.Len() > 250_000 {
			t.Errorf("%s has %d bytes", f.Name, svg.Len())
		}
		if f.Name != "mmd" {
			continue
		}
		must.Do(t, f.Write(&raster, "png"))
		if _, err := png.Decode(&raster); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"ecdf-log-lik", "coverage-sigma2", "ks-n", "ks-epsilon", "mmd", "runtime"} {
		if !names[name] {
			t.Errorf("no %s among %v", name, names)
		}
	}
	// Of many coefficients some have pictures, which say so; σ² and the log-likelihood have.
	for i := range s.Cells {
		more := slices.Clone(s.Cells[i].Quantities[:1])
		for j := range 9 {
			more[0].Name = fmt.Sprintf("theta[%d]", j)
			s.Cells[i].Quantities = slices.Concat(more, s.Cells[i].Quantities)
		}
	}
	figures = report.CalibrationPlots(s, nil)
	coverage := make(map[string]string)
	for _, f := range figures {
		var svg bytes.Buffer
		must.Do(t, f.Write(&svg, "svg"))
		coverage[f.Name] = svg.String()
	}
	if text := coverage["coverage-sigma2"]; !strings.Contains(text, "Of 9 coefficients the first 4") || coverage["coverage-log-lik"] == "" || coverage["coverage-theta3"] == "" || coverage["coverage-theta4"] != "" {
		t.Errorf("of 9 coefficients: %d pictures", len(figures))
	}
}

// Predictions have coverage, and no ranks to test; a study of one cell, and one whose
// trials all failed, can be drawn, too.
func TestCalibrationPlotsOfLittle(t *testing.T) {
	d := calibration.Fig4()
	d.Arms = d.Arms[:2]
	s, times := studied(t, d)
	figures := report.CalibrationPlots(s, times)
	for _, f := range figures {
		if strings.HasPrefix(f.Name, "ecdf") || strings.HasPrefix(f.Name, "ks") || strings.HasPrefix(f.Name, "mmd") {
			t.Errorf("%s of predictions", f.Name)
		}
		if err := f.Write(io.Discard, "svg"); err != nil {
			t.Error(err)
		}
	}
	for i := range s.Cells[1:] {
		s.Cells[i+1].Quantities = slices.DeleteFunc(s.Cells[i+1].Quantities, func(q calibration.QuantitySummary) bool { return q.Name == "prediction" })
	}
	if figures = report.CalibrationPlots(s, nil); len(figures) == 0 || len(figures[0].Plots()) != 1 {
		t.Errorf("%d figures of one cell", len(figures))
	}
	s.Cells = s.Cells[:1]
	s.Cells[0].Quantities = nil
	if figures = report.CalibrationPlots(s, nil); len(figures) > 0 {
		t.Errorf("%d figures of nothing", len(figures))
	}
}
