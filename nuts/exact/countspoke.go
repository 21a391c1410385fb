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
// Counts n_l move given θ. Of a response that is 0 or 1 Σy² is n; of others it tells their dispersion, S being what is
// expected given θ, not the latent sums.
type countSpoke struct {
	custodian
	*levelSums
	of    family
	eta   []float64 // η_l
	byEta []float64 // slope in it
	rates []rate    // at it, of Poisson's variance
	laws  []binomialSum
	logp  float64 // of the dispersion
	sum   float64 // S
}

// counted tells whether a release has the law of countSpoke: noise of each sum by itself.
func counted(o *model.Observation, name model.Family) bool {
	return name != model.Normal && byFactor(o) && o.Frame == nil && o.Shape.P == o.Told.Dummies
}

func newCountSpoke(t *model.Joint, j int, hub *model.Hub, raw *model.Site) *countSpoke {
	c := newCustodian(t, j, hub)
	k, levels := c.Told.Dummies, c.Shape.Levels(c.Told.Dummies)
	s := &countSpoke{custodian: c, levelSums: newLevelSums(c.Site, ofCovariates(t.Prior).Within(behind(k, t.Shape.P)), t.Noise(j), c.lead(), 0, 0),
		of: familyOf(t.Family, c.Upper), eta: vec(levels), byEta: vec(levels), rates: make([]rate, levels), laws: make([]binomialSum, levels)}
	s.drawn = t.Shared
	s.dispersion = newDispersion(raw, s.of, true)
	for l := range s.laws {
		at := len(c.Told.Counts) + l
		s.laws[l] = newBinomialSum(c.Told.Z[at], math.Sqrt(c.Told.Variance(at)), s.of.most, func(sum float64) float64 {
			s.told[at] = sum
			return s.noise.Part(s.byTold, s.told, at)
		})
	}
	return s
}

func (s *countSpoke) dim() int { return s.lead() + s.dispersion.dim() }

func (s *countSpoke) set(x []float64) bool {
	s.takeOwn(x)
	s.logp = s.dispersion.take(x[s.lead():])
	s.takeEta(s.eta)
	for l, eta := range s.eta {
		s.rates[l] = s.of.rate(eta)
	}
	return true
}

func (s *countSpoke) add(grad, x []float64) (logp float64, ok bool) {
	s.set(x)
	bySpread := 0.0
	phi, share := s.dispersion.ofSums()
	for l, r := range s.rates {
		v, slope, by, ok := s.laws[l].value(s.counts[l], r.times(phi))
		if !ok {
			return 0, false
		}
		s.byEta[l] = slope
		bySpread += share * by
		logp += v
	}
	if s.dispersion != nil {
		logp += s.addSquares()
		s.dispersion.byLog += bySpread
	}
	v, ok := s.through(grad, x)
	return logp + v, ok
}

// square is what a row of level l adds to S: of the mean m/K and the variance v/K² in [0, 1], 1 − 4m/K + 4(v + m²)/K².
func (s *countSpoke) square(l int) float64 {
	r, k := s.rates[l].times(s.dispersion.phi), s.of.most
	return 1 + 4*(r.variance+r.mean*(r.mean-k))/(k*k)
}

// squares is S.
func (s *countSpoke) squares() (sum float64) {
	for l, n := range s.counts {
		sum += n * s.square(l)
	}
	return sum
}

// bySquares is by what a shift of counts changes what z tells of Σu², and S after it.
func (s *countSpoke) bySquares(by rowShift) (change, sum float64) {
	if s.dispersion == nil {
		return 0, 0
	}
	sum = s.sum
	for _, l := range s.levelsOf(by) {
		sum += by.more(l) * s.square(l)
	}
	before, _ := s.dispersion.at(s.sum)
	after, _ := s.dispersion.at(sum)
	return after - before, sum
}

// addSquares returns what z tells of Σu², and adds its slopes.
func (s *countSpoke) addSquares() (logp float64) {
	logp, bySum := s.dispersion.at(s.squares())
	by := 4 * bySum / (s.of.most * s.of.most)
	s.dispersion.byLog = 0
	for l, n := range s.counts {
		r := s.rates[l].times(s.dispersion.phi)
		s.byEta[l] += by * n * (r.spread + (2*r.mean-s.of.most)*r.slope)
		s.dispersion.byLog += by * n * r.variance
	}
	return logp
}

// through has no density of its own but the dispersion's: all else is noise's.
func (s *countSpoke) through(grad, x []float64) (logp float64, ok bool) {
	clear(s.gTheta)
	s.giveEta(s.byEta)
	s.dispersion.give(grad[s.lead():])
	return s.give(grad, x, s.logp)
}

// noised is the slope in η: what z tells of a level is of it alone.
func (s *countSpoke) noised() []float64 { return s.byEta }

// variance is the inverse of about what z tells of η_l: S_l, which its noise of variance ς² hides, varies by 4n v/K², and
// moves by 2n m′/K.
func (s *countSpoke) variance(l int) float64 {
	phi, _ := s.dispersion.ofSums()
	r, n, k := s.rates[l].times(phi), s.counts[l], s.of.most
	return (4*n*r.variance/(k*k) + s.laws[l].sd*s.laws[l].sd) / math.Pow(2*n*r.slope/k, 2)
}

// prior is 1 of the dispersion's coordinate; those of model.Pooled its η has.
func (s *countSpoke) prior(r []float64, size int) {
	for i := s.lead(); i < size; i++ {
		r[i*size+i] = 1
	}
}

// place takes counts that z may tell of.
func (s *countSpoke) place(x, _ []float64, _ float64, rng *rand.Rand) bool {
	s.take(s.startCounts(rng))
	if s.pooled != nil {
		s.pooled.Coordinates(x)
	}
	for i := s.lead(); i < len(x); i++ {
		x[i] = rng.NormFloat64()
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
	logp := vec(s.levels)
	for l := range logp {
		logp[l], _ = s.ofLevel(l, s.counts[l])
	}
	if s.dispersion != nil {
		s.sum = s.squares()
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
	for i, l := range s.levelsOf(by) {
		v, ok := s.ofLevel(l, s.counts[l]+by.more(l))
		if !ok {
			return false
		}
		tried[i], change = v, change+v-logp[l]
	}
	bySum, sum := s.bySquares(by)
	change += bySum
	if !(rng.Float64() < math.Exp(change)) {
		return false
	}
	for i, l := range s.levelsOf(by) {
		logp[l] = tried[i]
	}
	by.apply(s.counts)
	s.sum = sum
	s.n = floats.Sum(s.counts)
	return true
}

// ofLevel is what z tells of a level, its count being so much.
func (s *countSpoke) ofLevel(l int, count float64) (logp float64, ok bool) {
	phi, _ := s.dispersion.ofSums()
	logp, _, _, ok = s.laws[l].value(count, s.rates[l].times(phi))
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
