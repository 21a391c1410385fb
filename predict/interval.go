package predict

import (
	"math"
	"slices"

	"github.com/dpreg/dpreg/posterior"
)

// interval is the equal-tailed interval at a in scaled units; mean and sd, those
// of the whole law, are where the search for roots starts.
func (p *Predictor) interval(a []float64, mean, sd float64) (lower, upper float64) {
	line, tail := p.lines(a), (1-p.level)/2
	if p.mean && p.omega == nil {
		return p.ofDraws(line)
	}
	sds, z := p.sds(a), math.Sqrt2*math.Erfinv(p.level)
	lower = mixture{line, sds}.lowerQuantile(tail, mean-z*sd)
	// The upper quantile of y is the lower one of −y, with no 1 − F to cancel.
	for i := range line {
		line[i] = -line[i]
	}
	return lower, -mixture{line, sds}.lowerQuantile(tail, -mean-z*sd)
}

// lines are θᵀa of each draw that is kept.
func (p *Predictor) lines(a []float64) []float64 {
	q := len(a)
	all := make([]float64, len(p.theta)/q)
	for i := range all {
		for j, v := range p.theta[i*q : (i+1)*q] {
			all[i] += v * a[j]
		}
	}
	return all
}

// ofDraws is the equal-tailed interval of draws, which it sorts.
func (p *Predictor) ofDraws(draws []float64) (lower, upper float64) {
	slices.Sort(draws)
	tail := (1 - p.level) / 2
	return posterior.Quantile(draws, tail), posterior.Quantile(draws, 1-tail)
}

// expected is the posterior of g(θᵀa) at a in scaled units, the probability of 1 in which the
// predictive law of a response that is 0 or 1 consists, or the rate of a count: mean, sd and equal-tailed interval over
// draws, each of which has a new custodian with an η of its own, as load has σ_new.
func (p *Predictor) expected(a []float64) (out Prediction) {
	g := p.lines(a)
	for i, eta := range g {
		if p.omega != nil {
			eta += math.Sqrt(p.between(i, a)) * normalAt(i)
		}
		g[i] = p.family.Mean(eta)
		out.Fitted += g[i] / float64(len(g))
	}
	for _, v := range g {
		out.SD += (v - out.Fitted) * (v - out.Fitted) / float64(max(len(g)-1, 1))
	}
	out.SD = math.Sqrt(out.SD)
	out.Lower, out.Upper = p.ofDraws(g)
	return out
}

// sds are those of the response, or of the line, given each draw that is kept: σ, and
// of a new custodian √(aᵀΩa + σ²), the line's without σ².
func (p *Predictor) sds(a []float64) []float64 {
	if p.omega == nil {
		return p.sigma
	}
	sds := make([]float64, len(p.sigma))
	for i, sigma := range p.sigma {
		variance := p.between(i, a)
		if !p.mean {
			variance += sigma * sigma
		}
		sds[i] = math.Sqrt(variance)
	}
	return sds
}

// between is aᵀΩa of draw i.
func (p *Predictor) between(i int, a []float64) float64 {
	return quadratic(p.omega[i*len(a)*len(a):], a)
}

// mixture is the equal mixture of the normals N(mean_i, sd_i²), with the
// distribution function F(y) = Σ Φ((y − mean_i)/sd_i) / K.
type mixture struct{ mean, sd []float64 }

// distribution returns F(y) and the density F′(y).
func (m mixture) distribution(y float64) (cumulative, density float64) {
	for i, mean := range m.mean {
		u := (y - mean) / m.sd[i]
		cumulative += math.Erfc(-u / math.Sqrt2)
		density += math.Exp(-u*u/2) / m.sd[i]
	}
	k := float64(len(m.mean))
	return cumulative / (2 * k), density / (k * math.Sqrt(2*math.Pi))
}

// Of the search for a quantile. Newton's steps are quadratic: after one below 1e-7
// of the bracket the next would be within rounding.
const (
	quantileSteps     = 200
	quantileTolerance = 1e-7
	coarse            = 64 // components of the first search
)

// lowerQuantile solves F(y) = tail for tail ≤ ½, where every sd is above 0. A
// mixture of a few of the components, evenly spaced, gives a good start: the whole
// one is then evaluated two or three times only.
func (m mixture) lowerQuantile(tail, start float64) float64 {
	if step := len(m.mean) / coarse; step > 1 {
		var few mixture
		for i := 0; i < len(m.mean); i += step {
			few.mean, few.sd = append(few.mean, m.mean[i]), append(few.sd, m.sd[i])
		}
		start = few.search(tail, start)
	}
	return m.search(tail, start)
}

// search is Newton's method on log F, which in the tail is nearer to a straight
// line than F, between the smallest and the largest of the components' own
// quantiles; a step that leaves the bracket is replaced by its bisection.
func (m mixture) search(tail, start float64) float64 {
	z := -math.Sqrt2 * math.Erfinv(1-2*tail)
	low, high := math.Inf(1), math.Inf(-1)
	for i, mean := range m.mean {
		q := mean + z*m.sd[i]
		low, high = min(low, q), max(high, q)
	}
	tolerance := quantileTolerance * (high - low)
	y := min(max(start, low), high)
	for range quantileSteps {
		f, density := m.distribution(y)
		if f < tail {
			low = y
		} else {
			high = y
		}
		step := f / density * math.Log(f/tail)
		next := y - step
		// Not so either where F or the density is 0.
		if !(next >= low && next <= high) {
			next = low + (high-low)/2
			step = high - low
		}
		y = next
		if math.Abs(step) <= tolerance {
			break
		}
	}
	return y
}
