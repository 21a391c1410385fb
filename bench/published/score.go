package main

import (
	"cmp"
	"math"
	"slices"

	"github.com/dpreg/dpreg/vi"
)

// predictor is xᵀθ at a fitted law, over √(1 + π xᵀVx/8): the logistic function of it is
// about the probability averaged over the law (MacKay, Neural Computation 4, 1992).
func predictor(x, mean, sd []float64) float64 {
	m, v := 0., 0.
	for j, u := range x {
		m += u * mean[j]
		v += u * u * sd[j] * sd[j]
	}
	return m / math.Sqrt(1+math.Pi*v/8)
}

// predict returns the share of responses on whose side the predictor is, and the mean log
// probability of the responses.
func predict(rows *vi.Rows, mean, sd []float64) (accuracy, logLik float64) {
	n := float64(len(rows.Y))
	for i, y := range rows.Y {
		a := predictor(rows.X[i*rows.P:(i+1)*rows.P], mean, sd)
		if a > 0 == (y == 1) {
			accuracy += 1 / n
		}
		if y == 0 {
			a = -a
		}
		logLik -= (math.Max(-a, 0) + math.Log1p(math.Exp(-math.Abs(a)))) / n // log σ(a)
	}
	return accuracy, logLik
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
