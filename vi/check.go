package vi

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
)

// CheckGradients compares a model's gradients at theta with differences: of the prior,
// and of the records given. The error names the parameter, the record and both numbers,
// so it is for records that may be shown.
//
// The central difference over ±h has an error of h² times a third derivative, and one
// of rounding, so gradients must agree to 1e-5 of the larger of 1 and the largest of
// them; a wrong sign or factor is far from that.
func CheckGradients(m Model, theta []float64, records ...int) error {
	if len(theta) != m.Dim() {
		return fmt.Errorf("theta has %d parameters, the model %d", len(theta), m.Dim())
	}
	if err := checkGradient(m.LogPrior, theta); err != nil {
		return fmt.Errorf("the log prior: %w", err)
	}
	for _, i := range records {
		if i < 0 || i >= m.Len() {
			return fmt.Errorf("the model has no record %d", i)
		}
		logLik := func(grad, theta []float64) float64 { return m.LogLik(grad, theta, i) }
		if err := checkGradient(logLik, theta); err != nil {
			return fmt.Errorf("the log-likelihood of record %d: %w", i, err)
		}
		if l, ok := m.(Linear); ok {
			if err := checkSlope(l, theta, i); err != nil {
				return fmt.Errorf("record %d: %w", i, err)
			}
		}
	}
	return nil
}

const (
	differenceStep = 1e-5
	tolerance      = 1e-5
)

func checkGradient(f func(grad, theta []float64) float64, theta []float64) error {
	grad, scratch, x := make([]float64, len(theta)), make([]float64, len(theta)), append([]float64(nil), theta...)
	for j := range grad {
		grad[j] = math.NaN() // what is not written is found
	}
	if v := f(grad, x); !finite(v) {
		return fmt.Errorf("it is %v", v)
	}
	scale := 1.
	for _, g := range grad {
		scale = max(scale, math.Abs(g))
	}
	for j, at := range theta {
		h := differenceStep * max(1, math.Abs(at))
		x[j] = at + h
		up := f(scratch, x)
		x[j] = at - h
		down := f(scratch, x)
		x[j] = at
		if want := (up - down) / (2 * h); !(math.Abs(grad[j]-want) <= tolerance*scale) {
			return fmt.Errorf("the derivative in parameter %d is %v by differences, and its gradient has %v", j, want, grad[j])
		}
	}
	return nil
}

// checkSlope holds a Linear model's two ways against each other.
func checkSlope(l Linear, theta []float64, i int) error {
	grad, x := make([]float64, len(theta)), l.Covariates(i)
	l.LogLik(grad, theta, i)
	slope := l.Slope(i, floats.Dot(x, theta[:len(x)]))
	for j, g := range grad {
		v := 0.
		if j < len(x) {
			v = slope * x[j]
		}
		if !(math.Abs(g-v) <= tolerance*max(1, math.Abs(g))) {
			return fmt.Errorf("by Slope the derivative in parameter %d is %v, and the gradient of LogLik has %v", j, v, g)
		}
	}
	return nil
}
