package accounting

import (
	"testing"

	"github.com/dpreg/dpreg/internal/must"
)

// The cases that docs/accounting.md gives times of.
func BenchmarkEpsilon(b *testing.B) {
	for _, c := range []struct {
		name  string
		t     Training
		delta float64
	}{
		{"sigma=4,q=.01,T=1e4", Training{Multiplier: 4, Rate: 0.01, Steps: 10000}, 1e-5},
		{"sigma=1.1,q=256÷60000,T=14063", Training{Multiplier: 1.1, Rate: 256. / 60000, Steps: 14063}, 1e-5},
		{"sigma=.8,q=.01,T=2000", Training{Multiplier: 0.8, Rate: 0.01, Steps: 2000}, 1e-6},
		{"sigma=.8,q=.001,T=1e5", Training{Multiplier: 0.8, Rate: 0.001, Steps: 100000}, 1e-6},
		{"sigma=1,q=1e-4,T=1e3", Training{Multiplier: 1, Rate: 1e-4, Steps: 1000}, 1e-6},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				must.Get(c.t.Epsilon(PLD, c.delta))(b)
			}
		})
	}
}

func BenchmarkFindMultiplier(b *testing.B) {
	for b.Loop() {
		must.Get((Training{Rate: 0.01, Steps: 10000}).FindMultiplier(PLD, 1, 1e-5))(b)
	}
}
