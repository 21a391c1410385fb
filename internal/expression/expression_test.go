package expression

import (
	"fmt"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
)

// Operations bind as in R: the values are R's, with x = 3 and `a b` = 0.5.
func TestAt(t *testing.T) {
	l := Language{Signs: "+-*/^()", Refuse: fmt.Errorf, Stray: func(s string) error { return fmt.Errorf("stray %s", s) }, Known: func(string) error { return nil }}
	for text, want := range map[string]float64{
		"-x^2": -9, "2^-x": 0.125, "2^x^2": 512, "x - 1 - 1": 1, "x / 2 * 4": 6, "x * -`a b` + 2": 0.5,
		"+x - -x": 6, "log2(abs(-(x + 1))) * .5e1": 10, "I(x) - (1 - x)": 5, "25e-2*x": 0.75,
	} {
		p := must.Get(l.Parser(text))(t)
		e, err := p.Sum()
		if err != nil || p.Next() != End {
			t.Fatalf("%s: %v, %v is left", text, err, p.Next())
		}
		at := func(leaf *Node) float64 { return map[string]float64{"x": 3, "a b": 0.5}[leaf.Name] }
		if got := e.At(at); got != want {
			t.Errorf("%s is %v, want %v", text, got, want)
		}
		again := must.Get(l.Parser(e.String()))(t)
		if e, err = again.Sum(); err != nil || e.At(at) != want {
			t.Errorf("%s was written %s: %v", text, e, err)
		}
	}
}
