package release

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/schema"
)

// example is the release of DESIGN's format: one covariate, Laplace noise.
func example() *Release {
	yy := 40.5
	return &Release{
		Format: Format,
		Schema: schema.Design{
			Response:   schema.Column{Name: "y", Lower: -1, Upper: 1},
			Covariates: []schema.Column{{Name: "x", Lower: -1, Upper: 1}},
			Intercept:  true,
		},
		Privacy: &Privacy{Epsilon: 1, Neighbours: ReplaceOne},
		N:       100,
		Noise:   Noise{Kind: Laplace, Scale: 5.333333333333333, Sensitivity: 5.333333333333333, Lattice: 0x1p-40},
		Statistics: Statistics{
			SumX: []float64{1.5}, SumXX: [][]float64{{30.25}},
			SumY: -2.5, SumXY: []float64{7}, SumYY: &yy,
		},
	}
}

// random is a release of m columns with statistics of all magnitudes.
func random(m int, rng *rand.Rand) *Release {
	r := example()
	r.Schema.Covariates = nil
	for j := range m - 1 {
		name := "x" + strings.Repeat("é", j%3) + string(rune('a'+j))
		r.Schema.Covariates = append(r.Schema.Covariates, schema.Column{Name: name, Lower: -rng.Float64(), Upper: rng.Float64() + 1e-3})
	}
	v := make([]float64, Length(m))
	for i := range v {
		v[i] = math.Ldexp(rng.NormFloat64(), rng.IntN(200)-100)
	}
	r.Statistics = StatisticsFromVector(m, v)
	r.Noise.Sensitivity = 1000 * float64(m)
	r.Noise.Scale = r.Noise.Sensitivity * (1 + rng.Float64())
	return r
}

// wantInvalid asks Validate for an error in the field that want begins with, and for none where it is empty.
func wantInvalid(t *testing.T, name string, r *Release, want string) {
	t.Helper()
	var of *FieldError
	field, says, _ := strings.Cut(want, ": ")
	err := r.Validate()
	if (err == nil) != (want == "") || err != nil && (!errors.As(err, &of) || of.Field != field || !strings.HasPrefix(of.Err.Error(), says)) {
		t.Errorf("%s: error %v, want %q", name, err, want)
	}
}

// wantUnread asks Read for an error that begins with want, of a file in which one text stands for another.
func wantUnread(t *testing.T, file, old, with, want string) {
	t.Helper()
	bad := strings.Replace(file, old, with, 1)
	if bad == file {
		t.Fatalf("nothing to replace: %s", old)
	}
	if r, err := Read(strings.NewReader(bad)); r != nil || err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%.80s: error %v, want %q", with, err, want)
	}
}

func write(t testing.TB, r *Release) string {
	t.Helper()
	var b bytes.Buffer
	n := must.Get(r.WriteTo(&b))(t)
	if n != int64(b.Len()) {
		t.Errorf("WriteTo returned %d, wrote %d bytes", n, b.Len())
	}
	return b.String()
}

// rewritten asks that what was written is read, and written again, as it was, and gives the text and what was read.
func rewritten(t testing.TB, r *Release) (text string, back *Release) {
	t.Helper()
	text = write(t, r)
	back, err := Read(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if !reflect.DeepEqual(back, r) {
		t.Errorf("read back as %+v, written was %+v", back, r)
	}
	if second := write(t, back); second != text {
		t.Errorf("second writing differs:\n%s\n%s", text, second)
	}
	return text, back
}

func TestRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	gaussian := random(3, rng)
	gaussian.Noise.Kind, gaussian.Privacy.Delta = Gaussian, 1e-6
	gaussian.Noise.Scale *= 5
	addRemove := random(3, rng)
	addRemove.Privacy.Neighbours, addRemove.NNoise, addRemove.N = AddRemove, 1e4, -7
	byHand := random(4, rng)
	byHand.Privacy, byHand.Noise.Sensitivity, byHand.Noise.Lattice = nil, 0, 0
	simulated := random(2, rng)
	simulated.Simulated, simulated.Schema.Intercept = true, false
	simulated.Schema.Response.Name = "a <b> & \"c\" \\ \u200d 名"
	extreme := example()
	extreme.Statistics.SumX[0], extreme.Statistics.SumY = math.Copysign(0, -1), math.MaxFloat64
	extreme.Statistics.SumXY[0] = math.SmallestNonzeroFloat64
	for _, r := range []*Release{example(), random(9, rng), gaussian, addRemove, byHand, simulated, extreme} {
		rewritten(t, r)
	}
}

