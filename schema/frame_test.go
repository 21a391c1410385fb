package schema

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
)

// tolerance is relative to the sizes of the terms of the sums that are compared.
// The boxes of these tests keep |centre|/half below 30 and have at most four
// terms, so that rounding is below 30·10·2^-53 ≈ 3e-14.
const tolerance = 1e-12

// box returns p+1 bounded columns; away moves the boxes off 0.
func box(p int, away float64, intercept bool) *Design {
	d := &Design{Intercept: intercept, Response: Column{Name: "y", Lower: away * 100, Upper: 50 + away*100}}
	for j := range p {
		lower := -1.5*float64(j+1) + away*10
		d.Covariates = append(d.Covariates, Column{Name: fmt.Sprintf("x%d", j+1), Lower: lower, Upper: lower + 7})
	}
	return d
}

// eachDesign runs f for p = 1 and 3, with and without an intercept, with boxes
// about 0 and away from it.
func eachDesign(t *testing.T, f func(t *testing.T, d *Design, rng *rand.Rand)) {
	for _, p := range []int{1, 3} {
		for _, intercept := range []bool{true, false} {
			for _, away := range []float64{0, 5, -3} {
				t.Run(fmt.Sprintf("p=%d/intercept=%v/away=%v", p, intercept, away), func(t *testing.T) {
					d := box(p, away, intercept)
					must.Do(t, d.Validate())
					f(t, d, rand.New(rand.NewPCG(1, 2)))
				})
			}
		}
	}
}

func normals(rng *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = rng.NormFloat64()
	}
	return v
}

// inBox draws a row uniformly from the box.
func inBox(rng *rand.Rand, d *Design) []float64 {
	var row []float64
	for _, c := range d.Columns() {
		row = append(row, c.Lower+rng.Float64()*(c.Upper-c.Lower))
	}
	return row
}

func wantClose(t *testing.T, what string, got, want, size float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*size) {
		t.Errorf("%s: got %v, want %v (difference %g of %g)", what, got, want, got-want, size)
	}
}

// predict returns θᵀ(1, x) and the size of its terms; θ has no intercept where
// it is as long as x.
func predict(theta, x []float64) (y, size float64) {
	first := len(theta) - len(x)
	if first == 1 {
		y, size = theta[0], math.Abs(theta[0])
	}
	for j, v := range x {
		y += theta[first+j] * v
		size += math.Abs(theta[first+j] * v)
	}
	return y, size
}

func TestScale(t *testing.T) {
	eachDesign(t, func(t *testing.T, d *Design, rng *rand.Rand) {
		f := d.Frame()
		m := len(f.Half)
		scaled, back := make([]float64, m), make([]float64, m)
		for range 200 {
			row := inBox(rng, d)
			f.Scale(scaled, row)
			for j := range row {
				back[j] = f.Centre[j] + f.Half[j]*scaled[j]
				if math.Abs(scaled[j]) > 1 {
					t.Fatalf("%v is outside [-1, 1]", scaled[j])
				}
				wantClose(t, "round trip", back[j], row[j], math.Abs(f.Centre[j])+f.Half[j])
			}
		}
		for j, c := range d.Columns() {
			row := inBox(rng, d)
			clamped := make([]float64, m)
			for outside, edge := range map[float64]float64{
				c.Lower - 1: c.Lower, math.Inf(-1): c.Lower, -math.MaxFloat64: c.Lower,
				c.Upper + 1: c.Upper, math.Inf(1): c.Upper, math.MaxFloat64: c.Upper,
			} {
				row[j] = edge
				f.Scale(scaled, row)
				row[j] = outside
				f.Scale(clamped, row)
				if clamped[j] != scaled[j] {
					t.Errorf("%v scales to %v, its bound %v to %v", outside, clamped[j], edge, scaled[j])
				}
				if f.Intercept {
					wantClose(t, "edge", math.Abs(scaled[j]), 1, 1)
				}
			}
			row[j] = math.NaN()
			f.Scale(scaled, row)
			if !math.IsNaN(scaled[j]) {
				t.Errorf("NaN scales to %v", scaled[j])
			}
		}
	})
}

// Without an intercept 0 stays 0: columns are scaled and never shifted.
func TestScaleWithoutIntercept(t *testing.T) {
	d := &Design{Response: Column{Name: "y", Lower: -8, Upper: 2}, Covariates: []Column{{Name: "x", Lower: 10, Upper: 40}}}
	f := d.Frame()
	got := make([]float64, 2)
	for _, c := range []struct{ x, y, wantX, wantY float64 }{
		{40, -8, 1, -1}, {20, 0, 0.5, 0}, {0, 5, 0.25, 0.25}, {-30, -9, 0.25, -1},
	} {
		f.Scale(got, []float64{c.x, c.y})
		if got[0] != c.wantX || got[1] != c.wantY {
			t.Errorf("(%v, %v): got %v, want (%v, %v)", c.x, c.y, got, c.wantX, c.wantY)
		}
	}
}

