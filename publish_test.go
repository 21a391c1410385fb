package dpreg_test

import (
	"context"
	"errors"
	"iter"
	"math"
	"strings"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

var twoColumns = &schema.Design{
	Response:   schema.Column{Name: "y", Lower: -1, Upper: 1},
	Covariates: []schema.Column{{Name: "x", Lower: -1, Upper: 1}}, Intercept: true,
}

// yield gives the rows, and then the error if there is one.
func yield(last error, rows ...[]float64) iter.Seq2[[]float64, error] {
	return func(yield func([]float64, error) bool) {
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
		if last != nil {
			yield(nil, last)
		}
	}
}

// The moments of a release are those of its rows, and it serves gibbs-ss-noisy.
func TestPublishMoments(t *testing.T) {
	rows := make([][]float64, 2000)
	for i := range rows {
		x := float64(i)/1000 - 1
		rows[i] = []float64{x, 0.5*x + 0.2*math.Sin(float64(i))}
	}
	r, err := dpreg.PublishMoments(context.Background(), yield(nil, rows...), twoColumns, release.Privacy{Epsilon: 10, Neighbours: release.ReplaceOne})
	must(t, err)
	// Σx⁴ is 2000/5; noise of scale 0.74 is beyond 40 with probability 1e-23.
	if math.Abs(r.Moments.Sums[1]-400) > 40 || r.Moments.Noise.Scale != 0.7375 {
		t.Errorf("moments %+v", r.Moments)
	}
	_, err = dpreg.Infer(context.Background(), dpreg.One(r), dpreg.Options{Method: "gibbs-ss-noisy", Plan: mcmc.Plan{Chains: 1, Warmup: 100, Draws: 100, Seed: 1}})
	must(t, err)
	four := *twoColumns
	for _, name := range []string{"b", "c", "d"} {
		four.Covariates = append(four.Covariates[:len(four.Covariates):len(four.Covariates)], schema.Column{Name: name, Lower: -1, Upper: 1})
	}
	if _, err := dpreg.PublishMoments(context.Background(), yield(nil), &four, *r.Privacy); err == nil || !strings.Contains(err.Error(), "at most 3") {
		t.Errorf("four covariates: %v", err)
	}
}

// Of no rows an add-remove release is made as of one: to refuse would tell of the row.
func TestPublishNoRows(t *testing.T) {
	p := release.Privacy{Epsilon: 1, Neighbours: release.AddRemove}
	r, err := dpreg.Publish(context.Background(), yield(nil), twoColumns, p)
	must(t, err)
	if r.NNoise == 0 {
		t.Errorf("n = %d without noise", r.N)
	}
	r, err = dpreg.PublishMoments(context.Background(), yield(nil), twoColumns, p)
	must(t, err)
	if r.Moments == nil {
		t.Error("no moments")
	}
	const rows = 1e6 // as stated: no number that is not public is looked at
	bounds := release.Bounds{Method: release.AutoBounds, Epsilon: 0.5, Columns: []string{twoColumns.Response.Name}}
	scaled := func(*schema.Design) iter.Seq2[[]float64, error] { return yield(nil) }
	r, err = dpreg.PublishWithinBounds(context.Background(), yield(nil), scaled, twoColumns, p, bounds, rows)
	must(t, err)
	if r.Bounds == nil {
		t.Error("no bounds")
	}
}

func TestPublishRefuses(t *testing.T) {
	broken := errors.New("broken")
	good := release.Privacy{Epsilon: 1, Neighbours: release.ReplaceOne}
	done, cancel := context.WithCancel(context.Background())
	cancel()
	for want, c := range map[string]struct {
		ctx  context.Context
		rows iter.Seq2[[]float64, error]
		p    release.Privacy
	}{
		"broken":        {context.Background(), yield(broken, []float64{0, 0}), good},
		"row 2 has 3":   {context.Background(), yield(nil, []float64{0, 0}, []float64{0, 0, 0}), good},
		"row 1: column": {context.Background(), yield(nil, []float64{0, 1.5}), good},
		"no rows":       {context.Background(), yield(nil), good},
		"epsilon":       {context.Background(), yield(nil, []float64{0, 0}), release.Privacy{Neighbours: release.ReplaceOne}},
		"canceled":      {done, yield(nil, []float64{0, 0}), good},
	} {
		if _, err := dpreg.Publish(c.ctx, c.rows, twoColumns, c.p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	invalid := *twoColumns
	invalid.Response.Name = "x"
	if _, err := dpreg.Publish(context.Background(), yield(nil, []float64{0, 0}), &invalid, good); err == nil {
		t.Error("an invalid design is accepted")
	}
}
