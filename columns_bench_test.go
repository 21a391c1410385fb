package dpreg_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/cputime"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/release"
)

// published is the default release, ε = 1, of n normal rows in [−1, 1]: p covariates of an sd about 0,
// independent, and a response with slopes 0.5/√p and a residual of that sd.
func published(b *testing.B, p, n int, sd, delta float64) *release.Release {
	rng, rows := mcmc.Stream(uint64(p), n), make([]float64, 0, n*(p+1))
	clamped := func(v float64) float64 { return max(-1, min(1, v)) }
	for range n {
		y := sd * rng.NormFloat64()
		for range p {
			x := clamped(sd * rng.NormFloat64())
			y += 0.5 / math.Sqrt(float64(p)) * x
			rows = append(rows, x)
		}
		rows = append(rows, clamped(y))
	}
	r := must.Get(custody.Publish(context.Background(), custody.Order{Rows: custody.Scaled{Name: "rows", Rows: rows}, Design: dpreg.UnitDesign(p),
		Privacy: release.Privacy{Epsilon: 1, Delta: delta, Neighbours: release.ReplaceOne}, Entropy: mechanisms.Simulated(rand.New(rand.NewPCG(uint64(p), 7)))}))(b)
	return r
}

// BenchmarkColumns infers from default releases by the default method, on one core: effective draws a
// CPU second after warm-up, the smallest over all parameters of bulk and tail ESS; the same, warm-up
// included, of 2000 such draws; and leapfrog steps a draw. It takes more draws than 2000 of fewer columns: of
// these the smallest ESS strays by a factor of two where noise hides columns.
//
//	go test . -run xxx -bench Columns -benchtime 1x
func BenchmarkColumns(b *testing.B) {
	for _, delta := range []float64{1e-6, 0} {
		for _, n := range []int{1000, 100_000} {
			for _, sd := range []float64{0.3, 0.05} {
				for _, p := range []int{5, 10, 20, 50} {
					if delta == 0 && p > 10 || n == 1000 && p == 50 {
						continue
					}
					b.Run(fmt.Sprintf("delta=%g/n=%d/sd=%g/p=%d", delta, n, sd, p), func(b *testing.B) {
						r := published(b, p, n, sd, delta)
						for b.Loop() {
							effective(b, r, max(2000, 100_000/p))
						}
					})
				}
			}
		}
	}
}

func effective(b *testing.B, r *release.Release, drawn int) {
	infer := func(draws int) (*dpreg.Fit, float64) {
		begin := cputime.Used()
		fit := must.Get(dpreg.Infer(context.Background(), dpreg.One(r), dpreg.Options{Plan: mcmc.Plan{Chains: 1, Draws: draws, Workers: 1}}))(b)
		return fit, (cputime.Used() - begin).Seconds()
	}
	_, warmup := infer(1)
	fit, whole := infer(drawn)
	d := fit.Draws(dpreg.Scaled)
	least, _ := d.MinESS(1)
	steps := 0.0
	for j, name := range d.InfoNames {
		if name == "n_leapfrog__" {
			for i := range drawn {
				steps += d.Info[0][i*len(d.InfoNames)+j]
			}
		}
	}
	rate := least / (whole - warmup)
	b.Logf("%s, %d looks", fit.Method, len(r.Looks()))
	b.ReportMetric(rate, "ess/CPU-s")
	b.ReportMetric(2000/(warmup+2000/rate), "with-warm-up")
	b.ReportMetric(steps/float64(drawn), "leapfrogs/draw")
}
