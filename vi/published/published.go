// Package published repeats published experiments with variational inference under
// differential privacy. Their data are public or simulated, and so is all noise here:
// results can be repeated from a seed, and nothing is private.
package published

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/vi"
)

// simulated is noise that a seed repeats.
func simulated(seed uint64) *mechanisms.Entropy {
	return mechanisms.Simulated(rand.New(rand.NewPCG(seed, 0x7669)))
}

// predictor is xᵀθ at the fitted law, over √(1 + π xᵀVx/8): the logistic function of it is
// about the probability averaged over the law (MacKay, Neural Computation 4, 1992).
func predictor(x, mean, sd []float64) float64 {
	m, v := 0., 0.
	for j, u := range x {
		m += u * mean[j]
		v += u * u * sd[j] * sd[j]
	}
	return m / math.Sqrt(1+math.Pi*v/8)
}

// accuracy is the share of responses on whose side the predictor is.
func accuracy(rows *vi.Rows, mean, sd []float64) float64 {
	right := 0.
	for i, y := range rows.Y {
		if p := predictor(rows.X[i*rows.P:(i+1)*rows.P], mean, sd); p > 0 == (y == 1) {
			right++
		}
	}
	return right / float64(len(rows.Y))
}

// auc is the area under the receiver operating characteristic: the share of pairs of a
// response 1 and a response 0 in which the first has the larger score, ties counting
// half (Mann and Whitney's statistic).
func auc(score, y []float64) float64 {
	order := make([]int, len(score))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(score[a], score[b]) })
	sum, ones := 0., 0.
	for i := 0; i < len(order); {
		j, tied := i, 0.
		for ; j < len(order) && score[order[j]] == score[order[i]]; j++ {
			tied += y[order[j]]
		}
		rank := float64(i+j+1) / 2 // the mean of i+1, …, j
		sum += rank * tied
		ones += tied
		i = j
	}
	zeros := float64(len(y)) - ones
	return (sum - ones*(ones+1)/2) / (ones * zeros)
}
