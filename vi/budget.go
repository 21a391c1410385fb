package vi

import (
	"errors"
	"fmt"
	"math"

	"github.com/dpreg/dpreg/mechanisms/accounting"
)

// ErrBudget is the error of a budget that does not pay for the steps asked for.
var ErrBudget = errors.New("the privacy budget is too small")

// training is the run as the accountant sees it, for n records: its rate is that of the
// batches as they are drawn, its multiplier that of the noise.
func (o *Options) training(n int) (accounting.Training, error) {
	t := accounting.Training{Rate: o.Rate, Steps: o.Steps, Scheme: o.Scheme}
	if o.Scheme == accounting.FixedReplaceOne {
		t.Rate = float64(o.batchSize(n)) / float64(n)
	}
	p := o.Privacy
	if p == nil {
		return t, nil
	}
	if p.Entropy == nil {
		return t, errors.New("a private run needs a source of randomness for its noise")
	}
	if p.Multiplier != 0 {
		t.Multiplier = p.Multiplier
		return t, p.covers(t)
	}
	var err error
	if t.Multiplier, err = t.FindMultiplier(accounting.PLD, p.Epsilon, p.Delta); err != nil {
		return t, fmt.Errorf("(ε = %v, δ = %v) for %d steps: %w", p.Epsilon, p.Delta, o.Steps, err)
	}
	if t.Multiplier > accounting.MaxMultiplier {
		return t, fmt.Errorf("%w: for ε = %v, %d steps need noise of %.4g clipping norms each; take fewer steps", ErrBudget, p.Epsilon, o.Steps, t.Multiplier)
	}
	return t, nil
}

// covers is an error where t spends more than p.
func (p *Privacy) covers(t accounting.Training) error {
	epsilon, err := t.Epsilon(accounting.PLD, p.Delta)
	if err != nil {
		return err
	}
	if epsilon > p.Epsilon {
		return fmt.Errorf("%w: %d steps with noise of %v clipping norms spend ε = %.4g, not %v", ErrBudget, t.Steps, t.Multiplier, epsilon, p.Epsilon)
	}
	return nil
}

// Plan returns what a run on records that number about this many is to the accountant,
// with the multiplier of its noise. The number must be public: under add-remove
// neighbours, one from elsewhere, or 0 for none. An error that is ErrBudget says that
// nothing could be learnt: over all steps T the noise, of standard deviation
// √T·multiplier·Clip, would be larger than all that the records can add,
// T·Rate·records·Clip.
func (o *Options) Plan(records float64) (accounting.Training, error) {
	t, err := o.training(int(records))
	if err != nil || o.Privacy == nil || records == 0 {
		return t, err
	}
	if most := math.Sqrt(float64(t.Steps)) * t.Rate * records; t.Multiplier > most {
		return t, fmt.Errorf("%w: for ε = %v, %d steps need noise of %.4g clipping norms each, and hide all that about %.4g records of a batch can add; take fewer steps or a larger rate", ErrBudget, o.Privacy.Epsilon, t.Steps, t.Multiplier, t.Rate*records)
	}
	return t, nil
}

// batchSize is that of batches of fixed size.
func (o *Options) batchSize(n int) int {
	return max(1, int(math.Round(o.Rate*float64(n))))
}
