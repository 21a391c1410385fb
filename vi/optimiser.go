package vi

import "math"

// Optimiser goes up a function, given noisy gradients.
type Optimiser interface {
	// Start forgets what was, for a vector of length dim.
	Start(dim int)
	// Step changes lambda.
	Step(lambda, gradient []float64)
}

// SGD adds Rate times the gradient.
type SGD struct{ Rate float64 }

// Start implements Optimiser.
func (s *SGD) Start(int) {}

// Step implements Optimiser.
func (s *SGD) Step(lambda, gradient []float64) {
	for j, g := range gradient {
		lambda[j] += s.Rate * g
	}
}

// Adam is that of Kingma & Ba (ICLR 2015), with their β₁ = 0.9, β₂ = 0.999 and 1e-8.
type Adam struct {
	Rate float64

	mean, square []float64
	step         int
}

// Start implements Optimiser.
func (a *Adam) Start(dim int) {
	a.mean, a.square, a.step = make([]float64, dim), make([]float64, dim), 0
}

// Step implements Optimiser.
func (a *Adam) Step(lambda, gradient []float64) {
	const beta1, beta2, small = 0.9, 0.999, 1e-8
	a.step++
	first := 1 - math.Pow(beta1, float64(a.step))
	second := 1 - math.Pow(beta2, float64(a.step))
	for j, g := range gradient {
		m := beta1*a.mean[j] + (1-beta1)*g
		v := beta2*a.square[j] + (1-beta2)*g*g
		a.mean[j], a.square[j] = m, v
		lambda[j] += a.Rate * (m / first) / (math.Sqrt(v/second) + small)
	}
}

// Adagrad divides by the root of the sum of all squared gradients (Duchi, Hazan &
// Singer, JMLR 12, 2011); with Window > 0, of the last Window of them (Kucukelbir et
// al., 2017; Jälkö et al., 2016).
type Adagrad struct {
	Rate   float64
	Window int

	sum  []float64
	past [][]float64
	next int
}

// Start implements Optimiser.
func (a *Adagrad) Start(dim int) {
	a.sum, a.past, a.next = make([]float64, dim), make([][]float64, a.Window), 0
	for i := range a.past {
		a.past[i] = make([]float64, dim)
	}
}

// Step implements Optimiser.
func (a *Adagrad) Step(lambda, gradient []float64) {
	a.add(gradient)
	for j, g := range gradient {
		lambda[j] += a.Rate * g / (math.Sqrt(a.sum[j]) + 1e-10)
	}
}

// add sums the window anew, so that nothing is left of squares that leave it.
func (a *Adagrad) add(gradient []float64) {
	if a.Window == 0 {
		for j, g := range gradient {
			a.sum[j] += g * g
		}
		return
	}
	for j, g := range gradient {
		a.past[a.next][j] = g * g
	}
	a.next = (a.next + 1) % a.Window
	clear(a.sum)
	for _, squares := range a.past {
		for j, v := range squares {
			a.sum[j] += v
		}
	}
}
