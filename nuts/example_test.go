package nuts_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/nuts"
	"github.com/dpreg/dpreg/posterior"
)

// arrivals is a density of one's own: counts y ~ Poisson(λ), λ ~ Gamma(2, rate 1),
// in the unconstrained coordinate x = log λ. With the Jacobian dλ/dx = λ,
//
//	log p(x | y) = (2 + Σy) x − (1 + n) eˣ.
type arrivals struct{ y []float64 }

func (arrivals) Dim() int { return 1 }

func (a arrivals) LogDensity(grad, x []float64) (float64, error) {
	shape, rate, lambda := 2.0, 1.0, math.Exp(x[0])
	for _, y := range a.y {
		shape += y
		rate++
	}
	grad[0] = shape - rate*lambda
	return shape*x[0] - rate*lambda, nil
}

// The posterior of λ is Gamma(2 + Σy, 1 + n), of mean 21/6.
func Example() {
	start := func(_ int, rng *rand.Rand) (*nuts.Sampler, error) {
		return nuts.New(arrivals{[]float64{3, 5, 2, 4, 5}}, []float64{4*rng.Float64() - 2}, nuts.Options{})
	}
	plan := mcmc.Plan{Chains: 4, Warmup: 500, ESS: 2000, Seed: 1}
	draws, err := nuts.Run(context.Background(), []string{"x"}, start, nuts.Options{}, plan)
	if err != nil {
		fmt.Println(err)
		return
	}
	lambda := draws.Map([]string{"lambda"}, func(dst, src []float64) { dst[0] = math.Exp(src[0]) })
	s := posterior.Summarise(lambda, posterior.DefaultLevel).Parameters[0]
	fmt.Println("warnings:", len(draws.Warnings))
	fmt.Println("R-hat below 1.01:", s.RHat < 1.01)
	fmt.Println("mean within 5 errors of 21/6:", math.Abs(s.Mean-21.0/6) < 5*s.MCSEMean)
	// Output:
	// warnings: 0
	// R-hat below 1.01: true
	// mean within 5 errors of 21/6: true
}
