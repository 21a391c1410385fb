package adaptive

import (
	"math"

	"github.com/dpreg/dpreg/release"
)

// The radius. Noise grows as R², and clipping takes T(R²) = Σ(‖u‖² − R²)₊ of Σ‖u‖², which
// moves a slope by some ρT, ρ about .4/m over data sets. R² is the edge of a bin where
//
//	SD(R²)² + (slant/m · T̂(R²))²
//
// is least. T(x) = ∫_x^∞ H(r) dr, H(r) the number of rows beyond r = ‖u‖². The histogram
// tells H at its edges with noise: cumulated from outside, its standard deviation grows as
// the root of the number of bins.
//
// The outermost edge e whose H stands out by standsOut standard deviations ends what is seen.
// Beyond it rows are too few to be seen, and yet far: H is continued as Pareto's law,
//
//	H(r) = H(e)(e/r)^a,   a = log(H(e₁)/H(e))/log(e/e₁),   H(e₁) ≥ 3 H(e) at an edge e₁ < e,
//
// and cut at every edge at what the histogram has there, plus doubt standard deviations. a is
// at least lightTail, or heavyTail where a column is skewed: where its standard deviation
// exceeds the distance from its mean to the nearer end of the box.
const (
	slant     = .48
	standsOut = 2.5
	doubt     = .5
	lightTail = 2.
	heavyTail = 1.3
	skewed    = 1.2
	steeper   = 3.
)

// The weight κ of linear sums as a part of R. Early, where the centre is far from the mean,
// they need precision as well.
const (
	weightFirst = 1. / 2
	weightLater = 1. / 4
)

// Radius returns f with the radius, the weight and what clipping takes: r is the noisy
// histogram of ‖u‖² in f, t the step from 0, n the number of rows (0: the histogram's), and
// noise tells what noise a look will have.
func (p Plan) Radius(t int, f *release.Frame, r *release.Radii, n float64, noise func(f *release.Frame) release.Noise) *release.Frame {
	g := *f
	weight := weightLater
	if t == 0 {
		weight = weightFirst
	}
	g.Radius, g.Weight, g.Lost = 1, weight, 0
	stated := noise(&g)
	edges, lost := tails(f, r, n, stated.Kind == release.Ball)
	k := best(edges, lost, stated.SD(), len(f.Centre))
	g.Radius = math.Sqrt(edges[k])
	g.Weight, g.Lost = weight*g.Radius, lost[k]
	return &g
}

// best is the edge of the least error; sd is that of the noise at R = 1.
func best(edges, lost []float64, sd float64, m int) (best int) {
	least := math.Inf(1)
	for k, e := range edges {
		if x := math.Hypot(sd*e, slant/float64(m)*lost[k]); x < least {
			best, least = k, x
		}
	}
	return best
}

// tails returns the upper edges of the bins, and T̂ at each.
func tails(f *release.Frame, r *release.Radii, n float64, laplace bool) (edges, lost []float64) {
	k := len(r.Counts)
	edges, lost = make([]float64, k), make([]float64, k)
	for i := range edges {
		edges[i] = math.Exp2(float64(r.Least+i) / 2)
	}
	edges[k-1] = max(edges[k-1], corner(f))
	h := beyond(f, r, edges, n, laplace)
	// Between two edges H is between a straight line and a power.
	for i := k - 2; i >= 0; i-- {
		lost[i] = lost[i+1] + (edges[i+1]-edges[i])*(math.Sqrt(h[i+1]*h[i+2])/2+(h[i+1]+h[i+2])/4)
	}
	return edges, lost
}

// corner is the largest ‖u‖² that a corner of the box may have.
func corner(f *release.Frame) (square float64) {
	for _, row := range f.Matrix {
		var u float64
		for i, w := range row {
			u += math.Abs(w) * (1 + math.Abs(f.Centre[i]))
		}
		square += u * u
	}
	return square
}

// beyond returns Ĥ at the lower edge of each bin, and 0 above the last: never increasing.
func beyond(f *release.Frame, r *release.Radii, edges []float64, n float64, laplace bool) []float64 {
	k, sd := len(edges), r.Scale
	if laplace {
		sd *= math.Sqrt2
	}
	h, s := make([]float64, k+1), make([]float64, k)
	end, sum := 1, 0.
	for i := k - 1; i >= 0; i-- {
		sum += float64(r.Counts[i])
		h[i], s[i] = sum, sd*math.Sqrt(float64(k-i))
		if end == 1 && h[i] > standsOut*s[i] {
			end = max(i, 1)
		}
	}
	if n <= 0 {
		n = max(sum, 1)
	}
	if k == 1 {
		return []float64{n, 0}
	}
	lower := func(i int) float64 { return edges[i-1] } // of i ≥ 1
	seen := max(min(h[end], n), standsOut*s[end])
	a := 0.
	for i := end - 1; i >= 1 && a == 0; i-- {
		if min(h[i], n) >= steeper*seen {
			a = math.Log(min(h[i], n)/seen) / math.Log(lower(end)/lower(i))
		}
	}
	a = max(a, lightest(f))
	for i := end; i < k; i++ {
		h[i] = min(seen*math.Pow(lower(end)/lower(i), a), max(h[i], 0)+doubt*s[i])
	}
	for i := end - 1; i >= 0; i-- { // what noise made less than what lies farther out
		h[i] = max(h[i], h[i+1])
	}
	return falling(h, n)
}

// falling makes h at most n and never increasing.
func falling(h []float64, n float64) []float64 {
	for i := range h {
		n = min(n, h[i])
		h[i] = n
	}
	return h
}

func lightest(f *release.Frame) float64 {
	for j, s := range spread(f) {
		if s > skewed*(1-math.Abs(f.Centre[j])) {
			return heavyTail
		}
	}
	return lightTail
}
