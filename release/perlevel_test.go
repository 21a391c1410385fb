package release_test

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/release"
)

// perLevel is byLevel with products per level.
func perLevel(t *testing.T, nb release.Neighbours) *release.Release {
	t.Helper()
	r := byLevel(t, nb)
	d := must.Get(r.Schema.Crossed("f"))(t)
	r.Schema = *d
	r.Noise.Scale = map[release.Neighbours]float64{release.ReplaceOne: 20, release.AddRemove: 10}[nb]
	r.Noise.Sensitivity = r.Noise.Scale
	var z []float64
	for i := range 3 + 3*3 + 3*6 {
		z = append(z, float64(i*i%17)+0.25)
	}
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
		var file bytes.Buffer
		must.Get(r.WriteTo(&file))(t)
		if again, err := release.Read(&file); err != nil || !reflect.DeepEqual(again, r) {
			t.Errorf("read %+v, %v", again, err)
		}
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
	for field, spoil := range map[string]func(r *release.Release){
		"levels.products":    func(r *release.Release) { r.Levels.Products = r.Levels.Products[1:] },
		"levels.products[2]": func(r *release.Release) { r.Levels.Products[2] = r.Levels.Products[2][1:] },
		"levels.sums[0]":     func(r *release.Release) { r.Levels.Sums[0] = r.Levels.Sums[0][1:] },
		"statistics":         func(r *release.Release) { r.Levels.Products[1][3]++ },
		"schema.covariates":  func(r *release.Release) { c := r.Schema.Covariates; r.Schema.Covariates = append(c[:3:3], c[4:]...) },
		"noise.sensitivity":  func(r *release.Release) { r.Noise.Sensitivity = 19 },
		"noise.scale":        func(r *release.Release) { r.Noise.Scale = 19 },
	} {
		r := perLevel(t, release.ReplaceOne)
		spoil(r)
		if err := r.Validate(); err == nil || !strings.HasPrefix(err.Error(), field+":") {
			t.Errorf("%s: %v", field, err)
		}
	}
}
