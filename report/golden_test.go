package report_test

import (
	"bytes"
	"flag"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/report"
	"github.com/dpreg/dpreg/schema"
)

var update = flag.Bool("update", false, "write the golden files anew; read them before committing")

// golden compares what write writes with testdata/name.golden.
func golden(t *testing.T, name string, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, write(&b))
	path := "testdata/" + name + ".golden"
	if *update {
		must.Do(t, os.WriteFile(path, b.Bytes(), 0o644))
	}
	want := must.Get(os.ReadFile(path))(t)
	if b.String() != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", path, b.String(), want)
	}
	return b.String()
}

// each writes all of them, and the end behind each.
func each[T any](all []T, end string, write func(io.Writer, T) error) func(io.Writer) error {
	return func(w io.Writer) error {
		for _, v := range all {
			if err := write(w, v); err != nil {
				return err
			}
			if _, err := io.WriteString(w, end); err != nil {
				return err
			}
		}
		return nil
	}
}

func wantNarrow(t *testing.T, text string) {
	t.Helper()
	for _, line := range strings.Split(text, "\n") {
		if n := utf8.RuneCountInString(line); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
		if strings.TrimRight(line, " ") != line {
			t.Errorf("blanks at the end: %q", line)
		}
	}
}

func known(contraction float64) *float64 { return &contraction }

func parameter(name, label string, mean, sd float64, contraction *float64) posterior.Parameter {
	return posterior.Parameter{
		Name: name, Label: label, Mean: mean, SD: sd, Lower: mean - 1.96*sd, Upper: mean + 1.96*sd,
		RHat: 1.0034, ESSBulk: 2047.4, ESSTail: 1386.8, Contraction: contraction,
	}
}

// incomes has six covariates, numbers of all sizes, and what can be missing.
func incomes() *posterior.Summary {
	constant := parameter("theta[6]", "constant", 0, math.NaN(), nil)
	constant.RHat, constant.ESSBulk, constant.ESSTail = math.NaN(), math.NaN(), math.NaN()
	return &posterior.Summary{
		Method: "gibbs-ss-update", N: posterior.Known(int64(1000)), Chains: 4, Draws: 1000, Units: "original", Level: 0.95,
		Warnings: []string{"n = 20 is below 30: the normal approximation of the statistics is poor there", "and a full stop."},
		Parameters: []posterior.Parameter{
			parameter("theta[0]", "(Intercept)", -412902.4, 216205.2, known(0.9971)),
			parameter("theta[1]", "educ", 4054.6, 1623.4, known(0.9971)),
			parameter("theta[2]", "years of schooling completed", 0.04, 0.9996, known(-0.3259)),
			parameter("theta[3]", "married", -0.00004, 0.0123, known(0)),
			parameter("theta[4]", "größe", 1.5, 0.00001234, known(1)),
			parameter("theta[5]", "tiny", 3.3e-10, 1.2e-11, known(0.5)),
			constant,
			parameter("sigma2", "sigma2", 3168457290, 411842036, known(0.032)),
			parameter("sigma", "sigma", 56288, 6440, known(0.92)),
			parameter("mu_x[1]", "mean(educ)", 11.35, 1.43, known(0.854)),
			parameter("tau[1,2]", "cov(educ, years of schooling completed)", -0.304, 0.575, known(-1.009)),
		},
	}
}

func TestTable(t *testing.T) {
	s := incomes()
	golden(t, "table", func(w io.Writer) error { return report.Table(w, s, false) })
	s.Level = 0.999
	golden(t, "table-all", func(w io.Writer) error { return report.Table(w, s, true) })
}

// Six covariates, whose numbers have up to eight characters, fit into a line.
func TestTableIsNarrow(t *testing.T) {
	s := incomes()
	s.Parameters = slices.DeleteFunc(s.Parameters, func(p posterior.Parameter) bool { return p.Label == "tiny" || p.Label == "größe" })
	wantNarrow(t, golden(t, "table-narrow", func(w io.Writer) error { return report.Table(w, s, false) }))
}

