package adaptive

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/release"
)

// The radius. Noise grows as R², and clipping takes T(R²) = Σ(‖u‖² − R²)₊ of Σ‖u‖². R² is the edge of a bin where
//
//	√m·SD(R²) + halfLost/m·T̂(R²),     √(SD(R²)² + ClippingMoves(T̂(R²))²)/(1 − blurs·SD(R²)/n)
//
// is least: of an early look what noise and clipping hide of a variance, see Next, of the last what they move a slope
// by, as inference allows for it; a slope is divided by a variance, which noise blurs.
//
// T(x) = ∫_x^∞ H(r) dr, H(r) the number of rows beyond r = ‖u‖². The histogram tells H at its edges, by sums from
// outside. All k bins have n rows together: what the counts have too many or too few is shared among them, after which
// H at edge i, i bins below it, has a standard deviation of √(i(k−i)/k) times a count's, that of a Brownian bridge. (A
// histogram that is far from n speaks of another n, and keeps its own.)
//
// Bins out from the fullest one that each stand out by standsOut standard deviations are seen. Beyond
// the last of them, few rows lie beyond a gap, while noise has many edges to stand out at: what is
// seen ends at the outermost edge e, i edges on, where H has standsOut + i·gap standard deviations, for
// the last look, whose clipping counts, standsBeyond + i·gap, or where a bin has alonePure or, of Gaussian noise,
// aloneNormal by itself, as rows with one value have: noise does that in one look of 60. Beyond e rows are
// too few to be seen, and yet far: H is continued as Pareto's law,
//
//	H(r) = H(e)(e/r)^a,   a = log(H(e₁)/H(e))/log(e/e₁),   H(e₁) ≥ steeper·H(e) at an edge e₁ < e,
//
// H(e) at least standsOut standard deviations, a at least lightest, and cut at every edge at what the
// histogram has there, plus doubt standard deviations. Lost is T̂ with that doubt. R² is no edge
// beyond which more than most of the rows may be, by proof standard deviations: there T̂ tells nothing.
const (
	standsOut    = 2.5
	standsBeyond = 1.
	gap          = .4
	alonePure    = 4.5
	aloneNormal  = 3.25
	doubt        = .25
	lightest     = 1.7
	steeper      = 6.
	proof        = 2.
	most         = .7
	blurs        = 2.
	apart        = 4. // standard deviations between the histogram's n and n
)

// The weight κ of linear sums as a part of R. Early, where the centre is far from the mean,
// they need precision as well.
const (
	weightFirst = 1. / 2
	weightLater = 1. / 4
	leastRadius = 1. / (1 << 8)
	mostRadius  = 1 << 20
)

// Radius returns f with the radius, the weight and what clipping takes, or for the last look the
// box, where slopes would have less noise in it: r is the noisy histogram of ‖u‖² in f, t the
// step from 0, n the number of rows (0: the histogram's), and noise tells what noise a look
// will have.
func (p Plan) Radius(t int, f *release.Frame, r *release.Radii, n float64, noise func(f *release.Frame) release.Noise) *release.Frame {
	g := *f
	weight := weightLater
	if t == 0 {
		weight = weightFirst
	}
	g.Radius, g.Weight, g.Lost = 1, weight, 0
	stated, m := noise(&g), len(f.Centre)
	laplace, last := stated.Kind == release.Ball, t == len(p.Looks)-1
	stands, harm := standsOut, hides(stated.SD(), m)
	if last {
		stands, harm = standsBeyond, func(edge, lost float64) float64 {
			sd := stated.SD() * edge
			return math.Hypot(sd, release.ClippingMoves(lost, edge, m, p.Parts)) / max(1-blurs*sd/max(n, 1), .01)
		}
	}
	edges, lost := tails(r, n, laplace, stands)
	k, least := best(edges, lost, harm)
	if box := First(m); last && noise(box).SD()*boxError(f) < least {
		return box
	}
	g.Radius = min(max(math.Sqrt(edges[k]), leastRadius), mostRadius)
	g.Weight, g.Lost = weight*g.Radius, lost[k]
	return &g
}

// hides is what noise, of this sd at R = 1, and clipping hide of the variance of m columns, times n.
func hides(sd float64, m int) func(edge, lost float64) float64 {
	return func(edge, lost float64) float64 { return math.Sqrt(float64(m))*sd*edge + halfLost/float64(m)*lost }
}

// best is the edge that does the least harm, and the harm.
func best(edges, lost []float64, harm func(edge, lost float64) float64) (best int, least float64) {
	least = math.Inf(1)
	for k, e := range edges {
		if x := harm(e, lost[k]); x < least { // false of an infinite lost
			best, least = k, x
		}
	}
	return best, least
}

// boxError is how much more noise of one SD moves slopes in the box than in f. Noise E on sums
// of (1, v)(1, v)ᵀ moves those of u_j and u_m by aᵀEb, a = (−w_j·c, w_j) and b = (−w_m·c, w_m),
// whose variance is SD²/2 times
//
//	‖w_j‖²‖w_m‖² + (w_j·w_m)² + ‖a₀w_m + b₀w_j‖²,     1 in f.
//
// It is the root of the mean over covariates j.
func boxError(f *release.Frame) float64 {
	m := len(f.Centre)
	row := func(j int) []float64 { return append(slices.Clone(f.Matrix[j]), make([]float64, m-1-j)...) }
	w := row(m - 1)
	b, ww, sum := -floats.Dot(w, f.Centre), floats.Dot(w, w), 0.
	for j := range m - 1 {
		v := row(j)
		a, vv, vw := -floats.Dot(v, f.Centre), floats.Dot(v, v), floats.Dot(v, w)
		sum += vv*ww + vw*vw + a*a*ww + b*b*vv + 2*a*b*vw
	}
	return math.Sqrt(sum / float64(m-1))
}

