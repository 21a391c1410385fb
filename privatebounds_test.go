package dpreg_test

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// noBounds is a model of which the response has no bounds that count.
var noBounds = &schema.Design{
	Response:   schema.Column{Name: "y", Lower: -7, Upper: 9},
	Covariates: []schema.Column{{Name: "x", Lower: 0, Upper: 1}}, Intercept: true,
}

// unscaled are n rows of x in [0, 1] and y around 50, in the data's units; scaled gives
// them for a design, clamped.
func unscaled(n int) (values iter.Seq2[[]float64, error], scaled func(*schema.Design) iter.Seq2[[]float64, error]) {
	rng := rand.New(rand.NewPCG(12, 0))
	x, y := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = rng.Float64()
		y[i] = 40 + 20*x[i] + rng.NormFloat64()
	}
	values = func(yield func([]float64, error) bool) {
		for i := range y {
			if !yield(y[i:i+1], nil) {
				return
			}
		}
	}
	return values, func(d *schema.Design) iter.Seq2[[]float64, error] {
		frame, row := d.Frame(), make([]float64, 2)
		return func(yield func([]float64, error) bool) {
			for i := range x {
				frame.Scale(row, []float64{x[i], y[i]})
				if !yield(row, nil) {
					return
				}
			}
		}
	}
}

// All 3000 rows have y in (32, 64], hundreds of scales of the noise above the threshold.
func TestPublishWithinBounds(t *testing.T) {
	for nb, rows := range map[release.Neighbours]int64{release.ReplaceOne: 0, release.AddRemove: 3000} {
		values, scaled := unscaled(3000)
		b := release.Bounds{Method: release.AutoBounds, Epsilon: 0.5, Columns: []string{"y"}}
		p := release.Privacy{Epsilon: 2, Neighbours: nb}
		r, err := dpreg.PublishWithinBounds(context.Background(), values, scaled, noBounds, p, b, rows)
		must(t, err)
		must(t, r.Validate())
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
	ctx := context.Background()
	good := release.Privacy{Epsilon: 2, Neighbours: release.ReplaceOne}
	for name, c := range map[string]struct {
		columns []string
		epsilon float64
		p       release.Privacy
		rows    int64
	}{
		"no column":         {nil, 0.2, good, 0},
		"unknown column":    {[]string{"z"}, 0.2, good, 0},
		"all of epsilon":    {[]string{"y"}, 2, good, 0},
		"nothing":           {[]string{"y"}, 0, good, 0},
		"no neighbours":     {[]string{"y"}, 0.2, release.Privacy{Epsilon: 2}, 0},
		"rows not stated":   {[]string{"y"}, 0.2, release.Privacy{Epsilon: 2, Neighbours: release.AddRemove}, 0},
		"too few for share": {[]string{"y"}, 0.01, good, 0},
	} {
		values, scaled := unscaled(3000)
		sums := func(d *schema.Design) iter.Seq2[[]float64, error] {
			t.Errorf("%s: bounds were found", name)
			return scaled(d)
		}
		_, err := dpreg.PublishWithinBounds(ctx, values, sums, noBounds, c.p, release.Bounds{Method: release.AutoBounds, Epsilon: c.epsilon, Columns: c.columns}, c.rows)
		var few *dpreg.TooFewRowsError
		if err == nil || errors.As(err, &few) != (name == "rows not stated" || name == "too few for share") {
			t.Errorf("%s: %v", name, err)
		}
	}
	unread := errors.New("unreadable")
	for name, rows := range map[string]iter.Seq2[[]float64, error]{
		"an error":   yield(unread, []float64{1}),
		"two values": yield(nil, []float64{1, 2}),
	} {
		if h, err := dpreg.CountMagnitudes(ctx, rows, 1); h != nil || err == nil || errors.Is(err, unread) != (name == "an error") {
			t.Errorf("%s: %v, %v", name, h, err)
		}
	}
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := dpreg.CountMagnitudes(stopped, yield(nil, []float64{1}), 1); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that is done: %v", err)
	}
}
