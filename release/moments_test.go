package release

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
)

// momentsByHand go with byHand: two covariates, one vector with the statistics.
const momentsByHand = `"moments":{"noise":{"kind":"laplace","scale":5.5},"exponents":[[3,0],[2,1],[1,2],[0,3],[4,0],[3,1],[2,2],[1,3],[0,4]],"sums":[1,2,3,4,5,6,7,8,9]}`

func TestMomentExponents(t *testing.T) {
	for _, c := range []struct {
		p, least, count int
		first           [][]int
	}{
		{1, 1, 4, [][]int{{1}, {2}, {3}, {4}}},
		{2, 3, 9, [][]int{{3, 0}, {2, 1}, {1, 2}, {0, 3}, {4, 0}}},
		{3, 1, 34, [][]int{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {2, 0, 0}, {1, 1, 0}, {1, 0, 1}, {0, 2, 0}}},
		{3, 3, 25, [][]int{{3, 0, 0}, {2, 1, 0}, {2, 0, 1}, {1, 2, 0}}},
	} {
		got := MomentExponents(c.p, c.least)
		if len(got) != c.count || !reflect.DeepEqual(got[:len(c.first)], c.first) {
			t.Errorf("p = %d, from degree %d: %v", c.p, c.least, got)
		}
	}
}

// withMoments is example with moments as dpreg releases them.
func withMoments(together bool) *Release {
	r := example()
	n := Noise{Kind: Laplace, Scale: 7.375, Sensitivity: 7.375, Lattice: 0x1p-40}
	least := 3
	if !together {
		least = 1
		n.Scale, n.Sensitivity = 10.666666666666668, 5.333333333333334
	}
	r.Noise = n
	if !together {
		n.Scale, n.Sensitivity = 8.652893554, 4.326446777
	}
	n.Lattice = 0x1p-80
	r.Moments = &Moments{Noise: n, Exponents: MomentExponents(1, least)}
	for i := range r.Moments.Exponents {
		r.Moments.Sums = append(r.Moments.Sums, 0.1+float64(i))
	}
	return r
}

func TestMomentsRoundTrip(t *testing.T) {
	for _, together := range []bool{true, false} {
		r := withMoments(together)
		if r.Moments.Together() != together {
			t.Errorf("together: %v", !together)
		}
		rewritten(t, r)
	}
}

func TestMomentsLayout(t *testing.T) {
	const want = `  },
  "moments": {
    "noise": {"kind": "laplace", "scale": 7.375, "sensitivity": 7.375, "lattice": 8.271806125530277e-25},
    "exponents": [[3], [4]],
    "sums": [0.1, 1.1]
  }
}
`
	if got := write(t, withMoments(true)); !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s\nwant at its end\n%s", got, want)
	}
}

func TestMomentsByHand(t *testing.T) {
	good := strings.Replace(byHand, `"n":1e+02`, `"n":100,`+momentsByHand, 1)
	if r, err := Read(strings.NewReader(good)); err != nil || !r.Moments.Together() || r.Moments.Sums[8] != 9 {
		t.Fatalf("%v, %+v", err, r)
	}
	for _, c := range []struct{ old, new, want string }{
		{`[[3,0],`, `[`, "moments.exponents: must be all of degree 3 and 4, or all of degree 1 to 4"},
		{`[3,0],[2,1]`, `[2,1],[3,0]`, "moments.exponents: must be all"},
		{`[3,0]`, `[3]`, "moments.exponents: must be all"},
		{`[3,0]`, `[3.5,0]`, "moments.exponents[0][0]: must be a whole number"},
		{`[3,0]`, `3`, "moments.exponents[0]: must be an array"},
		{`,8,9]}`, `,8]}`, "moments.sums: must have 9 entries"},
		{`,8,9]}`, `,8,1e999]}`, "moments.sums[8]: a number out of range"},
		{`,8,9]}`, `,8,9],"x":1}`, "moments.x: unknown field"},
		{`"moments":{"noise":{"kind":"laplace"`, `"moments":{"noise":{"kind":"gaussian"`, "moments.noise.kind: must be \"laplace\""},
		{`"moments":{"noise":{"kind":"laplace","scale":5.5`, `"moments":{"noise":{"kind":"laplace","scale":0`, "moments.noise.scale: must be a positive"},
		{`"moments":{"noise":{"kind":"laplace","scale":5.5`, `"moments":{"noise":{"kind":"laplace","scale":6`, "moments.noise.scale: must be 5.5"},
		{`"moments":{"noise":{"kind":"laplace","scale":5.5`, `"moments":{"noise":{"kind":"laplace","sensitivity":6,"scale":5.5`, "moments.noise.sensitivity: must be that"},
	} {
		wantUnread(t, good, c.old, c.new, c.want)
	}
}

