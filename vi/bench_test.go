package vi

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mechanisms"
)

// steps measures steps of a run, where gradients are clipped a private one, noise from the system's
// randomness included: on average, and in the least disturbed stretch of some milliseconds, which is
// what counts on a machine with other work.
func steps(b *testing.B, m *Model, o Options) {
	if o.Clip > 0 {
		o.Privacy = &Privacy{Epsilon: 1e9, Delta: 1e-5, Multiplier: 2, Entropy: mechanisms.OS()}
	}
	a := must.Get(newAscent(m, o))(b)
	const stretch = 20 // steps
	least := math.Inf(1)
	b.ReportAllocs()
	for b.Loop() {
		began := time.Now()
		for range stretch {
			a.step(1)
		}
		least = min(least, time.Since(began).Seconds()/stretch)
	}
	b.ReportMetric(0, "ns/op") // which is of a stretch
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N*stretch)*1e6, "µs/step")
	b.ReportMetric(least*1e6, "least-µs/step")
}

// Logistic regression with 100 covariates in batches of about 1000 records of so many.
func BenchmarkLogistic(b *testing.B) {
	for _, n := range []int{1000, 2000, 5000, 10000, 50000} {
		m := Logistic(simulatedRows(n, 100, 30, coin), 1)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			steps(b, m, Options{Rate: 1000 / float64(n), Steps: 1000, Clip: 5, LearningRate: 1e-3})
		})
	}
}

// Linear regression with 5 covariates in batches of about 200 records.
func BenchmarkLinear(b *testing.B) {
	m := LinearRegression(simulatedRows(5000, 5, 30, plusNormal), 1, 2, 1)
	for _, clip := range []float64{0, 5} {
		b.Run(fmt.Sprint("clip=", clip), func(b *testing.B) {
			steps(b, m, Options{Rate: 0.04, Steps: 1000, Clip: clip, LearningRate: 1e-3})
		})
	}
}

// d3p's hierarchical regression: 3 groups, 5 covariates, 1000 records, batches of 10.
func BenchmarkHierarchical(b *testing.B) {
	rows, group := simulatedRows(1000, 5, 31, coin), make([]int, 1000)
	for i := range group {
		group[i] = rand.New(rand.NewPCG(31, uint64(i))).IntN(3)
	}
	m := Hierarchical(rows, group, []float64{1, 0, 0, 0, 1, 0, 0, 0, 1}, 3, 4)
	steps(b, m, Options{Rate: 0.01, Steps: 1000, Clip: 1, LearningRate: 1e-3})
}
