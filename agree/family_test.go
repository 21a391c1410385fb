package agree

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
)

// TestLine: the line of a family at θ is that of least squares on rows of the law, and the variance that about it: of rows
// of two levels, the second's share a third, and two covariates whose means are apart.
func TestLine(t *testing.T) {
	const n = 400_000
	theta := []float64{-0.3, 0.4, 2, -1.5}
	for of, most := range map[model.Family]float64{model.Binomial: 1, model.Probit: 1, model.Poisson: 9} {
		rng := rand.New(rand.NewPCG(4, 6))
		shape := model.Shape{P: 3, Intercept: true}
		z, row := make([]float64, release.Length(4)), make([]float64, 4)
		for i := range n {
			row[0] = 2*float64(i%3/2) - 1
			row[1] = 0.1*row[0] + 0.2*rng.NormFloat64()
			row[2] = 0.2 + 0.5*row[1] + 0.2*rng.NormFloat64()
			eta := theta[0]
			for j, v := range row[:3] {
				eta += theta[1+j] * v
			}
			row[3] = 2*of.Draw(eta, most, rng)/most - 1
			for j := range row {
				z[j] += row[j]
				for k := range j + 1 {
					z[release.Index(4, k, j)] += row[j] * row[k]
				}
			}
		}
		obs := &model.Observation{Shape: shape, N: n, Z: z, Kind: release.Gaussian, Scale: make([]float64, len(z))}
		s := newResidualSite(Response{of, most, [][]int{{0}}}, obs, Site{})
		line, variance, ok := s.line.at(theta, 1)
		if !ok {
			t.Fatal("no line")
		}
		s.set(line, variance)
		s.residual(z, n)
		for k, v := range s.v { // of the variance of rows about the line, times x²
			if sd := math.Sqrt(variance * s.xx[k*4+k]); !(math.Abs(v) < 4*sd) {
				t.Errorf("%s: residual sum %d is %v, of sd %v", of, k, v, sd)
			}
		}
		if square := s.squares(z) / n; !(math.Abs(square/variance-1) < 0.02) {
			t.Errorf("%s: rows vary by %v about the line, not %v", of, square, variance)
		}
	}
}

// squares is the residual sum of squares where set and residual were last.
func (s *residualSite) squares(z []float64) (sum float64) {
	s.multiply(s.rho, z, s.obs.N)
	for i, v := range s.rho {
		sum += v * s.times[i]
	}
	return sum
}

// TestHidden: a release whose noise hides how the covariates are spread contradicts nothing.
func TestHidden(t *testing.T) {
	shape := model.Shape{P: 1, Intercept: true}
	for scale, hidden := range map[float64]bool{1: false, 30: true} {
		obs := &model.Observation{Shape: shape, N: 300, Z: []float64{0, -250, 30, 0, 300}, Kind: release.Gaussian, Scale: []float64{scale, scale, scale, scale, scale}}
		if s := newResidualSite(Response{Family: model.Binomial, Most: 1}, obs, Site{}); (s == nil) != hidden {
			t.Errorf("noise of %v hides the covariates: %t", scale, s == nil)
		}
	}
}
