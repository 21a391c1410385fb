package release

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/schema"
)

// exactRelease has the sums over rows, without noise, of a design.
func exactRelease(d schema.Design, rows [][]float64) *Release {
	f := d.Frame()
	m := len(f.Half)
	s := make([]float64, Length(m))
	v := make([]float64, m)
	for _, row := range rows {
		f.Scale(v, row)
		for j := range m {
			s[j] += v[j]
			for k := j; k < m; k++ {
				s[Index(m, j, k)] += float64(v[j] * v[k])
			}
		}
	}
	return &Release{
		Format: Format, Schema: d, N: int64(len(rows)),
		Privacy: &Privacy{Epsilon: 1, Neighbours: ReplaceOne}, Noise: Noise{Kind: Laplace, Scale: 99, Sensitivity: 99},
		Statistics: StatisticsFromVector(m, s),
	}
}

func column(name string, lower, upper float64) schema.Column {
	return schema.Column{Name: name, Lower: lower, Upper: upper}
}

func design(intercept bool, columns ...schema.Column) schema.Design {
	p := len(columns) - 1
	return schema.Design{Covariates: columns[:p], Response: columns[p], Intercept: intercept}
}

// A selected release is the release that the selected model would have had
// from the same rows: the sums are the same to the bit, and so is the frame.
func TestSelect(t *testing.T) {
	a, b, c, y := column("a", 0, 4), column("b", -3, 3), column("c", -5, -1), column("y", -2, 2)
	sym := func(c schema.Column, h float64) schema.Column { return column(c.Name, -h, h) }
	source := map[bool]schema.Design{true: design(true, a, b, c, y), false: design(false, a, b, c, y)}
	rng := rand.New(rand.NewPCG(3, 4))
	rows := make([][]float64, 20)
	for i := range rows {
		rows[i] = make([]float64, 4)
		for j, col := range []schema.Column{a, b, c, y} {
			rows[i][j] = col.Lower + rng.Float64()*(col.Upper-col.Lower)
		}
	}
	for _, test := range []struct {
		from    bool // with intercept
		formula string
		want    schema.Design
		at      []int
	}{
		{true, "", design(true, a, b, c, y), []int{0, 1, 2, 3}},
		{false, " ", design(false, a, b, c, y), []int{0, 1, 2, 3}},
		{true, "y ~ .", design(true, a, b, c, y), []int{0, 1, 2, 3}},
		{true, "y ~ b", design(true, b, y), []int{1, 3}},
		{true, "y ~ c + a", design(true, c, a, y), []int{2, 0, 3}},
		{true, "b ~ .", design(true, a, c, y, b), []int{0, 2, 3, 1}},
		{true, "a ~ y", design(true, y, a), []int{3, 0}},
		{true, "y ~ b - 1", design(false, b, y), []int{1, 3}},
		{false, "c ~ a + 0", design(false, a, c), []int{0, 2}},
		{false, "c ~ a + y", design(true, sym(a, 4), y, sym(c, 5)), []int{0, 3, 2}},
	} {
		r := exactRelease(source[test.from], rows)
		before := write(t, r)
		got, err := r.Select(test.formula)
		if err != nil {
			t.Errorf("%q: %v", test.formula, err)
			continue
		}
		sub := make([][]float64, len(rows))
		for i := range rows {
			for _, j := range test.at {
				sub[i] = append(sub[i], rows[i][j])
			}
		}
		want := exactRelease(test.want, sub)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %+v, want %+v", test.formula, got, want)
		}
		if err := got.Validate(); err != nil {
			t.Errorf("%q: %v", test.formula, err)
		}
		have, frame := r.Schema.Frame(), got.Schema.Frame()
		for j, i := range test.at {
			if frame.Centre[j] != have.Centre[i] || frame.Half[j] != have.Half[i] {
				t.Errorf("%q: column %d has another map", test.formula, j)
			}
		}
		// Nothing is shared.
		got.Privacy.Epsilon, got.Statistics.SumX[0], got.Statistics.SumXX[0][0], *got.Statistics.SumYY = 7, 7, 7, 7
		got.Schema.Covariates[0].Name = "changed"
		if write(t, r) != before {
			t.Errorf("%q: the release it was taken from changed", test.formula)
		}
	}
}

