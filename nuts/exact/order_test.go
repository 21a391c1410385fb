package exact

import (
	"context"
	"slices"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/release"
)

// TestOrder: columns that are sampled in another order have Stan's posterior, by their own names.
func TestOrder(t *testing.T) {
	t.Parallel()
	for _, g := range modeltest.Goldens(t) {
		joint := must.Get(g.Problem.Join())(t)
		if joint.Shape.P < 2 {
			continue
		}
		order := []int{1, 0}
		other := must.Get(g.Problem.InOrder(order).Join())(t)
		names := model.Names(joint.Layout().InOrder(order))
		d := must.Get(sample(context.Background(), other, names, mcmc.Plan{Chains: 4, Warmup: 400, ESS: float64(testsize.Of(1200, 5000)), Seed: 1}))(t)
		g.Compare(t, d.InOrder(joint.Names()), 0)
		if testing.Short() {
			break
		}
	}
}

// TestToldFirst: a column that noise hides comes behind those that z tells, and others stay as they are.
func TestToldFirst(t *testing.T) {
	for _, c := range []struct {
		squares []float64 // of columns of mean 0
		want    []int
	}{
		{[]float64{0.3, 0.3, 0.3}, nil},
		{[]float64{0.01, 0.01, 0.01}, nil},
		{[]float64{0.3, 0.2, 0.01}, nil},
		{[]float64{0.01, 0.2, 0.02, 0.3}, []int{1, 3, 0, 2}},
	} {
		p, n := len(c.squares), 1000.0
		s := model.Shape{P: p, Intercept: true}
		obs := &model.Observation{Shape: s, N: n, Z: make([]float64, s.Statistics()), Kind: release.Gaussian, Scale: slices.Repeat([]float64{2}, s.Statistics())}
		for j, v := range c.squares {
			obs.Z[release.Index(p+1, j, j)] = n * v
		}
		joint := &model.Joint{Shape: s, Sites: []*model.Site{{Observation: obs, Units: model.Identity(p + 1)}}}
		if got := toldFirst(joint); !slices.Equal(got, c.want) {
			t.Errorf("%v: order %v, want %v", c.squares, got, c.want)
		}
	}
}
