package release

import (
	"testing"

	"github.com/dpreg/dpreg/schema"
)

// TestArrange: sums go with their columns, and there and back again is where it was.
func TestArrange(t *testing.T) {
	r := &Release{Format: Format, N: 10, Noise: Noise{Kind: Laplace, Scale: 1},
		Schema: schema.Design{Response: schema.Column{Name: "y", Lower: -1, Upper: 1}, Intercept: true,
			Covariates: []schema.Column{{Name: "u", Lower: -1, Upper: 1}, {Name: "v", Lower: -2, Upper: 1}}},
		Statistics: StatisticsFromVector(3, []float64{1, 2, 3, 11, 12, 13, 22, 23, 33})}
	other := r.Schema
	other.Covariates = []schema.Column{{Name: "v"}, {Name: "u"}}
	got := r.Arrange(&other)
	if err := got.Validate(); err != nil {
		t.Error(err)
	}
	s := got.Statistics
	if s.SumX[0] != 2 || s.SumXX[0][0] != 22 || s.SumXX[0][1] != 12 || s.SumXY[0] != 23 || s.SumY != 3 || *s.SumYY != 33 {
		t.Errorf("%+v", s)
	}
	if got.Schema.Covariates[0].Lower != -2 {
		t.Error("bounds stayed behind")
	}
	back := got.Arrange(&r.Schema).Statistics.Vector()
	for i, v := range r.Statistics.Vector() {
		if back[i] != v {
			t.Errorf("entry %d: %g, not %g", i, back[i], v)
		}
	}
}
