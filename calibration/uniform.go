package calibration

import (
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/combin"

	"github.com/dpreg/dpreg/internal/number"
)

// KS returns the one-sample Kolmogorov–Smirnov statistic of u against the
// uniform law on [0, 1], D = sup_x |F(x) − x|, and its p-value P(D_n ≥ D). Both
// are NaN where u is empty. u is not changed.
func KS(u []float64) (d, p float64) {
	if len(u) == 0 {
		return math.NaN(), math.NaN()
	}
	sorted, n := slices.Sorted(slices.Values(u)), float64(len(u))
	for i, v := range sorted {
		d = max(d, float64(i+1)/n-v, v-float64(i)/n)
	}
	return d, ksTail(len(sorted), d)
}

// exactKS is the largest n of which the law of D_n is computed exactly: its
// matrices grow as √n, and beyond it the corrected limit is as good.
const exactKS = 1000

// ksTail returns P(D_n ≥ d).
//
// For n ≤ exactKS it is exact: where n·d² > 2.2 twice the one-sided tail, since that
// both sides reach d has a probability of some 2exp(−8nd²), below 1e-6 of the p-value;
// else by the law of Marsaglia, Tsang & Wang (2003), Evaluating Kolmogorov's
// Distribution, Journal of Statistical Software 8(18). Above, it is the limit
//
//	K(x) = 1 − 2 Σ_{j≥1} (−1)^{j−1} exp(−2j²x²)
//
// at x + 1/(6√n) + (x − 1)/(4n), x = √n d: errors of 3e-5 at n = 1000, and less
// beyond (Vrbik 2018, Small-Sample Corrections to Kolmogorov–Smirnov Test
// Statistic, Pioneer Journal of Theoretical and Applied Statistics 15).
func ksTail(n int, d float64) float64 {
	f := float64(n)
	switch {
	case d <= 0.5/f:
		return 1
	case d >= 1:
		return 0
	case n <= exactKS && f*d*d > 2.2:
		return min(1, 2*oneSidedTail(n, d))
	case n <= exactKS:
		return max(0, min(1, 1-ksExact(n, d)))
	}
	x := math.Sqrt(f) * d
	return ksLimitTail(x + 1/(6*math.Sqrt(f)) + (x-1)/(4*f))
}

// oneSidedTail returns P(sup_x F(x) − x ≥ d) for 0 < d < 1 (Birnbaum & Tingey 1951,
// Annals of Mathematical Statistics 22(4)),
//
//	d Σ_{j=0}^{⌊n(1−d)⌋} C(n,j) (d + j/n)^{j−1} (1 − d − j/n)^{n−j},
//
// a sum of positive terms.
func oneSidedTail(n int, d float64) float64 {
	f := float64(n)
	sum := 0.0
	for j := 0.0; ; j++ {
		low, high := d+j/f, 1-d-j/f
		if high <= 0 {
			return d * sum
		}
		sum += math.Exp(combin.LogGeneralizedBinomial(f, j) + (j-1)*math.Log(low) + (f-j)*math.Log(high))
	}
}

// ksLimitTail is 1 − K(x). Below 0.3 it is 1 to ten digits, and the series slow.
func ksLimitTail(x float64) float64 {
	if x < 0.3 {
		return 1
	}
	sum, sign := 0.0, 1.0
	for j := 1.0; ; j++ {
		term := math.Exp(-2 * j * j * x * x)
		sum += sign * term
		if term < 1e-17 {
			return max(0, min(1, 2*sum))
		}
		sign = -sign
	}
}

// ksExact returns P(D_n < d) by Durbin's formula n!/nⁿ·(Hⁿ)_kk with
// d = (k − h)/n, 0 ≤ h < 1, H of size 2k − 1 (Marsaglia, Tsang & Wang), of which H/e
// is raised to its power: so no entry leaves the range of float64.
func ksExact(n int, d float64) float64 {
	f := float64(n)
	k := int(f*d) + 1
	size, h := 2*k-1, float64(k)-f*d
	a := mat.NewDense(size, size, nil)
	for i := range size {
		for j := range min(size, i+2) {
			v := 1.0
			if j == 0 {
				v -= math.Pow(h, float64(i+1))
			}
			if i == size-1 {
				v -= math.Pow(h, float64(size-j))
			}
			if j == 0 && i == size-1 && 2*h > 1 {
				v += math.Pow(2*h-1, float64(size))
			}
			a.Set(i, j, v/math.Gamma(float64(i-j+2))/math.E)
		}
	}
	a.Pow(a, n)
	factorial, _ := math.Lgamma(f + 1)
	return a.At(k-1, k-1) * math.Exp(factorial-f*math.Log(f)+f)
}

// KSCritical returns the d that D_n, of n uniform values, reaches with probability
// level, 0 < level < 1.
func KSCritical(n int, level float64) float64 {
	_, d := number.Bisect(0, 1, func(d float64) bool { return ksTail(n, d) > level })
	return d
}

// Ranked is L, the number of posterior draws among which the truth is ranked:
// ranks are 0 … L, and a power of two of them can be binned evenly.
const Ranked = 127

// Band is the region in which the empirical distribution function of ranks stays,
// at all places at once, with a given probability if they are uniform: Säilynoja,
// Bürkner & Vehtari (2022), Graphical test for discrete uniformity and its
// applications in goodness-of-fit evaluation and multiple sample comparison,
// Statistics and Computing 32. At place i, 1 ≤ i ≤ L, stands the number of ranks
// below i, which is Binomial(N, i/(L+1)).
type Band struct {
	Lower, Upper []int // at places 1 … L
}

