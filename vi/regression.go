package vi

import "fmt"

// Rows are the records of a regression: row i of X, of P entries, one after the other,
// and response Y[i]. A column of ones makes an intercept.
type Rows struct {
	P    int
	X, Y []float64
}

func (r *Rows) row(i int) []float64 { return r.X[i*r.P : (i+1)*r.P : (i+1)*r.P] }

// mustFit panics unless X is len(Y) × P.
func (r *Rows) mustFit() {
	if r.P < 1 || len(r.X) != r.P*len(r.Y) {
		panic(fmt.Sprintf("vi: %d entries of X for %d responses and %d covariates", len(r.X), len(r.Y), r.P))
	}
}

func indexed(name string, n int) []string {
	names := make([]string, n)
	for j := range names {
		names[j] = fmt.Sprintf("%s[%d]", name, j)
	}
	return names
}

// normalPrior is log ∏ N(θ_j; 0, sd²) up to a constant, and writes the gradient.
func normalPrior(grad, theta []float64, sd float64) float64 {
	precision, sum := 1/(sd*sd), 0.
	for j, v := range theta {
		grad[j] = -precision * v
		sum += v * v
	}
	return -precision * sum / 2
}
