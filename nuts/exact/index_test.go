package exact

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/model"
)

// given draws normal rows of p columns of levels of so many rows, on condition of mean 0 in each level and scatter
// nI: U, and of each row its level.
func given(counts []int, p int, rng *rand.Rand) (u [][]float64, of []int) {
	w := make([]float64, p*p)
	for l, n := range counts {
		mean, first := make([]float64, p), len(u)
		for range n {
			row := make([]float64, p)
			for j := range row {
				row[j] = rng.NormFloat64()
				mean[j] += row[j] / float64(n)
			}
			u, of = append(u, row), append(of, l)
		}
		for _, row := range u[first:] {
			addScaled(row, -1, mean)
			for j := range p {
				addScaled(w[j*p:j*p+p], row[j], row)
			}
		}
	}
	for i := range w {
		w[i] /= float64(len(u))
	}
	dense.Cholesky(w, p)
	for _, row := range u {
		dense.SolveLower(w, p, row)
	}
	return u, of
}

// indexOf is the law of rows of levels of so many rows, at an η̄_l each.
func indexOf(of family, counts []int, f, etas []float64) *index {
	n := 0
	for _, c := range counts {
		n += c
	}
	l := newIndex(of, float64(n), len(f), len(counts))
	copy(l.f, f)
	for i, c := range counts {
		l.at[i].eta, l.at[i].root = etas[i], math.Sqrt(float64(c))
	}
	l.direct()
	return l
}

// normal is the law of (F, h∥) that index is to have: mean, and covariance, what is known of v projected out or not.
func (t *index) normal(projected bool) (mean, cov []float64) {
	levels := len(t.at)
	size := levels + 1
	mean, cov = make([]float64, size), make([]float64, size*size)
	on := make([]float64, size) // of Σv² over its root
	for i, l := range t.at {
		m, q := l.M, l.S
		c00, c01, c11 := q[0]-m[0]*m[0], q[1]-m[0]*m[1], q[2]-m[1]*m[1]
		w := l.root * l.root / t.n
		if projected { // off 1 and v of the level
			c00, c01, c11 = c00-m[1]*m[1], c01-m[1]*m[2], c11-m[2]*m[2]
			on[i], on[levels] = on[i]+l.root/t.n*(m[2]-m[0])/math.Sqrt2, on[levels]+w*(m[3]-m[1])/math.Sqrt2/t.n
		}
		mean[i], mean[levels] = l.root*m[0], mean[levels]+w*m[1]
		cov[i*size+i] = c00
		cov[i*size+levels] = l.root / t.n * c01
		cov[levels*size+i] = cov[i*size+levels]
		cov[levels*size+levels] += w * c11 / t.n
	}
	for i, u := range on {
		for j, v := range on {
			cov[i*size+j] -= t.n * u * v
		}
	}
	return mean, cov
}

// logNormal is the log density of a normal law but for a constant.
func logNormal(x, mean, cov []float64) float64 {
	size := len(x)
	root, r := slices.Clone(cov), make([]float64, size)
	for i := range x {
		r[i] = x[i] - mean[i]
	}
	dense.Cholesky(root, size)
	dense.SolveLower(root, size, r)
	return -0.5 * (dense.LogDet(root, size) + dot(r, r))
}

