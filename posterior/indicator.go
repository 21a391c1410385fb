package posterior

import "math/bits"

// indicator is the autocovariance of split chains of zeros and ones, 64 of
// them in a word. With k of n draws 1, m = k/n and C(t) the number of pairs
// i, i+t that are both 1,
//
//	n·γ̂(t) = C(t) − m·(#ones before n−t + #ones from t on) + (n−t)·m²,
//
// where C(t) is a population count: a lag costs a twentieth of a dot product.
type indicator struct {
	words  []uint64 // chain after chain, each with a word of zeros at the end
	chains []onesOf
	n      int // draws of a split chain
	lags   []float64
	known  int // lags[:known] are computed

	series, means []float64 // as they were packed
	dense         *autocovariance
}

// onesOf counts a chain's ones: all of them, those among its first t and
// those among its last t draws, t the next lag.
type onesOf struct{ all, first, last int }

// indicatorLags is about where population counts have cost as much as the
// transforms do.
const indicatorLags = 3000

// reset packs a series of split chains, given their means; dense serves
// for lags from indicatorLags on, and then uses series up.
func (a *indicator) reset(series, means []float64, dense *autocovariance) {
	a.series, a.means, a.dense = series, means, dense
	a.n, a.known = len(series)/len(means), 0
	a.lags = resize(a.lags, a.n)
	a.chains = resize(a.chains, len(means))
	width := a.width()
	a.words = resize(a.words, len(means)*width)
	clear(a.words)
	for c := range a.chains {
		a.chains[c] = onesOf{}
		words := a.words[c*width : (c+1)*width]
		for i, v := range series[c*a.n : (c+1)*a.n] {
			if v != 0 {
				words[i/64] |= 1 << (i % 64)
				a.chains[c].all++
			}
		}
	}
}

// width is the number of words of a chain.
func (a *indicator) width() int { return a.n/64 + 2 }

// at returns γ̂(t), averaged over the chains.
func (a *indicator) at(t int) float64 {
	if t >= indicatorLags {
		if a.known == indicatorLags {
			a.dense.reset(a.series, a.means)
			a.dense.fourier()
			a.known = a.n
		}
		return a.dense.at(t)
	}
	for ; a.known <= t; a.known++ {
		a.lags[a.known] = a.next(a.known)
	}
	return a.lags[t]
}

// next computes γ̂(t) and moves the counts on to lag t+1.
func (a *indicator) next(t int) float64 {
	width, n := a.width(), float64(a.n)
	var sum float64
	for c := range a.chains {
		words, ones := a.words[c*width:(c+1)*width], &a.chains[c]
		m := float64(ones.all) / n
		ends := float64(2*ones.all - ones.first - ones.last)
		sum += float64(pairs(words, t)) - m*ends + (n-float64(t))*m*m
		ones.first += bit(words, t)
		ones.last += bit(words, a.n-1-t)
	}
	return sum / (n * float64(len(a.chains)))
}

// bit is draw i, 0 or 1.
func bit(words []uint64, i int) int { return int(words[i/64] >> (i % 64) & 1) }

// pairs counts the i with draws i and i+t both 1.
func pairs(words []uint64, t int) int {
	shift := uint(t % 64)
	ahead := words[t/64:]
	count := 0
	for i, next := range ahead[1:] {
		count += bits.OnesCount64(words[i] & (ahead[i]>>shift | next<<(64-shift)))
	}
	return count
}