// tails returns, where H has to stand out by stands + i·gap, the upper edges of the bins, the last above
// all rows, and T̂ at each: +Inf where R² may not be.
func tails(r *release.Radii, n float64, laplace bool, stands float64) (edges, lost []float64) {
	edges, lost, proven := taken(r, n, laplace, stands)
	for i := range proven {
		lost[i] = math.Inf(1)
	}
	return edges, lost
}

// taken returns T̂ at all edges, and how many R² may not be.
func taken(r *release.Radii, n float64, laplace bool, stands float64) (edges, lost []float64, proven int) {
	k := len(r.Counts)
	edges, lost = make([]float64, k), make([]float64, k)
	for i := range edges {
		edges[i] = math.Exp2(float64(r.Least+i) / 2)
	}
	h, proven := beyond(r, edges, n, laplace, stands)
	// Between two edges H is between a straight line and a power.
	for i := k - 2; i >= 0; i-- {
		lost[i] = lost[i+1] + (edges[i+1]-edges[i])*(math.Sqrt(h[i+1]*h[i+2])/2+(h[i+1]+h[i+2])/4)
	}
	return edges, lost, proven
}

// beyond returns Ĥ at the lower edge of each bin, and 0 above the last: never increasing. The
// first edge that R² may be is the upper one of bin proven.
func beyond(r *release.Radii, edges []float64, n float64, laplace bool, stands float64) (h []float64, proven int) {
	h, s, n := bridge(r, n, laplace)
	k := len(s)
	if k == 1 {
		return []float64{n, 0}, 0
	}
	for proven < k-1 && h[proven+1]+proof*s[proven+1] > most*n {
		proven++
	}
	lower := func(i int) float64 { return edges[i-1] } // of i ≥ 1
	end, out := lastSeen(h, s, stands, alone(laplace))
	a := lightest
	if !out { // nothing is known of how H falls
		a = 0
	}
	end = max(end, 1) // where the least bin has all that is seen, H is continued from its upper edge
	seen := max(min(h[end], n), standsOut*s[end])
	for i := end - 1; i >= 1; i-- {
		if more := min(h[i], n); more >= steeper*seen {
			a = max(a, math.Log(more/seen)/math.Log(lower(end)/lower(i)))
			break
		}
	}
	for i := end; i < k; i++ {
		h[i] = min(seen*math.Pow(lower(end)/lower(i), a), max(h[i], 0)+doubt*s[i])
	}
	for i := end - 1; i >= 0; i-- { // what noise made less than what lies farther out
		h[i] = max(h[i], h[i+1])
	}
	for i := range h {
		n = min(n, h[i])
		h[i] = n
	}
	return h, proven
}

// alone is how many standard deviations a bin has where it stands out by itself.
func alone(laplace bool) float64 {
	if laplace {
		return alonePure
	}
	return aloneNormal
}

// Unseen is about how many rows, far from all others, the noise on radii hides.
func Unseen(r *release.Radii, kind release.Kind) float64 {
	laplace := kind == release.Ball
	return alone(laplace) * countSD(r, laplace)
}

// countSD is the standard deviation of the noise on a count.
func countSD(r *release.Radii, laplace bool) float64 {
	if laplace {
		return math.Sqrt2 * r.Scale
	}
	return r.Scale
}

// lastSeen is the bin at whose lower edge H stands out last, H and its standard deviations s as of bridge, and
// whether any bin stands out.
func lastSeen(h, s []float64, stands, byItself float64) (end int, out bool) {
	k := len(s)
	count := func(i int) float64 { return h[i] - h[i+1] }
	sd, firm := s[1]*math.Sqrt(float64(k)/float64(k-1)), 0 // of a count
	for i := range k {
		if count(i) > count(firm) {
			firm = i
		}
	}
	for firm < k-1 && count(firm+1) > standsOut*sd {
		firm++
	}
	end, out = firm, count(firm) > standsOut*sd
	for i := firm + 1; i < k; i++ {
		if h[i] > (stands+gap*float64(i-firm))*s[i] || count(i) > byItself*sd {
			end = i
		}
	}
	return end, out
}

// bridge returns the sums of the k bins from outside, with 0 above the last, their standard
// deviations, and the number of rows: n, or the histogram's where n is not known or it
// is far from n.
func bridge(r *release.Radii, n float64, laplace bool) (h, s []float64, rows float64) {
	k, sd, sum := len(r.Counts), countSD(r, laplace), 0.
	for _, c := range r.Counts {
		sum += float64(c)
	}
	if n <= 0 || math.Abs(sum-n) > apart*sd*math.Sqrt(float64(k)) {
		n = max(sum, 1)
	}
	h, s = make([]float64, k+1), make([]float64, k)
	for i := k - 1; i >= 0; i-- {
		h[i] = h[i+1] + float64(r.Counts[i]) + (n-sum)/float64(k)
		s[i] = sd * math.Sqrt(float64(i)*float64(k-i)/float64(k))
	}
	return h, s, n
}
