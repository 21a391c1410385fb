package predict

import (
	"math"
	"slices"

	"github.com/dpreg/dpreg/posterior"
)

// interval is the equal-tailed interval at a in scaled units; mean and sd, those
// of the whole law, are where the search for roots starts.
func (p *Predictor) interval(a []float64, mean, sd float64) (lower, upper float64) {
	q, tail := len(a), (1-p.level)/2
	line := make([]float64, len(p.sigma))
	for i := range line {
		for j, v := range p.theta[i*q : (i+1)*q] {
			line[i] += v * a[j]
		}
	}
	if p.mean && p.omega == nil {
		slices.Sort(line)
		return posterior.Quantile(line, tail), posterior.Quantile(line, 1-tail)
	}
	sds, z := p.sds(a), math.Sqrt2*math.Erfinv(p.level)
	lower = mixture{line, sds}.lowerQuantile(tail, mean-z*sd)
	// The upper quantile of y is the lower one of −y, with no 1 − F to cancel.
	for i := range line {
		line[i] = -line[i]
	}
	return lower, -mixture{line, sds}.lowerQuantile(tail, -mean-z*sd)
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
