package schema

import (
	"strings"
	"testing"
)

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
	h, err := Hull([]string{"a.json", "b.json"}, []*Design{a, b})
	if err != nil {
		t.Fatal(err)
	}
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
		"type":      {func(d *Design) { d.Covariates[0].Type = typeBoolean }, `column "age"`},
	} {
		_, err := Hull([]string{"a.json", "b.json"}, []*Design{hospital(nil), hospital(c.change)})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "a.json and b.json") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
