package agree

import (
	"math"

	"github.com/dpreg/dpreg/release"
)

// Alike is the log ratio of two likelihoods, of z_a − z_b and n_a − n_b if both releases
// are of the same rows, when they have the noise's law alone, and if they are of other rows
// of the same population, which is as near to that as other rows come:
//
//	Σ_j [log N(d_j; 0, v) − log N(d_j; 0, v + 2n Var x_j)]   over the linear sums,
//	log N(d_n; 0, v_n) + log n   of noisy numbers of rows, as other custodians' are about
//	                             uniform up to n,
//	log 10⁴                      of equal public ones.
//
// The last is no likelihood but odds: two releases with the same bounds of as many rows are
// mostly of one table, unless their sums say otherwise. A public number that three custodians
// have was agreed on, and tells nothing. Of other bounds, of columns or public numbers of
// rows, it is −∞.
func Alike(a, b *release.Release, agreed bool) float64 {
	u, v := a.Schema.Frame(), b.Schema.Frame()
	for j := range u.Half {
		if u.Centre[j] != v.Centre[j] || u.Half[j] != v.Half[j] {
			return math.Inf(-1)
		}
	}
	n := math.Max(2, float64(a.N))
	ratio := countsAlike(a, b, n)
	if agreed && a.NNoise == 0 {
		ratio = math.Min(ratio, 0)
	}
	noise := a.Noise.SD()*a.Noise.SD() + b.Noise.SD()*b.Noise.SD()
	x, y, m := a.Statistics.Vector(), b.Statistics.Vector(), a.Dim()
	for j := range m {
		d, rows := x[j]-y[j], noise
		if at := release.Index(m, j, j); at < len(x) { // Σy² may be withheld
			rows += 2 * n * math.Max(0, x[at]/n-x[j]*x[j]/(n*n))
		}
		ratio += 0.5 * (math.Log(rows/noise) - d*d/noise + d*d/rows)
	}
	return ratio
}

// countsAlike is the part of Alike that the numbers of rows have.
func countsAlike(a, b *release.Release, n float64) float64 {
	sd2 := a.NNoise*a.NNoise + b.NNoise*b.NNoise
	if a.Noise.Kind == release.Laplace {
		sd2 *= 2
	}
	d := float64(a.N - b.N)
	switch {
	case (a.NNoise > 0) != (b.NNoise > 0) || sd2 == 0 && d != 0:
		return math.Inf(-1)
	case sd2 > 0:
		return math.Log(n) - 0.5*d*d/sd2 - 0.5*math.Log(2*math.Pi*sd2)
	}
	return math.Log(1e4)
}
