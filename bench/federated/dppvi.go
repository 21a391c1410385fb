package main

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/vi"
	"github.com/dpreg/dpreg/vi/pvi"
)

// DP-PVI has a known σ, and is told that of the pooled fit, which no ε covers. Its prior of
// θ is N(0, I) in scaled units.

// The settings of gradients are those of Sharma et al. (2019) for Adult: 25 steps of 2 %
// of a client's rows in an update, Adagrad of rate 0.5, noise of 5 C, in rounds of all
// clients that go 1/M of their way; at most so many rounds, with less noise where
// that leaves budget.
const (
	steps      = 25
	rate       = 0.02
	multiplier = 5
	rounds     = 50
)

// gradients is DP-PVI by stochastic gradients. C is half the length of the longest row's
// gradient at a residual of σ.
func gradients(ctx context.Context, clients [][][]float64, t task) (*law, traffic, error) {
	updates, noise, err := afford(t.epsilon)
	if err != nil {
		return nil, traffic{}, err
	}
	sd := math.Sqrt(t.pooled.sigma2)
	q := len(t.pooled.mean)
	family := pvi.Family{Dim: q}
	return rounded(ctx, clients, t, family, updates, 1/float64(len(clients)), func(rows *vi.Rows, stream *mechanisms.Stream) (pvi.Rule, error) {
		likelihood, err := pvi.Normal(rows, sd)
		if err != nil {
			return nil, err
		}
		return pvi.NewGradient(likelihood, pvi.GradientOptions{Steps: steps, Batch: rate * float64(len(rows.Y)),
			LearningRate: 0.5, Protect: pvi.Protection{Clip: 0.5 * math.Sqrt(float64(q)) / (rate * sd), Multiplier: noise, Stream: stream}})
	})
}

// afford returns how many updates ε is for, and their noise. It remembers.
func afford(epsilon float64) (updates int, noise float64, err error) {
	if known, ok := afforded[epsilon]; ok {
		return known.updates, known.noise, nil
	}
	all := accounting.Training{Multiplier: multiplier, Rate: rate, Steps: steps * rounds}
	spent, err := all.Epsilon(accounting.PLD, delta)
	if err != nil {
		return 0, 0, err
	}
	updates, noise = rounds, multiplier
	if spent > epsilon {
		one := accounting.Training{Multiplier: multiplier, Rate: rate, Steps: steps}
		updates, err = pvi.Budget{Epsilon: epsilon, Delta: delta}.Updates(one)
	} else {
		noise, err = all.FindMultiplier(accounting.PLD, epsilon, delta)
	}
	if err == nil {
		afforded[epsilon] = plan{updates, noise}
	}
	return updates, noise, err
}

type plan struct {
	updates int
	noise   float64
}

var afforded = map[float64]plan{}

// analytic is DP-PVI by Sharma's analytic update (thesis, equations 4.21 and 4.22), once
// and undamped. C is half the length of the longest row's factor.
func analytic(ctx context.Context, clients [][][]float64, t task) (*law, traffic, error) {
	once := accounting.Training{Rate: 1, Steps: 1}
	noise, err := once.FindMultiplier(accounting.PLD, t.epsilon, delta)
	if err != nil {
		return nil, traffic{}, err
	}
	family := pvi.Family{Dim: len(t.pooled.mean), Full: true}
	clip := 0.5 * math.Sqrt(float64(family.Len()))
	return rounded(ctx, clients, t, family, 1, 1, func(rows *vi.Rows, stream *mechanisms.Stream) (pvi.Rule, error) {
		return pvi.NewAnalytic(rows, math.Sqrt(t.pooled.sigma2), pvi.Protection{Clip: clip, Multiplier: noise, Stream: stream})
	})
}

// rounded runs so many rounds of all clients. In each, every client gets the global law
// and sends a change of its factor, float64 each way.
func rounded(ctx context.Context, dealt [][][]float64, t task, f pvi.Family, rounds int, damping float64, rule func(*vi.Rows, *mechanisms.Stream) (pvi.Rule, error)) (*law, traffic, error) {
	sent := traffic{rounds: rounds, bytes: 2 * 8 * f.Len() * rounds * len(dealt)}
	var clients []*pvi.Client
	for _, rows := range dealt {
		r, err := rule(regression(rows), mechanisms.NewStream(mechanisms.Simulated(rand.New(rand.NewPCG(t.rng.Uint64(), 0)))))
		if err != nil {
			return nil, sent, err
		}
		c, err := pvi.NewClient(r, damping, &pvi.Budget{Epsilon: t.epsilon, Delta: delta})
		if err != nil {
			return nil, sent, err
		}
		clients = append(clients, c)
	}
	server, err := pvi.NewServer(f, f.Isotropic(1), clients)
	if err != nil {
		return nil, sent, err
	}
	for range rounds {
		if err := ctx.Err(); err != nil {
			return nil, sent, err
		}
		server.Synchronous()
	}
	mean, covariance, err := f.Moments(server.Global())
	if err != nil {
		return nil, sent, err
	}
	return &law{mean, covariance, t.pooled.sigma2}, sent, nil
}

// regression puts a 1 before x.
func regression(rows [][]float64) *vi.Rows {
	out := &vi.Rows{P: len(rows[0])}
	for _, row := range rows {
		last := len(row) - 1
		out.X, out.Y = append(append(out.X, 1), row[:last]...), append(out.Y, row[last])
	}
	return out
}
