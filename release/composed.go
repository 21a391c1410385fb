package release

import (
	"errors"
	"math"
	"math/big"

	"github.com/dpreg/dpreg/internal/number"
)

// Composable is what a release promises in terms that add up over releases: squares of Mu, which are of
// Gaussian differential privacy (Dong, Roth & Su 2022), and Rho of zero-concentrated privacy (Bun &
// Steinke 2016). Pure ε is worth the Mu of Φ(μ/2) = e^ε/(1 + e^ε), and ρ = ε²/2. Both are rounded
// up by a part in 10⁹.
type Composable struct{ Mu, Rho float64 }

// Composable is an error where the release states no privacy, or no sensitivity that it could be checked by.
func (r *Release) Composable() (c Composable, err error) {
	if r.Privacy == nil || r.onTrust() {
		return c, errors.New("the release does not state its privacy and its sensitivity")
	}
	pure, mu2 := r.Privacy.Epsilon, 0.
	if r.Noise.Kind == Gaussian {
		pure, _ = new(big.Rat).Sub(number.Decimal(r.Privacy.Epsilon), r.statisticsEpsilon()).Float64()
		mu2 = r.mu2()
	}
	mu := 2 * math.Sqrt2 * math.Erfinv(math.Tanh(pure/2))
	if pure > 16 { // Φ(−t) ≤ e^(−t²/2)/2, and the digits of tanh run out
		mu = 2 * math.Sqrt(2*pure)
	}
	const up = 1 + 1e-9
	return Composable{math.Sqrt(mu2+mu*mu) * up, (mu2/2 + pure*pure/2) * up}, nil
}

// mu2 is the square of μ of all Gaussian noise.
func (r *Release) mu2() float64 {
	if r.Frame != nil {
		spent, _ := total(r.parts(number.Exactly)).Float64()
		return spent
	}
	ratio := r.gaussianRatio(r.Noise.Sensitivity)
	return ratio * ratio
}
