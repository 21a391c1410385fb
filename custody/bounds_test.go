package custody_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// noBounds is a model of which the response has no bounds that count.
var noBounds = &schema.Design{
	Response:   schema.Column{Name: "y", Lower: -7, Upper: 9},
	Covariates: []schema.Column{{Name: "x", Lower: 0, Upper: 1}}, Intercept: true,
}

// unscaled are n rows of x in [0, 1] and y around 50.
func unscaled(n int) (lines []string) {
	rng := rand.New(rand.NewPCG(12, 0))
	for range n {
		x := rng.Float64()
		lines = append(lines, fmt.Sprintf("%v,%v", x, 40+20*x+rng.NormFloat64()))
	}
	return lines
}

// All 3000 rows have y in (32, 64], hundreds of scales of the noise above the threshold.
func TestPublishWithinBounds(t *testing.T) {
	source := rows(t, unscaled(3000)...)
	for nb, stated := range map[release.Neighbours]int64{release.ReplaceOne: 0, release.AddRemove: 3000} {
		p := release.Privacy{Epsilon: 2, Neighbours: nb}
		r := must.Get(custody.Publish(t.Context(), custody.Order{NoLedger: true, Rows: source, Design: noBounds, Privacy: p,
			Bounds: custody.Bounds{Columns: []string{"y"}, Share: 0.25}, StatedRows: stated}))(t)
		must.Do(t, r.Validate())
		b := release.Bounds{Method: release.AutoBounds, Epsilon: 0.5, Columns: []string{"y"}}
		if !reflect.DeepEqual(*r.Bounds, b) || *r.Privacy != p || r.Noise.Scale < r.Noise.Sensitivity/1.5 {
			t.Errorf("%+v, %+v, %+v", r.Bounds, r.Privacy, r.Noise)
		}
		if y := r.Schema.Response; y.Upper < 64 || !reflect.DeepEqual(r.Schema.Covariates, noBounds.Covariates) {
			t.Errorf("%+v", r.Schema)
		}
	}
	if noBounds.Response.Upper != 9 {
		t.Error("the design that was given changed")
	}
}

func TestPublishWithinBoundsRefuses(t *testing.T) {
	good := release.Privacy{Epsilon: 2, Neighbours: release.ReplaceOne}
	addRemove := release.Privacy{Epsilon: 2, Neighbours: release.AddRemove}
	source := rows(t, unscaled(3000)...)
	for name, c := range map[string]struct {
		source  custody.Source
		bounds  custody.Bounds
		p       release.Privacy
		says    string
		private bool
		stated  int64
	}{
		"unknown column":    {source, custody.Bounds{Columns: []string{"z"}}, good, "z", false, 0},
		"all of epsilon":    {source, custody.Bounds{Columns: []string{"y"}, Share: 1}, good, "between 0 and 1", false, 0},
		"less than nothing": {source, custody.Bounds{Columns: []string{"y"}, Share: -0.1}, good, "between 0 and 1", false, 0},
		"no neighbours":     {source, custody.Bounds{Columns: []string{"y"}}, release.Privacy{Epsilon: 2}, "neighbours", false, 0},
		"rows not stated":   {source, custody.Bounds{Columns: []string{"y"}}, addRemove, "--rows", false, 0},
		"stated for naught": {source, custody.Bounds{Columns: []string{"y"}}, good, "--rows", false, 5},
		"no bounds to find": {source, custody.Bounds{}, addRemove, "--rows", false, 5},
		"too few as stated": {source, custody.Bounds{Columns: []string{"y"}}, addRemove, "10 rows are too few", true, 10},
		"too few for share": {source, custody.Bounds{Columns: []string{"y"}, Share: 0.005}, good, "3000 rows are too few", true, 0},
		"an error":          {rows(t, "0,1", "secret,2"), custody.Bounds{Columns: []string{"y"}}, good, "3:", false, 0},
		"three values":      {rows(t, "0,1", "0,1,2"), custody.Bounds{Columns: []string{"y"}}, good, "3:", false, 0},
	} {
		_, err := custody.Publish(t.Context(), custody.Order{NoLedger: true, Rows: c.source, Design: noBounds, Privacy: c.p, Bounds: c.bounds, StatedRows: c.stated})
		if e, ok := err.(*custody.Error); !ok || e.Private != c.private || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
