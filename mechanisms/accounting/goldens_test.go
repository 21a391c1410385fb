package accounting

import (
	"encoding/json"
	"flag"
	"math"
	"os"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
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
	}
	Value, Best float64
	Uncertainty float64 `json:"best_estimate_uncertainty"`
	Bounds      struct{ Lower, Upper float64 }
	Others      struct {
		RDP  struct{ Eps, Order float64 }
		Dots struct {
			Add float64 `json:"eps_add"`
		} `json:"pld_ctd_fine"`
	}
}

func goldens(t testing.TB, name string) []golden {
	t.Helper()
	text := must.Get(os.ReadFile("testdata/" + name + ".json"))(t)
	var file struct {
		Rows []struct {
			golden
			BestEstimate *float64 `json:"best_estimate"`
		}
	}
	must.Do(t, json.Unmarshal(text, &file))
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
func (g golden) near(t *testing.T, got interval, tolerance float64) {
	t.Helper()
	slack := math.Max(g.Uncertainty, 1e-10*g.Best)
	tolerance = math.Max(tolerance*g.Best, g.Uncertainty)
	if !(got.upper <= g.Best+tolerance && got.lower >= g.Best-tolerance) {
		t.Errorf("%s: [%v, %v] is off %v by %.2g and %.2g", g.ID, got.lower, got.upper, g.Best, got.lower-g.Best, got.upper-g.Best)
	}
	if !(got.upper >= g.Best-slack && got.lower <= g.Best+slack) {
		t.Errorf("%s: [%v, %v] does not hold %v", g.ID, got.lower, got.upper, g.Best)
	}
	if got.upper < g.Bounds.Lower {
		t.Errorf("%s: %v is below the lower bound %v", g.ID, got.upper, g.Bounds.Lower)
	}
}

func TestPoissonGoldens(t *testing.T) {
	for i, g := range goldens(t, "shared_poisson_gaussian") {
		if testing.Short() && i%4 > 0 {
			continue
		}
		c := must.Get(g.training().composition())(t)
		epsilon := must.Get(c.epsilon(g.Inputs.Delta))(t)
		g.near(t, epsilon, 1e-5)
	}
}

// Adding a record alone, where no estimate is better than the pessimistic one.
func TestAddingGoldens(t *testing.T) {
	for _, g := range goldens(t, "shared_poisson_gaussian") {
		if g.Inputs.Q == 1 || g.Inputs.T > 5000 {
			continue
		}
		c := must.Get(g.training().composition())(t)
		d := c.direction(true, c.cut(g.Inputs.Delta))
		got := d.bracketEpsilon(d.scoutEpsilon(g.Inputs.Delta), g.Inputs.Delta)
		if want := g.Others.Dots.Add; !(got.lower <= want && math.Abs(got.upper-want) < 3e-5*want) {
			t.Errorf("%s: %v, want %v", g.ID, got, want)
		}
	}
}

// Google's values of ε are pessimistic and have a noise of 1e-8 or so.
func TestLaplaceGoldens(t *testing.T) {
	for _, g := range goldens(t, "shared_laplace") {
		c := must.Get(Training{Multiplier: g.Inputs.Scale, Rate: 1, Steps: g.Inputs.K, Scheme: LaplaceNoise}.composition())(t)
		epsilon := must.Get(c.epsilon(g.Inputs.Delta))(t)
		g.near(t, epsilon, 1e-5)
		if d := epsilon.upper/g.Best - 1; d > 1e-6 {
			t.Errorf("%s: ε ≤ %v is off %v by a relative %.2g", g.ID, epsilon.upper, g.Best, d)
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
		must.Do(t, err)
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
	for i, g := range goldens(t, "shared_calibration") {
		if !*all && g.Inputs.Q < 0.01 || testing.Short() && i%4 > 0 {
			continue
		}
		got := must.Get(Training{Rate: g.Inputs.Q, Steps: g.Inputs.T}.FindMultiplier(PLD, g.Inputs.TargetEpsilon, g.Inputs.Delta))(t)
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
		c := must.Get(g.training().composition())(t)
		order, want := g.Others.RDP.Order, g.Others.RDP.Eps
		if got := fromRDP(order, c.divergence(order), g.Inputs.Delta); order == math.Trunc(order) && math.Abs(got-want) > 2e-11*want+float64(g.Inputs.T)*momentError/(order-1) {
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