// The claim is that of both vectors.
func TestMomentsClaim(t *testing.T) {
	for name, c := range map[string]struct {
		together bool
		edit     func(r *Release)
		field    string
	}{
		"together": {true, func(*Release) {}, ""},
		"apart":    {false, func(*Release) {}, ""},
		"together, the statistics' sensitivity": {true, func(r *Release) {
			r.Noise.Sensitivity, r.Noise.Scale = 5.5, 5.5
			r.Moments.Noise = r.Noise
		}, "noise.sensitivity"},
		"apart, all of epsilon on the statistics": {false, func(r *Release) { r.Noise.Scale = 5.4 }, "noise.scale"},
		"apart, moments with too little noise":    {false, func(r *Release) { r.Moments.Noise.Scale = 8.6 }, "noise.scale"},
		"apart, uneven":                           {false, func(r *Release) { r.Noise.Scale, r.Moments.Noise.Scale = 7.2, 17 }, ""},
		"apart, sensitivity too small":            {false, func(r *Release) { r.Moments.Noise.Sensitivity = 4.3 }, "moments.noise.sensitivity"},
		"apart, sensitivity not stated":           {false, func(r *Release) { r.Moments.Noise.Sensitivity = 0 }, ""},
		"apart, not stated and too little noise": {false, func(r *Release) {
			r.Moments.Noise.Sensitivity, r.Moments.Noise.Scale = 0, 8.6
		}, "noise.scale"},
		"apart, gaussian": {false, func(r *Release) { // √(8/σ² + 8/σ²) = 4/σ, as 2√2/σ with σ 10.552·√2
			r.Privacy.Delta = 1e-5
			r.Noise = Noise{Kind: Gaussian, Scale: 15, Sensitivity: 2.8284271247461903}
			r.Moments.Noise = r.Noise
		}, ""},
		"apart, gaussian, too little noise": {false, func(r *Release) {
			r.Privacy.Delta = 1e-5
			r.Noise = Noise{Kind: Gaussian, Scale: 14, Sensitivity: 2.8284271247461903}
			r.Moments.Noise = r.Noise
		}, "noise.scale"},
	} {
		r := withMoments(c.together)
		c.edit(r)
		wantInvalid(t, name, r, c.field)
	}
}

// A sub-model keeps the moments of its covariates, in their order; where the old
// response is a covariate, there are none.
func TestSelectMoments(t *testing.T) {
	r := must.Get(Read(strings.NewReader(strings.Replace(byHand, `"n":1e+02`, `"n":100,`+momentsByHand, 1))))(t)
	for formula, want := range map[string][]float64{
		"":          {1, 2, 3, 4, 5, 6, 7, 8, 9},
		"y ~ b + a": {4, 3, 2, 1, 9, 8, 7, 6, 5},
		"y ~ b":     {4, 9},
		"a ~ b":     {4, 9},
		"a ~ y":     nil,
		"b ~ a + y": nil,
	} {
		got := must.Get(r.Select(formula))(t)
		if err := got.Validate(); err != nil {
			t.Errorf("%s: %v", formula, err)
		}
		if want == nil {
			if got.Moments != nil {
				t.Errorf("%s: %+v", formula, got.Moments)
			}
			continue
		}
		if !slices.Equal(got.Moments.Sums, want) {
			t.Errorf("%s: %v, not %v", formula, got.Moments.Sums, want)
		}
	}
}