func TestLines(t *testing.T) {
	s := incomes()
	s.Parameters[6] = s.Parameters[1]
	wantNarrow(t, golden(t, "lines", func(w io.Writer) error {
		return report.Lines(w, s, []float64{3.051, 1, 12.34, 123.4})
	}))
}

// made is a release of income and educ as dpreg makes them.
func made() *release.Release {
	return &release.Release{
		Format: release.Format,
		Schema: schema.Design{
			Response:   schema.Column{Name: "income", Lower: 0, Upper: 500000},
			Covariates: []schema.Column{{Name: "educ", Lower: 1, Upper: 16}, {Name: "a", Lower: -0.00001, Upper: 1}}, Intercept: true,
		},
		Privacy:    &release.Privacy{Epsilon: 1, Neighbours: release.ReplaceOne},
		N:          1000,
		Noise:      release.Noise{Kind: release.Laplace, Scale: 9.375, Sensitivity: 9.375, Lattice: 1.0 / (1 << 40)},
		Statistics: release.StatisticsFromVector(3, []float64{176.685, -859.036, 0.004, 244.48, -124.829, 788.186, -3.2, 21.9, 640.1}),
	}
}

func TestStatement(t *testing.T) {
	byHand, simulated, gaussian, addRemove := made(), made(), made(), made()
	byHand.Privacy, byHand.Noise.Sensitivity = nil, 0
	simulated.Simulated = true
	gaussian.Noise = release.Noise{Kind: release.Gaussian, Scale: 12, Sensitivity: 4}
	gaussian.Privacy = &release.Privacy{Epsilon: 0.001, Delta: 1e-6, Neighbours: release.ReplaceOne}
	addRemove.Privacy, addRemove.NNoise = &release.Privacy{Epsilon: 30, Neighbours: release.AddRemove}, 10
	addRemove.Noise.Sensitivity = 0
	wantNarrow(t, golden(t, "statement", each([]*release.Release{made(), byHand, simulated, gaussian, addRemove}, "\n", report.Statement)))
}

func TestShow(t *testing.T) {
	r := made()
	must.Do(t, r.Validate())
	wantNarrow(t, golden(t, "show", func(w io.Writer) error { return report.Show(w, r) }))
}

func TestShowWithheld(t *testing.T) {
	r := made()
	r.Statistics.SumYY, r.Withheld = nil, []string{release.WithheldYY}
	must.Do(t, r.Validate())
	wantNarrow(t, golden(t, "withheld", func(w io.Writer) error { return report.Show(w, r) }))
}

// documented is the release of the format's page, whose rows were simulated.
func documented(t *testing.T) *release.Release {
	t.Helper()
	page := must.Get(os.ReadFile("../docs/release-format.md"))(t)
	_, example, _ := strings.Cut(string(page), "```json\n{\n  \"format\": \"dpreg-release/2\"")
	return must.Get(release.Read(strings.NewReader("{\"format\": \"dpreg-release/2\"" + strings.Split(example, "```")[0])))(t)
}

func TestShowLooks(t *testing.T) {
	r := documented(t)
	wantNarrow(t, golden(t, "show-looks", func(w io.Writer) error { return report.Show(w, r) }))
}

// withMoments is made with moments, noised with the statistics or apart.
func withMoments(least int, noise release.Noise) *release.Release {
	r := made()
	r.Noise = release.Noise{Kind: release.Laplace, Scale: 18.75, Sensitivity: 9.375}
	if least == 3 {
		r.Noise.Sensitivity = 18.75
		noise = r.Noise
	}
	r.Moments = &release.Moments{Noise: noise, Exponents: release.MomentExponents(2, least)}
	for i := range r.Moments.Exponents {
		r.Moments.Sums = append(r.Moments.Sums, 321.5-50*float64(i))
	}
	return r
}

func TestMoments(t *testing.T) {
	wantNarrow(t, golden(t, "moments", func(w io.Writer) error {
		apart := withMoments(1, release.Noise{Kind: release.Laplace, Scale: 28.9052, Sensitivity: 14.4526})
		must.Do(t, apart.Validate())
		if err := report.Statement(w, apart); err != nil {
			return err
		}
		together := withMoments(3, release.Noise{})
		must.Do(t, together.Validate())
		return report.Show(w, together)
	}))
}
