package dpreg_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/model"
)

// A slope far from its prior is named, with a wider prior under which it is not far; one that the
// prior expects is not, in the default prior's units or in others.
func TestPriorConflict(t *testing.T) {
	e := open(t, "pums", "income ~ age + educ", nil)
	conflicts := func(prior *model.Prior) (found []string) {
		fit := must.Get(dpreg.Infer(t.Context(), dpreg.One(e.written(0.5)), dpreg.Options{Method: "gibbs-ss-update", Prior: prior, Plan: brief(2)}))(t)
		for _, w := range fit.Summary(dpreg.Original, 0.95).Warnings {
			if strings.Contains(w, "prior standard deviations") {
				found = append(found, w)
			}
		}
		return found
	}
	if found := conflicts(nil); found != nil {
		t.Errorf("under the default prior %q", found)
	}
	frame := e.design.Frame()
	slopeOfEduc := func(sd float64) *model.Prior {
		p := model.DefaultPrior(model.Shape{P: 2, Intercept: true})
		scaled := sd * frame.Half[1] / frame.Half[2]
		p.Theta.Precision[8] = 1 / (scaled * scaled)
		return p
	}
	found := conflicts(slopeOfEduc(1000)) // the slope of the rows is 4500
	if len(found) != 1 || !strings.Contains(found[0], "the slope of educ") {
		t.Fatalf("%q", found)
	}
	_, rest, _ := strings.Cut(found[0], "--prior-sd 'educ=")
	wider := must.Get(strconv.ParseFloat(strings.Split(rest, "'")[0], 64))(t)
	if again := conflicts(slopeOfEduc(wider)); again != nil {
		t.Errorf("with an sd of %v: %q", wider, again)
	}
	scaled := must.Get(conjugate.NewNIG(make([]float64, 3), []float64{1, 0, 0, 0, 1, 0, 0, 0, 400}, 3, 0.15))(t)
	narrow := slopeOfEduc(1)
	narrow.Theta, narrow.Unscaled, narrow.Scales = scaled, false, nil // a slope of educ of σ/20, an intercept of σ
	if found := conflicts(narrow); len(found) != 2 || !strings.Contains(found[0], "the intercept") {
		t.Errorf("%s", fmt.Sprint(found))
	}
}
