package main

import (
	"context"
	"iter"
	"math"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/mcmc"
	"gonum.org/v1/gonum/mat"
)

// law is what a method says of θ, by mean and covariance, and of E σ², in scaled units.
type law struct {
	mean       []float64
	covariance *mat.SymDense
	sigma2     float64
}

// of takes the moments of a fit's draws.
func of(f *dpreg.Fit) *law {
	d := f.Draws(dpreg.Scaled)
	q := len(design.Covariates) + 1
	l := &law{mean: make([]float64, q), covariance: mat.NewSymDense(q, nil)}
	var columns [][]float64
	for k := range q + 1 {
		var all []float64
		for _, chain := range d.Column(k) {
			all = append(all, chain...)
		}
		columns = append(columns, all)
	}
	n := float64(len(columns[0]))
	for k, column := range columns {
		sum := 0.0
		for _, v := range column {
			sum += v / n
		}
		if k == q {
			l.sigma2 = sum
		} else {
			l.mean[k] = sum
		}
	}
	for j := range q {
		for k := range j + 1 {
			sum := 0.0
			for i, v := range columns[j] {
				sum += (v - l.mean[j]) * (columns[k][i] - l.mean[k]) / (n - 1)
			}
			l.covariance.SetSym(j, k, sum)
		}
	}
	return l
}

// pool fits all rows without noise.
func pool(ctx context.Context, rows [][]float64) (*law, error) {
	s, err := dpreg.Accumulate(ctx, each(rows), design)
	if err != nil {
		return nil, err
	}
	f, err := dpreg.NonPrivate(ctx, s, design, dpreg.Options{Plan: mcmc.Plan{Chains: 1, Draws: 4000}})
	if err != nil {
		return nil, err
	}
	return of(f), nil
}

func each(rows [][]float64) iter.Seq2[[]float64, error] {
	return func(yield func([]float64, error) bool) {
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	}
}

// score is how well a law does.
type score struct {
	theta    float64 // root mean square of θ's distance from the pooled fit, scaled units
	held     float64 // share of the pooled fit's coefficients that 90 % intervals hold
	rmse     float64 // of predicted rows, hours
	logScore float64 // mean log density of predicted rows, hours
	covered  float64 // share of predicted rows in 90 % intervals
}

// z90 is the normal quantile of 0.95.
const z90 = 1.6448536269514722

// score compares with the pooled fit, and predicts rows by the normal law with the
// posterior predictive's mean and variance.
func (l *law) score(pooled *law, test [][]float64) (s score) {
	q := float64(len(l.mean))
	for k, m := range l.mean {
		gap := m - pooled.mean[k]
		s.theta += gap * gap / q
		if math.Abs(gap) <= z90*math.Sqrt(l.covariance.At(k, k)) {
			s.held += 1 / q
		}
	}
	s.theta = math.Sqrt(s.theta)
	hours, n := design.Frame().Half[len(design.Covariates)], float64(len(test))
	x := mat.NewVecDense(len(l.mean), nil)
	for _, row := range test {
		x.SetVec(0, 1)
		for k, v := range row[:len(row)-1] {
			x.SetVec(k+1, v)
		}
		gap := row[len(row)-1] - mat.Dot(x, mat.NewVecDense(len(l.mean), l.mean))
		variance := l.sigma2 + mat.Inner(x, l.covariance, x)
		s.rmse += gap * gap / n
		s.logScore -= (0.5*(gap*gap/variance+math.Log(2*math.Pi*variance)) + math.Log(hours)) / n
		if gap*gap <= z90*z90*variance {
			s.covered += 1 / n
		}
	}
	s.rmse = hours * math.Sqrt(s.rmse)
	return s
}
