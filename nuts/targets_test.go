package nuts

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/posterior"
)

// standard is the standard normal.
type standard int

func (d standard) Dim() int { return int(d) }

func (d standard) LogDensity(grad, x []float64) (float64, error) {
	logp := 0.0
	for i, v := range x {
		logp -= 0.5 * v * v
		grad[i] = -v
	}
	return logp, nil
}

// function is a target given by a function.
type function struct {
	dim int
	f   func(grad, x []float64) (float64, error)
}

func (t function) Dim() int { return t.dim }

func (t function) LogDensity(grad, x []float64) (float64, error) { return t.f(grad, x) }

// checkGradient compares a gradient with central differences, whose error is
// about h²|f‴| + 1e-16|f|/h.
func checkGradient(t *testing.T, target Target) {
	t.Helper()
	dim := target.Dim()
	rng := rand.New(rand.NewPCG(3, uint64(dim)))
	x, grad, scratch := make([]float64, dim), make([]float64, dim), make([]float64, dim)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	must.Get(target.LogDensity(grad, x))(t)
	const h = 1e-5
	for i, at := range x {
		x[i] = at + h
		above, _ := target.LogDensity(scratch, x)
		x[i] = at - h
		below, _ := target.LogDensity(scratch, x)
		x[i] = at
		if d := (above - below) / (2 * h); math.Abs(d-grad[i]) > 1e-6*(1+math.Abs(d)+math.Abs(above)) {
			t.Errorf("coordinate %d: the gradient is %g, differences %g", i, grad[i], d)
		}
	}
	if a := testing.AllocsPerRun(10, func() { target.LogDensity(grad, x) }); a != 0 {
		t.Errorf("%v allocations a density", a)
	}
}

// draw samples a target, which may be used by one chain at a time.
func draw(t *testing.T, target Target, o Options, plan mcmc.Plan) *posterior.Draws {
	t.Helper()
	return must.Get(sample(t.Context(), func(int) Target { return target }, o, plan))(t)
}

// sample makes a Target for each chain, which starts at a point uniform on (−2, 2) in each
// coordinate, as Stan's do; of 100 such points one must lie in the support.
func sample(ctx context.Context, target func(chain int) Target, o Options, plan mcmc.Plan) (*posterior.Draws, error) {
	names := make([]string, target(0).Dim())
	for i := range names {
		names[i] = string(rune('a' + i%26))
	}
	return Run(ctx, names, func(chain int, rng *rand.Rand) (s *Sampler, err error) {
		t, x := target(chain), make([]float64, len(names))
		for range 100 {
			for i := range x {
				x[i] = 4*rng.Float64() - 2
			}
			if s, err = New(t, x, o); !errors.Is(err, errOutside) {
				return s, err
			}
		}
		return nil, err
	}, o, plan)
}

// check compares an estimate with the truth. Estimates are normal to good
// approximation; an MCSE estimated from 1000 effective draws is off by a few per
// cent, by 10 % hardly ever. So 6.5 of them are at least 5.9 standard errors: a
// false alarm has probability 4e-9, and 1e-5 over 2500 checks.
func check(t *testing.T, what string, got, want, mcse float64) {
	t.Helper()
	if !(math.Abs(got-want) < 6.5*mcse) {
		t.Errorf("%s is %.5g, not %.5g: %.1f standard errors", what, got, want, (got-want)/mcse)
	}
}

// apply returns f of each draw.
func apply(x [][]float64, f func(float64) float64) [][]float64 {
	y := make([][]float64, len(x))
	for c := range x {
		y[c] = make([]float64, len(x[c]))
		for i, v := range x[c] {
			y[c][i] = f(v)
		}
	}
	return y
}

func mean(x [][]float64) float64 {
	sum, n := 0.0, 0
	for _, chain := range x {
		for _, v := range chain {
			sum += v
		}
		n += len(chain)
	}
	return sum / float64(n)
}

// checkMoments compares mean and variance of a column.
func checkMoments(t *testing.T, what string, x [][]float64, m, variance float64) {
	t.Helper()
	check(t, what+": mean", mean(x), m, posterior.Of(x).MCSEMean())
	square := apply(x, func(v float64) float64 { return (v - m) * (v - m) })
	check(t, what+": variance", mean(square), variance, posterior.Of(square).MCSEMean())
}

// checkQuantiles compares shares below quantiles.
func checkQuantiles(t *testing.T, what string, x [][]float64, quantile func(p float64) float64) {
	t.Helper()
	for _, p := range []float64{0.05, 0.25, 0.5, 0.75, 0.95} {
		q := quantile(p)
		below := apply(x, func(v float64) float64 {
			if v < q {
				return 1
			}
			return 0
		})
		check(t, what+": share below a quantile", mean(below), p, posterior.Of(below).MCSEMean())
	}
}

func total(columns [][]float64) float64 {
	sum := 0.0
	for _, c := range columns {
		for _, v := range c {
			sum += v
		}
	}
	return sum
}

// uniform is Kolmogorov's and Smirnov's test: D√n of n values passes
// √(½ log(2/α)) with probability α at most, 1e-6 here.
func uniform(u []float64) bool { return ks(u) < math.Sqrt(0.5*math.Log(2/1e-6)) }

func ks(u []float64) float64 { return must.RootD(u, must.Uniform) }

var phi = distuv.UnitNormal
