package release_test

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// byLevel is a release of a factor of three levels, a truth value, x and y.
func byLevel(t *testing.T, nb release.Neighbours) *release.Release {
	t.Helper()
	scale := map[release.Neighbours]float64{release.ReplaceOne: 12.5 - 1./6, release.AddRemove: 10}[nb]
	r := &release.Release{Format: release.FormatLevels, N: 40,
		Privacy: &release.Privacy{Epsilon: 1, Neighbours: nb},
		Noise:   release.Noise{Kind: release.Laplace, Scale: scale, Sensitivity: scale},
		Schema: schema.Design{Response: schema.Column{Name: "y", Lower: -1, Upper: 1}, Intercept: true,
			Factors: []schema.Factor{{Name: "f", Levels: []string{"a", "b", "c"}}}}}
	for _, level := range []string{"b", "c"} {
		r.Schema.Covariates = append(r.Schema.Covariates, schema.Column{Name: "f" + level, Upper: 1, Factor: "f", Level: level})
	}
	r.Schema.Covariates = append(r.Schema.Covariates, schema.Column{Name: "t", Upper: 1, Type: "boolean"}, schema.Column{Name: "x", Lower: -1, Upper: 1})
	z := noised(3 + 3*3 + 6)
	r.TakeLevels(release.NewLevels("f", 2, nil), z)
	must.Do(t, r.Validate())
	if !slices.Equal(r.Measured(), z) {
		t.Fatalf("measured %v, not %v", r.Measured(), z)
	}
	return r
}

// noised are so many sums that have noise.
func noised(n int) (z []float64) {
	for i := range n {
		z = append(z, float64(i*i%17)+0.25)
	}
	return z
}

// reread asks that a file is read as it was written, and gives its text.
func reread(t *testing.T, r *release.Release) string {
	t.Helper()
	var file strings.Builder
	must.Get(r.WriteTo(&file))(t)
	if again, err := release.Read(strings.NewReader(file.String())); err != nil || !reflect.DeepEqual(again, r) {
		t.Errorf("read %+v, %v", again, err)
	}
	return file.String()
}

