package model

// Sums are the parts of s that the conjugate updates take.
type Sums struct {
	Shape  Shape
	XX, XY []float64 // Q×Q and Q: the design matrix's, with the intercept's column of ones
	YY     float64
	SX     []float64 // P: Σ x
	SXX    []float64 // P×P: Σ xxᵀ
}

// NewSums allocates for a shape.
func NewSums(s Shape) *Sums {
	p, q := s.P, s.Q()
	return &Sums{Shape: s, XX: make([]float64, q*q), XY: make([]float64, q), SX: make([]float64, p), SXX: make([]float64, p*p)}
}

// Set sorts s, canonical order, of n rows into its parts.
func (t *Sums) Set(s []float64, n float64) {
	p, q, m, f := t.Shape.P, t.Shape.Q(), t.Shape.M(), t.Shape.first()
	if t.Shape.Intercept {
		t.XX[0], t.XY[0] = n, s[p]
	}
	at := m
	for j := range p {
		t.SX[j] = s[j]
		if f == 1 {
			t.XX[j+1], t.XX[(j+1)*q] = s[j], s[j]
		}
		for k := j; k < p; k++ {
			v := s[at]
			t.SXX[j*p+k], t.SXX[k*p+j] = v, v
			t.XX[(j+f)*q+k+f], t.XX[(k+f)*q+j+f] = v, v
			at++
		}
		t.XY[j+f] = s[at]
		at++
	}
	t.YY = s[at]
}
