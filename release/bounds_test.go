package release

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/schema"
)

// bounded is example, whose bounds were found with a fifth of ε.
func bounded() *Release {
	r := example()
	r.Bounds = &Bounds{Method: AutoBounds, Epsilon: 0.2, Columns: []string{"x", "y"}}
	r.Noise.Scale = 6.666666666666667 // (16/3)/0.8, rounded up
	return r
}

func TestBoundsRoundTrip(t *testing.T) {
	first, _ := rewritten(t, bounded())
	const want = "  \"bounds\": {\"method\": \"auto\", \"epsilon\": 0.2, \"columns\": [\"x\", \"y\"]},\n"
	must.Say(t, first, want)
}

// The statistics must keep to what bounds leave of ε; field is where the error is.
func TestBoundsClaim(t *testing.T) {
	for _, c := range []struct {
		name  string
		edit  func(r *Release)
		field string
	}{
		{"as it should be", func(*Release) {}, ""},
		{"scale one ulp short", func(r *Release) { r.Noise.Scale = math.Nextafter(r.Noise.Scale, 0) }, "noise.scale"},
		{"scale for all of ε", func(r *Release) { r.Noise.Scale = example().Noise.Scale }, "noise.scale"},
		{"parts above the whole", func(r *Release) { r.Bounds.Epsilon = 0.2000001 }, "noise.scale"},
		{"all of ε", func(r *Release) { r.Bounds.Epsilon = 1 }, "bounds.epsilon"},
		{"more than ε", func(r *Release) { r.Bounds.Epsilon = 3 }, "bounds.epsilon"},
		{"none of ε", func(r *Release) { r.Bounds.Epsilon = 0 }, "bounds.epsilon"},
		{"no number", func(r *Release) { r.Bounds.Epsilon = math.NaN() }, "bounds.epsilon"},
		{"another method", func(r *Release) { r.Bounds.Method = "quantiles" }, "bounds.method"},
		{"no privacy", func(r *Release) { r.Privacy = nil }, "bounds"},
		{"an unknown column", func(r *Release) { r.Bounds.Columns[1] = "z" }, "bounds.columns[1]"},
		{"a column twice", func(r *Release) { r.Bounds.Columns[1] = "x" }, "bounds.columns[1]"},
		{"no power of two", func(r *Release) { r.Schema.Response.Upper = 3 }, "bounds.columns[1]"},
		{"one above 0", func(r *Release) { r.Schema.Response.Lower = 0.5 }, "bounds.columns[1]"},
		{"0 and a power of two", func(r *Release) { r.Schema.Response.Lower, r.Schema.Response.Upper = 0, 0x1p-30 }, ""},
		{"a truth value", func(r *Release) {
			r.Schema.Covariates[0] = schema.Column{Name: "x", Lower: 0, Upper: 1, Type: "boolean"}
		}, "bounds.columns[0]"},
		{"no column left", func(r *Release) { r.Bounds.Columns = nil }, ""},
		{"add-remove", func(r *Release) { // L1 sensitivity 6, n in it
			r.Privacy.Neighbours, r.Noise.Sensitivity, r.Noise.Scale, r.NNoise = AddRemove, 6, 7.5, 7.5
		}, ""},
		{"add-remove, noise on n short", func(r *Release) {
			r.Privacy.Neighbours, r.Noise.Sensitivity, r.Noise.Scale, r.NNoise = AddRemove, 6, 7.5, 7.4
		}, "noise.scale"},
		// (0.8, 1e-5) at L2 sensitivity 2·√2 needs a σ of 13.17 (accounting.Sigma).
		{"Gaussian", func(r *Release) { gaussian(r, 13.2) }, ""},
		{"Gaussian, for all of ε", func(r *Release) { gaussian(r, 10.6) }, "noise.scale"},
	} {
		r := bounded()
		c.edit(r)
		wantInvalid(t, c.name, r, c.field)
	}
}

func gaussian(r *Release, sigma float64) {
	r.Privacy.Delta = 1e-5
	r.Noise = Noise{Kind: Gaussian, Scale: sigma, Sensitivity: 2.8284271247461903}
}

func TestBoundsRead(t *testing.T) {
	good := write(t, bounded())
	for _, c := range []struct{ old, new, want string }{
		{`"method": "auto", `, ``, "bounds.method: missing"},
		{`"epsilon": 0.2, `, ``, "bounds.epsilon: missing"},
		{`, "columns": ["x", "y"]`, ``, "bounds.columns: missing"},
		{`["x", "y"]`, `"x"`, "bounds.columns: must be an array"},
		{`"method": "auto"`, `"method": "auto", "share": 0.2`, "bounds.share: unknown field"},
	} {
		wantUnread(t, good, c.old, c.new, c.want)
	}
}

// What bounds spent stays spent in a sub-model without these columns.
func TestBoundsSelect(t *testing.T) {
	r := bounded()
	r.Bounds.Columns = []string{"x"}
	back := must.Get(r.Select("x ~ y"))(t)
	if err := back.Validate(); err != nil || !reflect.DeepEqual(back.Bounds, r.Bounds) || back.Bounds == r.Bounds {
		t.Errorf("%+v, %v", back.Bounds, err)
	}
	d := r.Schema
	d.Covariates = []schema.Column{{Name: "z", Lower: 0, Upper: 1}}
	if got := r.Bounds.pick(&d); got.Epsilon != 0.2 || len(got.Columns) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestWithBounds(t *testing.T) {
	r := example()
	r.Privacy.Epsilon, r.Noise.Scale = 0.8, bounded().Noise.Scale
	names := []string{"x", "y"}
	got, err := r.WithBounds(Bounds{AutoBounds, 0.2, names}, 1)
	if err != nil || !reflect.DeepEqual(got, bounded()) {
		t.Errorf("%+v, %v", got, err)
	}
	if names[0] = "q"; r.Bounds != nil || r.Privacy.Epsilon != 0.8 || slices.Contains(got.Bounds.Columns, "q") {
		t.Error("the release changed, or shares its columns")
	}
	if _, err := r.WithBounds(Bounds{AutoBounds, 0.2, nil}, 0.9); err == nil {
		t.Error("0.2 and 0.8 pass for 0.9")
	}
	r.Privacy = nil
	if _, err := r.WithBounds(Bounds{AutoBounds, 0.2, nil}, 1); err == nil {
		t.Error("a release without privacy has bounds")
	}
}

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
	text, back := rewritten(t, without())
	if want := "    \"sum_yy\": null\n  },\n  \"withheld\": [\"yy\"]\n}\n"; !strings.HasSuffix(text, want) {
		t.Errorf("got\n%s\nwant at its end\n%s", text, want)
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
