package dpreg_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// alike are the releases of so many custodians of 1000 rows and p covariates each, with
// Laplace noise at ε = 1.
func alike(number, p int, partial bool) (custodians []dpreg.Custodian) {
	c := &modeltest.Custodians{Shape: model.Shape{P: p, Intercept: true}, Partial: partial}
	for range number {
		c.Sites = append(c.Sites, modeltest.Custodian{N: 1000, Kind: release.Laplace, Scale: modeltest.LaplaceScale(c.Shape, 1), Units: 1})
	}
	_, problem := c.Draw(rand.New(rand.NewPCG(42, 1)))
	columns := make([]schema.Column, c.Shape.M())
	for k := range columns {
		columns[k] = schema.Column{Name: fmt.Sprintf("v%d", k+1), Lower: -1, Upper: 1}
	}
	design := schema.Design{Response: columns[c.Shape.P], Covariates: columns[:c.Shape.P], Intercept: true}
	for j, site := range problem.Sites {
		custodians = append(custodians, dpreg.Custodian{Name: fmt.Sprintf("%d.json", j+1), Release: &release.Release{
			Format: release.Format, Schema: design, N: 1000, Simulated: true, Noise: release.Noise{Kind: site.Kind, Scale: site.Scale[0]},
			Statistics: release.StatisticsFromVector(c.Shape.M(), site.Z)}})
	}
	return custodians
}

// BenchmarkInferJointly is dpreg infer of a hundred releases, on one core:
//
//	go test . -run xxx -bench InferJointly -benchtime 1x -timeout 1h
func BenchmarkInferJointly(b *testing.B) {
	for _, c := range []struct{ method, pooling string }{
		{"naive", dpreg.CompletePooling}, {"gibbs-ss-update", dpreg.CompletePooling},
		{"mcmc-exact", dpreg.CompletePooling}, {"mcmc-exact", dpreg.PartialPooling},
	} {
		b.Run(c.method+"/"+c.pooling, func(b *testing.B) {
			custodians := alike(100, 5, c.pooling == dpreg.PartialPooling)
			o := dpreg.Options{Method: c.method, Pooling: c.pooling, Plan: mcmc.Plan{Chains: 4, Warmup: 1000, ESS: 1000, Workers: 1}}
			for b.Loop() {
				fit := must.Get(dpreg.Infer(context.Background(), custodians, o))(b)
				b.ReportMetric(float64(fit.Draws(dpreg.Scaled).NumDraws()), "draws/chain")
			}
		})
	}
}

// BenchmarkEffectiveJointly is the least effective sample size of one chain over the
// seconds that it took, warm-up included:
//
//	go test . -run xxx -bench EffectiveJointly -benchtime 1x
func BenchmarkEffectiveJointly(b *testing.B) {
	for _, number := range []int{3, 10, 30} {
		for _, p := range []int{1, 2, 5} {
			for _, pooling := range []string{dpreg.CompletePooling, dpreg.PartialPooling} {
				custodians := alike(number, p, pooling == dpreg.PartialPooling)
				for _, plan := range []struct {
					method        string
					warmup, draws int
				}{{"mcmc-exact", 1000, 500}, {"gibbs-ss-update", 1000, 4000}} {
					b.Run(fmt.Sprintf("J=%d/p=%d/%s/%s", number, p, pooling, plan.method), func(b *testing.B) {
						o := dpreg.Options{Method: plan.method, Pooling: pooling, Plan: mcmc.Plan{Chains: 1, Warmup: plan.warmup, Draws: plan.draws, Workers: 1}}
						for b.Loop() {
							fit := must.Get(dpreg.Infer(context.Background(), custodians, o))(b)
							ess, _ := fit.Draws(dpreg.Scaled).MinESS(1)
							b.ReportMetric(ess/b.Elapsed().Seconds(), "ESS/s")
						}
					})
				}
			}
		}
	}
}