// A bare frame, without the box it came from, clamps to Centre ± Half. Bounds of
// any size and place scale into [-1, 1], not an ulp outside.
func TestScaleStaysInside(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	got := make([]float64, 2)
	for range 20000 {
		width := math.Pow(10, 20*rng.Float64()-10)
		lower := rng.NormFloat64() * math.Pow(10, 20*rng.Float64()-10)
		c := Column{Name: "x", Lower: lower, Upper: lower + width}
		if c.checkBounds() != nil {
			continue
		}
		for _, intercept := range []bool{true, false} {
			d := &Design{Response: Column{Name: "y", Lower: 0, Upper: 1}, Covariates: []Column{c}, Intercept: intercept}
			f := d.Frame()
			bare := Frame{Labels: f.Labels, Centre: f.Centre, Half: f.Half, Intercept: intercept}
			for _, v := range []float64{c.Lower, c.Upper, lower + rng.Float64()*width, 1e30 * rng.NormFloat64()} {
				f.Scale(got, []float64{v, 0})
				if math.Abs(got[0]) > 1 {
					t.Fatalf("%+v: %v scales to %v", c, v, got[0])
				}
				bare.Scale(got, []float64{v, 0})
				if math.Abs(got[0]) > 1 {
					t.Fatalf("%+v, bare: %v scales to %v", c, v, got[0])
				}
			}
		}
	}
}

func TestScaleAllocates(t *testing.T) {
	f := box(3, 5, true).Frame()
	row := make([]float64, 4)
	if n := testing.AllocsPerRun(100, func() { f.Scale(row, row) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestShapesPanic(t *testing.T) {
	f := box(1, 0, true).Frame()
	for name, call := range map[string]func(){
		"Scale":           func() { f.Scale(make([]float64, 2), make([]float64, 3)) },
		"ThetaToOriginal": func() { f.ThetaToOriginal(make([]float64, 2), make([]float64, 1)) },
		"ThetaToScaled":   func() { f.ThetaToScaled(make([]float64, 3), make([]float64, 2)) },
		"MuXToOriginal":   func() { f.MuXToOriginal(make([]float64, 2), make([]float64, 1)) },
		"TauToOriginal":   func() { f.TauToOriginal(make([]float64, 1), make([]float64, 4)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s took slices of wrong length", name)
				}
			}()
			call()
		}()
	}
}

func hospital(change func(*Design)) *Design {
	d := &Design{Response: Column{Name: "y", Lower: 0, Upper: 10}, Intercept: true,
		Covariates: []Column{{Name: "age", Lower: 18, Upper: 90}, {Name: "sexf", Lower: 0, Upper: 1, Factor: "sex", Level: "f"}},
		Factors:    []Factor{{Name: "sex", Levels: []string{"m", "f"}}}}
	if change != nil {
		change(d)
	}
	return d
}

// TestHull: boxes are joined, columns matched by name, and the designs stay as they were.
func TestHull(t *testing.T) {
	a := hospital(nil)
	b := hospital(func(d *Design) {
		d.Covariates[0], d.Covariates[1] = d.Covariates[1], Column{Name: "age", Lower: 0, Upper: 60}
		d.Response.Upper = 12
	})
	h := must.Get(Hull([]string{"a.json", "b.json"}, []*Design{a, b}))(t)
	if err := h.Validate(); err != nil {
		t.Error(err)
	}
	age := h.Covariates[0]
	if age.Name != "age" || age.Lower != 0 || age.Upper != 90 || h.Response.Upper != 12 || h.Response.Lower != 0 {
		t.Errorf("hull %+v", h)
	}
	if a.Covariates[0].Lower != 18 || a.Response.Upper != 10 {
		t.Error("the first design was changed")
	}
}

// TestHullOfTruth: a truth value and a number from 0 to 1 are a number together.
func TestHullOfTruth(t *testing.T) {
	number := func(d *Design) { d.Response = Column{Name: "y", Lower: 0, Upper: 1} }
	truth := hospital(func(d *Design) { d.Response = Column{Name: "y", Lower: 0, Upper: 1, Type: typeBoolean} })
	for _, all := range [][]*Design{{hospital(number), truth}, {truth, hospital(number)}} {
		if h, err := Hull([]string{"a.json", "b.json"}, all); err != nil || h.Response.Boolean() {
			t.Errorf("hull %+v, error %v", h, err)
		}
	}
}

func TestHullRefuses(t *testing.T) {
	for what, c := range map[string]struct {
		change func(*Design)
		want   string
	}{
		"response":  {func(d *Design) { d.Response.Name = "z" }, `response of the first is "y"`},
		"intercept": {func(d *Design) { d.Intercept = false }, "has an intercept"},
		"missing":   {func(d *Design) { d.Covariates = d.Covariates[1:] }, `a column "age", the second has not`},
		"more":      {func(d *Design) { d.Covariates = append(d.Covariates, Column{Name: "w", Upper: 1}) }, `a column "w", the first has not`},
		"levels":    {func(d *Design) { d.Factors = []Factor{{Name: "sex", Levels: []string{"m", "f", "x"}}} }, `factor "sex"`},
		"type":      {func(d *Design) { d.Covariates[0] = Column{Name: "age", Upper: 1, Type: typeBoolean} }, `column "age"`},
	} {
		_, err := Hull([]string{"a.json", "b.json"}, []*Design{hospital(nil), hospital(c.change)})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "a.json and b.json") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