// TestIndexLaw simulates (F, h) given the covariates' sums, of one level and of three. The mean and the covariance of
// (F, h∥) must be those of moments within 5 standard errors and terms of order 1/n, which at n = 200 are a
// few hundredths; |h⊥|²/Q must be Beta(½(p−1), ½(n−L−p)), which it is exactly, by the distance of
// Kolmogorov and Smirnov at a false-alarm rate of 1e-6. A covariance without the projection, and
// Q without h∥², must be found: of 4000 draws they are beyond their bounds by factors of 4 and of 3 or more.
func TestIndexLaw(t *testing.T) {
	const p = 3
	trials := testsize.Of(2000, 4000)
	for link, of := range testFamilies {
		if testing.Short() && link != model.Binomial {
			continue
		}
		for _, counts := range [][]int{{200}, {120, 50, 90}} {
			rng := rand.New(rand.NewPCG(7, 1))
			l := indexOf(of.family, counts, []float64{0.9, -0.6, 1}, []float64{-0.5, 0.6, -1})
			levels, n := len(counts), l.n
			size := levels + 1
			mean, cov := l.normal(true)
			sum, square := make([]float64, size), make([]float64, size*size)
			var share, wrong []float64
			for range trials {
				at, h, squares := make([]float64, size), make([]float64, p), make([]float64, levels)
				u, level := given(counts, p, rng)
				for i, row := range u {
					v := of.draw(l.at[level[i]].eta+dot(l.f, row), rng)
					at[level[i]] += v / l.at[level[i]].root
					squares[level[i]] += v * v
					addScaled(h, v/n, row)
				}
				at[levels] = dot(l.e, h)
				q := 0.0
				for i := range counts {
					q += (squares[i] - at[i]*at[i]) / n
				}
				for i := range at {
					sum[i] += at[i] - mean[i]
					for j := range at {
						square[i*size+j] += (at[i] - mean[i]) * (at[j] - mean[j])
					}
				}
				rest := dot(h, h) - at[levels]*at[levels]
				share, wrong = append(share, rest/(q-at[levels]*at[levels])), append(wrong, rest/q)
			}
			r := float64(trials)
			within := func(cov []float64) bool {
				for i := range size {
					for j := range size {
						root := math.Sqrt(cov[i*size+i] * cov[j*size+j])
						if !(math.Abs(square[i*size+j]/r-cov[i*size+j]) < root*(5*math.Sqrt(2/r)+0.04)) {
							return false
						}
					}
				}
				return true
			}
			for i := range size {
				scale := 1 / math.Sqrt(n) // of the terms of order 1/n, in an F
				if i == levels {
					scale /= math.Sqrt(n)
				} else if levels > 1 {
					scale = 1 / l.at[i].root
				}
				if off := sum[i] / r; math.Abs(off) > 5*math.Sqrt(cov[i*size+i]/r)+0.5*scale {
					t.Errorf("%s, %d levels: mean %d is off by %v", link, levels, i, off)
				}
			}
			if !within(cov) {
				t.Errorf("%s, %d levels: Cov is %v, of the law %v", link, levels, square, cov)
			}
			if _, plain := l.normal(false); within(plain) {
				t.Errorf("%s, %d levels: a covariance without the projection went unnoticed", link, levels)
			}
			limit := 2.7 / math.Sqrt(r) // 2 exp(−2·2.7²) = 1e-6
			law := distuv.Beta{Alpha: 0.5 * (p - 1), Beta: 0.5 * (n - float64(levels+p))}
			if d := distance(share, law.CDF); d > limit {
				t.Errorf("%s, %d levels: |h⊥|²/Q is %v from its law", link, levels, d)
			}
			if d := distance(wrong, law.CDF); d < limit {
				t.Errorf("%s, %d levels: Q without h∥² went unnoticed", link, levels)
			}
		}
	}
}

// distance is must.RootD over √n.
func distance(x []float64, cdf func(float64) float64) float64 {
	return must.RootD(x, cdf) / math.Sqrt(float64(len(x)))
}

// TestIndexDensity integrates the density over h⊥ of two covariates: what is left must be the
// normal law of (F, h∥), up to one constant, wherever that is.
func TestIndexDensity(t *testing.T) {
	for _, counts := range [][]int{{60}, {30, 8, 40}} {
		l := indexOf(testFamilies[model.Binomial].family, counts, []float64{0.8, 0.6}, []float64{0.3, -0.5, 0.9})
		mean, _ := l.normal(true)
		levels, rng := len(counts), rand.New(rand.NewPCG(7, 2))
		first := math.NaN()
		for range 4 {
			at := slices.Clone(mean)
			for i := range levels {
				at[i] += 0.3 * rng.NormFloat64()
				l.at[i].sum = at[i]
			}
			at[levels] += 0.05 * rng.NormFloat64()
			copy(l.h, []float64{at[levels] * l.e[0], at[levels] * l.e[1]})
			top, ok := l.value()
			q := math.Sqrt(l.rest)
			const steps = 20000
			sum := 0.0
			for k := range steps {
				off := q * (2*(float64(k)+0.5)/steps - 1)
				l.h[0], l.h[1] = at[levels]*l.e[0]-off*l.e[1], at[levels]*l.e[1]+off*l.e[0]
				v, in := l.value()
				ok = ok && in
				sum += 2 * q / steps * math.Exp(v-top)
			}
			mean, cov := l.normal(true)
			left := top + math.Log(sum) - logNormal(at, mean, cov)
			if math.IsNaN(first) {
				first = left
			}
			if !(ok && math.Abs(left-first) < 1e-6) {
				t.Errorf("at %v the integral is off by %v", at, left-first)
			}
		}
	}
}

