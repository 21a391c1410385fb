package nuts

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
)

// BenchmarkStep runs transitions on a standard normal, whose density costs next
// to nothing, so that what is measured is the sampler. The dimensions are those
// of a small problem with a dense metric, and of larger ones with a diagonal.
func BenchmarkStep(b *testing.B) {
	for _, c := range []struct{ dim, dense int }{{5, 5}, {5, 0}, {50, 50}, {50, 0}, {1000, 0}, {20000, 0}} {
		b.Run(fmt.Sprintf("dim=%d dense=%d", c.dim, c.dense), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 2))
			s := must.Get(New(standard(c.dim), make([]float64, c.dim), Options{Dense: c.dense}))(b)
			leapfrogs, warmup := 0, 200
			for i := range warmup {
				s.Step(rng)
				s.Adapt(i, warmup)
			}
			b.ReportAllocs()
			for b.Loop() {
				leapfrogs += s.Step(rng).Leapfrogs
			}
			perLeap := b.Elapsed().Seconds() / float64(leapfrogs)
			b.ReportMetric(1e9*perLeap, "ns/leapfrog")
			b.ReportMetric(1/perLeap, "leapfrogs/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkStandard is the density in BenchmarkStep: what is to be taken off.
func BenchmarkStandard(b *testing.B) {
	for _, dim := range []int{5, 50, 1000, 20000} {
		b.Run(fmt.Sprintf("dim=%d", dim), func(b *testing.B) {
			x, g := make([]float64, dim), make([]float64, dim)
			var t Target = standard(dim)
			for b.Loop() {
				t.LogDensity(g, x)
			}
		})
	}
}
