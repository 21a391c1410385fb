package predict_test

import (
	"strings"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/predict"
	"github.com/dpreg/dpreg/schema"
)

// Along a column that terms are made of, points are predictions of the rows that it makes.
func TestAlong(t *testing.T) {
	s := &schema.Schema{Columns: []schema.Column{{Name: "x", Lower: 1, Upper: 5}, {Name: "z", Lower: 0, Upper: 10}, {Name: "o", Type: "boolean", Upper: 1}, {Name: "y", Lower: 0, Upper: 9}}}
	design := must.Get(s.Design("y ~ I(x^2) + z + x:o"))(t)
	d := &posterior.Draws{Names: []string{"theta[0]", "theta[1]", "theta[2]", "theta[3]", "sigma2", "mu_x[1]", "mu_x[2]", "mu_x[3]"},
		Chains: [][]float64{{1, 0.5, 0.1, 1, 4, 0, 3, 0, 2, 0.25, 0.2, 2, 1, 0, 5, 0}}}
	points, held, err := predict.Along(d, design, dpreg.Original, predict.Options{Level: 0.9}, "x", 5)
	must.Do(t, err)
	if len(points) != 5 || len(held) != 2 || held["z"] != 4 || held["o"] != 0.5 {
		t.Fatalf("%d points, held are %v", len(points), held)
	}
	for _, mean := range []bool{true, false} {
		p := must.Get(predict.New(d, design, dpreg.Original, predict.Options{Level: 0.9, Mean: mean}))(t)
		for i, got := range points {
			x := float64(1 + i)
			want := must.Get(p.Predict([]float64{x * x, 4, 0.5 * x}))(t)
			law := got.New
			if mean {
				law = got.Line
			}
			if got.X != x || law != want {
				t.Errorf("at %v (%v): %+v, want %+v", got.X, mean, law, want)
			}
		}
	}
	for _, name := range []string{"o", "y", "I(x^2)", ""} {
		if _, _, err := predict.Along(d, design, dpreg.Original, predict.Options{}, name, 5); err == nil || !strings.Contains(err.Error(), `these are "z", "x"`) {
			t.Errorf("%q: %v", name, err)
		}
	}
}
