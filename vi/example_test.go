package vi_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/vi"
)

// A model is a function that calls a tape: negative binomial regression of counts
//
//	y ~ NB(mean μ = e^{xᵀβ}, size r),  β ~ N(0, 5² I),  log r ~ N(0, 1).
//
// log p(y | η, r) = log Γ(y+r) − log Γ(r) + r log r + yη − (y+r) log(r + e^η), up to log y!. In
// u = log r its derivative is r(ψ(y+r) − ψ(r) + log r + 1 − log(r+μ) − (y+r)/(r+μ)), in η
// r(y − μ)/(r + μ).
func Example() {
	rng, rows := rand.New(rand.NewPCG(1, 2)), &vi.Rows{P: 2}
	for range 5000 {
		x := 2*rng.Float64() - 1
		rate := distuv.Gamma{Alpha: 2, Beta: 2 / math.Exp(1+0.5*x), Src: rng}.Rand()
		rows.X, rows.Y = append(rows.X, 1, x), append(rows.Y, distuv.Poisson{Lambda: rate, Src: rng}.Rand())
	}
	lgamma := func(x float64) float64 { v, _ := math.Lgamma(x); return v }
	model := &vi.Model{
		Records:    len(rows.Y),
		Parameters: []vi.Parameter{{Name: "beta", Size: 2}, {Name: "r", Positive: true}},
		LogLik: func(t *vi.Tape) {
			y, u, eta := t.Rows(rows.Y, 1), t.Param(1), t.Dense(t.Rows(rows.X, 2), 0)
			mu := eta.Map(func(x float64) (float64, float64) { v := math.Exp(x); return v, v })
			r := u.Map(func(x float64) (float64, float64) { v := math.Exp(x); return v, v })
			gammas := func(y, r float64) (value, dy, dr float64) {
				return lgamma(y+r) - lgamma(r), 0, mathext.Digamma(y+r) - mathext.Digamma(r)
			}
			log := func(x float64) (float64, float64) { return math.Log(x), 1 / x }
			t.Factor(y.With(r, gammas))
			t.Factor(r.Times(u).Plus(y.Times(eta)).Minus(y.Plus(r).Times(r.Plus(mu).Map(log))))
		},
		LogPrior: func(t *vi.Tape) { t.LogNormal(t.Param(0), 5); t.LogNormal(t.Param(1), 1) },
	}
	fit, err := vi.Run(context.Background(), model, vi.Options{
		// Outside of studies the noise is that of mechanisms.OS().
		Privacy: &vi.Privacy{Epsilon: 2, Delta: 1e-5, Entropy: mechanisms.Simulated(rng)},
		Rate:    0.05, Steps: 1000, Clip: 5, LearningRate: 0.02, Average: 0.5,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	mean, _ := fit.Moments()
	for i, truth := range []float64{1, 0.5, 2} {
		fmt.Printf("%s within 0.2 of %.1f: %v\n", model.Names()[i], truth, math.Abs(fit.Constrain(mean)[i]-truth) < 0.2)
	}
	// Output:
	// beta[0] within 0.2 of 1.0: true
	// beta[1] within 0.2 of 0.5: true
	// r within 0.2 of 2.0: true
}
