package posterior

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// Moments are the mean and the variance of each parameter, over all chains, in the order of Names.
func (d *Draws) Moments() (mean, variance []float64) {
	for j := range d.Names {
		m, v := stat.MeanVariance(slices.Concat(d.Column(j)...), nil)
		mean, variance = append(mean, m), append(variance, v)
	}
	return mean, variance
}

// Covariance is that of the first q parameters, over all chains, q×q.
func (d *Draws) Covariance(q int) *mat.SymDense {
	x := mat.NewDense(d.NumChains()*d.NumDraws(), q, nil)
	for j := range q {
		x.SetCol(j, slices.Concat(d.Column(j)...))
	}
	c := mat.NewSymDense(q, nil)
	stat.CovarianceMatrix(c, x, nil)
	return c
}

// InfoMean is the mean of one of the sampler's columns over all chains, NaN where there is none.
func (d *Draws) InfoMean(name string) float64 {
	j, sum, count := slices.Index(d.InfoNames, name), 0.0, 0.0
	if j < 0 {
		return math.NaN()
	}
	for _, info := range d.Info {
		for i := j; i < len(info); i += len(d.InfoNames) {
			sum += info[i]
			count++
		}
	}
	return sum / count
}
