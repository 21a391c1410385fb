package release

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/schema"
)

// framed is a release of m columns, of two looks before the last, whose claim holds with
// little to spare: ε = 1, and δ = 1e-6 of Gaussian noise. Statistics are of no rows.
func framed(m int, kind Kind, nb Neighbours, rng *rand.Rand) *Release {
	r := &Release{Format: FormatFrame, Privacy: &Privacy{Epsilon: 1, Neighbours: nb}, N: 1000}
	for j := range m {
		r.Schema.Covariates = append(r.Schema.Covariates, schema.Column{Name: string(rune('a' + j)), Lower: -2, Upper: 2})
	}
	r.Schema.Response, r.Schema.Covariates = r.Schema.Covariates[m-1], r.Schema.Covariates[:m-1]
	r.Schema.Response.Name, r.Schema.Intercept = "y", true
	if kind == Gaussian {
		r.Privacy.Delta = 1e-6
	}
	var looks []Look
	for t, share := range []float64{0.15, 0.25, 0.6} {
		f := &Frame{Centre: make([]float64, m), Matrix: make([][]float64, m), Radius: math.Sqrt(float64(m)) + float64(t), Weight: 1 + float64(t)/4}
		for j := range m {
			f.Matrix[j] = make([]float64, j+1)
			f.Centre[j] = math.Round(1000*(rng.Float64()-0.5)) / 1000
			for k := range j {
				f.Matrix[j][k] = rng.NormFloat64()
			}
			f.Matrix[j][j] = 1 + 4*rng.Float64()
		}
		l := Look{Frame: f, Radii: &Radii{Least: -2, Counts: []int64{500, 300, 100, -3, 12}}, Statistics: StatisticsFromVector(m, make([]float64, Length(m)))}
		look(&l, kind, nb, share)
		looks = append(looks, l)
	}
	last := looks[2]
	r.Frame, r.Radii, r.Noise, r.Statistics, r.NNoise, r.Steps = last.Frame, last.Radii, last.Noise, last.Statistics, last.NNoise, looks[:2]
	r.Frame.Lost = 12.5
	return r
}

// look gives a look the noise that a share of the budget buys, a fifth of it for its radii.
func look(l *Look, kind Kind, nb Neighbours, share float64) {
	up := func(x float64) float64 { return x * (1 + 1e-14) }
	f, d, m := l.Frame, 1.0, len(l.Frame.Centre)
	if nb == ReplaceOne {
		d = 2
	}
	delta := up((f.Weight*f.Weight + f.Radius*f.Radius) * math.Sqrt(d))
	l.Noise = Noise{Kind: kind, Sensitivity: delta, Lattice: 0x1p-30}
	if kind == Ball {
		sums := 0.8
		if nb == AddRemove {
			sums, l.NNoise = 0.7, up(1/(0.1*share))
		}
		l.Noise.Scale, l.Radii.Scale, l.Noise.Freedom = up(delta/(sums*share)), up(d/(0.2*share)), float64(Length(m)+1)
	} else {
		const mu = 0.2367 // that has δ = 1e-6 at ε = 1
		l.Noise.Scale, l.Radii.Scale = up(delta/(mu*math.Sqrt(0.8*share))), up(math.Sqrt(d)/(mu*math.Sqrt(0.2*share)))
	}
	l.Noise.Cross, l.Noise.Linear = up(l.Noise.Scale/math.Sqrt2), up(l.Noise.Scale/math.Sqrt2/f.Weight)
	if nb == AddRemove {
		l.N = 990
		if kind == Gaussian {
			l.NNoise = up(l.Noise.Scale / f.Weight / f.Weight)
		}
	}
}

// ways are the laws of noise and the relations of neighbours in a frame.
var ways = []struct {
	kind Kind
	nb   Neighbours
}{{Gaussian, ReplaceOne}, {Gaussian, AddRemove}, {Ball, ReplaceOne}, {Ball, AddRemove}}

func TestFrameRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, w := range ways {
		r := framed(3, w.kind, w.nb, rng)
		byHand := framed(2, w.kind, w.nb, rng)
		byHand.Steps, byHand.Radii, byHand.Noise.Sensitivity, byHand.Noise.Lattice, byHand.Frame.Lost = nil, nil, 0, 0, 0
		for _, r := range []*Release{r, byHand} {
			rewritten(t, r)
		}
	}
}

