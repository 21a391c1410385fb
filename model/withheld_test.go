package model

import (
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/release"
)

// A release without Σy² is for methods that ask for it, and refused to others by an
// error that says which those are.
func TestJoinWithheld(t *testing.T) {
	r, err := release.Read(strings.NewReader(`{"format":"dpreg-release/1",
		"schema":{"response":{"name":"pay","lower":-1,"upper":1},"covariates":[{"name":"x","lower":-1,"upper":1}],"intercept":false},
		"n":100,"noise":{"kind":"gaussian","scale":2},
		"statistics":{"sum_x":[1],"sum_xx":[[2]],"sum_y":3,"sum_xy":[4],"sum_yy":null},"withheld":["yy"]}`))
	if err != nil {
		t.Fatal(err)
	}
	p := &Problem{Releases: []*release.Release{r}, Prior: DefaultPrior(Shape{P: 1})}
	for name, refuse := range map[string]func() error{
		"Join":    func() error { _, err := p.Join(); return err },
		"Single":  func() error { _, err := p.Single(); return err },
		"Observe": func() error { _, err := Observe(r); return err },
	} {
		if err := refuse(); err == nil || !strings.Contains(err.Error(), `squares of "pay"`) || !strings.Contains(err.Error(), "normalx and fixeds") {
			t.Errorf("%s: %v", name, err)
		}
	}
	joint, err := p.JoinWithheld()
	if err != nil {
		t.Fatal(err)
	}
	if z := joint.Sites[0].Z; !slices.Equal(z, []float64{1, 3, 2, 4}) || len(joint.Sites[0].Scale) != len(z) {
		t.Errorf("read as %v", z)
	}
}
