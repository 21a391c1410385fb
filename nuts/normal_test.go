package nuts

import (
	"fmt"
	"math"
	"testing"

	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mcmc"
)

// autoregressive is a stationary AR(1) process: marginally x_i ~ N(i/dim, s_i²),
// s_i from 1/spread to spread, correlations ρ^|i−j|. Its precision is tridiagonal: with
// u the standardised coordinates, −2 log p = u₀² + Σ (u_i − ρu_{i−1})²/(1 − ρ²).
type autoregressive struct {
	rho      float64
	mean, sd []float64
}

func newAutoregressive(dim int, rho, spread float64) *autoregressive {
	t := &autoregressive{rho: rho}
	for i := range dim {
		at := float64(i) / float64(dim)
		t.mean, t.sd = append(t.mean, at), append(t.sd, math.Pow(spread, 2*at-1))
	}
	return t
}

func (t *autoregressive) Dim() int { return len(t.mean) }

func (t *autoregressive) LogDensity(grad, x []float64) (float64, error) {
	logp, before, r := 0.0, 0.0, 1/(1-t.rho*t.rho)
	for i, v := range x {
		s := t.sd[i]
		u := (v - t.mean[i]) / s
		if i == 0 {
			logp -= 0.5 * u * u
			grad[0] = -u / s
		} else {
			e := u - t.rho*before
			logp -= 0.5 * r * e * e
			grad[i] = -r * e / s
			grad[i-1] += t.rho * r * e / t.sd[i-1]
		}
		before = u
	}
	return logp, nil
}

func TestCorrelatedNormals(t *testing.T) {
	for _, c := range []struct {
		dim, dense    int
		rho, spread   float64
		warmup, draws int
	}{
		{2, 2, 0.99, 10, 500, 2000}, {5, 0, 0.9, 10, 500, 2000}, {20, 20, 0.9, 2, 500, 1000},
		{30, 15, 0.6, 2, 400, 1000}, {1000, 0, 0.3, 1.3, 200, 250},
	}[:testsize.Of(4, 5)] {
		t.Run(fmt.Sprintf("dim=%d dense=%d", c.dim, c.dense), func(t *testing.T) {
			target := newAutoregressive(c.dim, c.rho, c.spread)
			checkGradient(t, target)
			d := draw(t, target, Options{Dense: c.dense}, mcmc.Plan{Chains: 4, Warmup: c.warmup, Draws: c.draws, Seed: 1})
			if len(d.Warnings) > 0 {
				t.Error(d.Warnings)
			}
			for j := range c.dim {
				x := d.Column(j)
				m, s := target.mean[j], target.sd[j]
				checkMoments(t, fmt.Sprint("coordinate ", j), x, m, s*s)
				if j%10 == 0 {
					checkQuantiles(t, fmt.Sprint("coordinate ", j), x, func(p float64) float64 { return m + s*phi.Quantile(p) })
				}
				if j == 0 {
					continue
				}
				product := d.Column(j - 1)
				m0, s0 := target.mean[j-1], target.sd[j-1]
				for c := range product {
					for i := range product[c] {
						product[c][i] = (product[c][i] - m0) / s0 * (x[c][i] - m) / s
					}
				}
				check(t, fmt.Sprint("correlation ", j), mean(product), c.rho, mcseMean(product))
			}
		})
	}
}
