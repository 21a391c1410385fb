package dpreg

import (
	"fmt"
	"math"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
)

// sameRowsWarnings names pairs of releases that look like two of the same rows, of which the
// ratio of lookAlike is at least 100 times the number of pairs: by Markov's inequality any of
// custodians of other rows, whose sums and noisy numbers are alike by chance alone, is with
// probability 1/100 at most.
func (f *Fit) sameRowsWarnings() (warnings []string) {
	pairs, numbers := len(f.Custodians)*(len(f.Custodians)-1)/2, map[int64]int{}
	for _, c := range f.Custodians {
		numbers[c.Release.N]++
	}
	for j, b := range f.Custodians {
		for _, a := range f.Custodians[:j] {
			if lookAlike(a.Release, b.Release, numbers[b.Release.N] > 2) >= math.Log(100*float64(pairs)) {
				warnings = append(warnings, fmt.Sprintf("%s and %s may be two releases of the same rows: they have the same bounds, n = %d and %d, and sums that differ by no more than their noise. If they are, their rows count twice here; --same-rows takes releases for measurements of the same sums", a.Name, b.Name, a.Release.N, b.Release.N))
			}
		}
	}
	return warnings
}

// lookAlike is the log ratio of two likelihoods, of z_a − z_b and n_a − n_b if both releases
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
func lookAlike(a, b *release.Release, agreed bool) float64 {
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

// countsAlike is the part of lookAlike that the numbers of rows have.
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

// SameRows tells whether the fit took all releases for measurements of the same sums.
func (f *Fit) SameRows() bool { return f.sameRows }

// TotalPrivacy is what all of several releases of the same rows cost a person together, by
// basic composition: the sums of ε and δ; nil where a release does not state its privacy.
func (f *Fit) TotalPrivacy() *release.Privacy {
	var total release.Privacy
	for _, c := range f.Custodians {
		p := c.Release.Privacy
		if p == nil {
			return nil
		}
		total.Epsilon, total.Delta, total.Neighbours = total.Epsilon+p.Epsilon, total.Delta+p.Delta, p.Neighbours
	}
	return &total
}

// rowsOf is the number of rows that releases are of, as published.
func rowsOf(p *model.Problem) (n int64, err error) {
	if p.SameRows {
		obs, err := p.Single()
		if err != nil {
			return 0, err
		}
		return int64(obs.N), nil
	}
	for _, r := range p.Releases {
		n += r.N
	}
	return n, nil
}
