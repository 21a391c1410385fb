package vi

import (
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/mechanisms"
)

// steps measures steps of a private run, noise from the system's randomness included.
func steps(b *testing.B, m Model, o Options) {
	o.Privacy = &Privacy{Epsilon: 1e9, Delta: 1e-5, Multiplier: 2, Entropy: mechanisms.OS()}
	s, err := newSetting(m, o)
	if err != nil {
		b.Fatal(err)
	}
	a := &ascent{setting: s, fit: &Fit{}, estimator: s.estimator()}
	a.start()
	b.ReportAllocs()
	for b.Loop() {
		a.step(1)
	}
}

// Logistic regression with 100 covariates in batches of about 1000.
func BenchmarkLogistic(b *testing.B) {
	m := Logistic(simulatedRows(10000, 100, 30, coin), 1)
	steps(b, m, Options{Rate: 0.1, Steps: 1000, Clip: 5, Optimiser: &Adam{Rate: 1e-3}})
}

// d3p's hierarchical regression: 3 groups, 5 covariates, 1000 records, batches of 10.
// 100,000 steps take so many seconds.
func BenchmarkHierarchical(b *testing.B) {
	rows, group := simulatedRows(1000, 5, 31, coin), make([]int, 1000)
	for i := range group {
		group[i] = rand.New(rand.NewPCG(31, uint64(i))).IntN(3)
	}
	m := Hierarchical(rows, group, []float64{1, 0, 0, 0, 1, 0, 0, 0, 1}, 3, 4)
	steps(b, m, Options{Rate: 0.01, Steps: 1000, Clip: 1, Optimiser: &Adam{Rate: 1e-3}})
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)*1e5, "s/100000")
}

// The mixture, which has no linear predictor.
func BenchmarkMixture(b *testing.B) {
	v := make([]float64, 4000)
	normal(v, rand.New(rand.NewPCG(32, 0)))
	steps(b, Mixture(v, 2, 5, 1), Options{Rate: 0.05, Steps: 1000, Clip: 1, Optimiser: &Adam{Rate: 1e-3}})
}
