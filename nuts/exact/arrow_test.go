package exact

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
)

// TestArrow: F and F⁻¹ undo one another, and Fᵀ is F's transpose.
func TestArrow(t *testing.T) {
	rng := rand.New(rand.NewPCG(47, 1))
	_, problem := (&modeltest.Custodians{Shape: model.Shape{P: 2, Intercept: true}, Sites: modeltest.Unequal(3)}).Draw(rng)
	f := newJoint(problem)
	y := make([]float64, f.Dim())
	if !f.start(problem, y, rng) {
		t.Fatal("no start")
	}
	x, back, g := make([]float64, len(y)), make([]float64, len(y)), make([]float64, len(y))
	f.frame.toX(x, y)
	f.frame.toY(back, x)
	gx, gy := 0.0, 0.0
	for i, v := range y {
		if !(math.Abs(back[i]-v) < 1e-9*(1+math.Abs(v))) {
			t.Errorf("coordinate %d: %g came back as %g", i, v, back[i])
		}
		g[i] = rng.NormFloat64()
		gx += g[i] * x[i]
	}
	f.frame.pull(g)
	for i, v := range y {
		gy += g[i] * v
	}
	if !(math.Abs(gx-gy) < 1e-9*(1+math.Abs(gx))) {
		t.Errorf("gᵀFy = %g, (Fᵀg)ᵀy = %g", gx, gy)
	}
}