// NewBand computes the band for the ranks of so many trials; it panics unless
// trials ≥ 1 and 0 < level < 1. With the pointwise
//
//	γ_i(c) = 2 min(P(C_i ≤ c), P(C_i ≥ c)),
//
// it is {γ_i(c) > γ} at each place, with the largest γ for which all hold at once
// with probability ≥ level.
func NewBand(trials int, level float64) *Band {
	if trials < 1 || !(level > 0 && level < 1) {
		panic("calibration: a band needs trials and a level between 0 and 1")
	}
	w := newWalk(trials)
	log, _ := number.Bisect(math.Log(1e-300), 0, func(log float64) bool { return w.inside(math.Exp(log)) >= level }) // of γ
	b := &Band{Lower: make([]int, Ranked), Upper: make([]int, Ranked)}
	for i := range b.Lower {
		b.Lower[i], b.Upper[i] = w.region(i, math.Exp(log))
	}
	return b
}

// test returns the p-value of the test whose acceptance regions are the bands: the
// probability, if ranks are uniform, that the smallest γ_i is as small as this.
func (w *walk) test(ranks []int) float64 {
	least := 1.0
	for i, c := range below(ranks) {
		least = min(least, w.gamma[i][c])
	}
	return max(0, 1-w.inside(least))
}

// below counts the ranks below i at places i = 1 … L. It panics on a rank that is
// not in 0 … L.
func below(ranks []int) []int {
	var histogram [Ranked + 1]int
	for _, r := range ranks {
		histogram[r]++
	}
	counts, sum := make([]int, Ranked), 0
	for i := range counts {
		sum += histogram[i]
		counts[i] = sum
	}
	return counts
}

// walk is the law of the counts C_1, C_2, … of N uniform ranks: a Markov chain,
//
//	C_{i+1} − C_i | C_i ~ Binomial(N − C_i, 1/(L + 1 − i)).
type walk struct {
	trials       int
	logFactorial []float64
	gamma        [][]float64 // γ_i(c), 0 ≤ c ≤ N
}

func newWalk(trials int) *walk {
	w := &walk{trials: trials, logFactorial: make([]float64, trials+1), gamma: make([][]float64, Ranked)}
	for i := 2; i <= trials; i++ {
		w.logFactorial[i] = w.logFactorial[i-1] + math.Log(float64(i))
	}
	for i := range w.gamma {
		w.gamma[i] = w.pointwise(float64(i+1) / (Ranked + 1))
	}
	return w
}

// binomial is P(X = k), X ~ Binomial(n, p).
func (w *walk) binomial(n, k int, logP, logQ float64) float64 {
	return math.Exp(w.logFactorial[n] - w.logFactorial[k] - w.logFactorial[n-k] + float64(k)*logP + float64(n-k)*logQ)
}

// pointwise returns 2 min(P(C ≤ c), P(C ≥ c)) for C ~ Binomial(N, p).
func (w *walk) pointwise(p float64) []float64 {
	n, logP, logQ := w.trials, math.Log(p), math.Log1p(-p)
	gamma, sum := make([]float64, n+1), 0.0
	for c := range gamma {
		sum += w.binomial(n, c, logP, logQ)
		gamma[c] = 2 * sum
	}
	sum = 0
	for c := n; c >= 0; c-- {
		sum += w.binomial(n, c, logP, logQ)
		gamma[c] = min(gamma[c], 2*sum)
	}
	return gamma
}

// region is the interval {c : γ_i(c) > γ} at place i+1; γ_i rises and then falls.
// It is empty, low > high, where γ is above all.
func (w *walk) region(i int, gamma float64) (low, high int) {
	g := w.gamma[i]
	top := int(float64(i+1) / (Ranked + 1) * float64(w.trials))
	for top < w.trials && g[top+1] > g[top] {
		top++
	}
	low = sort.Search(top, func(c int) bool { return g[c] > gamma })
	high = top + sort.Search(w.trials-top+1, func(c int) bool { return g[top+c] <= gamma }) - 1
	return low, high
}

// inside is the probability that the walk stays in all regions of γ.
func (w *walk) inside(gamma float64) float64 {
	law, first := []float64{1}, 0 // of C_i, on first, first+1, …
	for i := range w.gamma {
		p := 1 / float64(Ranked+1-i)
		low, high := w.region(i, gamma)
		next := make([]float64, max(0, high-low+1))
		for a, mass := range law {
			if mass > 0 && len(next) > 0 {
				w.step(next, low, first+a, mass, p)
			}
		}
		law, first = next, low
	}
	total := 0.0
	for _, mass := range law {
		total += mass
	}
	return total
}

// step adds to next, which begins at low, where mass at from goes: by Binomial(N −
// from, p) more, from the likeliest place outwards by the ratio of neighbours.
func (w *walk) step(next []float64, low, from int, mass, p float64) {
	n := w.trials - from
	least, most := max(0, low-from), min(n, low+len(next)-1-from)
	if least > most {
		return
	}
	start := max(least, min(most, int(p*float64(n+1))))
	odds, peak := p/(1-p), mass*w.binomial(n, start, math.Log(p), math.Log1p(-p))
	value := peak
	for k := start; k <= most; k++ {
		next[from+k-low] += value
		value *= odds * float64(n-k) / float64(k+1)
	}
	value = peak
	for k := start; k > least; k-- {
		value *= float64(k) / (odds * float64(n-k+1))
		next[from+k-1-low] += value
	}
}
