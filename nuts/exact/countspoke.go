package exact

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/model"
)

// countSpoke is levelSpoke of a family, and of no covariates but the factor's: rows of a level are alike, and of their sum,
// S_l = 2k_l/K − n_l as the box scales it, k_l is binomial, or of counts nearly so (binomialSum). No law is a limit, then,
// and no latent sum has a coordinate:
//
//	log p(z | θ, n_1 … n_L) = Σ_l log Σ_k p(z_l | S_l) P(k_l = k | n_l, η_l) + log p(noisy count_l | n_l).
//
// Counts move given θ. Σy² is left out: of a response that is 0 or 1 it is n, and of others it tells of their spread.
type countSpoke struct {
	custodian
	*levelSums
	of    family
	eta   []float64 // η_l
	byEta []float64 // slope in it
	laws  []binomialSum
}

// counted tells whether a release has the law of countSpoke: noise of each sum by itself.
func counted(o *model.Observation, name model.Family) bool {
	return name != model.Normal && byFactor(o) && o.Frame == nil && o.Shape.P == o.Told.Dummies
}

func newCountSpoke(t *model.Joint, j int, hub *model.Hub) *countSpoke {
	c := newCustodian(t, j, hub)
	k, levels := c.Told.Dummies, c.Shape.Levels(c.Told.Dummies)
	s := &countSpoke{custodian: c, levelSums: newLevelSums(c.Site, withinPrior(ofCovariates(t.Prior), behind(k, t.Shape.P)), t.Noise(j), c.lead(), 0, 0),
		of: familyOf(t.Family, c.Upper), eta: make([]float64, levels), byEta: make([]float64, levels), laws: make([]binomialSum, levels)}
	s.drawn = t.Shared
	for l := range s.laws {
		at := len(c.Told.Counts) + l
		s.laws[l] = newBinomialSum(c.Told.Z[at], math.Sqrt(c.Told.Variance(at)), s.of.most, func(sum float64) float64 {
			s.told[at] = sum
			return s.noise.Part(s.byTold, s.told, at)
		})
	}
	return s
}

func (s *countSpoke) dim() int { return s.lead() }

func (s *countSpoke) set(x []float64) bool {
	s.takeOwn(x)
	s.takeEta(s.eta)
	return true
}

func (s *countSpoke) add(grad, x []float64) (logp float64, ok bool) {
	s.set(x)
	for l, eta := range s.eta {
		v, slope, ok := s.laws[l].value(s.counts[l], s.rate(eta))
		if !ok {
			return 0, false
		}
		s.byEta[l] = slope
		logp += v
	}
	v, ok := s.through(grad, x)
	return logp + v, ok
}

// through has no density of its own: all of it is noise's.
func (s *countSpoke) through(grad, x []float64) (logp float64, ok bool) {
	clear(s.gTheta)
	s.giveEta(s.byEta)
	return s.give(grad, x, 0)
}

// leastSpread bounds v/m below.
const leastSpread = 1e-12

// rate is the law of y given η.
func (s *countSpoke) rate(eta float64) rate {
	g, slope, square, spread := s.of.mean(eta, math.Exp(eta))
	if most := s.of.most; most > 1 {
		least := leastSpread * most * g // where all counts are clamped but for what rounding hides
		return rate{most * g, max(least, most*most*(square-g*g)), most * slope, most * most * (spread - 2*g*slope)}
	}
	no, _, _, _ := s.of.mean(-eta, math.Exp(-eta)) // 1 − g(η)
	return rate{mean: g, variance: g * no, slope: slope}
}

// noised is the slope in η: what z tells of a level is of it alone.
func (s *countSpoke) noised() []float64 { return s.byEta }

// variance is the inverse of about what z tells of η_l: S_l, which its noise of variance ς² hides, varies by 4n v/K², and
// moves by 2n m′/K.
func (s *countSpoke) variance(l int) float64 {
	r, n, k := s.rate(s.eta[l]), s.counts[l], s.of.most
	return (4*n*r.variance/(k*k) + s.laws[l].sd*s.laws[l].sd) / math.Pow(2*n*r.slope/k, 2)
}

// prior writes nothing: coordinates are those of model.Pooled, which its η has.
func (s *countSpoke) prior([]float64, int) {}

// place takes counts that z may tell of.
func (s *countSpoke) place(x, _ []float64, _ float64, rng *rand.Rand) bool {
	s.take(s.startCounts(rng))
	if s.pooled != nil {
		s.pooled.Coordinates(x)
	}
	s.set(x)
	for l, count := range s.counts {
		if _, ok := s.ofLevel(l, count); !ok {
			return false
		}
	}
	return true
}

func (s *countSpoke) reach() {}

func (s *countSpoke) signs() []int { return nil }

// countTries is how often move proposes for each level.
const countTries = 8

// move moves counts, by proposals of which either way has the same probability, and draws the levels' shares.
func (s *countSpoke) move(x []float64, rng *rand.Rand) (moved bool) {
	s.set(x)
	logp := make([]float64, s.levels)
	for l := range logp {
		logp[l], _ = s.ofLevel(l, s.counts[l])
	}
	for range countTries * s.levels {
		by := s.propose(rng)
		if s.allows(by, s.counts, s.n, 0) && s.try(by, logp, rng) {
			moved = true
		}
	}
	if s.drawn {
		s.drawOverall(rng)
	}
	return moved
}

// try takes a shift by Metropolis' test, with the levels' log densities.
func (s *countSpoke) try(by rowShift, logp []float64, rng *rand.Rand) bool {
	n := s.n + by.outside(s.levels)
	change, tried := s.ofRows(n)-s.ofRows(s.n), [2]float64{}
	for i, l := range [2]int{by.from, by.to} {
		if l == s.levels {
			continue
		}
		v, ok := s.ofLevel(l, s.counts[l]+by.more(l))
		if !ok {
			return false
		}
		tried[i], change = v, change+v-logp[l]
	}
	if !(rng.Float64() < math.Exp(change)) {
		return false
	}
	for i, l := range [2]int{by.from, by.to} {
		if l < s.levels {
			logp[l] = tried[i]
		}
	}
	by.apply(s.counts)
	s.n = floats.Sum(s.counts)
	return true
}

// ofLevel is what z tells of a level, its count being so much.
func (s *countSpoke) ofLevel(l int, count float64) (logp float64, ok bool) {
	logp, _, ok = s.laws[l].value(count, s.rate(s.eta[l]))
	if at := l - s.levels + len(s.obs.Told.Counts); at >= 0 {
		s.told[at] = count
		logp += s.noise.Part(s.byTold, s.told, at)
	}
	return logp, ok
}

// ofRows is the prior of a latent n: it is flat, and counts are uniform given it.
func (s *countSpoke) ofRows(n float64) float64 {
	if s.latent() == 0 {
		return 0
	}
	return logGamma(n+1) - logGamma(n+float64(s.levels))
}
