package exact

import (
	"math"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/model"
)

// pooled are the coefficients of one custodian, θ_j ~ N(θ, Ω), Ω = diag(τ)CCᵀdiag(τ):
//
//	θ_j = θ + diag(τ) C η,   η standard normal.
//
// Where z tells much of θ_j, η would follow θ and τ along a funnel; where it tells
// little, θ_j would. So the coordinates c are η in the units, and from the centre, of
// what is left open when a rough guess g of θ_j with standard deviations w is right,
// coefficient by coefficient as if R = I:
//
//	η_k = ((τ_k/w_k²)(g_k − θ_k) + √h_k c_k)/h_k,   h_k = 1 + τ_k²/w_k².
//
// Any guess gives the same posterior: log p(c) = −½|η|² − ½Σ log h_k.
type pooled struct {
	hub              *model.Hub
	guess, precision []float64 // g, w⁻²
	eta, theta       []float64
	scaled, back     []float64 // Cη, and the gradient in η
}

func newPooled(s *model.Site, hub *model.Hub) *pooled {
	q := s.Shape.Q()
	vec := func() []float64 { return make([]float64, q) }
	t := &pooled{hub: hub, guess: vec(), precision: vec(), eta: vec(), theta: vec(), scaled: vec(), back: vec()}
	t.rough(s)
	return t
}

// rough guesses θ_j from z as if it were s. With Λθ = XY the normal equations, each
// with the noise of one sum and q products, of variance v together v(1 + |θ|²), the
// variance is about σ²Λ⁻¹_kk + v(1 + |θ|²)(Λ⁻¹_kk)².
func (t *pooled) rough(s *model.Site) {
	shape, q := s.Shape, s.Shape.Q()
	n := math.Max(s.N, s.Count.Least)
	z := append([]float64(nil), s.Z...)
	model.NewProjection(shape.M()).Apply(z, n)
	s.Units.Common(z, z, n)
	sums, prior := model.NewSums(shape), model.DefaultPrior(shape).Theta
	sums.Set(z, n)
	for k := range q {
		t.precision[k] = 1 // no guess: that of the prior's mean
	}
	given := prior.Clone()
	if !conjugate.NewNIGSampler(q).Update(given, prior, sums.XX, sums.XY, sums.YY, n) {
		return
	}
	size, noise := 1.0, 0.0
	for _, v := range given.Mean {
		size += v * v
	}
	for _, a := range s.Units.Scale {
		noise = math.Max(noise, s.Scale[0]/(a*s.Units.Scale[shape.P]))
	}
	variance := make([]float64, q) // E σ² Λ⁻¹_kk
	given.VarTheta(variance)
	for k, v := range variance {
		inverse := v * (given.Shape - 1) / given.Scale
		w2 := v + noise*noise*size*inverse*inverse
		if w2 > 0 && !math.IsInf(w2, 1) {
			t.guess[k], t.precision[k] = given.Mean[k], 1/w2
		}
	}
}

// set takes η and θ_j of x, whose first coordinates are c.
func (t *pooled) set(x []float64) {
	q, tau, c := len(t.theta), t.hub.Spread.Tau, t.hub.Spread.Factor
	for k := range q {
		h := 1 + tau[k]*tau[k]*t.precision[k]
		t.eta[k] = tau[k]*t.precision[k]*(t.guess[k]-t.hub.Params.Theta[k])/h + x[k]/math.Sqrt(h)
	}
	for k := range q {
		sum := 0.0
		for l := range k + 1 {
			sum += c[k*q+l] * t.eta[l]
		}
		t.scaled[k] = sum
		t.theta[k] = t.hub.Params.Theta[k] + tau[k]*sum
	}
}

// coordinates writes c of η.
func (t *pooled) coordinates(x, eta []float64) {
	tau := t.hub.Spread.Tau
	for k, e := range eta {
		h := 1 + tau[k]*tau[k]*t.precision[k]
		x[k] = math.Sqrt(h) * (e - tau[k]*t.precision[k]*(t.guess[k]-t.hub.Params.Theta[k])/h)
	}
}

// add returns log p(c); it adds its gradient, and that given in θ_j, to those in c and
// in the hub.
func (t *pooled) add(grad, x, gTheta []float64) (logp float64) {
	q, spread := len(t.theta), t.hub.Spread
	for l := range q {
		sum := 0.0
		for k := l; k < q; k++ {
			g := gTheta[k] * spread.Tau[k]
			sum += g * spread.Factor[k*q+l]
			spread.GFactor[k*q+l] += g * t.eta[l]
		}
		t.back[l] = sum - t.eta[l]
		logp -= 0.5 * t.eta[l] * t.eta[l]
	}
	for k := range q {
		tau, r := spread.Tau[k], t.precision[k]
		h, far, g := 1+tau*tau*r, t.guess[k]-t.hub.Params.Theta[k], t.back[k]
		logp -= 0.5 * math.Log(h)
		grad[k] += g / math.Sqrt(h)
		t.hub.GTheta[k] += gTheta[k] - g*tau*r/h
		// ∂η/∂τ = r·far(1 − τ²r)/h² − c τr/h^{3/2}
		byTau := r*far*(1-tau*tau*r)/(h*h) - x[k]*tau*r/(h*math.Sqrt(h))
		spread.GTau[k] += gTheta[k]*t.scaled[k] + g*byTau - tau*r/h
	}
	return logp
}
