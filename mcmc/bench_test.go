package mcmc

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
)

// counter is the cheapest of kernels.
type counter struct{ n float64 }

func (k *counter) Step(*rand.Rand) struct{} { k.n++; return struct{}{} }
func (k *counter) Params(dst []float64)     { dst[0] = k.n }

func BenchmarkStepOverhead(b *testing.B) {
	for _, progress := range []func(Progress){nil, func(Progress) {}} {
		b.Run(fmt.Sprintf("progress=%v", progress != nil), func(b *testing.B) {
			start := func(int, *rand.Rand) (Kernel[struct{}], error) { return new(counter), nil }
			plan := Plan{Chains: 1, Warmup: b.N, Draws: 1, Progress: progress}
			must.Get(Run(context.Background(), Columns{Params: []string{"n"}}, start, nil, plan))(b)
		})
	}
}

func BenchmarkKeptDraw(b *testing.B) {
	b.ReportAllocs()
	start := func(int, *rand.Rand) (Kernel[struct{}], error) { return new(counter), nil }
	plan := Plan{Chains: 1, Draws: b.N}
	must.Get(Run(context.Background(), Columns{Params: []string{"n"}}, start, nil, plan))(b)
}
