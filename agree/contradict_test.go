package agree

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// The residual sums of a release in a frame are those of its sums in scaled units, whatever
// these are: of its own, and so of noise, in which they are linear.
func TestResidualInFrame(t *testing.T) {
	const m, n = 3, 100
	rng := rand.New(rand.NewPCG(1, 2))
	f := &release.Frame{Centre: []float64{0.2, -0.3, 0.4}, Matrix: [][]float64{{3}, {-1, 2}, {0.5, -4, 5}}, Radius: 3, Weight: 1}
	for _, intercept := range []bool{true, false} {
		shape := model.Shape{P: m - 1, Intercept: intercept}
		theta := []float64{0.3, -0.7, 0.2}[:shape.Q()]
		z := make([]float64, release.Length(m))
		for i := range z {
			z[i] = rng.NormFloat64()
		}
		r := &release.Release{N: n, Frame: f, Statistics: release.StatisticsFromVector(m, z)}
		r.Schema.Covariates = make([]schema.Column, m-1)
		own := newResidualSite(Response{}, &model.Observation{Shape: shape, N: n, Z: z, Frame: f}, Site{})
		box := newResidualSite(Response{}, &model.Observation{Shape: shape, N: n, Z: r.Scaled()}, Site{})
		own.set(theta, 0.5)
		box.set(theta, 0.5)
		own.residual(z, n)
		box.residual(r.Scaled(), n)
		sums := model.NewSums(shape)
		sums.Set(r.Scaled(), n)
		for k, want := range sums.XY {
			for l, u := range theta {
				want -= sums.XX[k*len(theta)+l] * u
			}
			if math.Abs(own.v[k]-want) > 1e-10 || math.Abs(box.v[k]-want) > 1e-10 {
				t.Errorf("intercept %t: XY − XXθ %v in the frame and %v in the box, want %v", intercept, own.v[k], box.v[k], want)
			}
		}
		want := sums.YY - n*0.5
		for k, u := range theta {
			want -= u * (sums.XY[k] + box.v[k])
		}
		if q := len(theta); math.Abs(own.v[q]-want) > 1e-10 || math.Abs(box.v[q]-want) > 1e-10 {
			t.Errorf("intercept %t: residual sum of squares %v in the frame and %v in the box, want %v", intercept, own.v[q], box.v[q], want)
		}
	}
}

// XX of sums that rows have is the same in a frame.
func TestProjectedInFrame(t *testing.T) {
	rng, f := rand.New(rand.NewPCG(1, 2)), &release.Frame{Centre: []float64{0.2, -0.3}, Matrix: [][]float64{{3}, {-1, 2}}, Radius: 3, Weight: 1}
	z := make([]float64, release.Length(2))
	for range 100 {
		a, b := rng.NormFloat64(), rng.NormFloat64()
		for i, x := range []float64{a, b, a * a, a * b, b * b} {
			z[i] += x
		}
	}
	r := &release.Release{N: 100, Frame: f, Statistics: release.StatisticsFromVector(2, z)}
	r.Schema.Covariates = make([]schema.Column, 1)
	shape := model.Shape{P: 1, Intercept: true}
	own, box := newResidualSite(Response{}, &model.Observation{Shape: shape, N: 100, Z: z, Frame: f}, Site{}), newResidualSite(Response{}, &model.Observation{Shape: shape, N: 100, Z: r.Scaled()}, Site{})
	for i, x := range own.xx {
		if math.Abs(x-box.xx[i]) > 1e-10 {
			t.Errorf("XX %v in the frame, %v in the box", own.xx, box.xx)
		}
	}
}
