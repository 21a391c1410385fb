package gibbs

import "math"

// stepSize adapts log ε so that the mean acceptance meets a target, by dual
// averaging (Hoffman & Gelman 2014, §3.2, with their constants).
type stepSize struct {
	log, logMean float64 // the current log ε and its running average
	anchor       float64 // μ: log ε is shrunk towards it
	gap          float64 // H̄: running mean of target − acceptance
	count        float64
}

const (
	targetAccept   = 0.8
	adaptGamma     = 0.05
	adaptDelay     = 10   // t₀
	adaptForgetful = 0.75 // κ
)

// restart forgets the history and starts from a guess of ε, aiming at twice
// that: a step too large costs one leapfrog, one too small costs many.
func (s *stepSize) restart(guess float64) {
	*s = stepSize{log: math.Log(guess), logMean: math.Log(guess), anchor: math.Log(2 * guess)}
}

// value returns ε.
func (s *stepSize) value() float64 { return math.Exp(s.log) }

// update takes the acceptance probability of a transition.
func (s *stepSize) update(accept float64) {
	s.count++
	s.gap += (targetAccept - accept - s.gap) / (s.count + adaptDelay)
	s.log = s.anchor - math.Sqrt(s.count)/adaptGamma*s.gap
	s.logMean += math.Pow(s.count, -adaptForgetful) * (s.log - s.logMean)
}

// settle fixes ε at its average over the history.
func (s *stepSize) settle() { s.log = s.logMean }