// Each fault that would break the promise is refused where it is.
func TestFrameClaim(t *testing.T) {
	down := 1 - 1e-11
	short := func(x *float64) { *x /= math.Sqrt2 }
	all := func(n *Noise, by float64) { n.Scale, n.Cross, n.Linear = n.Scale*by, n.Cross*by, n.Linear*by }
	for _, c := range []struct {
		name  string
		edit  func(r *Release)
		want  string // what the error begins with
		noisy bool   // of add-remove alone
	}{
		{"as it should be", func(*Release) {}, "", false},
		{"noise √2 too small", func(r *Release) { all(&r.Noise, math.Sqrt2/2) }, "privacy: ", false},
		{"noise of a step √2 too small", func(r *Release) { all(&r.Steps[0].Noise, math.Sqrt2/2) }, "privacy: ", false},
		{"noise on squares alone √2 too small", func(r *Release) { short(&r.Noise.Scale) }, "noise.cross: ", false},
		{"noise on products √2 too small", func(r *Release) { short(&r.Steps[1].Noise.Cross) }, "steps[1].noise.cross: ", false},
		{"and by little", func(r *Release) { r.Steps[1].Noise.Cross *= down }, "steps[1].noise.cross: ", false},
		{"noise on linear sums without κ", func(r *Release) { r.Steps[1].Noise.Linear *= r.Steps[1].Frame.Weight * math.Sqrt2 }, "steps[1].noise.linear: ", false},
		{"and by little", func(r *Release) { r.Noise.Linear *= down }, "noise.linear: ", false},
		{"noise on products too large", func(r *Release) { r.Noise.Cross *= 1.1 }, "noise.cross: ", false},
		{"noise on n", func(r *Release) { r.NNoise *= down }, "n_noise: ", true},
		{"noise on n of a step", func(r *Release) { r.Steps[1].NNoise = r.Steps[1].Noise.Scale * 0.6 }, "steps[1].n_noise: ", true},
		{"κ forgotten", func(r *Release) { r.Noise.Sensitivity -= r.Frame.Weight * r.Frame.Weight }, "noise.sensitivity: ", false},
		{"sensitivity √2 too small", func(r *Release) { short(&r.Steps[0].Noise.Sensitivity) }, "steps[0].noise.sensitivity: ", false},
		{"a larger radius", func(r *Release) { r.Frame.Radius *= 1 + 1e-11 }, "noise.sensitivity: ", false},
		{"radii left out of the budget", func(r *Release) { all(&r.Steps[1].Noise, 0.9) }, "privacy: ", false},
		{"radii with too little noise", func(r *Release) { r.Steps[0].Radii.Scale /= 3 }, "privacy: ", false},
		{"a step twice", func(r *Release) { r.Steps = append(r.Steps, r.Steps[0]) }, "privacy: ", false},
		{"less ε", func(r *Release) { r.Privacy.Epsilon *= 0.98 }, "privacy: ", false},
		{"noise far too small", func(r *Release) { all(&r.Noise, 1e-12) }, "privacy: ", false},
	} {
		for _, w := range ways {
			r := framed(3, w.kind, w.nb, rand.New(rand.NewPCG(5, 6)))
			if c.noisy && w.nb == ReplaceOne {
				continue
			}
			c.edit(r)
			if c.noisy && w.kind == Ball { // n has a part of ε
				c.want = "privacy: "
			}
			err := r.Validate()
			if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%s, %s, %s: error %v, want %q", c.name, w.kind, w.nb, err, c.want)
			}
			if err != nil && c.want == "privacy: " && !strings.Contains(err.Error(), "steps[1].radii ") {
				t.Errorf("%s: error %v does not say what each query spends", c.name, err)
			}
		}
	}
	for _, w := range ways {
		r := framed(3, w.kind, w.nb, rand.New(rand.NewPCG(5, 6)))
		for scale, want := range map[float64]string{1: "taken on trust", 0.5: "is too small for epsilon 1"} {
			r.Steps[0].Noise.Sensitivity = 0
			all(&r.Steps[0].Noise, scale)
			r.Steps[0].NNoise *= scale
			if err, got := r.Validate(), strings.Join(r.Warnings(), "\n"); err != nil || !strings.Contains(got, want) {
				t.Errorf("%s, %s: warnings %q do not say %q, %v", w.kind, w.nb, got, want, err)
			}
			r = framed(3, w.kind, w.nb, rand.New(rand.NewPCG(5, 6)))
		}
	}
}

