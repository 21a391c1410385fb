package main

import (
	"context"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/vi"
)

// joint is variational inference with the gradients of d3p (Prediger et al. 2022) and of Jälkö
// et al. (2017): each record i of a batch has a θ_i of its own and a share of prior and
// entropy, and its gradient with respect to all of λ is clipped,
//
//	∇_λ [log p(record i | θ_i) + (log p(θ_i) + entropy)/N],
//
// N public. Noise has the length of λ. Clipping also shrinks the prior's share. The θ_i
// are secret, as the batch is: were they public, a record more would hand those of the
// records behind it on to others, and the sum would change by more than one gradient.
type joint struct {
	records float64 // N
	climb   func(lambda, gradient []float64)
}

// run is as of vi.Run: independent normal laws, for these options.
func (j joint) run(ctx context.Context, m vi.Model, o vi.Options) (*vi.Fit, error) {
	training, err := o.Plan(0)
	if err != nil {
		return nil, err
	}
	dim := m.Dim()
	guide, entropy := vi.Guide{Dim: dim}, mechanisms.Simulated(rand.New(rand.NewPCG(o.Seed, 2)))
	if o.Privacy != nil {
		entropy = o.Privacy.Entropy
	}
	stream := mechanisms.NewStream(entropy)
	batches, rng, sum := vi.Poisson(m.Len(), o.Rate, stream), rand.New(stream), vi.Plain(2*dim, 0)
	if o.Privacy != nil {
		sum = vi.NewSum(2*dim, o.Clip, training.Multiplier, stream)
	}
	vector := func() []float64 { return make([]float64, 2*dim) }
	lambda, average, total, record := vector(), vector(), vector(), vector()
	theta, epsilon, g, prior := make([]float64, dim), make([]float64, dim), make([]float64, dim), make([]float64, dim)
	guide.Set(lambda, prior, 0.1)
	averaged := 0.
	for step := range o.Steps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for _, i := range batches.Next() {
			for k := range epsilon {
				epsilon[k] = rng.NormFloat64()
			}
			guide.Draw(theta, lambda, epsilon)
			m.LogLik(g, theta, i)
			m.LogPrior(prior, theta)
			floats.AddScaled(g, 1/j.records, prior)
			guide.Gradient(record, lambda, g, epsilon, 1/j.records)
			sum.Add(1, record, math.Sqrt(floats.Dot(record, record)))
		}
		sum.Release(total)
		floats.Scale(1/o.Rate, total)
		j.climb(lambda, total)
		if float64(o.Steps-step) <= o.Average*float64(o.Steps) {
			averaged++
			for k, v := range lambda {
				average[k] += (v - average[k]) / averaged
			}
		}
	}
	if averaged == 0 {
		average = lambda
	}
	mean, sd := make([]float64, dim), make([]float64, dim)
	guide.Moments(mean, sd, average)
	return vi.NewFit(m, mean, sd), nil
}

// windowed is Adagrad over the last so many squared gradients (Kucukelbir et al., 2017; Jälkö
// et al., 2016).
type windowed struct {
	rate   float64
	window int
	past   [][]float64
}

func (w *windowed) step(lambda, gradient []float64) {
	squares := make([]float64, len(gradient))
	for j, g := range gradient {
		squares[j] = g * g
	}
	w.past = append(w.past, squares)
	w.past = w.past[max(0, len(w.past)-w.window):]
	for j, g := range gradient {
		sum := 0.
		for _, squares := range w.past {
			sum += squares[j]
		}
		lambda[j] += w.rate * g / (math.Sqrt(sum) + 1e-10)
	}
}
