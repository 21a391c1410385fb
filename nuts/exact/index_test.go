package exact

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/model"
)

// given draws n normal rows of p columns on condition of mean 0 and scatter nI: U.
func given(n, p int, rng *rand.Rand) [][]float64 {
	u, w := make([][]float64, n), make([]float64, p*p)
	mean := make([]float64, p)
	for i := range u {
		u[i] = make([]float64, p)
		for j := range p {
			u[i][j] = rng.NormFloat64()
			mean[j] += u[i][j] / float64(n)
		}
	}
	for _, row := range u {
		addScaled(row, -1, mean)
		for j := range p {
			addScaled(w[j*p:j*p+p], row[j]/float64(n), row)
		}
	}
	dense.Cholesky(w, p)
	for _, row := range u {
		dense.SolveLower(w, p, row)
	}
	return u
}

// TestIndexLaw simulates (ȳ, h) given the covariates' sums. The mean and the covariance of (ȳ, h∥) must
// be those of moments within 5 standard errors and terms of order 1/n, which at n = 200 are a
// few hundredths; |h⊥|²/Q must be Beta(½(p−1), ½(n−p−1)), which it is exactly, by the distance of
// Kolmogorov and Smirnov at a false-alarm rate of 1e-6. A covariance without the projection, and
// Q without h∥², must be found.
func TestIndexLaw(t *testing.T) {
	const n, p = 200, 3
	trials := testsize.Of(2000, 10000)
	for link, of := range testFamilies {
		rng := rand.New(rand.NewPCG(7, 1))
		l := newIndex(of.family, n, p)
		copy(l.f, []float64{0.9, -0.6, 1})
		if !l.direct(-0.5) {
			t.Fatal("no covariance")
		}
		var sum [2]float64
		var square [3]float64
		var share, wrong []float64
		for range trials {
			y, h, square2 := 0.0, make([]float64, p), 0.0
			for _, u := range given(n, p, rng) {
				v := of.draw(l.eta+dot(l.f, u), rng)
				y, square2 = y+v/n, square2+v*v/n
				addScaled(h, v/n, u)
			}
			along := dot(l.e, h)
			a, b := y-l.M[0], along-l.M[1]
			sum[0], sum[1] = sum[0]+a, sum[1]+b
			square[0], square[1], square[2] = square[0]+a*a, square[1]+a*b, square[2]+b*b
			rest := dot(h, h) - along*along
			k := square2 / y
			share, wrong = append(share, rest/(k*y-y*y-along*along)), append(wrong, rest/(k*y-y*y))
		}
		r := float64(trials)
		for i, c := range []float64{l.C00, l.C11} {
			if off := sum[i] / r; math.Abs(off) > 5*math.Sqrt(c/n/r)+0.5/n {
				t.Errorf("%s: mean %d is off by %v", link, i, off)
			}
		}
		within := func(c00, c01, c11 float64) bool {
			off := func(i int, c, size float64) bool {
				return math.Abs(n*square[i]/r-c) < size*(5*math.Sqrt(2/r)+0.04)
			}
			return off(0, c00, l.C00) && off(1, c01, math.Sqrt(l.C00*l.C11)) && off(2, c11, l.C11)
		}
		if !within(l.C00, l.C01, l.C11) {
			t.Errorf("%s: n Cov is %v, C %v %v %v", link, square, l.C00, l.C01, l.C11)
		}
		m := l.M
		if within(l.S[0]-m[0]*m[0], l.S[1]-m[0]*m[1], l.S[2]-m[1]*m[1]) {
			t.Errorf("%s: a covariance without the projection went unnoticed", link)
		}
		limit := 2.7 / math.Sqrt(r) // 2 exp(−2·2.7²) = 1e-6
		law := distuv.Beta{Alpha: 0.5 * (p - 1), Beta: 0.5 * (n - p - 1)}
		if d := distance(share, law.CDF); d > limit {
			t.Errorf("%s: |h⊥|²/Q is %v from its law", link, d)
		}
		if d := distance(wrong, law.CDF); d < limit {
			t.Errorf("%s: Q without h∥² went unnoticed", link)
		}
	}
}

// distance is that of Kolmogorov and Smirnov.
func distance(x []float64, cdf func(float64) float64) (most float64) {
	slices.Sort(x)
	for i, v := range x {
		f := cdf(v)
		most = max(most, f-float64(i)/float64(len(x)), float64(i+1)/float64(len(x))-f)
	}
	return most
}

// TestIndexDensity integrates the density over h⊥ of two covariates: what is left must be the
// normal law of (ȳ, h∥), up to one constant, wherever that is.
func TestIndexDensity(t *testing.T) {
	const n = 60
	l := newIndex(testFamilies[model.Binomial].family, n, 2)
	copy(l.f, []float64{0.8, 0.6})
	l.direct(0.3)
	var first float64
	for i, at := range [][2]float64{{l.M[0], l.M[1]}, {l.M[0] + 0.1, l.M[1]}, {l.M[0] - 0.2, l.M[1] + 0.1}, {0.3, -0.1}} {
		l.y = at[0]
		q := math.Sqrt(l.y - l.y*l.y - at[1]*at[1])
		const steps = 20000
		sum, top := 0.0, math.Inf(-1)
		for k := range steps {
			off := q * (2*(float64(k)+0.5)/steps - 1)
			l.h[0], l.h[1] = at[1]*l.e[0]-off*l.e[1], at[1]*l.e[1]+off*l.e[0]
			v, ok := l.value()
			if !ok {
				t.Fatal("outside")
			}
			if math.IsInf(top, -1) {
				l.h[0], l.h[1] = at[1]*l.e[0], at[1]*l.e[1]
				top, _ = l.value()
			}
			sum += 2 * q / steps * math.Exp(v-top)
		}
		d0, d1, det := at[0]-l.M[0], at[1]-l.M[1], l.Det()
		left := top + math.Log(sum) + 0.5*n*(l.C11*d0*d0-2*l.C01*d0*d1+l.C00*d1*d1)/det
		if i == 0 {
			first = left
		}
		if math.Abs(left-first) > 1e-6 {
			t.Errorf("at %v the integral is off by %v", at, left-first)
		}
	}
}