// Each case spoils a field; the error must begin so.
func TestFrameRefuses(t *testing.T) {
	for _, c := range []struct {
		kind Kind
		edit func(r *Release)
		want string
	}{
		{Gaussian, func(r *Release) { r.Format = Format }, `frame: only in "dpreg-release/2"`},
		{Gaussian, func(r *Release) { r.Frame = nil }, `frame: missing`},
		{Gaussian, func(r *Release) { r.Format, r.Frame = Format, nil }, `radii: only in a release that has a "frame"`},
		{Gaussian, func(r *Release) { r.Format, r.Frame, r.Radii = Format, nil, nil }, `steps: only in`},
		{Gaussian, func(r *Release) { r.Format, r.Frame, r.Radii, r.Steps = Format, nil, nil, nil }, `noise.cross: only in`},
		{Ball, func(r *Release) { r.Format, r.Frame, r.Radii, r.Steps = Format, nil, nil, nil }, `noise.kind: must be "laplace" or "gaussian", not "ball"`},
		{Ball, func(r *Release) { r.Noise.Kind = Laplace }, `noise.kind: must be "ball" or "gaussian" in a frame, not "laplace"`},
		{Ball, func(r *Release) { r.Privacy.Delta = 1e-6 }, `privacy.delta: must be 0`},
		{Ball, func(r *Release) { r.Noise.Freedom-- }, `noise.freedom: must be a whole number`},
		{Ball, func(r *Release) { r.Steps[0].Noise.Freedom += 0.5 }, `steps[0].noise.freedom: must be a whole number`},
		{Gaussian, func(r *Release) { r.Noise.Freedom = 10 }, `noise.freedom: only where "kind" is "ball"`},
		{Gaussian, func(r *Release) { r.Noise.Cross = 0 }, `noise.cross: must be scale/√2 = `},
		{Gaussian, func(r *Release) { r.Steps[1].Frame = nil }, `steps[1].frame: missing`},
		{Gaussian, func(r *Release) { r.Steps[1].Noise.Kind = Ball }, `steps[1].noise.kind: must be "gaussian"`},
		{Gaussian, func(r *Release) { r.Steps[1].N = 1000 }, `steps[1].n: only with "neighbours": "add-remove"`},
		{Gaussian, func(r *Release) { r.Steps[1].NNoise = 3 }, `steps[1].n_noise: only with`},
		{Gaussian, func(r *Release) { r.Steps[1].Statistics.SumYY = nil }, `steps[1].statistics.sum_yy: must be a number`},
		{Gaussian, func(r *Release) { r.Steps[1].Statistics.SumX[1] = math.NaN() }, `steps[1].statistics.sum_x[1]: must be a finite number`},
		{Gaussian, func(r *Release) { r.Steps[1].Frame.Matrix[2][1] = math.Inf(1) }, `steps[1].frame.matrix[2][1]: must be a finite number`},
		{Gaussian, func(r *Release) { r.Steps[1].Frame.Matrix[2] = []float64{1, 2} }, `steps[1].frame.matrix[2]: must have 3 entries`},
		{Gaussian, func(r *Release) { r.Frame.Matrix[1][1] = 0 }, `frame.matrix[1][1]: must be positive`},
		{Gaussian, func(r *Release) { r.Frame.Matrix[1] = []float64{1e200, 1e-200} }, `frame.matrix: it or its inverse`},
		{Gaussian, func(r *Release) { r.Frame.Matrix = r.Frame.Matrix[:2] }, `frame.matrix: must have 3 rows`},
		{Gaussian, func(r *Release) { r.Frame.Centre = r.Frame.Centre[:2] }, `frame.centre: must have 3 entries`},
		{Gaussian, func(r *Release) { r.Frame.Centre[1] = 2 }, `frame.centre[1]: 2 lies outside the box`},
		{Gaussian, func(r *Release) { r.Frame.Radius = 1e-300 }, `frame.radius: must be from 2^-24`},
		{Gaussian, func(r *Release) { r.Frame.Lost = 1e308 }, `frame.lost: must be a positive number`},
		{Gaussian, func(r *Release) { r.Steps[0].Frame.Matrix[2][0] = 1e300 }, `steps[0].frame.matrix: it or its inverse`},
		{Gaussian, func(r *Release) { r.Frame.Centre[2] = math.NaN() }, `frame.centre[2]: must be a finite number`},
		{Gaussian, func(r *Release) { r.Frame.Radius = 0 }, `frame.radius: must be from 2^-24`},
		{Gaussian, func(r *Release) { r.Frame.Weight = math.Inf(1) }, `frame.weight: must be from 2^-24`},
		{Gaussian, func(r *Release) { r.Frame.Lost = -1 }, `frame.lost: must be a positive`},
		{Gaussian, func(r *Release) { r.Radii.Scale = 0 }, `radii.scale: must be a positive`},
		{Gaussian, func(r *Release) { r.Radii.Counts = r.Radii.Counts[:1] }, `radii.counts: must have at least 2`},
		{Gaussian, func(r *Release) { r.Radii.Least = 1998 }, `radii.counts: must have at least 2 entries, and`},
		{Gaussian, func(r *Release) { r.Steps[0].Radii.Least = -3000 }, `steps[0].radii.least: must be in`},
		{Gaussian, func(r *Release) { r.Steps[0].Radii.Counts[1] = 1 << 60 }, `steps[0].radii.counts[1]: `},
		{Gaussian, func(r *Release) { r.Statistics.SumYY, r.Withheld = nil, []string{WithheldYY} }, `withheld: not with "frame"`},
		{Gaussian, func(r *Release) { r.Moments = &Moments{} }, `moments: not with "frame"`},
	} {
		r := framed(3, c.kind, ReplaceOne, rand.New(rand.NewPCG(5, 6)))
		c.edit(r)
		wantInvalid(t, string(c.kind), r, c.want)
	}
	r := framed(3, Ball, AddRemove, rand.New(rand.NewPCG(5, 6)))
	r.Steps[0].NNoise = 0
	wantInvalid(t, "no noise on n", r, "steps[0].n_noise: add-remove neighbours need")
	text := write(t, framed(3, Gaussian, ReplaceOne, rand.New(rand.NewPCG(5, 6))))
	for old, c := range map[string]struct{ new, want string }{
		`"weight": 1`:        {`"kappa": 1`, "frame.kappa: unknown field"},
		`"radius": `:         {`"weight": `, "steps[0].frame.weight: a key stands twice"},
		`"counts": [500, `:   {`"counts": [500.5, `, "radii.counts[0]: must be a whole number"},
		`"lost": 12.5`:       {`"lost": 0`, "frame.lost: must be a positive number, not 0"},
		`"least": -2`:        {`"least": "-2"`, "radii.least: must be a number"},
		"\"steps\": [\n    ": {"\"steps\": [null,", "steps[0]: must be an object"},
	} {
		if _, err := Read(strings.NewReader(strings.Replace(text, old, c.new, 1))); err == nil || !strings.HasPrefix(strings.TrimPrefix(err.Error(), "steps[0]."), strings.TrimPrefix(c.want, "steps[0].")) {
			t.Errorf("%s: error %v, want %q", c.new, err, c.want)
		}
	}
}

