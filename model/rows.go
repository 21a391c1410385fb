package model

import "math"

// Rows writes the mean μ (m) of rows v = (x, y) and the lower Cholesky factor L (m×m) of
// their covariance, at the parameters x of the last Constrain: with T = L_x L_xᵀ
//
//	μ = (μ_x, θ₀ + βᵀμ_x)      L = [ L_x    0 ]
//	                               [ βᵀL_x  σ ]
func (c *Coordinates) Rows(mean, factor []float64, x *Params) {
	p, m := c.Shape.P, c.Shape.M()
	beta := x.Theta[c.Shape.first():]
	last := factor[p*m : p*m+m]
	clear(last)
	my := 0.0
	if c.Shape.Intercept {
		my = x.Theta[0]
	}
	for i, b := range beta {
		mean[i] = x.MuX[i]
		my += b * x.MuX[i]
		row := c.l[i*p : i*p+i+1]
		copy(factor[i*m:], row)
		for k, v := range row {
			last[k] += b * v
		}
	}
	mean[p], last[p] = my, math.Sqrt(x.Sigma2)
}

// PullRows adds to grad, in φ, the gradient of a function of (μ, L) whose gradient there
// is gMean (m) and the lower triangle of gFactor (m×m), at the parameters x of the last
// Constrain. It is the reverse of Rows, ∂σ/∂ log σ² = ½σ.
func (c *Coordinates) PullRows(grad []float64, x *Params, gMean, gFactor []float64) {
	p, q, m := c.Shape.P, c.Shape.Q(), c.Shape.M()
	first := c.Shape.first()
	gy, last := gMean[p], gFactor[p*m:p*m+m]
	if first > 0 {
		grad[0] += gy
	}
	grad[q] += 0.5 * math.Sqrt(x.Sigma2) * last[p]
	for i, b := range x.Theta[first:] {
		g := gy * x.MuX[i]
		for k := range i + 1 {
			g += last[k] * c.l[i*p+k]
			c.addFactor(grad, i, k, gFactor[i*m+k]+b*last[k])
		}
		grad[first+i] += g
		grad[q+1+i] += gMean[i] + b*gy
	}
}
