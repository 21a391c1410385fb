package custody_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// withTerms is an order of rows of x, g and y for a model with terms.
func withTerms(t *testing.T, formula string, lines ...string) custody.Order {
	t.Helper()
	s := &schema.Schema{Columns: []schema.Column{{Name: "x", Lower: 1, Upper: 4}, {Name: "g", Type: "string", Levels: []string{"u", "v"}}, {Name: "y", Lower: 0, Upper: 9}}}
	d := must.Get(s.Design(formula))(t)
	return custody.Order{NoLedger: true, Rows: rowsOf(t, "x,g,y", lines...), Design: d, Privacy: release.Privacy{Epsilon: 1e6, Neighbours: release.ReplaceOne}, Steps: 1}
}

// A release of terms has the sums of what the terms say, of values that are clamped first, in
// one look and, about, in several.
func TestPublishTerms(t *testing.T) {
	var lines []string
	var xg, logs, squares float64
	for i := range 3000 {
		x, y, g := 1+3*math.Abs(math.Sin(float64(i))), 4+4*math.Cos(float64(7*i)), i%2
		lines = append(lines, fmt.Sprintf("%v,%s,%v", x, []string{"u", "v"}[g], y))
		// Σv of the columns, in scaled units.
		xg += (x*float64(g) - 2) / 2
		logs += (math.Log(y+1) - math.Log(10)/2) / (math.Log(10) / 2)
		squares += (x*x - 8.5) / 7.5
	}
	o := withTerms(t, "log(y + 1) ~ I(x^2) + x:g", lines...)
	d := *o.Design
	d.Covariates = append(d.Covariates[:1:1], d.Covariates[2]) // x:gv alone
	for _, steps := range []int{1, 3} {
		o := o
		o.Design, o.Steps = &d, steps
		r := must.Get(custody.Publish(t.Context(), o))(t)
		got := r.Scaled()
		for i, want := range []float64{squares, xg, logs} {
			if off := math.Abs(got[i] - want); off > map[int]float64{1: 0.1, 3: 5}[steps] {
				t.Errorf("%d steps: the sum of %s is %v, want %v", steps, d.Columns()[i].Name, got[i], want)
			}
		}
	}
}

// One row moves the exact sums by no more than its columns' bounds allow, whatever its cells are:
// a term of them is in its bounds before it is summed.
func TestTermsSensitivity(t *testing.T) {
	cells := []string{"1", "4", "-1e300", "1e300", "0", "2.5", "1e-300"}
	for _, formula := range []string{"log(y + 1) ~ log(x) + I(x^2) + x:g", "y ~ I(1/x) + sqrt(x) + exp(x):g", "log1p(y) ~ scale(x) + I(x^-3)"} {
		sums := func(row string) []float64 {
			o := withTerms(t, formula, "2,u,3", row)
			s := must.Get(custody.Exact(t.Context(), o))(t)
			return s.Vector()
		}
		m := len(withTerms(t, formula, "2,u,3").Design.Columns())
		limit, _ := release.Sums.Sensitivity(m, release.ReplaceOne)
		most, _ := limit.Float64()
		var all [][]float64
		for _, x := range cells {
			for _, g := range []string{"u", "v"} {
				for _, y := range cells {
					all = append(all, sums(x+","+g+","+y))
				}
			}
		}
		for i, a := range all {
			for _, b := range all[:i] {
				l1 := 0.0
				for k := range a {
					l1 += math.Abs(a[k] - b[k])
				}
				if !(l1 <= most*(1+1e-12)) {
					t.Fatalf("%s: two rows are %v apart, and the sensitivity is %v", formula, l1, most)
				}
			}
		}
	}
}

// Bounds that are to be found are not those that terms are made of.
func TestTermsWithoutBounds(t *testing.T) {
	o := withTerms(t, "y ~ log(x) + x:g", "1,u,2")
	o.Bounds = custody.Bounds{Columns: []string{"x"}, Share: 0.1}
	must.Fail(t, must.Err(custody.Publish(t.Context(), o)), "give public ones")
}
