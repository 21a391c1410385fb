package schema

import (
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
)

// crossedSchema has two factors, a truth value and two numbers.
func crossedSchema(t *testing.T, formula string) *Design {
	t.Helper()
	s := &Schema{Columns: []Column{
		{Name: "f g", Type: typeString, Levels: []string{"a", "b", "c"}}, {Name: "h", Type: typeString, Levels: []string{"u", "v"}},
		{Name: "own", Type: typeBoolean, Upper: 1}, {Name: "x", Lower: -1, Upper: 1}, {Name: "y", Lower: -1, Upper: 1}}}
	return must.Get(s.Design(formula))(t)
}

// TestCells compares with what R 4.2.2 has of a model of three factors,
//
//	d <- expand.grid(f = c("a", "b", "c"), h = c("u", "v"), own = c(FALSE, TRUE)); model.matrix(~ f + h * own, d)
func TestCells(t *testing.T) {
	d := crossedSchema(t, "y ~ x + `f g` + h + own")
	factors := Crossed("`f g`:h:own")
	if got := d.Categorical(); got != "" {
		t.Errorf("with a number all are of %q", got)
	}
	cells := must.Get(d.Cells(factors))(t)
	indicated := cells.Indicated(d)
	if err := indicated.Validate(); err != nil {
		t.Fatal(err)
	}
	if cells.Names[7] != "b:u:true" || len(indicated.Covariates) != 12 || indicated.Covariates[6].Name != "f gb:hu:own" || indicated.Covariates[11].Name != "x" {
		t.Errorf("cells %q, columns %v", cells.Names, listed(indicated.Covariates))
	}
	model, coding, err := cells.Select(indicated, "y ~ x + `f g` + h * own")
	if err != nil {
		t.Fatal(err)
	}
	if got := listed(model.Covariates); got != `"f gb", "f gc", "hv", "own", "hv:own", "x"` {
		t.Errorf("columns %s", got)
	}
	r := `0 0 0 0 0 1 0 0 0 0 0 1 0 0 0 0 0 1 0 0 1 0 1 0 0 0 1 1 0 0 0 0 0 1 0 1 0 0 1 0 0 1 0 1 0 0 0 1 1 1 1 0 1 1 1 0 1 1 1 1`
	i := 0
	for _, want := range strings.Fields(r) {
		if got := coding[i/5][i%5]; (got == 1) != (want == "1") {
			t.Errorf("column %d in %s is %v", i%5, cells.Names[i/5], got)
		}
		i++
	}
	rows := []float64{0.5, -1, 1, -1, 1, 0.25} // x, f = c, h = u, own, y
	got, err := cells.Indicate(d, rows)
	if err != nil || !slices.Equal(got, []float64{-1, -1, -1, -1, -1, -1, -1, 1, -1, -1, -1, 0.5, 0.25}) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := cells.Indicate(d, []float64{0.5, 1, 1, -1, 1, 0.25}); err == nil {
		t.Error("a row of two levels is taken")
	}
}

// TestCellsRefuse: wrong input is told what is wrong with it.
func TestCellsRefuse(t *testing.T) {
	d := crossedSchema(t, "y ~ x + `f g` + h + own")
	for text, want := range map[string]string{"x:h": "no column of categories", "h:h": "twice", "h:none": "no column of categories"} {
		if _, err := d.Cells(Crossed(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"h", "h:", ":h", "h,own", "h:own:", "log(x):h", "h:`own"} {
		if factors := Crossed(text); factors != nil {
			t.Errorf("%q is read as %q", text, factors)
		}
	}
	cells := must.Get(d.Cells([]string{"h", "own"}))(t)
	indicated := cells.Indicated(d)
	for formula, want := range map[string]string{"y ~ h": "each as a whole", "y ~ h + own - 1": "", "y ~ h:own": "no column", "y ~ q": "no column", "h ~ own": ""} {
		if _, _, err := cells.Select(indicated, formula); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", formula, err)
		}
	}
	if got := crossedSchema(t, "y ~ `f g` * h + own").Categorical(); got != "`f g`:h:own" {
		t.Errorf("all are of %s", got)
	}
}

// TestCellsMerge: cells of three factors are parts of those of two, the first of which varies fastest.
func TestCellsMerge(t *testing.T) {
	d := crossedSchema(t, "y ~ x + `f g` + h + own")
	cells := must.Get(d.Cells(Crossed("`f g`:h:own")))(t)
	for formula, want := range map[string]string{
		"y ~ own * `f g` + x": "012012345345", "y ~ own": "000000111111", "y ~ h": "000111000111", "x ~ y": "000000000000", "": "0123456789:;", "y ~ h + hv:own": "000111222333",
	} {
		factors, of, err := cells.Merge(cells.Indicated(d), formula)
		got := ""
		for _, cell := range of {
			got += string(rune('0' + cell))
		}
		if err != nil || got != want {
			t.Errorf("%s: of %q cells are parts of %s, not of %s; %v", formula, factors, got, want, err)
		}
	}
}

// TestFormulaOfSpacedLevels: of levels whose names are no words, too, a design's formula gives the design.
func TestFormulaOfSpacedLevels(t *testing.T) {
	s := &Schema{Columns: []Column{{Name: "f", Type: typeString, Levels: []string{"a", "dark blue", "1:2"}}, {Name: "h", Type: typeString, Levels: []string{"u", "v"}}, {Name: "y", Lower: -1, Upper: 1}}}
	d := must.Get(s.Design("y ~ f * h"))(t)
	again, err := d.Select(d.Formula().String())
	if err != nil || listed(again.Covariates) != listed(d.Covariates) {
		t.Fatal(d.Formula(), again, err)
	}
	cells := must.Get(d.Cells([]string{"f", "h"}))(t)
	if model, coding, err := cells.Select(cells.Indicated(d), d.Formula().String()); err != nil || len(model.Covariates) != 5 || len(coding) != 6 {
		t.Error(model, coding, err)
	}
}
