package exact

import (
	"math"
	"sort"
)

// binomialSum is the law of a noisy z of S = 2k − n, k ~ Binomial(n, g): with the noise's p(z | S)
//
//	p(z | n, g) = Σ_k p(z | 2k − n) C(n, k) g^k (1 − g)^{n−k},
//	∂ log p/∂η = (E[k | z] − ng) g′/(g(1 − g)).
//
// Noise's density is log-concave as the binomial's mass is, and so are the terms. Their mode is found by bisection, and
// they are summed from there either way as long as they count. Where they are many, of a width w, each m-th stands for m,
// m = w/64: the sum of a smooth function on a lattice that is fine against its width errs by less than rounding, and that
// of Laplace's law, with a kink, by (m/w)²/6 at most.
type binomialSum struct {
	z, sd  float64 // of the noise
	noise  func(sum float64) float64
	ratios []float64 // p(z | S + 2)/p(z | S) at sums about z, 0 where it has not been asked for
	first  float64
}

// rate is the law of y: g, 1 − g and g′.
type rate struct{ yes, no, slope float64 }

// mostRatios bounds how far from z they are kept.
const mostRatios = 1 << 12

func newBinomialSum(z, sd float64, noise func(sum float64) float64) binomialSum {
	half := math.Ceil(min(40*sd, mostRatios))
	return binomialSum{z: z, sd: sd, noise: noise, first: math.Round(z) - half, ratios: make([]float64, int(2*half)+1)}
}

// ratio is p(z | S + 2)/p(z | S).
func (b *binomialSum) ratio(sum float64) float64 {
	i := sum - b.first
	if !(i >= 0 && i < float64(len(b.ratios))) {
		return math.Exp(b.noise(sum+2) - b.noise(sum))
	}
	at := &b.ratios[int(i)]
	if *at == 0 {
		*at = math.Exp(b.noise(sum+2) - b.noise(sum))
	}
	return *at
}

// value returns log p(z | n, g), up to the constant of the noise, and its slope in η. It reports false where g is 0 or 1 in
// floating point.
func (b *binomialSum) value(n float64, r rate) (logp, slope float64, ok bool) {
	if !(r.yes > 0 && r.no > 0) {
		return 0, 0, false
	}
	odds, stride := r.yes/r.no, max(1, math.Floor(min(math.Sqrt(n*r.yes*r.no), 0.5*b.sd)/64))
	rise := func(k float64) float64 { return (n - k) / (k + 1) * odds * b.ratio(2*k-n) } // the term at k + 1 over that at k
	mode := float64(sort.Search(int(n), func(k int) bool { return rise(float64(k)) <= 1 }))
	if stride > 1 { // that at k + m: of m alike in the middle
		rise = func(k float64) float64 {
			middle := k + 0.5*(stride-1)
			return math.Exp(stride*math.Log((n-middle)/(middle+1)*odds) + b.noise(2*(k+stride)-n) - b.noise(2*k-n))
		}
	}
	sum, along := 1.0, 0.0 // Σ of terms over the mode's, and of k − mode
	const enough = 1e-17
	for k, term := mode, 1.0; k+stride <= n && term > enough*sum; {
		term *= rise(k)
		k += stride
		sum, along = sum+term, along+term*(k-mode)
	}
	for k, term := mode, 1.0; k >= stride && term > enough*sum; {
		k -= stride
		term /= rise(k)
		sum, along = sum+term, along+term*(k-mode)
	}
	logp = logGamma(n+1) - logGamma(mode+1) - logGamma(n-mode+1) + mode*math.Log(r.yes) + (n-mode)*math.Log(r.no) + b.noise(2*mode-n)
	return logp + math.Log(stride*sum), (mode + along/sum - n*r.yes) * r.slope / (r.yes * r.no), true
}
