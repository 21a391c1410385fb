package exact

import "github.com/dpreg/dpreg/model"

// rowsOfX are the statistics of covariates, whose T is integrated out, with μ_x and free scales:
//
//	log p(x̄, D_x, μ_x, λ) = Σ_i (n−2−i) log D_ii + log p(x, μ_x | λ) + log p(λ),   i = 0 … p−1,
//
// see covariates, in coordinates of columns, then ξ, then ζ of freeScales.
type rowsOfX struct {
	columns    *columns
	covariates *covariates
	scales     *freeScales
}

func newRowsOfX(c *columns, prior *model.Prior) *rowsOfX {
	return &rowsOfX{columns: c, covariates: newCovariates(prior), scales: newFreeScales(prior)}
}

// dim is the number of coordinates.
func (f *rowsOfX) dim() int { return f.columns.zeta() + f.scales.dim() }

// power is that of D_ii at n, the Jacobian of ξ counted in.
func (f *rowsOfX) power(i int, n float64) float64 { return n - float64(1+i) }

// take makes x̄, D_x and W_x of t, at its n, and returns the log density of x. It reports false where
// rounding forbids that.
func (f *rowsOfX) take(t *statistics, x []float64) (logp float64, ok bool) {
	if logp, ok = f.columns.take(t, x); !ok {
		return 0, false
	}
	logp += 0.5 * f.columns.product.value()
	t.spread()
	xi, zeta := f.columns.end(), f.columns.zeta()
	f.scales.set(x[zeta:], t)
	byX, ok := f.covariates.value(t, x[xi:zeta], f.scales.lambda)
	for i, log := range f.columns.logSquare {
		logp += 0.5 * f.power(i, t.n) * log
	}
	return f.scales.addPrior(logp) + byX, ok
}

// pull writes the gradient in x where take was last, of a density of t to which take's is added, given that in
// t, and in λ, of which scales.slope was first. It spends these, and returns the derivative in n.
func (f *rowsOfX) pull(grad, x []float64, t *statistics) (byN float64) {
	xi, zeta := f.columns.end(), f.columns.zeta()
	byN = f.covariates.slope(t, grad[xi:zeta], f.scales.gLambda, x[xi:zeta], f.scales.lambda)
	t.pull()
	f.scales.pull(grad[zeta:f.dim()], t)
	for i, log := range f.columns.logSquare {
		byN += 0.5 * log
		t.gD[i*(t.m+1)] += f.power(i, t.n) / t.d[i*(t.m+1)]
	}
	f.columns.pull(grad, t, x)
	return byN
}
