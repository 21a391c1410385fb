package vi

import (
	"errors"
	"fmt"
	"math"

	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/mechanisms/accounting"
)

// Options say how Run goes about it. Rate, Steps and LearningRate must be set.
type Options struct {
	// Privacy is nil for a run that is not private.
	Privacy *Privacy
	// Scheme says which data sets are neighbours.
	Scheme accounting.Scheme
	// Rate is the probability with which each record is in a batch. It is public, and what
	// is seen of a batch is divided by it: no number of records is needed, or told.
	Rate  float64
	Steps int
	// Clip is the largest norm of what a record adds. 0 stands for none, where the run
	// is not private.
	Clip float64
	// Full fits a law with correlations.
	Full bool
	// LearningRate is of Adam.
	LearningRate float64
	// Start is the law's mean in the beginning, nil for 0. It may not be taken from the
	// records.
	Start []float64
	// Average is the share of the steps, the last ones, over which λ is averaged; 0
	// takes the last λ.
	Average float64
	// Seed is that of the θs that batches share, which are public, and of batches where
	// the run is not private.
	Seed uint64
	// Trace is how many points the trace has, 0 for none.
	Trace int
	// Progress, where not nil, is told of every step done.
	Progress func(done int)
}

// Privacy is what may be spent, and where noise comes from.
type Privacy struct {
	Epsilon, Delta float64
	// Multiplier is the noise's standard deviation over Clip; 0: the smallest that
	// (Epsilon, Delta) allows. One that is too small for them is an error.
	Multiplier float64
	Entropy    *mechanisms.Entropy
}

// ErrBudget is the error of a budget that does not pay for the steps asked for.
var ErrBudget = errors.New("the privacy budget is too small")

// check returns what is wrong with the options for a model, by field; what accounting
// refuses Plan finds.
func (o *Options) check(m Model) error {
	switch {
	case !(o.Rate >= accounting.MinRate && o.Rate <= 1):
		return fmt.Errorf("the rate of sampling must be from %v to 1, not %v", accounting.MinRate, o.Rate)
	case o.Steps < 1 || o.Steps > accounting.MaxCount:
		return fmt.Errorf("the number of steps must be from 1 to %d, not %d", accounting.MaxCount, o.Steps)
	case !(o.LearningRate > 0 && o.LearningRate <= math.MaxFloat64):
		return fmt.Errorf("the learning rate must be positive and finite, not %v", o.LearningRate)
	case o.Start != nil && len(o.Start) != m.Dim():
		return fmt.Errorf("the start has %d parameters, the model %d", len(o.Start), m.Dim())
	case !(o.Average >= 0 && o.Average <= 1):
		return fmt.Errorf("the share of steps to average must be from 0 to 1, not %v", o.Average)
	case o.Trace < 0:
		return fmt.Errorf("the trace cannot have %d points", o.Trace)
	case m.Dim() < 1 || len(m.Names()) < 1:
		return errors.New("the model has no parameters")
	case (o.Privacy != nil || o.Clip != 0) && !(o.Clip >= minClip && o.Clip <= maxClip):
		return fmt.Errorf("the clipping norm must be from %v to %v, not %v", minClip, maxClip, o.Clip)
	}
	return nil
}

// Plan returns what a run is to the accountant, with the multiplier of its noise, for records
// that number about this many. The number must be public: under add-remove neighbours, one
// from elsewhere, or 0 for none. An error that is ErrBudget says that the budget does not
// pay for the steps, or that nothing could be learnt: over all steps T the noise, of standard
// deviation √T·multiplier·Clip, would be larger than all that the records can add,
// T·Rate·records·Clip.
func (o *Options) Plan(records float64) (accounting.Training, error) {
	t := accounting.Training{Rate: o.Rate, Steps: o.Steps, Scheme: o.Scheme}
	p := o.Privacy
	if p == nil {
		return t, nil
	}
	if p.Entropy == nil {
		return t, errors.New("a private run needs a source of randomness for its noise")
	}
	if t.Multiplier = p.Multiplier; t.Multiplier != 0 {
		epsilon, err := t.Epsilon(accounting.PLD, p.Delta)
		if err == nil && epsilon > p.Epsilon {
			err = fmt.Errorf("%w: %d steps with noise of %v clipping norms spend ε = %.4g, not %v", ErrBudget, t.Steps, t.Multiplier, epsilon, p.Epsilon)
		}
		if err != nil {
			return t, err
		}
	} else {
		var err error
		if t.Multiplier, err = t.FindMultiplier(accounting.PLD, p.Epsilon, p.Delta); err != nil {
			return t, fmt.Errorf("(ε = %v, δ = %v) for %d steps: %w", p.Epsilon, p.Delta, o.Steps, err)
		}
	}
	if t.Multiplier > accounting.MaxMultiplier {
		return t, fmt.Errorf("%w: for ε = %v, %d steps need noise of %.4g clipping norms each; take fewer steps", ErrBudget, p.Epsilon, o.Steps, t.Multiplier)
	}
	if most := math.Sqrt(float64(t.Steps)) * t.Rate * records; records > 0 && t.Multiplier > most {
		return t, fmt.Errorf("%w: for ε = %v, %d steps need noise of %.4g clipping norms each, and hide all that about %.4g records of a batch can add; take fewer steps or a larger rate", ErrBudget, p.Epsilon, t.Steps, t.Multiplier, t.Rate*records)
	}
	return t, nil
}
