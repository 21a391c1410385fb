package audit

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg/calibration"
	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/release"
)

// guess is one release: the log-likelihood ratio of the first data set to the second,
// and which of the two it was.
type guess struct {
	ratio float64
	first bool
}

// score counts guesses at a threshold c: "the first" where the log-likelihood ratio is
// at least c, "the second" where it is at most −c, none between the two.
type score struct{ correct, wrong, trials int }

func (s *score) add(g guess, c float64) {
	s.trials++
	switch {
	case math.Abs(g.ratio) < c:
	case g.first == (g.ratio > 0):
		s.correct++
	default:
		s.wrong++
	}
}

// epsilon returns a lower bound on ε at confidence 1 − level: for any mechanism that is
// (ε, δ)-private, the bound is above ε with at most this probability. It may be negative.
//
// A fair coin chose each data set. With δ = 0, P(first | release) is between 1/(1+e^ε)
// and e^ε/(1+e^ε) whatever the release, so that of k guesses that are made no more are
// correct than Binomial(k, e^ε/(1+e^ε)), stochastically. With δ > 0, where p and
// q are the probabilities of a correct and of a wrong guess, p ≤ e^ε q + δ.
func (s score) epsilon(delta, level float64) float64 {
	if delta == 0 {
		x := calibration.LeastShare(s.correct, s.correct+s.wrong, level)
		return math.Log(x) - math.Log1p(-x)
	}
	p, q := s.probabilities(level)
	return math.Log(math.Max(0, p-delta) / q)
}

// delta returns a lower bound on δ at ε, likewise: p − e^ε q.
func (s score) delta(epsilon, level float64) float64 {
	p, q := s.probabilities(level)
	return p - float64(math.Exp(epsilon)*q)
}

// probabilities bounds that of a correct guess from below and that of a wrong one from
// above, both at once at confidence 1 − level.
func (s score) probabilities(level float64) (p, q float64) {
	return calibration.LeastShare(s.correct, s.trials, level/2), 1 - calibration.LeastShare(s.trials-s.wrong, s.trials, level/2)
}

// question asks for a bound on one number.
type question struct {
	quantity string
	claim    float64
	level    float64
	bound    func(s score, level float64) float64
}

// questions are about ε; with Gaussian noise, where (ε, δ) is one of many claims, also
// about δ at ε = 0 and at half of ε.
func (a *Audit) questions(noise release.Noise) []question {
	pr := a.Privacy
	all := []question{{quantity: "epsilon", claim: pr.Epsilon, bound: func(s score, level float64) float64 { return s.epsilon(pr.Delta, level) }}}
	if a.Noise == release.Gaussian {
		all[0].quantity = fmt.Sprintf("epsilon at delta %v", pr.Delta)
		for _, epsilon := range []float64{0, pr.Epsilon / 2} {
			claim, err := accounting.Delta(epsilon, noise.Scale, noise.Sensitivity)
			if err != nil {
				panic(err) // of noise that ssp calibrated
			}
			all = append(all, question{
				quantity: fmt.Sprintf("delta at epsilon %v", epsilon), claim: claim,
				bound: func(s score, level float64) float64 { return s.delta(epsilon, level) },
			})
		}
	}
	for i := range all {
		all[i].level = FalseAlarm / float64(len(all))
	}
	return all
}

// tie is a difference of log-likelihood ratios that is a rounding error.
const tie = 1e-9

// threshold chooses c on a pilot: where the bound is largest that as many trials would
// give, less one standard error of the pilot, lest rare events be preferred by
// chance. Both are had by a level of its own: a confidence of z standard errors for the
// trials planned is one of z·√(pilot/planned) for the pilot.
func (q question) threshold(pilot []guess, planned int) float64 {
	slices.SortFunc(pilot, func(a, b guess) int { return cmp.Compare(math.Abs(b.ratio), math.Abs(a.ratio)) })
	z := distuv.UnitNormal.Quantile(1 - q.level)
	level := distuv.UnitNormal.Survival(1 + z*math.Sqrt(float64(len(pilot))/float64(planned)))
	best, c := math.Inf(-1), 0.0
	s, next := score{}, 1
	for i, g := range pilot {
		s.add(g, 0)
		last := i+1 == len(pilot)
		if s.trials < next || !last && math.Abs(pilot[i+1].ratio) > math.Abs(g.ratio)-tie {
			continue
		}
		next = s.trials + s.trials/16 + 1
		if b := q.bound(score{s.correct, s.wrong, len(pilot)}, level); b > best {
			best, c = b, math.Abs(g.ratio)-tie
		}
	}
	return c
}

// Bound is a certified lower bound beside what is claimed.
type Bound struct {
	Quantity   string  `json:"quantity"`
	Claim      float64 `json:"claim"`
	Certified  float64 `json:"certified"`
	Share      float64 `json:"share"` // of the claim that is certified
	Confidence float64 `json:"confidence"`
	Threshold  float64 `json:"threshold"` // c
	Correct    int     `json:"correct"`
	Wrong      int     `json:"wrong"`
}

func (q question) answer(c float64, s score) Bound {
	certified := max(0, q.bound(s, q.level))
	return Bound{
		Quantity: q.quantity, Claim: q.claim, Certified: certified, Share: certified / q.claim,
		Confidence: 1 - q.level, Threshold: c, Correct: s.correct, Wrong: s.wrong,
	}
}
