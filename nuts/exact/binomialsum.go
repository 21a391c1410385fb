package exact

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/mathext"
)

// binomialSum is the law of a noisy z of S = 2k/K − n, k the sum of n independent counts y of 0, …, K with the mean m and
// the variance v. Of K = 1 it is Binomial(n, m). In general it is taken for a binomial of that mean and variance,
//
//	k ~ Binomial(N, p),   Np = nm,   1 − p = v/m,
//
// which is the law of Poisson counts where hardly any is clamped at K, p being 0, and where all are, p being 1. Of more than
// Poisson's variance p and N are below 0, and that is a negative binomial of size −N. With the noise's p(z | S)
//
//	p(z | n, η) = Σ_k p(z | 2k/K − n) C(N, k) p^k (1 − p)^{N−k},
//
// which with M = nm and F_k = Σ_{i<k} 1/(M − ip) has the slopes
//
//	E[F_k | z] + log(1 − p)/p in M,   (E[k − MF_k | z] − (M/p) log(1 − p))/p − (M/p − E[k | z])/(1 − p) in p,
//
// together (E[k | z] − M) m′/v where K = 1, or hardly any count is clamped, where the slope in log v is ½(E[(k − M)² | z]/nv − 1),
// by normal laws.
//
// Noise's density is log-concave as the binomial's mass is, and so are the terms. Their mode is found by bisection, and
// they are summed from there either way as long as they count. Where they are many, each j-th stands for j, of the sd w of the
// mass at most w/8: the sum of a smooth function on a lattice that is fine against its width errs by less than rounding, and
// that of Laplace's law of a scale b, with a kink, by j²/6b min(w, b), which j leaves below 10⁻⁴.
type binomialSum struct {
	sd, most float64 // of the noise; K
	noise    func(sum float64) float64
	ratios   []float64 // of p(z | S) at k + 1 and k, by 2k − nK, which is KS, about z; 0 where it has not been asked for
	first    float64
}

// rate is the law of y: m, v, m′ and v′.
type rate struct{ mean, variance, slope, spread float64 }

// leastSpread bounds v/m below.
const leastSpread = 1e-12

// rate is the law of y given η, of counts of Poisson's variance.
func (of family) rate(eta float64) rate {
	g, slope, square, spread := of.mean(eta, math.Exp(eta))
	if most := of.most; most > 1 {
		least := leastSpread * most * g // where all counts are clamped but for what rounding hides
		return rate{most * g, max(least, most*most*(square-g*g)), most * slope, most * most * (spread - 2*g*slope)}
	}
	no, _, _, _ := of.mean(-eta, math.Exp(-eta)) // 1 − g(η)
	return rate{mean: g, variance: g * no, slope: slope}
}

// times is that law with φ times the variance.
func (r rate) times(phi float64) rate {
	r.variance, r.spread = phi*r.variance, phi*r.spread
	return r
}

// mostRatios bounds how far from z they are kept.
const mostRatios = 1 << 14

func newBinomialSum(z, sd, most float64, noise func(sum float64) float64) binomialSum {
	half := math.Ceil(min(40*sd*most, mostRatios))
	return binomialSum{sd: sd, most: most, noise: noise, first: math.Round(z*most) - half, ratios: vec(int(2*half) + 1)}
}

// ratio is that of p(z | S) at k + 1 and k, of 2k − nK.
func (b *binomialSum) ratio(at float64) float64 {
	i := at - b.first
	if !(i >= 0 && i < float64(len(b.ratios))) {
		return math.Exp(b.rise(at, 1))
	}
	r := &b.ratios[int(i)]
	if *r == 0 {
		*r = math.Exp(b.rise(at, 1))
	}
	return *r
}

// rise is the difference of log p(z | S) at k + steps and k.
func (b *binomialSum) rise(at, steps float64) float64 {
	return b.noise((at+2*steps)/b.most) - b.noise(at/b.most)
}

