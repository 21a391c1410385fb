package pvi

import (
	"math"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/mechanisms/accounting"
)

// checkSpent tells that so many updates fit and one more does not.
func checkSpent(t *testing.T, b Budget, one accounting.Training, updates int) {
	t.Helper()
	steps := one.Steps
	one.Steps = steps * updates
	if spent := must(one.Epsilon(accounting.PLD, b.Delta)); !(spent <= b.Epsilon) {
		t.Errorf("%d updates spend %v of %v", updates, spent, b.Epsilon)
	}
	one.Steps += steps
	if spent := must(one.Epsilon(accounting.PLD, b.Delta)); !(spent > b.Epsilon) {
		t.Errorf("%d updates spend %v only of %v", updates+1, spent, b.Epsilon)
	}
}

func TestBudgetIsNeverPassed(t *testing.T) {
	sgd := accounting.Training{Multiplier: 5, Rate: 0.02, Steps: 25}
	full := accounting.Training{Multiplier: 8, Rate: 1, Steps: 1}
	replaced := accounting.Training{Multiplier: 5, Rate: 0.02, Steps: 25, Scheme: accounting.PoissonReplaceOne}
	for _, one := range []accounting.Training{sgd, full, replaced} {
		b := Budget{Epsilon: 0.7, Delta: 1e-4}
		n, err := b.Updates(one)
		if err != nil {
			t.Fatal(err)
		}
		checkSpent(t, b, one, n)
	}
}

func TestBudgetRefuses(t *testing.T) {
	one := accounting.Training{Multiplier: 5, Rate: 0.02, Steps: 25}
	if _, err := (Budget{Epsilon: 0.01, Delta: 1e-5}).Updates(one); err == nil || !strings.Contains(err.Error(), "too small for one update") {
		t.Error(err)
	}
	for _, b := range []Budget{{Epsilon: 0, Delta: 1e-5}, {Epsilon: math.NaN(), Delta: 1e-5}, {Epsilon: math.Inf(1), Delta: 1e-5}, {Epsilon: 1, Delta: 0}, {Epsilon: 1, Delta: 2}} {
		if _, err := b.Updates(one); err == nil {
			t.Errorf("%+v: no error", b)
		}
	}
	if _, err := (Budget{Epsilon: 1, Delta: 1e-5}).Updates(accounting.Training{}); err == nil {
		t.Error("no releases: no error")
	}
	if _, err := (Budget{Epsilon: 1, Delta: 1e-5}).Updates(accounting.Training{Multiplier: 5, Rate: 2, Steps: 1}); err == nil {
		t.Error("a rate of 2: no error")
	}
}