func TestSelectRefuses(t *testing.T) {
	r := exactRelease(design(true, column("a", 0, 4), column("b", -3, 3), column("y", -2, 2)), nil)
	for formula, want := range map[string]string{
		"y ~ z":         `no column "z"`,
		"z ~ a":         `no column "z"`,
		"y ~ a*b":       "formula",
		"y ~ y":         "",
		"y ~ a + b - 1": `column "a" was centred, since its bounds 0:4 do not lie symmetrically about 0; make a release with a formula that says "- 1"`,
	} {
		must.Fail(t, must.Err(r.Select(formula)), want)
	}
}

// TestArrange: sums go with their columns, and there and back again is where it was.
func TestArrange(t *testing.T) {
	r := &Release{Format: Format, N: 10, Noise: Noise{Kind: Laplace, Scale: 1},
		Schema: schema.Design{Response: schema.Column{Name: "y", Lower: -1, Upper: 1}, Intercept: true,
			Covariates: []schema.Column{{Name: "u", Lower: -1, Upper: 1}, {Name: "v", Lower: -2, Upper: 1}}},
		Statistics: StatisticsFromVector(3, []float64{1, 2, 3, 11, 12, 13, 22, 23, 33})}
	other := r.Schema
	other.Covariates = []schema.Column{{Name: "v"}, {Name: "u"}}
	got := r.Arrange(&other)
	if err := got.Validate(); err != nil {
		t.Error(err)
	}
	s := got.Statistics
	if s.SumX[0] != 2 || s.SumXX[0][0] != 22 || s.SumXX[0][1] != 12 || s.SumXY[0] != 23 || s.SumY != 3 || *s.SumYY != 33 {
		t.Errorf("%+v", s)
	}
	if got.Schema.Covariates[0].Lower != -2 {
		t.Error("bounds stayed behind")
	}
	back := got.Arrange(&r.Schema).Statistics.Vector()
	for i, v := range r.Statistics.Vector() {
		if back[i] != v {
			t.Errorf("entry %d: %g, not %g", i, back[i], v)
		}
	}
}

func TestCanonicalOrder(t *testing.T) {
	for m := 1; m <= 6; m++ {
		next := m
		for j := range m {
			for k := j; k < m; k++ {
				if Index(m, j, k) != next || Index(m, k, j) != next {
					t.Errorf("m=%d: pair (%d, %d) at %d and %d, want %d", m, j, k, Index(m, j, k), Index(m, k, j), next)
				}
				next++
			}
		}
		if next != Length(m) {
			t.Errorf("m=%d: length %d, want %d", m, Length(m), next)
		}
	}
}

func TestVector(t *testing.T) {
	yy := 9.0
	s := Statistics{
		SumX: []float64{1, 2}, SumXX: [][]float64{{4, 5}, {5, 7}},
		SumY: 3, SumXY: []float64{6, 8}, SumYY: &yy,
	}
	want := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}
	v := s.Vector()
	if !reflect.DeepEqual(v, want) {
		t.Errorf("vector %v, want %v", v, want)
	}
	if back := StatisticsFromVector(3, v); !reflect.DeepEqual(back, s) {
		t.Errorf("back %+v, want %+v", back, s)
	}
}

func TestProgrammersMistakesPanic(t *testing.T) {
	for name, f := range map[string]func(){
		"index":  func() { Index(2, 0, 2) },
		"vector": func() { StatisticsFromVector(2, make([]float64, 3)) },
		"blocks": func() { (&Statistics{SumX: []float64{1}}).Vector() },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}
