// Package predict has the posterior predictive law of the response of rows.
package predict

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/schema"
)

// Options of predictions. The zero value serves.
type Options struct {
	// Level is the probability of the equal-tailed intervals; 0 is
	// posterior.DefaultLevel.
	Level float64
	// Mean asks for the regression line θᵀ(1, x) in place of a new response.
	Mean bool
	// Custodian is, where several custodians are pooled partially, the number from 1
	// of the one to whose rows predictions are for; 0 is a new one.
	Custodian int
	// Common asks for the regression about which custodians' lie in place of a new one's: parts of one dealing of rows
	// differ by chance, and new rows are like those of all.
	Common bool
	// Family is that of the fit: predictions are of the probability of 1, or of a count's rate.
	Family model.Family
}

// Prediction is the posterior predictive law of the response of one row, or the
// posterior of the regression line there, in the data's units.
type Prediction struct {
	Fitted       float64 // mean
	SD           float64
	Lower, Upper float64
	// Outside tells that a covariate lies outside its public bounds: an
	// extrapolation, as no row that was released can lie there. Covariates are
	// not clamped.
	Outside bool
}

// Predictor predicts rows one after another. It is safe for concurrent use.
//
// With a = (1, x) and draws (θ_i, σ_i²) of the posterior, the predictive law of a
// new response is the mixture of the normals N(θ_iᵀa, σ_i²). Its mean and variance
// need no simulation (the law of total variance),
//
//	E y = E θᵀa        Var y = aᵀ Cov(θ) a + E σ²,
//
// over all draws, and its quantiles are roots of the mixture's distribution
// function, over at most 2000 evenly spaced draws: nothing depends on a seed but
// the draws. All is computed in scaled units, where an intercept far from the
// data cancels no digits, and mapped back.
//
// Under partial pooling a custodian's rows have its own θ_j and σ_j, and those of a new
// custodian θ_new ~ N(θ, Ω) and log σ_new ~ N(log σ, υ²), so that given a draw
//
//	y ~ N(θᵀa, σ_new² + aᵀΩa),   σ_new = σ exp(υe),   e ~ N(0, 1),
//
// of variance σ² exp(2υ²) + aᵀΩa, and the line is N(θᵀa, aᵀΩa): mixtures of normals again,
// where for quantiles each draw has an e of its own, those of all draws evenly spread over
// the normal law (a Kronecker sequence).
type Predictor struct {
	frame  schema.Frame
	design *schema.Design
	level  float64
	mean   bool
	family model.Family

	centre []float64 // E θ, q
	cov    []float64 // Cov θ, q×q; of a new custodian's Cov θ_new = Cov θ + E Ω
	sigma2 float64   // E σ²
	theta  []float64 // draws for the quantiles, row-major, q wide
	sigma  []float64 // and their σ, or σ_new
	omega  []float64 // and Ω, q×q, of a new custodian; else nil
}

// Of prepares predictions from a fit. Errors: a level outside (0, 1).
func Of(f *dpreg.Fit, o Options) (*Predictor, error) {
	o.Family, o.Common = f.Family, o.Common || f.OneDealing()
	return New(f.StanDraws(dpreg.Scaled), f.Design, dpreg.Scaled, o)
}

// New predicts from draws that hold, among others, θ and σ² of a design
// in the units u, under the names of Fit.StanDraws: theta[0] is the intercept, where
// there is one, theta[j] the j-th slope, and sigma2; under partial pooling theta_at[c,j]
// and sigma_at[c] of custodian c, or omega[j,k] and spread_log_sigma for a new one.
//
// Errors: an invalid design, a parameter that is missing or not finite, no draws,
// a σ² that is not above 0, a level outside (0, 1), a custodian or units that there are not.
func New(d *posterior.Draws, design *schema.Design, u dpreg.Units, o Options) (*Predictor, error) {
	if u != dpreg.Original && u != dpreg.Scaled {
		return nil, fmt.Errorf("units %q are neither %q nor %q", u, dpreg.Original, dpreg.Scaled)
	}
	o.Level = cmp.Or(o.Level, posterior.DefaultLevel)
	if !(o.Level > 0 && o.Level < 1) {
		return nil, fmt.Errorf("level %v of the intervals: it must lie between 0 and 1", o.Level)
	}
	if err := design.Validate(); err != nil {
		return nil, err
	}
	if err := o.Family.Check(design); err != nil {
		return nil, err
	}
	p := &Predictor{frame: o.Family.Design(design).Frame(), design: design, level: o.Level, mean: o.Mean, family: o.Family}
	shape := model.DesignShape(design)
	names, pooled, err := o.names(d, shape)
	if err != nil {
		return nil, err
	}
	q := shape.Q()
	rows, err := p.rows(d, u, names, q)
	if err != nil {
		return nil, err
	}
	if o.Family != model.Normal {
		step := (len(rows) + lineDraws - 1) / lineDraws
		for i := 0; i < len(rows); i += step {
			p.theta, p.omega = append(p.theta, rows[i][:q]...), append(p.omega, rows[i][q:]...)
		}
		return p, nil
	}
	p.load(rows, q, pooled)
	return p, nil
}

