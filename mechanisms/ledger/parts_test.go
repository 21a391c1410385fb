package ledger

import (
	"context"
	"errors"
	"testing"
)

// The parts of a release are charged together or not at all, and count as if they
// were charged one by one.
func TestChargeOfParts(t *testing.T) {
	ctx := context.Background()
	for _, filter := range []Filter{Sum, Auto} {
		path := create(t, budget("1", "1e-6", filter))
		l := open(t, path)
		first, second := laplace("0.1"), gaussian(t, "0.4", "4e-7")
		if n, err := l.Charge(ctx, first, second); err != nil || n != 2 {
			t.Fatal(n, err)
		}
		var exhausted *ExhaustedError
		_, err := l.Charge(ctx, laplace("0.3"), gaussian(t, "0.7", "4e-7"))
		if !errors.As(err, &exhausted) || len(exhausted.History.Entries) != 2 ||
			exhausted.Charge.Epsilon.Cmp(rat("1")) != 0 || exhausted.Charge.Delta.Cmp(rat("4e-7")) != 0 {
			t.Errorf("error %v", err)
		}
		stranger := second
		stranger.Neighbours = "add-remove"
		if err := l.Check(ctx, first, stranger); !errors.Is(err, ErrUnusable) {
			t.Errorf("error %v", err)
		}
		h := history(t, l)
		if len(h.Entries) != 2 || h.Entries[0].Noise != Laplace || h.Entries[1].Noise != Gaussian {
			t.Errorf("charged %+v", h.Entries)
		}
		one := &History{Budget: h.Budget, Entries: []Entry{{Charge: first}, {Charge: second}}, sigma: h.sigma}
		for _, c := range []Charge{laplace("0.5"), laplace("0.500001"), gaussian(t, "0.5", "5e-7"), gaussian(t, "0.5", "7e-7")} {
			want, err := one.Fits(c)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := h.Fits(c); got != want || err != nil {
				t.Errorf("%s: ε = %v: %v, %v, want %v", filter, c.Epsilon, got, err, want)
			}
		}
	}
}
