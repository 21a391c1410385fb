package model

import "slices"

// apart is the normal law of θ as independent laws of the intercept at a centre c of x and
// of the slopes,
//
//	α = θ₀ + cᵀβ ~ N(alpha, variance)   β ~ N(beta, precision⁻¹),
//
// which every normal law is: Λ₀ = λvvᵀ + blockdiag(0, S) with v = (1, c). Without an intercept
// there are the slopes alone. Where the prior is not Unscaled all this is relative to σ².
// Precision is that with free scales at 1.
type apart struct {
	first           int // of the slopes in θ
	alpha, variance float64
	centre, beta    []float64 // p
	precision       []float64 // S, p×p
}

func (p *Prior) apart() *apart {
	q, n := p.Theta.Dim(), p.Covariates.Dim()
	t := &apart{first: q - n, variance: 1, centre: make([]float64, n), beta: slices.Clone(p.Theta.Mean[q-n:]), precision: make([]float64, n*n)}
	lambda := p.Theta.Precision
	if t.first == 1 {
		t.variance, t.alpha = 1/lambda[0], p.Theta.Mean[0]
		for j, b := range t.beta {
			t.centre[j] = lambda[1+j] * t.variance
			t.alpha += t.centre[j] * b
		}
	}
	for j := range n {
		for k := range n {
			v := lambda[(t.first+j)*q+t.first+k]
			if t.first == 1 {
				v -= t.centre[j] * t.centre[k] * lambda[0]
			}
			t.precision[j*n+k] = v
		}
	}
	return t
}

// join writes the law to the prior's Theta, of which it takes the place.
func (p *Prior) join(t *apart) {
	q, n := p.Theta.Dim(), len(t.beta)
	lambda := p.Theta.Precision
	copy(p.Theta.Mean[t.first:], t.beta)
	if t.first == 1 {
		lambda[0], p.Theta.Mean[0] = 1/t.variance, t.alpha
		for j, c := range t.centre {
			lambda[1+j], lambda[(1+j)*q] = c/t.variance, c/t.variance
			p.Theta.Mean[0] -= c * t.beta[j]
		}
	}
	for j := range n {
		for k := range n {
			v := t.precision[j*n+k]
			if t.first == 1 {
				v += t.centre[j] * t.centre[k] / t.variance
			}
			lambda[(t.first+j)*q+t.first+k] = v
		}
	}
}

// leave takes slope j out of the law, and out of a free scale of the prior: the others keep
// their marginal law, and it has none until its precision is set.
func (t *apart) leave(p *Prior, j int) {
	marginalise(t.precision, len(t.beta), j)
	for i := range p.Scales {
		s := &p.Scales[i]
		at := slices.Index(s.Coefficients, t.first+j)
		if at < 0 {
			continue
		}
		n := len(s.Coefficients)
		marginalise(s.Precision, n, at)
		var rest []float64
		for r := range n {
			for c := range n {
				if r != at && c != at {
					rest = append(rest, s.Precision[r*n+c])
				}
			}
		}
		s.Coefficients, s.Precision = slices.Delete(s.Coefficients, at, at+1), rest
	}
	p.drop(Scale.empty)
}

// marginalise takes the precision A, n×n, to that of all but element k, whose row and column
// become 0.
func marginalise(a []float64, n, k int) {
	pivot := a[k*n+k]
	for r := range n {
		for c := range n {
			if r != k && c != k && pivot > 0 {
				a[r*n+c] -= a[r*n+k] * a[k*n+c] / pivot
			}
		}
	}
	for r := range n {
		a[r*n+k], a[k*n+r] = 0, 0
	}
}

// free adds a precision to that of slopes, which have none, and returns the free scale
// that divides it.
func (t *apart) free(slopes []int, precision []float64) Scale {
	s, n := Scale{SD: freeSD, Precision: precision}, len(slopes)
	for r, j := range slopes {
		s.Coefficients = append(s.Coefficients, t.first+j)
		for c, k := range slopes {
			t.precision[j*len(t.beta)+k] += precision[r*n+c]
		}
	}
	return s
}