// Most draws of which the quantiles are computed: those of a mixture of normals
// are smooth in each of its parts, those of the line are order statistics.
const (
	mixtureDraws = 2000
	lineDraws    = 20000
)

// load computes the moments of all draws, rows of θ, σ² and, where pooled, Ω and perhaps
// υ, and keeps those for the quantiles.
func (p *Predictor) load(rows [][]float64, q int, pooled bool) {
	count, last := float64(len(rows)), q+1 // θ and σ²; Ω
	if pooled {
		last += q * q
	}
	upsilon := func(row []float64) float64 {
		if last < len(row) {
			return row[last]
		}
		return 0
	}
	p.centre, p.cov = make([]float64, q), make([]float64, q*q)
	for _, row := range rows {
		for j := range q {
			p.centre[j] += row[j] / count
		}
		p.sigma2 += row[q] * math.Exp(2*upsilon(row)*upsilon(row)) / count
	}
	for _, row := range rows {
		for j := range q {
			for k := range q {
				p.cov[j*q+k] += (row[j] - p.centre[j]) * (row[k] - p.centre[k]) / max(count-1, 1)
			}
		}
	}
	for _, row := range rows {
		for j, v := range row[q+1 : last] { // Ω, if there is one
			p.cov[j] += v / count
		}
	}
	most := mixtureDraws
	if p.mean && !pooled {
		most = lineDraws
	}
	step := (len(rows) + most - 1) / most
	for i := step - 1; i < len(rows); i += step {
		row := rows[i]
		p.theta = append(p.theta, row[:q]...)
		e := normalAt(len(p.sigma))
		p.sigma = append(p.sigma, math.Sqrt(row[q])*math.Exp(upsilon(row)*e))
		p.omega = append(p.omega, row[q+1:last]...)
	}
}

// normalAt is the normal quantile of number i of a Kronecker sequence.
func normalAt(i int) float64 {
	_, u := math.Modf((float64(i) + 0.5) * (math.Sqrt(5) - 1) / 2)
	return math.Sqrt2 * math.Erfinv(2*u-1)
}

// Predict predicts the row with these p covariates, those of the design in their order, in the
// data's units. Errors: not p, a covariate that is not finite, values so far outside the bounds
// that the result overflows.
func (p *Predictor) Predict(x []float64) (Prediction, error) {
	var out Prediction
	m := len(p.frame.Half)
	if len(x) != m-1 {
		return out, fmt.Errorf("a row has %d values, the model has %d covariates", len(x), m-1)
	}
	a := make([]float64, 0, m)
	if p.design.Intercept {
		a = append(a, 1)
	}
	for j, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return out, fmt.Errorf("covariate %q is %v", p.frame.Labels[j], v)
		}
		bounds := p.design.Covariates[j]
		out.Outside = out.Outside || v < bounds.Lower || v > bounds.Upper
		a = append(a, (v-p.frame.Centre[j])/p.frame.Half[j])
	}
	if p.family != model.Normal {
		outside := out.Outside
		out = p.expected(a)
		out.Outside = outside
	} else {
		mean, variance := p.moments(a)
		sd := math.Sqrt(variance)
		lower, upper := p.interval(a, mean, sd)
		c, h := p.frame.Centre[m-1], p.frame.Half[m-1]
		out.Fitted, out.SD, out.Lower, out.Upper = c+h*mean, h*sd, c+h*lower, c+h*upper
	}
	for _, v := range []float64{out.Fitted, out.SD, out.Lower, out.Upper} {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return out, errors.New("the covariates lie so far outside their bounds that the prediction overflows")
		}
	}
	return out, nil
}

