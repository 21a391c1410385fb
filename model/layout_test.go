package model

import (
	"slices"
	"testing"
)

// TestLayout: names are read as what they are made of, and stand where documents say.
func TestLayout(t *testing.T) {
	l := Layout{Shape: Shape{P: 1, Intercept: true}, Covariates: true, Partial: true, Latent: []bool{false, true}}
	drawn := []string{"theta[0]", "theta[1]", "sigma2", "mu_x[1]", "tau[1,1]", "omega[0,0]", "omega[0,1]", "omega[1,1]", "spread_log_sigma",
		"theta_at[1,0]", "theta_at[1,1]", "sigma_at[1]", "theta_at[2,0]", "theta_at[2,1]", "sigma_at[2]", "n[2]"}
	if got := Names(l.Drawn()); !slices.Equal(got, drawn) {
		t.Errorf("drawn %q", got)
	}
	shown := slices.Concat(drawn[:3], []string{"sigma"}, drawn[3:5], []string{"spread[0]", "spread[1]"}, drawn[8:])
	if got := Names(l.Shown(false)); !slices.Equal(got, shown) {
		t.Errorf("shown %q", got)
	}
	all := slices.Concat(l.Drawn(), l.Shown(true), Layout{Shape: Shape{P: 12}, Latent: []bool{true}}.Drawn())
	for _, p := range all {
		if got, ok := ParseParameter(p.Name()); !ok || got != p {
			t.Errorf("%s is read as %+v", p.Name(), got)
		}
	}
	if at := []string{all[0].Label([]string{"x"}, nil), all[13].Label([]string{"x"}, []string{"a", "b"})}; !slices.Equal(at, []string{"(Intercept)", "x @ b"}) {
		t.Errorf("labels %q", at)
	}
	for _, name := range []string{"", "theta", "theta[1", "theta[1,2]", "theta[01]", "n[]", "sigma_at[0]x", "lp__", "omega[1]", "mu_x"} {
		if p, ok := ParseParameter(name); ok {
			t.Errorf("%q is read as %+v", name, p)
		}
	}
}

func TestParamsRead(t *testing.T) {
	s := Shape{P: 2, Intercept: true}
	x, y := NewParams(s), NewParams(s)
	row := make([]float64, len(s.Names()))
	for i := range row {
		row[i] = float64(i)
	}
	x.Read(row)
	got := make([]float64, len(row))
	if n := x.Write(got); n != len(row) || !slices.Equal(got, row) || x.Tau[2] != x.Tau[1] {
		t.Errorf("%v is read as %v, written as %v", row, x, got)
	}
	if y.Read(row[:4]); y.Sigma2 != 3 || y.Tau[0] != 0 {
		t.Errorf("θ and σ² are read as %v", y)
	}
}
