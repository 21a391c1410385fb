package conjugate

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// falseAlarm is the chance of a failure without a fault for one comparison.
// About a hundred are made in this package, on fixed seeds.
const falseAlarm = 1e-7

func source() *rand.Rand { return rand.New(rand.NewPCG(20, 26)) }

// follows tests a sample against a continuous cdf by the Kolmogorov-Smirnov
// distance, for which P(D > t) ≤ 2 exp(−2nt²) (Dvoretzky, Kiefer & Wolfowitz;
// Massart 1990).
func follows(t *testing.T, what string, x []float64, cdf func(float64) float64) {
	t.Helper()
	slices.Sort(x)
	n := float64(len(x))
	var d float64
	for i, v := range x {
		p := cdf(v)
		d = max(d, p-float64(i)/n, float64(i+1)/n-p)
	}
	if limit := math.Sqrt(math.Log(2/falseAlarm) / (2 * n)); !(d <= limit) {
		t.Errorf("%s: Kolmogorov-Smirnov distance %.5f, limit %.5f", what, d, limit)
	}
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
	return must(NewNIG([]float64{.5, -1, 2}, []float64{
		2, .5, -.3,
		.5, 1, .2,
		-.3, .2, 3,
	}, 4, 3))
}

func testNIW() *NIW {
	return must(NewNIW([]float64{.5, -1}, 2, []float64{3, -1, -1, 2}, 8))
}

func must[T any](d T, err error) T {
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
		{niw(nil, 1, nil, 1), "covariates mean is empty"},
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
	a, b := must(NewNIG(mean, m, 1, 1)), must(NewNIW(mean, 1, m, 3))
	c, d := a.Clone(), b.Clone()
	mean[0], m[0], a.Mean[1], b.Scale[3] = 9, 9, 9, 9
	if a.Mean[0] != 1 || a.Precision[0] != 1 || b.Mean[0] != 1 || b.Scale[0] != 1 || c.Mean[1] != 2 || d.Scale[3] != 1 {
		t.Error("memory is shared")
	}
}

// TestNearlySymmetric: rounding in the last digits is no user's mistake.
func TestNearlySymmetric(t *testing.T) {
	d := must(NewNIG([]float64{0, 0}, []float64{1, .3, .3 * (1 + 1e-14), 1}, 1, 1))
	if d.Precision[1] != d.Precision[2] {
		t.Error("precision kept asymmetric")
	}
}
