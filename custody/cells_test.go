package custody_test

import (
	"context"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/release"
)

// crossedOrder is that of sums by the cells of g and t.
func crossedOrder(t *testing.T, formula string, last ...string) custody.Order {
	t.Helper()
	o := grouped(t, last...)
	o.Design, o.ByLevel, o.Steps, o.Entropy = groupedDesign(t, formula), "g:t", 1, mechanisms.Simulated(rand.New(rand.NewPCG(1, 9)))
	return o
}

// TestByCells: sums by the cells of two factors tell of a model of these, and of one with their products, what sums of its
// columns are, from the file that is written.
func TestByCells(t *testing.T) {
	for _, formula := range []string{"y ~ x + g + t", "y ~ g * t + x", "x ~ t + g"} {
		for _, nb := range []release.Neighbours{release.ReplaceOne, release.AddRemove} {
			o := crossedOrder(t, formula, "d,1,1,1")
			o.Privacy.Epsilon, o.Privacy.Neighbours, o.Path = 1e9, nb, filepath.Join(t.TempDir(), "r.json")
			must.Get(custody.Publish(context.Background(), o))(t)
			r := must.Get(release.ReadFile(o.Path))(t)
			if n, k := len(r.Levels.Sums), len(r.Schema.Covariates); n != 8 || k < 7 || r.LevelNames()[5] != "b:true" {
				t.Errorf("%s: %d levels, %d covariates, %q", formula, n, k, r.LevelNames())
			}
			got := must.Get(r.Select(formula))(t)
			must.Do(t, got.Validate())
			o.ByLevel, o.Path = "", ""
			want := must.Get(custody.Publish(context.Background(), o))(t)
			want = want.Arrange(&got.Schema)
			v := want.Statistics.Vector()
			for i, s := range got.Statistics.Vector() {
				if math.Abs(s-v[i]) > 1e-4 {
					t.Errorf("%s %s: statistic %d of %v is %v, and of rows %v", nb, formula, i, got.Schema.Formula(), s, v[i])
				}
			}
		}
	}
}

// TestByCellsModelRefused: what a model of some of the factors lacks is said of the release's own, and not of those that it names.
func TestByCellsModelRefused(t *testing.T) {
	r := must.Get(custody.Publish(context.Background(), crossedOrder(t, "y ~ x + g + t", "d,1,1,1")))(t)
	for _, formula := range []string{"y ~ gb + x", "y ~ gb", "y ~ t - 1"} {
		if _, err := r.Select(formula); err == nil || !strings.Contains(err.Error(), `by the levels of g:t: `) || !strings.Contains(err.Error(), `some of "g", "t" or none`) {
			t.Errorf("%s: %v", formula, err)
		}
	}
}

// TestByCellsLosesEpsilon: rows in other cells differ as those in other levels of one factor do.
func TestByCellsLosesEpsilon(t *testing.T) {
	of := func(last string) custody.Order { return crossedOrder(t, "y ~ x + g + t", last) }
	losesEpsilon(t, release.ReplaceOne, of, "a,0,1,1", "d,1,1,-1")
	losesEpsilon(t, release.AddRemove, of, "a,0,1,1", "")
}

// TestByCellsInSteps: of several looks the last is by cells.
func TestByCellsInSteps(t *testing.T) {
	o := crossedOrder(t, "y ~ x + g + t")
	o.Steps, o.Privacy.Epsilon = 3, 100
	r, err := custody.Publish(context.Background(), o)
	must.Do(t, err)
	if r, err = r.Select("y ~ t + g + x"); err != nil || len(r.Levels.Coding) != 8 || len(r.Looks()) != 3 {
		t.Fatalf("%v, %+v", err, r)
	}
	must.Do(t, r.Validate())
}

func TestByCellsRefuses(t *testing.T) {
	for _, c := range []struct {
		formula, by, want string
		change            func(*custody.Order)
	}{
		{"y ~ x + g", "g:t", `"t" is no column of categories`, nil},
		{"y ~ x + g + t", "g:x", `"x" is no column of categories`, nil},
		{"y ~ x + g + t", "g:g", "stands twice", nil},
		{"t ~ x + g", "g:t", `"t" is the response`, nil},
		{"y ~ x + g + t", "g,t", `several columns have ":" between them`, nil},
		{"y ~ x + g + t", "g:t", "--per-level is of one factor", func(o *custody.Order) { o.PerLevel = true }},
		{"y ~ x + g + t", "g:t", "--with-moments", func(o *custody.Order) { o.WithMoments = true }},
	} {
		o := crossedOrder(t, c.formula)
		if o.ByLevel = c.by; c.change != nil {
			c.change(&o)
		}
		if _, err := custody.Publish(context.Background(), o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s by %s: %v, not %q", c.formula, c.by, err, c.want)
		}
	}
}

// TestByCellsInParts: parts of the rows have sums by cells, which add up to those of all.
func TestByCellsInParts(t *testing.T) {
	o := crossedOrder(t, "y ~ t + g")
	o.Split, o.Privacy.Epsilon, o.Path = 2, 1e9, filepath.Join(t.TempDir(), "r.parts")
	settled := must.Get(custody.Settle(o))(t)
	parts := must.Get(settled.PublishParts(context.Background()))(t)
	rows := 0.0
	for _, r := range parts {
		r := must.Get(settled.Answer(r))(t)
		for _, count := range r.Levels.Counts {
			rows += count
		}
	}
	if len(parts) != 2 || math.Abs(rows-60) > 1e-6 {
		t.Errorf("%d parts of %v rows", len(parts), rows)
	}
}
