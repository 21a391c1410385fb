package models_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/models"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// laplaceEvidence is log ∫ p(y | rows, θ) p(θ) dθ of logistic regression at the columns of a set beside a constant, θ of
// independent N(0, sd²), by Laplace's method: to some hundredths of so many rows.
func laplaceEvidence(rows [][]float64, set uint, sd float64) float64 {
	columns := []int{-1}
	for j := range len(rows[0]) - 1 {
		if set>>j&1 == 1 {
			columns = append(columns, j)
		}
	}
	q := len(columns)
	theta, a, h, log := make([]float64, q), make([]float64, q), make([]float64, q*q), 0.0
	for range 20 {
		g := make([]float64, q)
		clear(h)
		log = 0
		for k, v := range theta {
			log -= 0.5 * v * v / (sd * sd)
			g[k], h[k*q+k] = -v/(sd*sd), 1/(sd*sd)
		}
		for _, row := range rows {
			eta := 0.0
			for k, j := range columns {
				if a[k] = 1; j >= 0 {
					a[k] = row[j]
				}
				eta += theta[k] * a[k]
			}
			y, p := 0.5*(1+row[len(row)-1]), 1/(1+math.Exp(-eta))
			log += y*eta - math.Log1p(math.Exp(eta))
			for k, v := range a {
				g[k] += (y - p) * v
				for l, w := range a[:k+1] {
					h[k*q+l] += p * (1 - p) * v * w
				}
			}
		}
		dense.Cholesky(h, q)
		dense.Solve(h, q, g)
		for k, v := range g {
			theta[k] += v
		}
	}
	return log - 0.5*dense.LogDet(h, q) - float64(q)*math.Log(sd)
}

// TestFamilyByLevel: of rows without noise to speak of, by the levels of a factor, weights of models of a family are those of the
// rows, but for what the law of sums knows less than rows.
func TestFamilyByLevel(t *testing.T) {
	testsize.Full(t, "TestNoise has evidence of releases, and those of a factor stand in TestLevelsSBC of nuts/exact")
	rng, sd := rand.New(rand.NewPCG(3, 11)), 2.5
	d := schema.Design{Intercept: true, Response: schema.Column{Name: "y", Upper: 1}, Covariates: []schema.Column{{Name: "fb", Upper: 1, Factor: "f", Level: "b"}, {Name: "x", Lower: -1, Upper: 1}},
		Factors: []schema.Factor{{Name: "f", Levels: []string{"a", "b"}}}}
	var rows [][]float64
	for range 600 {
		row := []float64{2*float64(rng.IntN(2)) - 1, 0.3 * rng.NormFloat64(), -1}
		if row[1] = max(-1, min(1, row[1])); rng.Float64() < 1/(1+math.Exp(0.3-0.15*row[0]-0.6*row[1])) {
			row[2] = 1
		}
		rows = append(rows, row)
	}
	r := must.Get(custody.Publish(t.Context(), custody.Order{Rows: custody.Scaled{Name: "rows", Rows: slices.Concat(rows...)}, Design: &d, ByLevel: "f", Steps: 1,
		Privacy: release.Privacy{Epsilon: 30, Neighbours: release.ReplaceOne}, Entropy: mechanisms.Simulated(rng), NoLedger: true}))(t)
	prior := model.Binomial.BoxPrior(model.Shape{P: 2, Intercept: true})
	for k := range 3 {
		prior.Theta.Precision[4*k] = 1 / (sd * sd)
	}
	c := must.Get(models.Compare(t.Context(), dpreg.One(r), dpreg.Options{Family: model.Binomial, Prior: prior, Plan: mcmc.Plan{Chains: 2, ESS: float64(500), Seed: 2}}, nil))(t)
	whole := laplaceEvidence(rows, 3, sd)
	for _, m := range c.Models {
		var set uint
		for _, name := range m.Covariates {
			set |= map[string]uint{"f": 1, "x": 2}[name]
		}
		want := laplaceEvidence(rows, set, sd) - whole
		if off := math.Abs(m.LogBayes - want); !(off <= 4*m.MCSE+0.1*float64(2-len(m.Covariates))) {
			t.Errorf("%s: log Bayes factor %.3f ± %.3f, want %.3f", m.Formula, m.LogBayes, m.MCSE, want)
		}
	}
}
