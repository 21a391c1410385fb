package gibbs

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmat"
	"gonum.org/v1/gonum/stat/distmv"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/model"
)

// logExactOverCLT is log p(s | ·) − log p_CLT(s | ·) by gonum's densities of s₁ ~ N(nμ, nV),
// of the scatter about the sample mean ~ Wishart(n−1, V), and of s ~ N(nμ_t, nΣ_t).
func logExactOverCLT(t *testing.T, law *model.Moments, s []float64, n float64) float64 {
	t.Helper()
	m, q := len(law.Mean), len(s)
	mean, covariance, scatter := make([]float64, q), make([]float64, q*q), make([]float64, m*m)
	law.Expect(mean, n)
	law.Covariance(covariance, n)
	dense.Symmetrise(covariance, q)
	model.Scatter(scatter, s, m, n)
	dense.Symmetrise(scatter, m)
	v, whole := mat.NewSymDense(m, law.Cov), mat.NewSymDense(q, covariance)
	sums, ok1 := distmv.NewNormal(mean[:m], whole.SliceSym(0, m), nil)
	wishart, ok2 := distmat.NewWishart(v, n-1, nil)
	clt, ok3 := distmv.NewNormal(mean, whole, nil)
	if !ok1 || !ok2 || !ok3 {
		t.Fatal("gonum refused")
	}
	return sums.LogProb(s[:m]) + wishart.LogProbSym(mat.NewSymDense(m, scatter)) - clt.LogProb(s)
}

// TestCorrection: log w is the exact law's density over the CLT's, and 0 off the support.
func TestCorrection(t *testing.T) {
	rng := rand.New(rand.NewPCG(52, 1))
	for _, p := range []int{1, 2, 4} {
		shape := model.Shape{P: p, Intercept: true}
		law, c := model.NewMoments(shape), newCorrection(shape.M())
		x, s := model.NewParams(shape), make([]float64, shape.Statistics())
		for _, n := range []float64{float64(shape.M() + 1), 12, 80, 1000} {
			constant := math.NaN() // up to which log w is given, of each n its own
			for range 5 {
				model.NewConditionals(shape, newJoint(t, p, 0, 0).prior, true).DrawPrior(x, rng)
				law.Set(x)
				if !law.Factor() {
					t.Fatal("no factor")
				}
				law.RandExact(s, n, rng)
				d := c.logWeight(s, law, n) - logExactOverCLT(t, law, s, n)
				if math.IsNaN(constant) {
					constant = d
				}
				if !(math.Abs(d-constant) < 1e-7*n) {
					t.Errorf("p = %d, n = %g: log w is off by %g, at first by %g", p, n, d, constant)
				}
				s[shape.M()] = 0.9 * s[0] * s[0] / n // Σx² < (Σx)²/n
				if w := c.logWeight(s, law, n); !math.IsInf(w, -1) {
					t.Errorf("p = %d, n = %g: log w of impossible statistics is %g", p, n, w)
				}
			}
		}
	}
}