func TestLayout(t *testing.T) {
	const want = `{
  "format": "dpreg-release/1",
  "schema": {
    "response": {"name": "y", "lower": -1, "upper": 1},
    "covariates": [
      {"name": "x", "lower": -1, "upper": 1}
    ],
    "intercept": true
  },
  "privacy": {"epsilon": 1, "delta": 0, "neighbours": "replace-one"},
  "n": 100,
  "noise": {"kind": "laplace", "scale": 5.333333333333333, "sensitivity": 5.333333333333333, "lattice": 9.094947017729282e-13},
  "statistics": {
    "sum_x": [1.5],
    "sum_xx": [
      [30.25]
    ],
    "sum_y": -2.5,
    "sum_xy": [7],
    "sum_yy": 40.5
  }
}
`
	if got := write(t, example()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestAnswers(t *testing.T) {
	r := example()
	if err := r.Answers(&r.Schema, *r.Privacy, Laplace, 1); err != nil {
		t.Error(err)
	}
	asked := func(change func(d *schema.Design, p *Privacy, k *Kind)) error {
		e := example()
		kind := Laplace
		change(&e.Schema, e.Privacy, &kind)
		return r.Answers(&e.Schema, *e.Privacy, kind, 1)
	}
	for want, change := range map[string]func(d *schema.Design, p *Privacy, k *Kind){
		"epsilon":       func(d *schema.Design, p *Privacy, k *Kind) { p.Epsilon = 0.5 },
		"delta":         func(d *schema.Design, p *Privacy, k *Kind) { p.Delta = 1e-6 },
		"neighbours":    func(d *schema.Design, p *Privacy, k *Kind) { p.Neighbours = AddRemove },
		"noise":         func(d *schema.Design, p *Privacy, k *Kind) { *k = Gaussian },
		"intercept":     func(d *schema.Design, p *Privacy, k *Kind) { d.Intercept = false },
		"columns":       func(d *schema.Design, p *Privacy, k *Kind) { d.Covariates = nil },
		"in this order": func(d *schema.Design, p *Privacy, k *Kind) { d.Response.Name = "z" },
		"bounds":        func(d *schema.Design, p *Privacy, k *Kind) { d.Covariates[0].Upper = 2 },
	} {
		must.Fail(t, asked(change), want)
	}
	looked := framed(2, Gaussian, ReplaceOne, rand.New(rand.NewPCG(1, 2)))
	if err := looked.Answers(&looked.Schema, *looked.Privacy, Gaussian, 3); err != nil {
		t.Error(err)
	}
	must.Fail(t, looked.Answers(&looked.Schema, *looked.Privacy, Gaussian, 1), "looks at the rows: 3, not 1")
	r.Simulated = true
	if r.Answers(&r.Schema, *r.Privacy, Laplace, 1) == nil {
		t.Error("a simulated release may not serve as a real one")
	}
	r.Simulated, r.Privacy = false, nil
	if r.Answers(&r.Schema, Privacy{}, Laplace, 1) == nil {
		t.Error("a release that states no privacy may not serve as one that does")
	}
}

func TestWarnings(t *testing.T) {
	r := example()
	if w := r.Warnings(); len(w) != 0 {
		t.Errorf("a complete release warns: %q", w)
	}
	expect := func(words string) {
		t.Helper()
		if w := strings.Join(r.Warnings(), "\n"); !strings.Contains(w, words) {
			t.Errorf("warnings %q do not say %q", w, words)
		}
	}
	r.Simulated = true
	expect("simulated")
	r.Noise.Sensitivity = 0
	expect("taken on trust")
	r.Noise.Scale = 1
	expect("too small")
	r.Noise.Kind, r.Privacy.Delta = Gaussian, 1e-6
	expect("too small for epsilon 1 and delta")
	r.Noise.Scale = 12
	expect("taken on trust")
	r.Privacy = nil
	expect("replace-one neighbours and a public n are assumed")
	if r.Neighbours() != ReplaceOne {
		t.Errorf("neighbours %q assumed", r.Neighbours())
	}
}

// Sums may be those of n rows and noise, or lie a little outside; those of a mistyped n, or of a typing error, are refused.
func TestReach(t *testing.T) {
	made := func(change func(*Release)) *Release {
		r := example()
		r.N = 1000
		change(r)
		return r
	}
	for want, r := range map[string]*Release{
		"":                                 made(func(r *Release) { r.Statistics.SumX[0] = 10*1000 + 199*r.Noise.SD() }),
		`statistics: the sum of "y" is -1`: made(func(r *Release) { r.Statistics.SumY = -1e7 }),
		`"y" × "y" is -`:                   made(func(r *Release) { *r.Statistics.SumYY = -201 * r.Noise.SD() }),
		"which n = 1 rows":                 made(func(r *Release) { r.N, r.Statistics.SumX[0] = 1, 11+200*r.Noise.SD() }),
		"levels.counts[1]: the sum of rows is -": made(func(r *Release) {
			r.Levels = &Levels{Factor: r.Schema.Covariates[0].Name, Counts: []float64{1000, -201 * r.Noise.SD()}, Sums: [][]float64{{0}, {0}}}
		}),
	} {
		if err := r.CheckReach(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q wanted, %v", want, err)
		}
	}
}
