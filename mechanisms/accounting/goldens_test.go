package accounting

import (
	"encoding/json"
	"flag"
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
		RDP  struct{ Eps, Order float64 }
		Dots struct {
			Add float64 `json:"eps_add"`
		} `json:"pld_ctd_fine"`
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

// Adding a record alone, where no estimate is better than the pessimistic one.
func TestAddingGoldens(t *testing.T) {
	for _, g := range goldens(t, "shared_poisson_gaussian") {
		if g.Inputs.Q == 1 || g.Inputs.T > 5000 {
			continue
		}
		var c Composition
		if err := c.Sampled(g.training()); err != nil {
			t.Fatal(err)
		}
		d := c.direction(true, c.tail(g.Inputs.Delta))
		got := d.epsilon(d.scoutEpsilon(g.Inputs.Delta), g.Inputs.Delta)
		if want := g.Others.Dots.Add; !(got.Lower <= want && math.Abs(got.Upper-want) < 3e-5*want) {
			t.Errorf("%s: %v, want %v", g.ID, got, want)
		}
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

var all = flag.Bool("all", false, "run the long forms: slow reference values, more random cases")

// often is how many random cases a test takes.
func often(ordinary, long int) int {
	if *all {
		return long
	}
	return ordinary
}

func TestCalibrationGoldens(t *testing.T) {
	for _, g := range goldens(t, "shared_calibration") {
		if !*all && g.Inputs.Q < 0.01 {
			continue
		}
		got, err := Training{Rate: g.Inputs.Q, Steps: g.Inputs.T}.FindMultiplier(PLD, g.Inputs.TargetEpsilon, g.Inputs.Delta)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(got-g.Value) > 1e-5*g.Value || got < g.Bounds.Lower {
			t.Errorf("%s: σ = %v, want %v", g.ID, got, g.Value)
		}
	}
}

// At whole orders the values agree; at others that software interpolates or cuts a
// series, and TestRenyi has sums of its own.
func TestRDPGoldens(t *testing.T) {
	whole := 0
	for _, g := range goldens(t, "shared_poisson_gaussian") {
		var c Composition
		if err := c.Sampled(g.training()); err != nil {
			t.Fatal(err)
		}
		order, want := g.Others.RDP.Order, g.Others.RDP.Eps
		if got := RDPEpsilon(order, c.RDP(order), g.Inputs.Delta); order == math.Trunc(order) && math.Abs(got-want) > 2e-11*want+float64(g.Inputs.T)*momentError/(order-1) {
			t.Errorf("%s: order %v: %v, want %v", g.ID, order, got, want)
		} else if order == math.Trunc(order) {
			whole++
		}
		// Orders of our own choice are about as good.
		if got, err := g.training().Epsilon(RDP, g.Inputs.Delta); err != nil || got > want*1.02 {
			t.Errorf("%s: ε = %v, want %v or less: %v", g.ID, got, want, err)
		}
	}
	if whole < 8 {
		t.Errorf("%d whole orders only", whole)
	}
}

func TestMomentsGoldens(t *testing.T) {
	seen := 0
	for _, g := range goldens(t, "shared_poisson_gaussian") {
		for name, most := range map[string]int{"lambda_max_32": 32, "lambda_max_64": 64} {
			text, ok := g.Others.Moments[name]
			if !ok {
				continue
			}
			var want struct {
				Eps float64 `json:"eps_closed_form_60digit"`
			}
			if err := json.Unmarshal(text, &want); err != nil {
				t.Fatal(err)
			}
			var c Composition
			if err := c.Sampled(g.training()); err != nil {
				t.Fatal(err)
			}
			got, err := c.Moments(g.Inputs.Delta, most)
			if err != nil || math.Abs(got-want.Eps) > 1e-10*want.Eps {
				t.Errorf("%s, %s: %v, want %v: %v", g.ID, name, got, want.Eps, err)
			}
			seen++
		}
	}
	if seen < 4 {
		t.Errorf("%d values only", seen)
	}
}

// The formulas of the paper, with its classical ε of a step.
func TestAdvancedGoldens(t *testing.T) {
	for _, g := range goldens(t, "advanced_composition") {
		in := g.Inputs
		sigma, want := in.SigmaDelta, g.Value
		if g.Quantity == "sigma_delta" {
			sigma, want = g.Value, in.EpsTotal
		}
		delta := (in.DeltaTotal - in.DeltaPrime) / (float64(in.T) * in.Q)
		step := Budget{math.Sqrt(2*math.Log(1.25/delta)) / sigma, delta}.Sampled(in.Q)
		total := step.Advanced(in.T, in.DeltaPrime)
		if math.Abs(total.Epsilon-want) > 1e-10*want || math.Abs(total.Delta-in.DeltaTotal) > 1e-12*in.DeltaTotal {
			t.Errorf("%s: %v, want %v", g.ID, total, want)
		}
	}
}
