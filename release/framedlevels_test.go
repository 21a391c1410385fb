package release

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/schema"
)

// framedLevels is a release of three looks of a factor of three levels, two covariates a and b, and y, and its rows
// in scaled units, clipped, whose sums the last look has without noise. Half of its share is for levels.
func framedLevels(kind Kind, nb Neighbours, rng *rand.Rand) (r *Release, rows [][]float64) {
	r = framed(3, kind, nb, rng)
	r.Format, r.N = FormatLevels, 60
	r.Schema.Factors = []schema.Factor{{Name: "f", Levels: []string{"p", "q", "r"}}}
	numbers := r.Schema.Covariates
	r.Schema.Covariates = nil
	for _, level := range []string{"q", "r"} {
		r.Schema.Covariates = append(r.Schema.Covariates, schema.Column{Name: "f" + level, Upper: 1, Factor: "f", Level: level})
	}
	r.Schema.Covariates = append(r.Schema.Covariates, numbers...)
	f := r.Frame
	up, share := 1+1e-14, 0.5*r.Noise.Sensitivity/r.Noise.Scale // of ε, or of μ after this
	ofLevels, products, own := 2*math.Hypot(f.Weight, f.Radius), math.Sqrt2*f.Radius*f.Radius, &LevelNoise{}
	if kind == Ball {
		if own.Freedom, r.Noise.Freedom = 5, 7; nb == AddRemove { // what n had
			share += 0.5 / r.NNoise
		}
	} else {
		share *= math.Sqrt2
		ofLevels = math.Sqrt(2 * max(f.Weight*f.Weight+f.Radius*f.Radius, 2*f.Radius*f.Radius))
	}
	if nb == AddRemove {
		ofLevels, products = math.Hypot(f.Weight, f.Radius), f.Radius*f.Radius
	}
	own.Scale = ofLevels / share * up
	own.Count = own.Scale / f.Weight * up
	r.Noise.Sensitivity, r.Noise.Linear = products*up, 0
	r.Noise.Scale = r.Noise.Sensitivity / share * up
	r.Noise.Cross = r.Noise.Scale / math.Sqrt2 * up
	z := make([]float64, 3+3*3+6)
	for i := range 60 {
		v := clipped(f, [][]float64{{2*rng.Float64() - 1, 2*rng.Float64() - 1, 2*rng.Float64() - 1}})[0]
		u, level := inFrame(f, v), i%5%3
		z[level]++
		for j, x := range u {
			z[3+3*level+j] += x
			for k := j; k < 3; k++ {
				z[12+Index(3, j, k)-3] += x * u[k]
			}
		}
		row := append([]float64{-1, -1}, v...)
		if level > 0 {
			row[level-1] = 1
		}
		rows = append(rows, row)
	}
	r.TakeLevels(NewLevels("f", 2, own), z)
	return r, rows
}

// TestLevelsInAFrame: what is written is read; a model has the sums, in scaled units, that its columns have, by
// level and over all rows, and noise as wide as what it is of.
func TestLevelsInAFrame(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	for _, w := range ways {
		r, rows := framedLevels(w.kind, w.nb, rng)
		rewritten(t, r)
		all := r.ScaledSD()
		for formula, at := range map[string][]int{"": {0, 1, 2, 3, 4}, "y ~ b + f": {0, 1, 3, 4}, "b ~ f": {0, 1, 3}, "a ~ y + f + b": {0, 1, 4, 3, 2}, "b ~ y": {4, 3}} {
			model, err := r.Select(formula)
			if err != nil {
				t.Fatalf("%s: %v", formula, err)
			}
			if err := model.Validate(); err != nil {
				t.Errorf("%s: %v", formula, err)
			}
			m := len(at)
			k := model.Levels.Dummies()
			sums, want := make([]float64, Length(m)), make([][]float64, k+1)
			for l := range want {
				want[l] = make([]float64, m-k)
			}
			for _, row := range rows {
				level := 0
				for j, a := range at {
					if j < k && row[j] == 1 {
						level = j + 1
					}
					sums[j] += row[a]
					for k := j; k < m; k++ {
						sums[Index(m, j, k)] += row[a] * row[at[k]]
					}
				}
				for j, a := range at[k:] {
					want[level][j] += row[a]
				}
			}
			near(t, formula+" scaled", model.Scaled(), sums, 1e-12)
			got, _, _ := model.ScaledLevels()
			for l := range want {
				near(t, formula+" by level", got[l], want[l], 1e-12)
			}
			for j, a := range at {
				for k, b := range at[:j+1] {
					if of, is := all[Index(5, a, b)], model.ScaledSD()[Index(m, j, k)]; !(math.Abs(of-is) <= 1e-9*(1+of)) {
						t.Errorf("%s: noise of sd %v, and %v of all columns", formula, is, of)
					}
				}
			}
		}
	}
}

// TestLevelClaims: noise that is a little too small is found out, wherever it is.
func TestLevelClaims(t *testing.T) {
	for _, w := range ways {
		for field, spoil := range map[string]func(r *Release){
			"privacy":               func(r *Release) { r.Levels.Noise.Scale *= 0.99; r.Levels.Noise.Count *= 0.99 },
			"noise.sensitivity":     func(r *Release) { r.Noise.Sensitivity *= 0.99 },
			"noise.cross":           func(r *Release) { r.Noise.Cross *= 1 - 1e-8 },
			"noise.linear":          func(r *Release) { r.Noise.Linear = r.Noise.Scale },
			"levels.noise.count":    func(r *Release) { r.Levels.Noise.Count *= 1 - 1e-8 },
			"levels.noise.scale":    func(r *Release) { r.Levels.Noise.Scale = 0 },
			"levels.noise":          func(r *Release) { r.Levels.Noise = nil },
			"levels.counts":         func(r *Release) { r.Levels.Counts = r.Levels.Counts[1:] },
			"levels.noise.freedom":  func(r *Release) { r.Levels.Noise.Freedom += 1 - 2*r.Levels.Noise.Freedom },
			"statistics":            func(r *Release) { r.Levels.Sums[1][0]++ },
			"frame.centre":          func(r *Release) { r.Frame.Centre = append(r.Frame.Centre, 0) },
			"steps[0].frame.centre": func(r *Release) { r.Steps[0].Frame = r.Steps[0].Frame.Behind(2) },
			"frame":                 func(r *Release) { r.Frame, r.Radii, r.Steps = nil, nil, nil },
		} {
			r, _ := framedLevels(w.kind, w.nb, rand.New(rand.NewPCG(8, 9)))
			spoil(r)
			err := r.Validate()
			if field == "frame" {
				field = "noise"
			}
			if err == nil || !strings.HasPrefix(err.Error(), field) {
				t.Errorf("%s, %s, %s: %v", w.kind, w.nb, field, err)
			}
		}
		r, _ := framedLevels(w.kind, w.nb, rand.New(rand.NewPCG(8, 9)))
		if r.Noise.Scale *= 0.99; r.Validate() == nil {
			t.Errorf("%s, %s: products with less noise pass", w.kind, w.nb)
		}
	}
}
