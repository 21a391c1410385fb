package nuts

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// factor returns F, by what Push does to unit vectors.
func factor(m *Metric) *mat.Dense {
	f := mat.NewDense(len(m.mean), len(m.mean), nil)
	for j := range len(m.mean) {
		unit, column := make([]float64, len(m.mean)), make([]float64, len(m.mean))
		unit[j] = 1
		m.Push(column, 1, unit)
		f.SetCol(j, column)
	}
	return f
}

// matrix returns FFᵀ.
func matrix(m *Metric) *mat.SymDense {
	c := mat.NewSymDense(len(m.mean), nil)
	c.SymOuterK(1, factor(m))
	return c
}

// window fills a window of correlated draws and returns their covariance.
func window(m *Metric, n int, rng *rand.Rand, bimodal bool) *mat.SymDense {
	draws := mat.NewDense(n, len(m.mean), nil)
	for i := range n {
		x := draws.RawRowView(i)
		common := rng.NormFloat64()
		for j := range x {
			x[j] = float64(j+1) * (common + rng.NormFloat64() - 3)
		}
		if bimodal && i%2 == 0 {
			x[1] *= -1
		}
		m.Add(x)
	}
	c := mat.NewSymDense(len(m.mean), nil)
	stat.CovarianceMatrix(c, draws, nil)
	return c
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-10*(1+math.Abs(b)) }

func TestMetricEstimatesCovariance(t *testing.T) {
	const dim, n = 7, 40
	for _, lead := range []int{0, 1, 3, dim} {
		m := NewMetric(dim, lead)
		rng := rand.New(rand.NewPCG(1, uint64(lead)))
		for range 2 { // a second window knows nothing of the first
			want := window(m, n, rng, false)
			if !m.Update() {
				t.Fatal("no estimate")
			}
			got := matrix(m)
			for i := range dim {
				for j := range i + 1 {
					w := want.At(i, j)
					if i != j {
						w *= n / (n + 5 + float64(lead))
					}
					if i != j && i >= lead {
						w = 0
					}
					if !near(got.At(i, j), w) {
						t.Errorf("lead %d: entry (%d, %d) is %v, not %v", lead, i, j, got.At(i, j), w)
					}
				}
			}
		}
	}
}

// A coordinate of two modes has the spread of its size, and no correlations.
func TestMetricOfTwoModes(t *testing.T) {
	for _, lead := range []int{0, 3} {
		m, size := NewMetric(3, lead), NewMetric(3, 0)
		window(m, 200, rand.New(rand.NewPCG(2, 2)), true)
		window(size, 200, rand.New(rand.NewPCG(2, 2)), false) // one mode
		if !m.Update() || !size.Update() {
			t.Fatal("no estimate")
		}
		got, one := matrix(m), matrix(size)
		// The mode is at −6 ± 2.8, so that a few sizes are folded.
		if r := got.At(1, 1) / one.At(1, 1); r < 0.8 || r > 1.2 || got.At(1, 0) != 0 || got.At(2, 1) != 0 {
			t.Errorf("lead %d: variance %v, one mode's %v; covariances %v and %v", lead, got.At(1, 1), one.At(1, 1), got.At(1, 0), got.At(2, 1))
		}
		if lead == 3 && !(got.At(2, 0) > 0) {
			t.Error("the other coordinates lost their correlation")
		}
	}
}

func TestMetricKeepsItsFactorWithoutDraws(t *testing.T) {
	m := NewMetric(3, 2)
	if m.Update() {
		t.Error("an estimate of no draws")
	}
	m.Add([]float64{1, 2, 3})
	if m.Update() {
		t.Error("an estimate of one draw")
	}
	m.Add([]float64{1, 2, 3})
	m.Add([]float64{2, 2, 4})
	if m.Update() {
		t.Error("an estimate where a coordinate never moved")
	}
	if got := matrix(m); !mat.Equal(got, mat.NewDiagDense(3, []float64{1, 1, 1})) {
		t.Errorf("the factor changed: %v", got)
	}
}

// Pull is Push's transpose.
func TestPullIsAdjoint(t *testing.T) {
	const dim = 6
	for _, lead := range []int{0, 1, 4, dim} {
		m := NewMetric(dim, lead)
		rng := rand.New(rand.NewPCG(3, 3))
		window(m, 30, rng, false)
		m.Update()
		g, p := make([]float64, dim), make([]float64, dim)
		for i := range g {
			g[i], p[i] = rng.NormFloat64(), rng.NormFloat64()
		}
		fp, ftg := make([]float64, dim), make([]float64, dim)
		m.Push(fp, 2, p)
		m.Pull(ftg, g)
		left, right := 0.0, 0.0
		for i := range g {
			left += g[i] * fp[i]
			right += 2 * ftg[i] * p[i]
		}
		m.Pull(g, g)
		for i := range g {
			if g[i] != ftg[i] {
				t.Error("Pull in place differs")
			}
		}
		if !near(left, right) {
			t.Errorf("lead %d: gᵀFp = %v, (Fᵀg)ᵀp = %v", lead, left, right)
		}
	}
}

func TestMetricPanicsOnShape(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	NewMetric(2, 3)
}
