package vi

import "math/rand/v2"

// estimator estimates the gradient of the evidence lower bound
//
//	ELBO(λ) = E_q[log p(θ) + Σ_i log p(record i | θ)] + entropy(q).
type estimator interface {
	// gradient writes an estimate at lambda.
	gradient(dst, lambda []float64)
	// elbo is the estimate of the ELBO that the last call had; it is computed from
	// records and has no noise.
	elbo() float64
}

// aligned is doubly stochastic (Titsias & Lázaro-Gredilla, ICML 2014): one θ = m + Sε a
// step, the same for all records of the batch. Then their gradients with respect to
// every λ are functions of one vector of θ's length,
//
//	∇_λ = J(ε)ᵀ Σ_i ∇_θ log p(record i | θ),
//
// with J public. So that sum is what is clipped and noised, and the gradients of scales
// and covariances follow from it at no further cost and with the noise in line (the
// aligned gradients of Jälkö, Prediger, Honkela & Kaski, DPVIm, 2023). Prior and entropy
// are public and are added afterwards, without noise.
type aligned struct {
	model   Model
	linear  Linear // with coded: nil for another model, or where the ELBO is asked for
	coded   *coded
	guide   Guide
	batches Batches
	sum     summer
	rate    float64
	rng     *rand.Rand

	theta, epsilon, g, prior []float64
	width                    int // the first so many parameters have gradients
	logJoint, entropy        float64
}

func newAligned(s *setting) *aligned {
	dim := s.model.Dim()
	a := &aligned{model: s.model, guide: s.guide, batches: s.batches, rate: s.training.Rate, rng: s.rng, width: dim}
	a.theta, a.epsilon, a.g, a.prior = make([]float64, dim), make([]float64, dim), make([]float64, dim), make([]float64, dim)
	linear, ok := s.model.(Linear)
	if ok {
		a.width = linear.Predictors()
	}
	a.sum = s.sum(a.width)
	if sum, private := a.sum.(*Sum); private && ok && !s.tellsELBO() {
		a.linear, a.coded = linear, newCoded(linear, sum)
		a.sum = a.coded
	}
	return a
}

func (a *aligned) gradient(dst, lambda []float64) {
	normal(a.epsilon, a.rng)
	a.guide.Draw(a.theta, lambda, a.epsilon)
	logLik := 0.
	if a.linear != nil {
		a.coded.add(a.batches.Next(), a.theta[:a.width], a.linear.Slope)
	} else {
		logLik = a.add()
	}
	a.sum.Release(a.g[:a.width])
	clear(a.g[a.width:])
	a.logJoint = logLik/a.rate + a.model.LogPrior(a.prior, a.theta)
	a.entropy = a.guide.Entropy(lambda)
	for j, p := range a.prior {
		a.g[j] = a.g[j]/a.rate + p
	}
	a.guide.Gradient(dst, lambda, a.g, a.epsilon, 1)
}

// add goes through a batch, and returns its log-likelihood.
func (a *aligned) add() (logLik float64) {
	for _, i := range a.batches.Next() {
		l := a.model.LogLik(a.g, a.theta, i)
		if !finite(l) {
			continue
		}
		logLik += l
		a.sum.Add(1, a.g[:a.width], norm(a.g[:a.width]))
	}
	return logLik
}

func (a *aligned) elbo() float64 { return a.logJoint + a.entropy }

func finite(x float64) bool { return x-x == 0 }

func normal(dst []float64, rng *rand.Rand) {
	for j := range dst {
		dst[j] = rng.NormFloat64()
	}
}
