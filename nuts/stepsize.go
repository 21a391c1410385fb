package nuts

import "math"

// StepSize adapts log ε so that the mean acceptance meets a target, by dual
// averaging (Hoffman & Gelman 2014, §3.2, with their constants).
type StepSize struct {
	Target float64 // of the mean acceptance

	log, logMean float64 // the present log ε and its running average
	anchor       float64 // μ: log ε is shrunk towards it
	gap          float64 // H̄: running mean of target − acceptance
	count        float64
}

const (
	adaptGamma     = 0.05
	adaptDelay     = 10   // t₀
	adaptForgetful = 0.75 // κ
)

// Restart forgets the history and starts from ε, drawn towards anchor.
func (s *StepSize) Restart(epsilon, anchor float64) {
	*s = StepSize{Target: s.Target, log: math.Log(epsilon), logMean: math.Log(epsilon), anchor: math.Log(anchor)}
}

// Value returns ε.
func (s *StepSize) Value() float64 { return math.Exp(s.log) }

// Update takes the acceptance of a transition.
func (s *StepSize) Update(accept float64) {
	s.count++
	s.gap += (s.Target - accept - s.gap) / (s.count + adaptDelay)
	s.log = s.anchor - math.Sqrt(s.count)/adaptGamma*s.gap
	s.logMean += math.Pow(s.count, -adaptForgetful) * (s.log - s.logMean)
}

// Settle fixes ε at its average over the history.
func (s *StepSize) Settle() { s.log = s.logMean }
