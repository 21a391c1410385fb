package accounting

import "testing"

func BenchmarkEpsilon(b *testing.B) {
	for b.Loop() {
		var c Composition
		if err := c.Sampled(Training{Multiplier: 4, Rate: 0.01, Steps: 10000}); err != nil {
			b.Fatal(err)
		}
		if _, err := c.Epsilon(1e-5); err != nil {
			b.Fatal(err)
		}
	}
}
