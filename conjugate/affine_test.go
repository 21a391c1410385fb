package conjugate

import (
	"math"
	"strings"
	"testing"
)

// units is the change of units of a regression of y in [10, 50] on x₁ in
// [0, 40] and x₂ in [-1, 3]: y_s = (y−30)/20, and so on.
func units() (a, c []float64, h float64) {
	const hy, cy = 20, 30
	c1, h1, c2, h2 := 20., 20., 1., 2.
	return []float64{
		hy, -hy * c1 / h1, -hy * c2 / h2,
		0, hy / h1, 0,
		0, 0, hy / h2,
	}, []float64{cy, 0, 0}, hy
}

func TestNIGAffineRoundTrip(t *testing.T) {
	d := testNIG()
	a, c, h := units()
	there := must(d.Affine(a, c, h))
	back := must(there.AffineInverse(a, c, h))
	// Numbers grow no more than a hundredfold on the way.
	allClose(t, "mean", back.Mean, d.Mean, 1e-12)
	allClose(t, "precision", back.Precision, d.Precision, 1e-12)
	closeTo(t, "scale", back.Scale, d.Scale, 1e-12)
	if back.Shape != d.Shape {
		t.Error("shape changed")
	}
}

// TestNIGAffineDensity: at matching points the densities differ by the
// Jacobian, |A| h², only.
func TestNIGAffineDensity(t *testing.T) {
	d, rng := testNIG(), source()
	a, c, h := units()
	s, o := NewNIGSampler(3), NewNIGSampler(3)
	if !s.Set(d) || !o.Set(must(d.Affine(a, c, h))) {
		t.Fatal("refused")
	}
	jacobian := math.Log(a[0]*a[4]*a[8]) + 2*math.Log(h)
	theta := make([]float64, 3)
	for range 50 {
		sigma2 := s.Rand(theta, rng)
		moved := mulVec(a, theta)
		for i := range moved {
			moved[i] += c[i]
		}
		if diff := s.LogDensity(theta, sigma2) - o.LogDensity(moved, h*h*sigma2); math.Abs(diff-jacobian) > 1e-10 {
			t.Errorf("densities differ by %g, Jacobian %g", diff, jacobian)
		}
	}
}

// TestNIGAffineCommutes: converting the posterior is updating the converted
// prior with data in the other units.
func TestNIGAffineCommutes(t *testing.T) {
	d, rng := testNIG(), source()
	a, c, h := units()
	x, y, xx, xy, yy := regression([]float64{.2, -.4, .6}, .3, 40, rng.NormFloat64)
	s, post := NewNIGSampler(3), d.Clone()
	if !s.Update(post, d, xx, xy, yy, 40) {
		t.Fatal("refused")
	}
	want := must(post.Affine(a, c, h))

	xx, xy, yy = make([]float64, 9), make([]float64, 3), 0
	for i, r := range x {
		row := []float64{1, 20 + 20*r[1], 1 + 2*r[2]}
		v := 30 + 20*y[i]
		yy += v * v
		for j, u := range row {
			xy[j] += u * v
			for k, w := range row {
				xx[3*j+k] += u * w
			}
		}
	}
	prior := must(d.Affine(a, c, h))
	got := prior.Clone()
	if !s.Update(got, prior, xx, xy, yy, 40) {
		t.Fatal("refused")
	}
	allClose(t, "mean", got.Mean, want.Mean, 1e-10)
	allClose(t, "precision", got.Precision, want.Precision, 1e-10)
	closeTo(t, "scale", got.Scale, want.Scale, 1e-10)
	closeTo(t, "shape", got.Shape, want.Shape, 0)
}

func TestNIWAffine(t *testing.T) {
	d, rng := testNIW(), source()
	h, c := []float64{20, 0, 0, 2}, []float64{20, 1}
	there := must(d.Affine(h, c))
	back := must(there.AffineInverse(h, c))
	allClose(t, "mean", back.Mean, d.Mean, 1e-12)
	allClose(t, "scale", back.Scale, d.Scale, 1e-12)
	s, o := NewNIWSampler(2), NewNIWSampler(2)
	if !s.Set(d) || !o.Set(there) {
		t.Fatal("refused")
	}
	// |dT′/dT| = |H|^{p+1}, |dμ′/dμ| = |H|.
	jacobian := 4 * math.Log(h[0]*h[3])
	mu, tau := make([]float64, 2), make([]float64, 4)
	for range 50 {
		s.Rand(mu, tau, rng)
		moved := []float64{20 + 20*mu[0], 1 + 2*mu[1]}
		if diff := s.LogDensity(mu, tau) - o.LogDensity(moved, congruence(h, tau, 2)); math.Abs(diff-jacobian) > 1e-10 {
			t.Errorf("densities differ by %g, Jacobian %g", diff, jacobian)
		}
	}
}

func TestAffineRefuses(t *testing.T) {
	zero := make([]float64, 9)
	_, err := testNIG().Affine(zero, zero[:3], 1)
	_, back := testNIG().AffineInverse(zero, zero[:3], 1)
	a, c, _ := units()
	_, flat := testNIG().Affine(a, c, 0)
	_, niw := testNIW().AffineInverse(zero[:4], zero[:2])
	_, thin := testNIW().Affine(zero[:4], zero[:2])
	for _, err := range []error{err, back, flat, niw, thin} {
		if err == nil || !strings.HasPrefix(err.Error(), "change of units: ") {
			t.Errorf("singular units: error %v", err)
		}
	}
}