// value returns log p(z | n, η), up to the constant of the noise, and its slopes in η and in log v at fixed m. It reports false
// where y is one number in floating point.
func (b *binomialSum) value(n float64, r rate) (logp, slope, bySpread float64, ok bool) {
	switch {
	case !(r.mean > 0 && r.variance > 0):
		return 0, 0, 0, false
	case n == 0:
		return b.noise(0), 0, 0, true
	}
	total, mean, no := n*b.most, n*r.mean, r.variance/r.mean
	yes := 1 - no
	odds := func(k float64) float64 { return max(0, mean-k*yes) / no } // (N − k)p/(1 − p)
	wide, noise := math.Sqrt(n*r.variance), 0.5*b.sd*b.most
	stride := max(1, math.Floor(min(wide/8, math.Sqrt(noise*min(wide, noise))/64)))
	up := func(k float64) float64 { return odds(k) / (k + 1) * b.ratio(2*k-total) } // the term at k + 1 over that at k
	last := math.Floor(2 * total)
	if yes > 0 { // N, where it is not far out
		last = math.Floor(min(mean/yes, 2*total) * (1 + 1e-9))
	}
	mode := float64(sort.Search(int(last), func(k int) bool { return up(float64(k)) <= 1 }))
	if stride > 1 { // that at k + j: of j alike in the middle
		up = func(k float64) float64 {
			middle := k + 0.5*(stride-1)
			return math.Exp(stride*math.Log(odds(middle)/(middle+1)) + b.rise(2*k-total, stride))
		}
	}
	sum, along, square, harmonic, f := 1.0, 0.0, 0.0, 0.0, 0.0 // Σ of terms over the mode's, of k − mode and its square, and of F less that of the mode
	const enough = 1e-12
	for k, term := mode, 1.0; k+stride <= last && term > enough*sum; {
		term *= up(k)
		f += stride / (mean - (k+0.5*(stride-1))*yes)
		k += stride
		sum, along, square, harmonic = sum+term, along+term*(k-mode), square+term*(k-mode)*(k-mode), harmonic+term*f
	}
	f = 0
	for k, term := mode, 1.0; k >= stride && term > enough*sum; {
		k -= stride
		term /= up(k)
		f -= stride / (mean - (k+0.5*(stride-1))*yes)
		sum, along, square, harmonic = sum+term, along+term*(k-mode), square+term*(k-mode)*(k-mode), harmonic+term*f
	}
	logp = logBinomial(mode, mean, no) + b.noise((2*mode-total)/b.most) + math.Log(stride*sum)
	k := mode + along/sum
	if b.most == 1 || mean > mostTrials*math.Abs(yes) {
		off := square/sum + (mode-mean)*(mode-mean) + 2*(mode-mean)*along/sum // E[(k − M)² | z]
		return logp, (k - mean) * r.slope / r.variance, 0.5 * (off/(n*r.variance) - 1), true
	}
	f = harmonic/sum + harmonicOf(mean, mode, yes)
	log, byShare := math.Log(no), (no*r.slope-r.spread)/r.mean
	byNo := (mean/yes-k)/no - (k-mean*f-mean/yes*log)/yes
	return logp, n*r.slope*(f+log/yes) - byShare*byNo, byNo * no, true
}

// harmonicOf is F_k at p.
func harmonicOf(mean, k, p float64) float64 {
	n := mean / p
	if p < 0 {
		return (mathext.Digamma(-n) - mathext.Digamma(k-n)) / p
	}
	return (mathext.Digamma(n+1) - mathext.Digamma(n-k+1)) / p
}

// mostTrials bounds the N of which slopes are not as if p were 0.
const mostTrials = 1e6

// logBinomial is the log of the binomial mass of k, of mean Np and 1 − p. Where N is large, log Γ(N + 1) − log Γ(N − k + 1) is
// all rounding, and log(Np) Σ_{i<k} (1 − i/N) serves.
func logBinomial(k, mean, no float64) float64 {
	p := 1 - no
	if size := math.Abs(p); size < 1e-6 && mean > 1e9*size {
		return k*math.Log(mean) - 0.5*k*(k-1)*p/mean - mean*(1+0.5*p) + k*p - logGamma(k+1)
	}
	n := mean / p
	if p < 0 {
		return logGamma(k-n) - logGamma(-n) - logGamma(k+1) + k*math.Log(-p) + (n-k)*math.Log(no)
	}
	return logGamma(n+1) - logGamma(k+1) - logGamma(n-k+1) + k*math.Log(p) + (n-k)*math.Log(no)
}
