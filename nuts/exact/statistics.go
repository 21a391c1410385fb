package exact

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
)

// statistics are s of n rows by the rows' mean v̄ and a lower triangular root D of their
// scatter about it, which is nDDᵀ: s has nv̄ and n(DDᵀ + v̄v̄ᵀ).
type statistics struct {
	m    int
	n    float64
	mean []float64 // v̄
	d    []float64 // D, m×m, zero above the diagonal
	w    []float64 // W = DDᵀ, both triangles

	s, slope     []float64 // s and the noise's slope in it
	gMean, gD, e []float64 // gradient in v̄, in D, and in W, see addNoise
	dt, product  []float64 // see pull
}

func newStatistics(m int) *statistics {
	return &statistics{m: m, mean: vec(m), d: vec(m * m), w: vec(m * m), s: vec(release.Length(m)), slope: vec(release.Length(m)),
		gMean: vec(m), gD: vec(m * m), e: vec(m * m), dt: vec(m * m), product: vec(m * m)}
}

// spread computes W.
func (t *statistics) spread() { dense.LLt(t.w, t.d, t.m) }

// vector writes s in canonical order.
func (t *statistics) vector() {
	m, at := t.m, t.m
	for j, u := range t.mean {
		t.s[j] = t.n * u
		for l := j; l < m; l++ {
			t.s[at] = t.n * (t.w[l*m+j] + u*t.mean[l])
			at++
		}
	}
}

// addNoise returns log p(z | s), adds its gradient in v̄ to gMean and that in W, with
// d log p = Σ_ij E_ij dW_ij, to the lower triangle of e, and returns its derivative in n at
// fixed v̄ and D.
func (t *statistics) addNoise(noise *model.Noise) (logp, byN float64) {
	t.vector()
	return noise.LogDensity(t.slope, t.s), t.pullNoise()
}

// pullNoise is addNoise but for the density, of the slope in s that stands there.
func (t *statistics) pullNoise() (byN float64) {
	m, at, gMean := t.m, t.m, t.gMean
	for j, u := range t.mean {
		g := t.slope[j]
		gMean[j] += t.n * g
		byN += g * u
		for l := j; l < m; l++ {
			g := t.slope[at]
			byN += g * t.s[at] / t.n
			g *= t.n
			gMean[j] += g * t.mean[l]
			gMean[l] += g * u
			if l > j {
				g *= 0.5
			}
			t.e[l*m+j] += g
			at++
		}
	}
	return byN
}

// knowSquare takes off what addNoise has of Σy² beside n, which it is.
func (t *statistics) knowSquare() {
	p, g := t.m-1, t.n*t.slope[len(t.slope)-1]
	t.gMean[p] -= 2 * g * t.mean[p]
	t.e[p*t.m+p] -= g
}

// clear makes the gradient 0.
func (t *statistics) clear() {
	clear(t.gMean)
	clear(t.gD)
	clear(t.e)
}

// pull adds 2ED to gD, the gradient in D of a function whose gradient in W is the symmetric
// E, of which the lower triangle is given.
func (t *statistics) pull() {
	m := t.m
	dense.Symmetrise(t.e, m)
	dense.TransposeTo(t.dt, t.d, m)
	dense.MulABtLower(t.product, t.e, dense.Full, t.dt, dense.Upper, m)
	for i := range m {
		addScaled(t.gD[i*m:i*m+i+1], 2, t.product[i*m:])
	}
}

// diagonal is the position of the entry in row and column i of a lower triangle, written
// row by row, behind m others.
func diagonal(m, i int) int { return m + i*(i+1)/2 + i }

// take takes v̄ and D of statistics s, canonical order, of n rows; it reports false where no
// n rows have these, or their scatter is singular.
func (t *statistics) take(s []float64, n float64) bool {
	t.n = n
	for j := range t.mean {
		t.mean[j] = s[j] / n
	}
	t.scatter(s)
	return dense.Cholesky(t.d, t.m)
}

// scatter writes that of s about v̄, over n, to the lower triangle of D.
func (t *statistics) scatter(s []float64) {
	m, at := t.m, t.m
	for j, u := range t.mean {
		for l := j; l < m; l++ {
			t.d[l*m+j] = s[at]/t.n - u*t.mean[l]
			at++
		}
	}
}

// inBox returns the mean in [−box, box] that is closest to that of a noisy sum, and one outside
// where noise does not reach so far: rows of a simulation need not lie in the box.
func inBox(sum, sd, n, box float64) float64 {
	const reach = 5 // sds of the noise: Laplace's is beyond in one of a thousand
	mean, noise := sum/n, reach*sd/n
	return max(mean-noise, min(mean+noise, max(-box, min(box, mean))))
}

// disperse takes statistics s that n rows in the box may have and that lie about z as the
// noise allows: z with noise drawn anew, means and mean squares in the box, spreads and
// eigenvalues of the scatter not below what noise can hide, for chains
// find out of the corner of columns that are nearly collinear slowly.
func (t *statistics) disperse(obs *model.Observation, n float64, rng *rand.Rand) {
	const boundless = 1e150 // of noise where z tells nothing: infinity less infinity is no number
	m, s, box, least := t.m, t.s, obs.Reach(), 0.0
	t.n = n
	sd := func(i int) float64 { return min(math.Sqrt(obs.Variance(i)), boundless) }
	for i, z := range obs.Z {
		s[i] = z + sd(i)*rng.NormFloat64()
	}
	for j := range m {
		t.mean[j] = inBox(s[j], sd(j), n, box)
	}
	t.scatter(s)
	for j := range m {
		square, row := release.Index(m, j, j), t.d[j*m:j*m+j+1]
		hidden := min(sd(square)/n, box*box)
		row[j] = max(inBox(s[square], sd(square), n, box*box)-t.mean[j]*t.mean[j], hidden)
		for k := range j {
			most := math.Sqrt(row[j] * t.d[k*m+k])
			row[k] = max(-most, min(most, row[k]))
		}
		least = max(least, hidden)
	}
	t.raise(least, rng)
	t.spread()
	t.vector()
}

// raise makes D a root of the scatter that its lower triangle has, with no eigenvalue below least, give or take a factor
// of e, and columns then scaled to the spreads that they had: with W = QΛQᵀ, D is L of QΛ^½ = LU, U orthogonal,
// the signs of L such that its diagonal is positive.
func (t *statistics) raise(least float64, rng *rand.Rand) {
	m := t.m
	values, root := vec(m), vec(m*m)
	dense.SymEigen(values, root, t.d, m, vec(m*m))
	for k, v := range values {
		size := math.Sqrt(max(v, least*math.Exp(rng.NormFloat64())))
		for i := range m {
			root[i*m+k] *= size
		}
	}
	var lq mat.LQ
	var lower mat.Dense
	lq.Factorize(mat.NewDense(m, m, root))
	lq.LTo(&lower)
	for i := range m {
		row, spread := t.d[i*m:i*m+m], t.d[i*m+i]
		clear(row)
		for j := range i + 1 {
			row[j] = math.Copysign(lower.At(i, j), lower.At(i, j)*lower.At(j, j))
		}
		floats.Scale(math.Sqrt(spread/dot(row, row)), row)
	}
}
