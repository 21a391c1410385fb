package nuts

import "math"

// StepSize adapts log ε so that the mean acceptance meets a target, by dual
// averaging (Hoffman & Gelman 2014, §3.2, with their constants).
type StepSize struct {
	Target float64 // of the mean acceptance

	value   float64 // the present ε
	logMean float64 // running average of log ε
	anchor  float64 // μ: log ε is shrunk towards it
	gap     float64 // H̄: running mean of target − acceptance
	count   float64
}

const (
	adaptGamma     = 0.05
	adaptDelay     = 10   // t₀
	adaptForgetful = 0.75 // κ
)

// Restart forgets the history and starts from ε, drawn towards anchor.
func (s *StepSize) Restart(epsilon, anchor float64) {
	*s = StepSize{Target: s.Target, value: epsilon, logMean: math.Log(epsilon), anchor: math.Log(anchor)}
}

// Value returns ε.
func (s *StepSize) Value() float64 { return s.value }

// Update takes the acceptance of a transition.
func (s *StepSize) Update(accept float64) {
	s.count++
	s.gap += (s.Target - accept - s.gap) / (s.count + adaptDelay)
	log := s.anchor - math.Sqrt(s.count)/adaptGamma*s.gap
	s.logMean += math.Pow(s.count, -adaptForgetful) * (log - s.logMean)
	s.value = math.Exp(log)
}

// Settle fixes ε at its average over the history.
func (s *StepSize) Settle() { s.value = math.Exp(s.logMean) }
