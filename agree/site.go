// Package agree asks whether several releases go together: whether any contradicts the
// regression that all are said to share, and whether two are of the same rows.
package agree

import (
	"fmt"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/schema"
)

// Site takes the parameters of one custodian out of draws in scaled units.
type Site struct {
	shape model.Shape
	own   schema.Frame // from common units, which take the place of scaled ones, to its own
	theta int          // where its coefficients are
	sigma int          // and its own σ_j; -1: it has none
	mu    int          // and the shared μ_x and T
	n     int          // and its latent number of rows; -1: it is public
}

// NewSite finds those of custodian j, from 0, among draws in the scaled units of the frame.
func NewSite(d *posterior.Draws, common, own schema.Frame, j int) Site {
	u := model.UnitsBetween(common, own)
	shape := model.Shape{P: len(own.Half) - 1, Intercept: common.Intercept}
	s := Site{shape: shape, own: schema.Frame{Centre: u.Shift, Half: u.Scale, Intercept: common.Intercept}}
	s.theta = max(0, d.Index(fmt.Sprintf("theta_at[%d,%d]", j+1, shape.P+1-shape.Q())))
	s.sigma = d.Index(fmt.Sprintf("sigma_at[%d]", j+1))
	s.mu = d.Index("mu_x[1]")
	if s.n = d.Index("n"); s.n < 0 { // that of all rows
		s.n = d.Index(fmt.Sprintf("n[%d]", j+1))
	}
	return s
}

// Regression are θ_j and σ_j² of a draw.
func (s Site) Regression(row []float64) []float64 {
	q := s.shape.Q()
	out := make([]float64, q, len(row))
	s.own.ThetaToOriginal(out, row[s.theta:s.theta+q])
	sigma2 := row[q]
	if s.sigma >= 0 {
		sigma2 = row[s.sigma] * row[s.sigma]
	}
	return append(out, s.own.Sigma2ToOriginal(sigma2))
}

// Covariates appends the shared μ_x and T of a draw, and n.
func (s Site) Covariates(dst, row []float64) []float64 {
	p, at := s.shape.P, s.mu
	mu, tau := make([]float64, p), make([]float64, p*p)
	s.own.MuXToOriginal(mu, row[at:at+p])
	for j, at := 0, at+p; j < p; j++ {
		for k := j; k < p; k++ {
			tau[j*p+k], tau[k*p+j] = row[at], row[at]
			at++
		}
	}
	s.own.TauToOriginal(tau, tau)
	dst = append(dst, mu...)
	for j := range p {
		dst = append(dst, tau[j*p+j:(j+1)*p]...)
	}
	if s.n >= 0 {
		dst = append(dst, row[s.n])
	}
	return dst
}
