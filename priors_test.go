package dpreg_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
)

const (
	priorsPage = "docs/priors.md"
	sharp      = "testdata/pums-eps1.release.json"
	weak       = "testdata/pums-weak.release.json"
)

// readPrior reads a file of testdata/priors for the model of the releases.
func readPrior(t *testing.T, name string, d *schema.Design) *model.Prior {
	t.Helper()
	return must.Get(model.StatedPrior{File: "testdata/priors/" + name + ".json"}.For(d, ""))(t)
}

func readRelease(t *testing.T, path string) *release.Release {
	t.Helper()
	return must.Get(release.ReadFile(path))(t)
}

// What docs/priors.md shows as prior files are priors, and files of
// testdata/priors, every one of them.
func TestPriorExamples(t *testing.T) {
	d := &readRelease(t, sharp).Schema
	files := must.Get(filepath.Glob("testdata/priors/*.json"))(t)
	base := must.Get(model.Normal.DefaultPrior(d))(t)
	var texts []string
	for _, path := range files {
		texts = append(texts, read(t, path))
	}
	blocks := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(read(t, priorsPage), -1)
	for _, b := range blocks {
		if _, err := base.Read(strings.NewReader(b[1]), priorsPage, d, ""); err != nil {
			t.Errorf("%v in\n%s", err, b[1])
		}
		if !slices.Contains(texts, b[1]) {
			t.Errorf("%s shows a prior that is no file of testdata/priors:\n%s", priorsPage, b[1])
		}
	}
	if len(blocks) != len(files) {
		t.Errorf("%s shows %d of %d files of testdata/priors", priorsPage, len(blocks), len(files))
	}
}

// default.json is the default prior without a release, to six digits.
func TestDefaultPriorFile(t *testing.T) {
	d := &readRelease(t, sharp).Schema
	got, want := readPrior(t, "default", d), model.DefaultPrior(model.Shape{P: 1, Intercept: true})
	flat := func(p *model.Prior) []float64 {
		return slices.Concat(p.Theta.Mean, p.Theta.Precision, []float64{p.Theta.Shape, p.Theta.Scale},
			p.Covariates.Mean, p.MeanSD, p.Covariates.Scale, []float64{p.Covariates.Dof})
	}
	for i, w := range flat(want) {
		must.Near(t, fmt.Sprintf("number %d of the default prior", i), flat(got)[i], w, 1e-6*math.Abs(w))
	}
	if !got.Unscaled || !reflect.DeepEqual(got.Scales, want.Scales) {
		t.Errorf("free scales %+v, not %+v", got.Scales, want.Scales)
	}
}

// The weak release is of the same rows as the sharp one, with ε = 0.05 and noise
// from a seed, so that anybody can make it again.
func TestWeakRelease(t *testing.T) {
	e := open(t, "pums", "income ~ educ", nil)
	r := must.Get(ssp.Publish(context.Background(), e.statistics, e.design,
		release.Privacy{Epsilon: 0.05, Neighbours: release.ReplaceOne}, release.Laplace, ssp.Exact, mechanisms.Simulated(rand.New(rand.NewPCG(1, 0)))))(t)
	if *update {
		must.Do(t, r.WriteFile(weak))
	}
	var text strings.Builder
	must.Get(r.WriteTo(&text))(t)
	if text.String() != read(t, weak) {
		t.Errorf("%s is another release (go test . -run 'Weak|Printed' -update)", weak)
	}
}

// TestPrintedPriorWords: the default prior of the example in words, as --print-prior has it.
func TestPrintedPriorWords(t *testing.T) {
	r := readRelease(t, sharp)
	prior := must.Get(model.Normal.DefaultPrior(&r.Schema, r))(t)
	generated(t, priorsPage, "words", "```text\n"+strings.Join(prior.Words(&r.Schema), "\n")+"\n```\n")
}

// TestPrintedPriorEffect: both releases under each prior, as dpreg infer --prior has them.
func TestPrintedPriorEffect(t *testing.T) {
	testsize.Full(t, "whole runs")
	var b strings.Builder
	b.WriteString("| release | prior | educ | its 95 % interval | Contraction | sigma | its 95 % interval | Contraction |\n|---|---|---|---|---|---|---|---|\n")
	for _, path := range []string{sharp, weak} {
		r := readRelease(t, path)
		stated := must.Get(model.Normal.DefaultPrior(&r.Schema, r))(t)
		for _, text := range []string{"educ ~ normal(4000, 5000)", "sigma ~ half_t(3, 50000)"} {
			s := must.Get(model.ParseStatement(text))(t)
			stated = must.Get(stated.State(&r.Schema, s))(t)
		}
		for _, c := range []struct {
			name  string
			prior *model.Prior
		}{{"default", nil}, {"in words", stated}} {
			fit := must.Get(dpreg.Infer(context.Background(), dpreg.One(r), dpreg.Options{Prior: c.prior}))(t)
			if ok, reason := fit.Converged(); !ok {
				t.Fatalf("%s, %s: %s", path, c.name, reason)
			}
			s := fit.Summary(dpreg.Original, 0.95)
			fmt.Fprintf(&b, "| ε = %v | %s |", r.Privacy.Epsilon, c.name)
			for _, i := range []int{1, 3} {
				q := s.Parameters[i]
				fmt.Fprintf(&b, " %.0f ± %.0f | %.0f … %.0f | %.2f |", q.Mean, q.SD, q.Lower, q.Upper, *q.Contraction)
			}
			b.WriteString("\n")
		}
	}
	generated(t, priorsPage, "effect", b.String())
}
