package main

import (
	"github.com/dpreg/dpreg/model"
	"gonum.org/v1/gonum/mat"
)

// newtonSteps are plenty from 0: the log likelihood is concave.
const newtonSteps = 30

// maximumLikelihood is θ of logistic regression of the last column on the others, by Newton's
// method.
func maximumLikelihood(rows [][]float64) []float64 {
	q := len(rows[0])
	theta, a := make([]float64, q), make([]float64, q)
	for range newtonSteps {
		score, information := mat.NewVecDense(q, nil), mat.NewSymDense(q, nil)
		for _, row := range rows {
			eta := 0.0
			a[0] = 1
			copy(a[1:], row[:q-1])
			for k, v := range a {
				eta += theta[k] * v
			}
			g := model.Binomial.Mean(eta)
			score.AddScaledVec(score, row[q-1]-g, mat.NewVecDense(q, a))
			information.SymRankOne(information, g*(1-g), mat.NewVecDense(q, a))
		}
		var root mat.Cholesky
		var step mat.VecDense
		if !root.Factorize(information) || root.SolveVecTo(&step, score) != nil {
			break
		}
		for k := range theta {
			theta[k] += step.AtVec(k)
		}
	}
	return theta
}
