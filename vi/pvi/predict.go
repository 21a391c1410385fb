package pvi

import (
	"math"

	"github.com/dpreg/dpreg/vi"
)

// Score is how well a logistic regression predicts.
type Score struct {
	Accuracy float64 // share of responses whose probability is above ½
	LogLik   float64 // mean log probability of the responses
}

// Predict scores N(μ, diag v) on rows whose responses are 0 or 1. A response is 1 with
// probability σ(m/√(1 + πc/8)), m = xᵀμ, c = Σ_d x_d² v_d, up to the error of the probit
// approximation (MacKay 1992). It panics where law is not Proper.
func Predict(law []float64, rows *vi.Rows) Score {
	f := Family{Dim: rows.P}
	if !f.Proper(law) {
		panic("pvi: no law to predict from")
	}
	var s Score
	for i, y := range rows.Y {
		m, c := 0., 0.
		for j, x := range rows.X[i*rows.P : (i+1)*rows.P] {
			m += x * law[j] / law[f.diagonal(j)]
			c += x * x / law[f.diagonal(j)]
		}
		// log σ(±a) = −log(1 + e^{∓a})
		a := m / math.Sqrt(1+math.Pi*c/8)
		if a > 0 == (y == 1) {
			s.Accuracy++
		}
		if y == 0 {
			a = -a
		}
		s.LogLik -= math.Max(-a, 0) + math.Log1p(math.Exp(-math.Abs(a)))
	}
	n := float64(len(rows.Y))
	return Score{s.Accuracy / n, s.LogLik / n}
}
