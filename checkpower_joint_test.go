package dpreg_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/check"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
)

// TestCheckJointlyPower says how often the check finds a custodian that is unlike the others:
//
//	go test . -run TestCheckJointlyPower -power 12 -v -timeout 1h
//
// prints a table.
func TestCheckJointlyPower(t *testing.T) {
	if *power == 0 {
		t.Skip("asked for by -power")
	}
	alike := hospital{slope: 0.3}
	fmt.Println("| third of three custodians | covariates | pooling | median p | p ≤ 0.05 | calibrated ≤ 0.05 |\n|---|---|---|---|---|---|")
	higher, steeper := hospital{mean: 0.2, slope: 0.3}, hospital{slope: 0.8}
	for _, c := range []struct {
		third               string
		law                 hospital
		covariates, pooling string
	}{
		{"as the others", alike, "shared", "complete"}, {"as the others", alike, "separate", "complete"},
		{"mean of x 0.2 higher", higher, "shared", "complete"}, {"mean of x 0.2 higher", higher, "separate", "complete"},
		{"slope 0.8 in place of 0.3", steeper, "separate", "complete"}, {"slope 0.8 in place of 0.3", steeper, "separate", "partial"},
		{"0 or 1, as the others", hospital{slope: 0.3, of: model.Binomial}, "separate", "complete"},
		{"0 or 1, slope 2 in place of 0.3", hospital{slope: 2, of: model.Binomial}, "separate", "complete"},
	} {
		alike.of = c.law.of
		var p []float64
		small, calibrated := 0, 0
		for k := range *power {
			fit := must.Get(dpreg.Infer(context.Background(), publishRows(t, 1000, 4, uint64(1000+k), alike, alike, c.law), dpreg.Options{
				Family: alike.of, Covariates: c.covariates, Pooling: c.pooling, Plan: mcmc.Plan{Chains: 2, Warmup: 500, Draws: 500, Seed: uint64(k)}}))(t)
			check := must.Get(check.Fit(context.Background(), fit, check.Options{Calibrate: 19, Seed: uint64(k)}))(t)
			p = append(p, check.All.P)
			if check.All.P <= 0.05 {
				small++
			}
			if *check.All.Calibrated <= 0.05 {
				calibrated++
			}
		}
		slices.Sort(p)
		percent := func(n int) float64 { return 100 * float64(n) / float64(*power) }
		fmt.Printf("| %s | %s | %s | %.2f | %.0f %% | %.0f %% |\n", c.third, c.covariates, c.pooling, p[len(p)/2], percent(small), percent(calibrated))
	}
}