// moments are the mean and variance at a in scaled units.
func (p *Predictor) moments(a []float64) (mean, variance float64) {
	for j, u := range a {
		mean += u * p.centre[j]
	}
	if variance = quadratic(p.cov, a); !p.mean {
		variance += p.sigma2
	}
	return mean, variance
}

// quadratic is aᵀCa of a covariance C, which but for rounding is not below 0.
func quadratic(c, a []float64) (variance float64) {
	for j, u := range a {
		for k, v := range a {
			variance += u * c[j*len(a)+k] * v
		}
	}
	return max(variance, 0)
}

// names lists what predicts: θ or a custodian's θ_j, σ² or a custodian's σ_j and, for a new
// custodian of several that are pooled partially, the whole of Ω, and υ unless it is what is common. Draws of earlier
// versions, in which all custodians had one σ², have neither υ nor σ_j. Of a family there is no σ at all.
func (o *Options) names(d *posterior.Draws, shape model.Shape) (names []string, pooled bool, err error) {
	q, first, custodian := shape.Q(), shape.First(), o.Custodian
	names = model.Names(model.Layout{Shape: shape, Family: o.Family}.Drawn())
	at := func(c, k int) string {
		return model.Parameter{Kind: model.ThetaAt, Custodian: c, K: k + first}.Name()
	}
	pooled = d.Index(at(1, 0)) >= 0
	switch {
	case custodian != 0 && !pooled:
		return nil, false, fmt.Errorf("custodian %d: without partial pooling the draws have no coefficients of a custodian's own", custodian)
	case custodian != 0:
		for k := range q {
			if names[k] = at(custodian, k); d.Index(names[k]) < 0 {
				return nil, false, fmt.Errorf("there is no custodian %d among the draws", custodian)
			}
		}
		if own := (model.Parameter{Kind: model.SigmaAt, Custodian: custodian}).Name(); d.Index(own) >= 0 {
			names[q] = own
		}
		return names, false, nil
	case o.Common:
		return names, false, nil
	case pooled:
		for k := range q {
			for l := range q {
				names = append(names, model.Parameter{Kind: model.Omega, K: min(k, l) + first, L: max(k, l) + first}.Name())
			}
		}
		if v := (model.Parameter{Kind: model.SpreadLogSigma}).Name(); d.Index(v) >= 0 {
			names = append(names, v)
		}
	}
	return names, pooled, nil
}

// rows takes the parameters of these names in scaled units, draw by draw, chain after
// chain; a σ_j as σ_j².
func (p *Predictor) rows(d *posterior.Draws, u dpreg.Units, names []string, q int) (rows [][]float64, err error) {
	for _, name := range names {
		if d.Index(name) < 0 {
			return nil, fmt.Errorf("the draws have no parameter %s", name)
		}
	}
	if d.NumDraws() == 0 {
		return nil, errors.New("there are no draws")
	}
	linear, last := p.frame, len(p.design.Covariates)
	linear.Centre = slices.Clone(linear.Centre) // those of differences, whose maps of θ are linear
	linear.Centre[last] = 0
	for _, chain := range d.InOrder(names).Chains {
		for row := range slices.Chunk(chain, len(names)) {
			for k, v := range row {
				if math.IsNaN(v) || math.IsInf(v, 0) || k == q && v <= 0 {
					return nil, fmt.Errorf("a draw of %s is %v", names[k], v)
				}
			}
			if u == dpreg.Original {
				p.frame.ThetaToScaled(row[:q], row[:q])
			}
			omega := row[q:]
			if p.family == model.Normal {
				if names[q] != "sigma2" {
					row[q] *= row[q]
				}
				if omega = row[q+1:]; u == dpreg.Original {
					row[q] /= p.frame.Half[last] * p.frame.Half[last]
				}
			}
			if u == dpreg.Original {
				spreadToScaled(omega, linear, q)
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// spreadToScaled maps Ω, q×q, as f maps differences of θ: rows, then columns. An empty
// Ω it leaves, and what stands behind it.
func spreadToScaled(omega []float64, f schema.Frame, q int) {
	for range min(2, len(omega)) {
		for k := range q {
			f.ThetaToScaled(omega[k*q:k*q+q], omega[k*q:k*q+q])
		}
		for k := range q { // transposes
			for l := range k {
				omega[k*q+l], omega[l*q+k] = omega[l*q+k], omega[k*q+l]
			}
		}
	}
}
