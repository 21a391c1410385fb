package model

// Shape says how large the regression is: P covariates, and whether θ has an
// intercept.
type Shape struct {
	P         int
	Intercept bool
}

// M is the length of v = (x₁…x_p, y).
func (s Shape) M() int { return s.P + 1 }

// Q is the length of θ.
func (s Shape) Q() int { return s.P + s.first() }

// first is the index in θ of the first slope: 1 with an intercept, else 0.
func (s Shape) first() int {
	if s.Intercept {
		return 1
	}
	return 0
}

// Statistics is the length of s: m linear and m(m+1)/2 quadratic sums.
func (s Shape) Statistics() int { return statistics(s.M()) }

func statistics(m int) int { return m + m*(m+1)/2 }

// Params are the parameters in scaled units. MuX and Tau are empty where x has
// no model.
type Params struct {
	Theta  []float64 // Q
	Sigma2 float64
	MuX    []float64 // P
	Tau    []float64 // P×P row-major, symmetric
}

// NewParams returns zero parameters of a shape.
func NewParams(s Shape) *Params {
	return &Params{Theta: make([]float64, s.Q()), MuX: make([]float64, s.P), Tau: make([]float64, s.P*s.P)}
}

// NewRegressionParams returns zero parameters (θ, σ²) of a model that has no
// others: MuX and Tau are empty.
func NewRegressionParams(s Shape) *Params { return &Params{Theta: make([]float64, s.Q())} }

// Copy copies src, of the same shape.
func (p *Params) Copy(src *Params) {
	copy(p.Theta, src.Theta)
	p.Sigma2 = src.Sigma2
	copy(p.MuX, src.MuX)
	copy(p.Tau, src.Tau)
}