func TestBeyond(t *testing.T) {
	r := &Radii{Least: 1, Counts: []int64{500, 300, 100, -3, 12}, Scale: 4} // ‖u‖² up to √2, 2, 2√2, 4 and beyond
	for radius, want := range map[float64][2]float64{0.5: {909, 5}, 1.19: {409, 4}, math.Sqrt2: {109, 3}, 2: {12, 1}, 3: {0, 0}} {
		for kind, sd := range map[Kind]float64{Gaussian: 4, Ball: 4 * math.Sqrt2} {
			if rows, got := r.Beyond(radius, kind); rows != want[0] || math.Abs(got-sd*math.Sqrt(want[1])) > 1e-12 {
				t.Errorf("radius %v, %s: %v rows, sd %v", radius, kind, rows, got)
			}
		}
	}
}

// What Fits lets pass is no larger than a file may be, whatever its numbers.
func TestFits(t *testing.T) {
	const m, long = 20, -1.2345678901234567e-308
	r, z := framed(m, Gaussian, ReplaceOne, rand.New(rand.NewPCG(1, 2))), slices.Repeat([]float64{long}, Length(m))
	r.Statistics, r.Steps[0].Statistics, r.Steps[1].Statistics = StatisticsFromVector(m, z), StatisticsFromVector(m, z), StatisticsFromVector(m, z)
	for _, l := range r.Looks() {
		for j, row := range l.Frame.Matrix {
			copy(row[:j], z)
		}
	}
	if n, most := len(write(t, r)), 3*26*(m*m+Length(m)); n > most+4000 || n < most*8/10 {
		t.Errorf("%d bytes, at most %d foreseen", n, most)
	}
	for looks, m := range map[int]int{1: 1000, 2: 900, 3: 740, 8: 450} {
		if err := Fits(m, looks); err != nil {
			t.Error(err)
		}
		if err := Fits(m+600, looks); !errors.Is(err, errTooLarge) {
			t.Errorf("%d looks at %d columns: %v", looks, m+600, err)
		}
	}
}