// refused asks Validate for errors in these fields of releases that were spoiled.
func refused(t *testing.T, valid func() *release.Release, spoils map[string]func(r *release.Release)) {
	t.Helper()
	for field, spoil := range spoils {
		r := valid()
		spoil(r)
		if err := r.Validate(); err == nil || !strings.HasPrefix(err.Error(), field+":") {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// TestByLevels: combinations of the statistics are what has noise, but for the first of all counts,
// which n leaves; a file is read as it was written; a model of the factor and some columns picks.
func TestByLevels(t *testing.T) {
	for _, nb := range []release.Neighbours{release.ReplaceOne, release.AddRemove} {
		t.Run(string(nb), func(t *testing.T) { testByLevels(t, byLevel(t, nb)) })
	}
}

func testByLevels(t *testing.T, r *release.Release) {
	z := r.Measured()
	if want := map[release.Neighbours]int64{release.ReplaceOne: 40, release.AddRemove: 6}[r.Neighbours()]; r.N != want { // 0.25 + 1.25 + 4.25
		t.Errorf("n = %d, not %d", r.N, want)
	}
	for i, c := range release.Combinations(5, 2, 3)[1:] {
		if got := c.Value(r.Statistics.Vector(), float64(r.N)); got != z[i+1] {
			t.Errorf("combination %d is %v, not %v", i+1, got, z[i+1])
		}
	}
	reread(t, r)
	sd := r.ScaledSD()
	squares, dummy := 0.0, 2. // of Σu_l² = n and of Σu_l = 2n_l − n, over that of the noise
	if r.Neighbours() == release.AddRemove {
		squares, dummy = math.Sqrt(3), math.Sqrt(3)
	}
	if near := func(x, y float64) bool { return math.Abs(x-y*r.Noise.SD()) < 1e-9 }; !near(sd[release.Index(5, 0, 0)], squares) || !near(sd[0], dummy) || sd[release.Index(5, 4, 4)] != r.Noise.SD() {
		t.Errorf("sds %v", sd)
	}
	model := must.Get(r.Select("x ~ y + f"))(t)
	must.Do(t, model.Validate())
	if got, want := model.Levels.Sums[1], []float64{r.Levels.Sums[1][2], r.Levels.Sums[1][1]}; !slices.Equal(got, want) || model.Schema.Covariates[0].Name != "fb" {
		t.Errorf("sums of y and x: %v, not %v", got, want)
	}
	for _, formula := range []string{"y ~ x + fb", "y ~ x - 1", "fb ~ x"} {
		if _, err := r.Select(formula); err == nil || !strings.Contains(err.Error(), `by the levels of "f"`) {
			t.Errorf("%s: %v", formula, err)
		}
	}
}

func TestByLevelsRefused(t *testing.T) {
	refused(t, func() *release.Release { return byLevel(t, release.ReplaceOne) }, map[string]func(r *release.Release){
		"levels":            func(r *release.Release) { r.Levels = nil },
		"levels.factor":     func(r *release.Release) { r.Levels.Factor = "g" },
		"levels.counts":     func(r *release.Release) { r.Levels.Counts = r.Levels.Counts[1:] },
		"levels.sums":       func(r *release.Release) { r.Levels.Sums = r.Levels.Sums[1:] },
		"levels.sums[2]":    func(r *release.Release) { r.Levels.Sums[2] = r.Levels.Sums[2][1:] },
		"statistics":        func(r *release.Release) { r.Levels.Sums[1][0]++ },
		"schema.covariates": func(r *release.Release) { c := r.Schema.Covariates; c[0], c[1] = c[1], c[0] },
		"noise.sensitivity": func(r *release.Release) { r.Noise.Sensitivity = 12 },
		"noise.scale":       func(r *release.Release) { r.Noise.Scale = 12 },
	})
	refused(t, func() *release.Release { return byLevel(t, release.AddRemove) }, map[string]func(r *release.Release){
		"n":                 func(r *release.Release) { r.N++ },
		"n_noise":           func(r *release.Release) { r.NNoise *= 1.1 },
		"noise.sensitivity": func(r *release.Release) { r.Noise.Sensitivity = 9.9 },
		"noise.scale":       func(r *release.Release) { r.Noise.Scale = 9.9; r.NNoise *= 0.99 },
	})
	r := byLevel(t, release.ReplaceOne)
	r.Levels.Counts[0] += 150 * r.Noise.SD() * math.Sqrt(3)
	if err := r.Validate(); err == nil || !strings.HasPrefix(err.Error(), "levels.counts: add up to") {
		t.Errorf("counts of more rows than there are: %v", err)
	}
	r = byLevel(t, release.ReplaceOne)
	r.Format = release.Format
	if err := r.Validate(); err == nil || !strings.HasPrefix(err.Error(), "levels:") {
		t.Errorf("with levels, format 1: %v", err)
	}
}

// TestByResponse: a release by the levels of its response is one by those of a covariate in another order, in the file
// too; what is noised are combinations of its own sums; damaged ones are refused.
func TestByResponse(t *testing.T) {
	first := byLevel(t, release.ReplaceOne)
	first.Schema.Factors, first.Schema.Covariates = nil, first.Schema.Covariates[2:]
	z := noised(1 + 2*2 + 3)
	first.Noise.Scale, first.Noise.Sensitivity = 7, 7
	first.TakeLevels(release.NewLevels("t", 1, nil), z)
	r := first.FactorLast()
	if err := r.Validate(); err != nil || !r.LevelsAreOfResponse() || r.Schema.Formula().String() != "t ~ x + y" {
		t.Fatal(err, r.Schema.Formula())
	}
	if !reflect.DeepEqual(r.FactorFirst(), first) || !slices.Equal(r.Measured(), z) {
		t.Error("the first order is lost")
	}
	for i, c := range r.MeasuredOfResponse() {
		if got := c.Value(r.Statistics.Vector(), 40); got != z[i] {
			t.Errorf("combination %d is %v, not %v", i, got, z[i])
		}
	}
	text := reread(t, r)
	refused(t, func() *release.Release { return must.Get(release.Read(strings.NewReader(text)))(t) }, map[string]func(r *release.Release){
		"statistics.sum_x": func(r *release.Release) { r.Statistics.SumX = r.Statistics.SumX[1:] },
		"levels.factor":    func(r *release.Release) { r.Schema.Covariates = nil },
		"levels.sums[1]":   func(r *release.Release) { r.Levels.Sums[1] = nil },
	})
}

// TestKnownSquare: the square of a response of 0 and 1 is n, and has no noise but that of n; models know which column it is
// of; a file in which it was measured is read as well.
func TestKnownSquare(t *testing.T) {
	for nb, noise := range map[release.Neighbours]float64{release.ReplaceOne: 0, release.AddRemove: math.Sqrt(3)} {
		r := byLevel(t, nb)
		r.Schema.Response = schema.Column{Name: "y", Upper: 1, Type: "boolean"}
		must.Do(t, r.Validate())
		like := release.NewLevels("f", 2, nil)
		like.Known = 3
		r.TakeLevels(like, r.Measured())
		must.Do(t, r.Validate())
		if yy, sd := r.Measured()[r.Levels.KnownAt()], r.ScaledSD(); yy != float64(r.N) || math.Abs(sd[len(sd)-1]-noise*r.Noise.SD()) > 1e-9 {
			t.Errorf("%s: Σy² = %v, n = %d, noise %v", nb, yy, r.N, sd)
		}
		for formula, known := range map[string]int64{"x ~ y + f": 1, "y ~ x": 2, "x ~ f": 0, "y ~ 1": 1} {
			if model := must.Get(r.Select(formula))(t); model.Levels.Known != known || model.Validate() != nil {
				t.Errorf("%s: known %d, %v", formula, model.Levels.Known, model.Validate())
			}
		}
		for _, r.Levels.Known = range []int64{-1, 2, 4} {
			if err := r.Validate(); err == nil || !strings.HasPrefix(err.Error(), "levels.known: ") {
				t.Errorf("known %d: %v", r.Levels.Known, err)
			}
		}
	}
}

// perLevel is byLevel with products per level.
func perLevel(t *testing.T, nb release.Neighbours) *release.Release {
	t.Helper()
	r := byLevel(t, nb)
	d := must.Get(r.Schema.Crossed("f"))(t)
	r.Schema = *d
	r.Noise.Scale = map[release.Neighbours]float64{release.ReplaceOne: 20, release.AddRemove: 10}[nb]
	r.Noise.Sensitivity = r.Noise.Scale
	z := noised(3 + 3*3 + 3*6)
	like := release.NewLevels("f", 2, nil)
	like.Products = make([][]float64, 3)
	r.TakeLevels(like, z)
	must.Do(t, r.Validate())
	if !slices.Equal(r.Measured(), z) {
		t.Fatalf("measured %v, not %v", r.Measured(), z)
	}
	return r
}

// TestPerLevel: a file is read as it was written; models pick, of sums and products too.
func TestPerLevel(t *testing.T) {
	for _, nb := range []release.Neighbours{release.ReplaceOne, release.AddRemove} {
		r := perLevel(t, nb)
		reread(t, r)
		for formula, columns := range map[string]int{"y ~ f * x": 6, "y ~ x * f + t": 7, "x ~ y + f": 4, "y ~ f": 3, "y ~ f + x + fc:x": 5} {
			model := must.Get(r.Select(formula))(t)
			if err := model.Validate(); err != nil || model.Dim() != columns {
				t.Errorf("%s: %d columns, %v", formula, model.Dim(), err)
			}
		}
		model := must.Get(r.Select("x ~ y + f"))(t)
		of := r.Levels.Products[1] // tt, tx, ty, xx, xy, yy
		if got, want := model.Levels.Products[1], []float64{of[5], of[4], of[3]}; !slices.Equal(got, want) {
			t.Errorf("products of y and x: %v, not %v", got, want)
		}
	}
}

func TestPerLevelRefused(t *testing.T) {
	refused(t, func() *release.Release { return perLevel(t, release.ReplaceOne) }, map[string]func(r *release.Release){
		"levels.products":    func(r *release.Release) { r.Levels.Products = r.Levels.Products[1:] },
		"levels.products[2]": func(r *release.Release) { r.Levels.Products[2] = r.Levels.Products[2][1:] },
		"levels.sums[0]":     func(r *release.Release) { r.Levels.Sums[0] = r.Levels.Sums[0][1:] },
		"statistics":         func(r *release.Release) { r.Levels.Products[1][3]++ },
		"schema.covariates":  func(r *release.Release) { c := r.Schema.Covariates; r.Schema.Covariates = append(c[:3:3], c[4:]...) },
		"noise.sensitivity":  func(r *release.Release) { r.Noise.Sensitivity = 19 },
		"noise.scale":        func(r *release.Release) { r.Noise.Scale = 19 },
	})
}
