package vi_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/vi"
)

// counts is a model of one's own: counts y_i are Poisson with rate λ > 0, which has a
// Gamma(2, 1) prior. In θ = log λ,
//
//	log p(y | θ) = yθ − e^θ − log y!,  log p(θ) = 2θ − e^θ,
//
// the Jacobian of the transformation included. y! does not depend on θ, and is left out.
type counts []float64

func (c counts) Dim() int                                 { return 1 }
func (c counts) Len() int                                 { return len(c) }
func (c counts) Names() []string                          { return []string{"rate"} }
func (c counts) Constrain(dst, theta []float64)           { dst[0] = math.Exp(theta[0]) }
func (c counts) LogPrior(grad, th []float64) float64      { return c.gamma(grad, th, 2) }
func (c counts) LogLik(grad, th []float64, i int) float64 { return c.gamma(grad, th, c[i]) }

func (c counts) gamma(grad, theta []float64, a float64) float64 {
	rate := math.Exp(theta[0])
	grad[0] = a - rate
	return a*theta[0] - rate
}

// A model is a type with six methods. The posterior of the rate is Gamma(2 + Σy, 1 + n).
func Example() {
	rng, data, sum := rand.New(rand.NewPCG(1, 2)), make(counts, 2000), 2.
	for i := range data {
		for t := rng.ExpFloat64(); t < 3; t += rng.ExpFloat64() {
			data[i]++ // arrivals in a time of 3
		}
		sum += data[i]
	}
	fit, err := vi.Run(context.Background(), data, vi.Options{
		// Outside of studies the noise is that of mechanisms.OS().
		Privacy:      &vi.Privacy{Epsilon: 2, Delta: 1e-5, Entropy: mechanisms.Simulated(rng)},
		Rate:         0.05,
		Steps:        1000,
		Clip:         3,
		LearningRate: 0.02,
		Average:      0.5,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	mean, _ := fit.Moments()
	fmt.Printf("exact posterior mean %.2f, fitted within 0.05: %v\n", sum/2001, math.Abs(math.Exp(mean[0])-sum/2001) < 0.05)
	// Output:
	// exact posterior mean 2.99, fitted within 0.05: true
}
