package release

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/schema"
)

// without is a release of (u, v, y) that withholds Σy².
func without() *Release {
	column := func(name string) schema.Column { return schema.Column{Name: name, Lower: -1, Upper: 1} }
	return &Release{
		Format:  Format,
		Schema:  schema.Design{Response: column("y"), Covariates: []schema.Column{column("u"), column("v")}, Intercept: true},
		Privacy: &Privacy{Epsilon: 1, Neighbours: ReplaceOne},
		N:       100,
		Noise:   Noise{Kind: Laplace, Scale: 9, Sensitivity: 9},

		Statistics: StatisticsFromVector(3, []float64{1, 2, 3, 11, 12, 13, 22, 23}),
		Withheld:   []string{WithheldYY},
	}
}

func TestWithheldRoundTrip(t *testing.T) {
	text := write(t, without())
	if want := "    \"sum_yy\": null\n  },\n  \"withheld\": [\"yy\"]\n}\n"; !strings.HasSuffix(text, want) {
		t.Errorf("got\n%s\nwant at its end\n%s", text, want)
	}
	back := must.Get(Read(strings.NewReader(text)))(t)
	if !reflect.DeepEqual(back, without()) || write(t, back) != text {
		t.Errorf("read back as %+v", back)
	}
	if v := back.Statistics.Vector(); len(v) != Length(back.Dim())-1 || v[len(v)-1] != 23 {
		t.Errorf("its vector is %v", v)
	}
}

// The smaller sensitivity does for no release that has Σy², nor a smaller one yet
// for one without. field is where the error is.
func TestWithheldClaim(t *testing.T) {
	for _, c := range []struct {
		name  string
		edit  func(r *Release)
		field string
	}{
		{"as it should be", func(*Release) {}, ""},
		{"below it", func(r *Release) { r.Noise.Sensitivity = math.Nextafter(9, 0) * (1 - 1e-11) }, "noise.sensitivity"},
		{"scale below it", func(r *Release) { r.Noise.Scale = math.Nextafter(9, 0) }, "noise.scale"},
		{"with Σy²", func(r *Release) {
			r.Statistics, r.Withheld = StatisticsFromVector(3, make([]float64, 9)), nil
		}, "noise.sensitivity"}, // 9.375
		{"add-remove", func(r *Release) { r.Privacy.Neighbours, r.NNoise = AddRemove, 9 }, ""},
		{"add-remove, less", func(r *Release) {
			r.Privacy.Neighbours, r.NNoise, r.Noise.Sensitivity = AddRemove, 9, 8.9
		}, "noise.sensitivity"},
		{"Gaussian", func(r *Release) {
			r.Privacy.Delta, r.Noise = 1e-6, Noise{Kind: Gaussian, Scale: 20, Sensitivity: 4}
		}, ""},
		{"Gaussian, less", func(r *Release) {
			r.Privacy.Delta, r.Noise = 1e-6, Noise{Kind: Gaussian, Scale: 20, Sensitivity: 3.99}
		}, "noise.sensitivity"},
		{"moments", func(r *Release) {
			r.Moments = &Moments{Noise: r.Noise, Exponents: MomentExponents(2, 3), Sums: make([]float64, 9)}
		}, "moments"},
	} {
		r := without()
		c.edit(r)
		wantInvalid(t, c.name, r, c.field)
	}
}

// A sub-model withholds Σy² where y is its response, has nothing to withhold
// without y, and cannot have y for a covariate.
func TestWithheldSelect(t *testing.T) {
	r := must.Get(without().Select("y ~ v"))(t)
	if got := r.Statistics.Vector(); !reflect.DeepEqual(got, []float64{2, 3, 22, 23}) || len(r.Withheld) != 1 || r.Validate() != nil {
		t.Errorf("y ~ v: %v, withheld %v, %v", got, r.Withheld, r.Validate())
	}
	r = must.Get(without().Select("u ~ v"))(t)
	if got := r.Statistics.Vector(); !reflect.DeepEqual(got, []float64{2, 1, 22, 12, 11}) || r.Withheld != nil || r.Validate() != nil {
		t.Errorf("u ~ v: %v, withheld %v, %v", got, r.Withheld, r.Validate())
	}
	must.Fail(t, must.Err(without().Select("u ~ y")), `the sum of squares of "y"`)
	other := without().Schema
	other.Covariates = []schema.Column{other.Covariates[1], other.Covariates[0]}
	turned := without().Arrange(&other)
	if got := turned.Statistics.Vector(); !reflect.DeepEqual(got, []float64{2, 1, 3, 22, 12, 23, 11, 13}) || turned.Validate() != nil {
		t.Errorf("arranged: %v, %v", got, turned.Validate())
	}
}
