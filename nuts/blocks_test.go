package nuts

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"gonum.org/v1/gonum/mat"
)

// TestBlocksEstimateCovariance: within a block, and between it and the leading
// coordinates, FFᵀ is what a dense metric over these alone has; and blocks are
// independent given the leading coordinates, that is, the precision between them is 0.
func TestBlocksEstimateCovariance(t *testing.T) {
	const lead, dim, n = 2, 9, 60 // blocks 3 and 3, a diagonal of 1
	m := NewMetric(dim, lead, 3, 3)
	window(m, n, rand.New(rand.NewPCG(5, 1)), false)
	alone := NewMetric(lead+3, lead+3)
	rng := rand.New(rand.NewPCG(5, 1))
	for range n { // the same draws, of the second block
		var x [dim]float64
		common := rng.NormFloat64()
		for j := range x {
			x[j] = float64(j+1) * (common + rng.NormFloat64() - 3)
		}
		alone.Add(append(append([]float64(nil), x[:lead]...), x[5:8]...))
	}
	if !m.Update() || !alone.Update() {
		t.Fatal("no estimate")
	}
	c, want := matrix(m), matrix(alone)
	place := []int{0, 1, 5, 6, 7}
	for i, a := range place {
		for j, b := range place {
			if !near(c.At(a, b), want.At(i, j)) {
				t.Errorf("C[%d,%d] is %g, %g alone", a, b, c.At(a, b), want.At(i, j))
			}
		}
	}
	var precision mat.Dense
	must.Do(t, precision.Inverse(c))
	for i := 2; i < 5; i++ {
		for j := 5; j < dim; j++ {
			if v := precision.At(i, j); math.Abs(v) > 1e-9 {
				t.Errorf("precision between blocks at %d, %d: %g", i, j, v)
			}
		}
	}
}

// TestBlocksPull: Pull is the transpose of Push, in place too.
func TestBlocksPull(t *testing.T) {
	const dim = 9
	m := NewMetric(dim, 2, 3, 3)
	rng := rand.New(rand.NewPCG(5, 2))
	window(m, 60, rng, true)
	if !m.Update() {
		t.Fatal("no estimate")
	}
	g, got := make([]float64, dim), make([]float64, dim)
	for i := range g {
		g[i] = rng.NormFloat64()
	}
	var want mat.VecDense
	want.MulVec(factor(m).T(), mat.NewVecDense(dim, g))
	m.Pull(got, g)
	m.Pull(g, g)
	for i := range g {
		if !near(got[i], want.AtVec(i)) || g[i] != got[i] {
			t.Errorf("entry %d: %g, in place %g, want %g", i, got[i], g[i], want.AtVec(i))
		}
	}
}