// TestIndexGradient compares the gradient in all that the law hangs on with differences.
func TestIndexGradient(t *testing.T) {
	for link, of := range testFamilies {
		for _, p := range []int{1, 3} {
			counts := []int{30, 8, 40}
			at := []float64{0.3, -0.5, 0.9} // η̄, F, f, h
			f := []float64{0.7, -0.4, 0.2}[:p]
			mean, _ := indexOf(of.family, counts, f, at).normal(true)
			for i := range counts {
				at = append(at, mean[i]*(1+0.1*float64(i-1)))
			}
			at = append(at, f...)
			for j := range p {
				at = append(at, 0.5*mean[len(counts)]*float64(1-j))
			}
			var l *index
			value := func(x []float64) float64 {
				l = indexOf(of.family, counts, x[6:6+p], x[:3])
				for i := range counts {
					l.at[i].sum = x[3+i]
				}
				copy(l.h, x[6+p:])
				v, ok := l.value()
				if !ok {
					t.Fatalf("%s: outside", link)
				}
				return v
			}
			want := fd.Gradient(nil, value, at, &fd.Settings{Formula: fd.Central, Step: 1e-5})
			value(at)
			l.slope()
			byF := make([]float64, p)
			l.pull(byF)
			var got []float64
			for i := range counts {
				got = append(got, l.at[i].byEta)
			}
			for i := range counts {
				got = append(got, l.at[i].bySum)
			}
			got = append(append(got, byF...), l.byH...)
			for i, g := range got {
				if !(math.Abs(g-want[i]) < 1e-5*(1+math.Abs(g))) {
					t.Errorf("%s p=%d: slope %d is %v, differences %v", link, p, i, g, want[i])
				}
			}
		}
	}
}

// TestIndexOfNormalResponse: of a response that is normal about η the law, times that of what y's rows have left, is the one
// that sums by levels have of a normal response, wherever these are: F_l ~ N(M_l, σ²), D_y ~ N(βᵀD_x, σ²/n) and
// nD_yy²/σ² ~ χ²_{n−L−q}.
func TestIndexOfNormalResponse(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 3))
	counts := []int{30, 8, 40}
	const q, levels, n = 3, 3, 78.0
	first := math.NaN()
	for range 5 {
		sigma := 0.3 + rng.Float64()
		normal := family{most: 2, mean: func(eta, _ float64) (g, slope, square, squareSlope float64) {
			return eta, 1, eta*eta + sigma*sigma, 2 * eta
		}}
		f, etas := []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}, []float64{1 + rng.Float64(), rng.Float64(), 2}
		l := indexOf(normal, counts, f, etas)
		want, squares, sums := 0.0, 0.0, 0.0
		for i := range l.at {
			at := &l.at[i]
			e := rng.NormFloat64()
			at.sum = at.root*at.eta + sigma*e
			want -= 0.5*e*e + math.Log(sigma)
			squares, sums = squares+at.sum*at.sum, sums+at.root*at.sum
		}
		left := 0.2 + rng.Float64() // D_yy²
		for j := range l.h {
			e := rng.NormFloat64()
			l.h[j] = f[j] + sigma/math.Sqrt(n)*e
			want -= 0.5*e*e + math.Log(sigma)
		}
		want += (n-levels-q-1)*0.5*math.Log(left) - 0.5*n*left/(sigma*sigma) - (n-levels-q)*math.Log(sigma)
		for i := range l.at {
			l.at[i].kappa = (squares + n*(dot(l.h, l.h)+left)) / sums
		}
		got, ok := l.value()
		got += (0.5*(n-levels-1)-1)*math.Log(l.rest) - 0.5*n*l.rest/(sigma*sigma) - (n-levels-1)*math.Log(sigma) + 0.5*math.Log(left)
		if math.IsNaN(first) {
			first = got - want
		}
		if !(ok && math.Abs(got-want-first) < 1e-6) {
			t.Errorf("apart by %v, and before by %v", got-want, first)
		}
	}
}
