package vi

import "math/rand/v2"

// joint is the gradient of d3p (Prediger et al. 2022) and of Jälkö et al. (2017): each
// record i of a batch has a θ_i of its own and a share of prior and entropy, and its
// gradient with respect to all of λ is clipped,
//
//	∇_λ [log p(record i | θ_i) + (log p(θ_i) + entropy)/N],
//
// N public. Noise has the length of λ. Clipping also shrinks the prior's share. The θ_i
// are secret, as the batch is: were they public, a record more would hand those of the
// records behind it on to others, and the sum would change by more than one gradient.
type joint struct {
	model   Model
	guide   Guide
	batches Batches
	sum     summer
	rate    float64
	share   float64 // 1/N
	rng     *rand.Rand

	theta, epsilon, g, prior, record []float64
	logJoint, entropy                float64
}

func newJoint(s *setting) *joint {
	dim := s.model.Dim()
	j := &joint{model: s.model, guide: s.guide, batches: s.batches, rate: s.training.Rate, share: 1 / s.options.Records, rng: rand.New(s.stream)}
	j.theta, j.epsilon, j.g, j.prior = make([]float64, dim), make([]float64, dim), make([]float64, dim), make([]float64, dim)
	j.record = make([]float64, s.guide.Len())
	j.sum = s.sum(s.guide.Len())
	return j
}

func (j *joint) gradient(dst, lambda []float64) {
	sum := 0.
	for _, i := range j.batches.Next() {
		normal(j.epsilon, j.rng)
		j.guide.Draw(j.theta, lambda, j.epsilon)
		logLik := j.model.LogLik(j.g, j.theta, i)
		if !finite(logLik) {
			continue
		}
		sum += logLik + j.share*j.model.LogPrior(j.prior, j.theta)
		for k, p := range j.prior {
			j.g[k] += j.share * p
		}
		j.guide.Gradient(j.record, lambda, j.g, j.epsilon, j.share)
		j.sum.Add(1, j.record, norm(j.record))
	}
	j.sum.Release(dst)
	for k := range dst {
		dst[k] /= j.rate
	}
	j.logJoint, j.entropy = sum/j.rate, j.guide.Entropy(lambda)
}

func (j *joint) elbo() float64 { return j.logJoint + j.entropy }
