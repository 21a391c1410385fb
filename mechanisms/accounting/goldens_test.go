package accounting

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

// golden is a row of testdata/*.json (testdata/SOURCE.md).
type golden struct {
	ID       string
	Quantity string
	Inputs   struct {
		Sigma, Q, Delta, Epsilon, Sensitivity float64
		T, K                                  int
		Scale                                 float64 `json:"scale_b"`
		TargetEpsilon                         float64 `json:"target_epsilon"`
		EpsTotal                              float64 `json:"eps_tot"`
		DeltaTotal                            float64 `json:"delta_tot"`
		DeltaPrime                            float64 `json:"delta_prime"`
		SigmaDelta                            float64 `json:"sigma_delta"`
	}
	Value, Best float64
	Uncertainty float64 `json:"best_estimate_uncertainty"`
	Bounds      struct{ Lower, Upper float64 }
	Others      struct {
		RDP struct {
			Eps, Order float64
			Basic      float64 `json:"eps_basic_conversion"`
			OrderBasic float64 `json:"order_basic"`
		}
		Moments map[string]json.RawMessage `json:"moments_accountant"`
	}
}

func goldens(t testing.TB, name string) []golden {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Rows []struct {
			golden
			BestEstimate *float64 `json:"best_estimate"`
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	var rows []golden
	for _, r := range file.Rows {
		r.Best = r.Value
		if r.BestEstimate != nil {
			r.Best = *r.BestEstimate
		}
		rows = append(rows, r.golden)
	}
	if len(rows) < 5 {
		t.Fatalf("%s: %d rows only", name, len(rows))
	}
	return rows
}

func (g golden) training() Training {
	return Training{Multiplier: g.Inputs.Sigma, Rate: g.Inputs.Q, Steps: g.Inputs.T}
}

// near fails unless both ends of a bracket lie within the tolerance of the best
// estimate, on their own side of it but for its uncertainty.
func (g golden) near(t *testing.T, got Interval, tolerance float64) {
	t.Helper()
	slack := math.Max(g.Uncertainty, 1e-10*g.Best)
	tolerance = math.Max(tolerance*g.Best, g.Uncertainty)
	if !(got.Upper <= g.Best+tolerance && got.Lower >= g.Best-tolerance) {
		t.Errorf("%s: [%v, %v] is off %v by %.2g and %.2g", g.ID, got.Lower, got.Upper, g.Best, got.Lower-g.Best, got.Upper-g.Best)
	}
	if !(got.Upper >= g.Best-slack && got.Lower <= g.Best+slack) {
		t.Errorf("%s: [%v, %v] does not hold %v", g.ID, got.Lower, got.Upper, g.Best)
	}
	if got.Upper < g.Bounds.Lower {
		t.Errorf("%s: %v is below the lower bound %v", g.ID, got.Upper, g.Bounds.Lower)
	}
}

func TestPoissonGoldens(t *testing.T) {
	for _, g := range goldens(t, "shared_poisson_gaussian") {
		var c Composition
		if err := c.Sampled(g.training()); err != nil {
			t.Fatal(err)
		}
		epsilon, err := c.Epsilon(g.Inputs.Delta)
		if err != nil {
			t.Fatal(err)
		}
		g.near(t, epsilon, 1e-5)
	}
}

// Google's values of ε are pessimistic and have a noise of 1e-8 or so.
func TestLaplaceGoldens(t *testing.T) {
	for _, g := range goldens(t, "shared_laplace") {
		var c Composition
		if err := c.Laplace(g.Inputs.Scale, 1, g.Inputs.K); err != nil {
			t.Fatal(err)
		}
		epsilon, err := c.Epsilon(g.Inputs.Delta)
		if err != nil {
			t.Fatal(err)
		}
		g.near(t, epsilon, 1e-5)
		if d := epsilon.Upper/g.Best - 1; d > 1e-6 {
			t.Errorf("%s: ε ≤ %v is off %v by a relative %.2g", g.ID, epsilon.Upper, g.Best, d)
		}
	}
}

func TestGaussianGoldens(t *testing.T) {
	for _, g := range goldens(t, "shared_gaussian") {
		var got float64
		var err error
		if g.Quantity == "sigma" {
			got, err = Sigma(g.Inputs.Epsilon, g.Inputs.Delta, g.Inputs.Sensitivity)
		} else {
			got, err = Epsilon(g.Inputs.Sigma, g.Inputs.Delta, g.Inputs.Sensitivity)
		}
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(got-g.Value) > 1e-10*g.Value {
			t.Errorf("%s: %v, want %v", g.ID, got, g.Value)
		}
	}
}
