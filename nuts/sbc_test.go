package nuts

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg/mcmc"
)

// conjugate is a normal sample of unknown mean and variance:
//
//	1/σ² ~ Gamma(3, 2), μ | σ² ~ N(0, σ²), y_i ~ N(μ, σ²), i = 1 … 5,
//
// in the coordinates (μ, l = log σ), whose density has the Jacobian 2σ². power is
// the power of σ² in it: 1, or another as a planted fault. grad is always right.
type conjugateModel struct {
	y     [5]float64
	power float64
}

func (*conjugateModel) Dim() int { return 2 }

func (t *conjugateModel) LogDensity(grad, x []float64) (float64, error) {
	mu, l := x[0], x[1]
	squares := mu*mu + 4 // 2·rate + μ² + Σ (y − μ)²
	slope := -mu
	for _, y := range t.y {
		squares += (y - mu) * (y - mu)
		slope += y - mu
	}
	w := math.Exp(-2 * l)
	// σ^{−2(a+1)} of the prior of σ², σ⁻¹ and σ⁻⁵ of the normals, σ² of the Jacobian.
	grad[0], grad[1] = w*slope, -8-6+2+w*squares
	return (-8-6+2*t.power)*l - 0.5*w*squares, nil
}

// sbcRanks are ranks in (0, 1) of the true μ and σ among 63 thinned draws.
func sbcRanks(t *testing.T, power float64, trials int) (ranks [2][]float64) {
	t.Helper()
	const draws, thin = 63, 4
	for trial := range trials {
		rng := rand.New(rand.NewPCG(uint64(trial), 9))
		target := &conjugateModel{power: power}
		sd := 1 / math.Sqrt(distuv.Gamma{Alpha: 3, Beta: 2, Src: rng}.Rand())
		truth := [2]float64{sd * rng.NormFloat64(), math.Log(sd)}
		for i := range target.y {
			target.y[i] = truth[0] + sd*rng.NormFloat64()
		}
		d := draw(t, target, Options{}, mcmc.Plan{Chains: 1, Warmup: 250, Draws: draws * thin, Seed: uint64(trial)})
		for j := range ranks {
			below := 0.0
			for i, v := range d.Column(j)[0] {
				if i%thin == 0 && v < truth[j] {
					below++
				}
			}
			ranks[j] = append(ranks[j], (below+rng.Float64())/(draws+1))
		}
	}
	return ranks
}

// chiSquare is the p-value of equal counts in 10 cells.
func chiSquare(u []float64) float64 {
	const cells = 10
	var count [cells]float64
	for _, v := range u {
		count[int(v*cells)]++
	}
	chi2, expected := 0.0, float64(len(u))/cells
	for _, c := range count {
		chi2 += (c - expected) * (c - expected) / expected
	}
	return distuv.ChiSquared{K: cells - 1}.Survival(chi2)
}

// TestSBC is simulation-based calibration (Talts et al. 2018) through Sample. Each
// test has a false-alarm rate of 1e-6. A density without its Jacobian is found out,
// though the gradient that trajectories follow has it.
func TestSBC(t *testing.T) {
	checkGradient(t, &conjugateModel{y: [5]float64{1, 2, -1, 0.5, 0.1}, power: 1})
	for j, u := range sbcRanks(t, 1, 400) {
		if p := chiSquare(u); p < 1e-6 {
			t.Errorf("coordinate %d: ranks are not uniform, p = %.1e", j, p)
		}
	}
	if testing.Short() {
		return
	}
	if p := chiSquare(sbcRanks(t, 0, 400)[1]); p > 1e-6 {
		t.Errorf("a density without its Jacobian passes: p = %.1e", p)
	}
}
