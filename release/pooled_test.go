package release

import (
	"math"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/schema"
)

// pooled is the release of four custodians, of whom one may collude, with the least noise that holds: σ of
// ε = 1, δ = 10⁻⁶ at sensitivity √8, by three.
func pooled() *Release {
	const sigma = 11.949 // a little above that of one release
	yy := 4.0
	return &Release{
		Format: Format, Schema: schema.Design{Intercept: true, Covariates: []schema.Column{{Name: "x", Lower: -1, Upper: 1}}, Response: schema.Column{Name: "y", Lower: -1, Upper: 1}},
		Privacy: &Privacy{Epsilon: 1, Delta: 1e-6, Neighbours: ReplaceOne}, Pooled: &Pooled{Custodians: 4, Colluding: 1}, N: 100,
		Noise:      Noise{Kind: Gaussian, Scale: sigma * math.Sqrt(4./3), Sensitivity: math.Sqrt(8) * (1 + 1e-15), Lattice: math.Ldexp(1, -40)},
		Statistics: Statistics{SumX: []float64{1}, SumXX: [][]float64{{2}}, SumXY: []float64{1}, SumYY: &yy},
	}
}

// What is claimed holds against those who collude, or the file is refused; and what composes is what they see.
func TestPooled(t *testing.T) {
	must.Do(t, pooled().Validate())
	for name, c := range map[string]struct {
		change func(r *Release)
		says   string
	}{
		"more collude":  {func(r *Release) { r.Pooled.Colluding = 2 }, "noise.scale: "},
		"more are one":  {func(r *Release) { r.Pooled.Custodians = 3 }, "2 of 3 custodians know"},
		"all collude":   {func(r *Release) { r.Pooled.Colluding = 4 }, "pooled.colluding: "},
		"fewer than 0":  {func(r *Release) { r.Pooled.Colluding = -1 }, "pooled.colluding: "},
		"of nobody":     {func(r *Release) { r.Pooled = &Pooled{} }, "pooled.custodians: "},
		"Laplace noise": {func(r *Release) { r.Noise.Kind, r.Privacy.Delta = Laplace, 0 }, "pooled: only with"},
		"no privacy":    {func(r *Release) { r.Privacy = nil }, "pooled: only with"},
		"more persons":  {func(r *Release) { r.Persons = &Persons{Rows: PersonRows, Most: 1, Scale: 5} }, "noise.scale: "},
		"a part of ε":   {func(r *Release) { r.Persons = &Persons{Rows: PersonRows, Most: 1, Scale: 5, Epsilon: 0.1} }, "it alone is there"},
	} {
		r := pooled()
		if name == "more are one" {
			r.Pooled.Colluding = 2
		}
		c.change(r)
		must.Fail(t, r.Validate(), c.says)
	}
	alone := pooled()
	alone.Pooled, alone.Noise.Scale = nil, alone.Noise.Scale*math.Sqrt(3./4)
	with := must.Get(pooled().Composable())(t)
	if one, err := alone.Composable(); err != nil || math.Abs(with.Mu/one.Mu-1) > 1e-12 {
		t.Errorf("μ = %v of four of whom one colludes, %v of one with the noise of three (%v)", with.Mu, one.Mu, err)
	}
	if model, err := pooled().Select("x ~ y"); err != nil || *model.Pooled != (Pooled{Custodians: 4, Colluding: 1}) {
		t.Errorf("another model is not of these custodians: %v", err)
	}
}

// A part says which, of how many, of which dealing; it is read back, sub-models are of it, and others are refused.
func TestPart(t *testing.T) {
	part := func(number int64, dealing string) *Release {
		r := pooled()
		r.Pooled, r.Noise.Scale = nil, 10*r.Noise.Scale
		r.Part = &Part{number, 8, strings.Repeat(dealing, 32)}
		return r
	}
	one, two, other := part(1, "a"), part(2, "a"), part(2, "b")
	_, r := rewritten(t, one)
	if !OneDealing(r, two) || OneDealing(r, other) || OneDealing(r, one) || OneDealing(r, pooled()) {
		t.Error("which are of one dealing is not told")
	}
	for field, wrong := range map[string]Part{"part.of": {1, 1, two.Part.Dealing}, "part.number": {9, 8, two.Part.Dealing}, "part.dealing": {1, 8, "A"}} {
		r := part(1, "a")
		r.Part = &wrong
		wantInvalid(t, "wrong", r, field)
	}
	two.Privacy = nil
	wantInvalid(t, "without privacy", two, "part")
}
