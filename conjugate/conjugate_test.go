package conjugate

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"gonum.org/v1/gonum/stat/distuv"
)

// falseAlarm is the chance of a failure without a fault for one comparison.
// About a hundred are made in this package, on fixed seeds.
const falseAlarm = 1e-7

func source() *rand.Rand { return rand.New(rand.NewPCG(20, 26)) }

// follows tests a sample against a continuous cdf.
func follows(t *testing.T, what string, x []float64, cdf func(float64) float64) {
	t.Helper()
	must.Follows(t, what, x, cdf, falseAlarm)
}

// averages tests the mean of a sample against its expectation by the standard
// error estimated from the sample itself.
func averages(t *testing.T, what string, x []float64, want float64) {
	t.Helper()
	var s, ss float64
	for _, v := range x {
		s += v
	}
	n := float64(len(x))
	s /= n
	for _, v := range x {
		ss += (v - s) * (v - s)
	}
	limit := -distuv.UnitNormal.Quantile(falseAlarm/2) * math.Sqrt(ss) / n
	if !(math.Abs(s-want) <= limit) {
		t.Errorf("%s: mean %g, expected %g ± %g", what, s, want, limit)
	}
}

// closeTo compares two numbers to a relative tolerance.
func closeTo(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol*math.Max(math.Abs(want), 1e-300)) {
		t.Errorf("%s: got %.17g, want %.17g", what, got, want)
	}
}

// allClose compares vectors relative to the largest element.
func allClose(t *testing.T, what string, got, want []float64, tol float64) {
	t.Helper()
	var size float64
	for _, v := range want {
		size = max(size, math.Abs(v))
	}
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= tol*size) {
			t.Errorf("%s[%d]: got %.17g, want %.17g", what, i, got[i], want[i])
		}
	}
}

func uniform(u float64) float64 { return min(max(u, 0), 1) }

// testNIG and testNIW are correlated laws of dimension 3 and 2.
func testNIG() *NIG {
	return made(NewNIG([]float64{.5, -1, 2}, []float64{
		2, .5, -.3,
		.5, 1, .2,
		-.3, .2, 3,
	}, 4, 3))
}

func testNIW() *NIW {
	return made(NewNIW([]float64{.5, -1}, 2, []float64{3, -1, -1, 2}, 8))
}

func made[T any](d T, err error) T {
	if err != nil {
		panic(err)
	}
	return d
}

func TestConstructorsRefuse(t *testing.T) {
	one := []float64{1, 0, 0, 1}
	m := []float64{0, 0}
	nan, inf := math.NaN(), math.Inf(1)
	nig := func(mean, precision []float64, shape, scale float64) error {
		_, err := NewNIG(mean, precision, shape, scale)
		return err
	}
	niw := func(mean []float64, kappa float64, scale []float64, dof float64) error {
		_, err := NewNIW(mean, kappa, scale, dof)
		return err
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{nig(m, one, 1, 1), ""},
		{nig(nil, nil, 1, 1), "theta mean is empty"},
		{nig([]float64{0, nan}, one, 1, 1), "theta mean[1] is NaN"},
		{nig(m, one[:3], 1, 1), "needs 2 by 2"},
		{nig(m, []float64{1, 0, inf, 1}, 1, 1), "theta precision[2] is +Inf"},
		{nig(m, []float64{1, .5, .4, 1}, 1, 1), "not symmetric: element (1,0) is 0.4, element (0,1) is 0.5"},
		{nig(m, []float64{1, 2, 2, 1}, 1, 1), "theta precision is not positive definite: its smallest eigenvalue is -1"},
		{nig(m, make([]float64, 4), 1, 1), "smallest eigenvalue is 0"},
		{nig(m, one, 0, 1), "sigma2 shape is 0"},
		{nig(m, one, 1, -1), "sigma2 scale is -1"},
		{nig(m, one, 1, inf), "sigma2 scale is +Inf"},
		{niw(m, 1, one, 1.5), ""},
		{niw(nil, 1, nil, 1), ""},
		{niw([]float64{inf, 0}, 1, one, 3), "covariates mean[0] is +Inf"},
		{niw(m, 0, one, 3), "covariates kappa is 0"},
		{niw(m, 1, []float64{1, 3, 3, 1}, 3), "covariates scale is not positive definite: its smallest eigenvalue is -2"},
		{niw(m, 1, one, 1), "covariates dof is 1: it must be finite and greater than 1"},
		{niw(m, 1, one, nan), "covariates dof is NaN"},
	} {
		switch {
		case c.want == "" && c.err != nil:
			t.Errorf("refused: %v", c.err)
		case c.want != "" && (c.err == nil || !strings.Contains(c.err.Error(), c.want)):
			t.Errorf("error %q does not say %q", c.err, c.want)
		}
	}
}

func TestConstructorsCopy(t *testing.T) {
	mean, m := []float64{1, 2}, []float64{1, 0, 0, 1}
	a, b := made(NewNIG(mean, m, 1, 1)), made(NewNIW(mean, 1, m, 3))
	c, d := a.Clone(), b.Clone()
	mean[0], m[0], a.Mean[1], b.Scale[3] = 9, 9, 9, 9
	if a.Mean[0] != 1 || a.Precision[0] != 1 || b.Mean[0] != 1 || b.Scale[0] != 1 || c.Mean[1] != 2 || d.Scale[3] != 1 {
		t.Error("memory is shared")
	}
}

// TestNearlySymmetric: rounding in the last digits is no user's mistake.
func TestNearlySymmetric(t *testing.T) {
	d := made(NewNIG([]float64{0, 0}, []float64{1, .3, .3 * (1 + 1e-14), 1}, 1, 1))
	if d.Precision[1] != d.Precision[2] {
		t.Error("precision kept asymmetric")
	}
}

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
	there := made(d.Affine(a, c, h))
	back := made(there.AffineInverse(a, c, h))
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
	s, o := NewNIGSampler(3), made(d.Affine(a, c, h))
	s.Set(d)
	jacobian := math.Log(a[0]*a[4]*a[8]) + 2*math.Log(h)
	theta := make([]float64, 3)
	for range 50 {
		sigma2 := s.Rand(theta, rng)
		moved := mulVec(a, theta)
		for i := range moved {
			moved[i] += c[i]
		}
		if diff := logNIG(d, theta, sigma2) - logNIG(o, moved, h*h*sigma2); math.Abs(diff-jacobian) > 1e-10 {
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
	want := made(post.Affine(a, c, h))

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
	prior := made(d.Affine(a, c, h))
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
	there := made(d.Affine(h, c))
	back := made(there.AffineInverse(h, c))
	allClose(t, "mean", back.Mean, d.Mean, 1e-12)
	allClose(t, "scale", back.Scale, d.Scale, 1e-12)
	s := NewNIWSampler(2)
	s.Set(d)
	// |dT′/dT| = |H|^{p+1}, |dμ′/dμ| = |H|.
	jacobian := 4 * math.Log(h[0]*h[3])
	mu, tau := make([]float64, 2), make([]float64, 4)
	for range 50 {
		s.Rand(mu, tau, rng)
		moved := []float64{20 + 20*mu[0], 1 + 2*mu[1]}
		if diff := logNIW(d, mu, tau) - logNIW(there, moved, congruence(h, tau, 2)); math.Abs(diff-jacobian) > 1e-10 {
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
