package dpreg_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// hundred are the releases of a hundred custodians of 1000 rows and five covariates each,
// with Laplace noise at ε = 1.
func hundred(partial bool) (custodians []dpreg.Custodian) {
	c := &modeltest.Custodians{Shape: model.Shape{P: 5, Intercept: true}, Partial: partial}
	for range 100 {
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
			custodians := hundred(c.pooling == dpreg.PartialPooling)
			o := dpreg.Options{Method: c.method, Pooling: c.pooling, Plan: mcmc.Plan{Chains: 4, Warmup: 1000, ESS: 1000, Workers: 1}}
			for b.Loop() {
				fit, err := dpreg.InferJointly(context.Background(), custodians, o)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(fit.Draws(dpreg.Scaled).NumDraws()), "draws/chain")
			}
		})
	}
}
