package vi

import (
	"errors"
	"fmt"
	"math"

	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/mechanisms/accounting"
)

// Options say how Run goes about it. Rate, Steps and Optimiser must be set.
type Options struct {
	// Privacy is nil for a run that is not private.
	Privacy *Privacy
	// Scheme says how batches are drawn and which data sets are neighbours.
	Scheme accounting.Scheme
	// Rate is the share of the records that a batch has: the probability of each with
	// Poisson sampling, otherwise rounded to whole records. It is public, and what is
	// seen of a batch is divided by it: no number of records is needed, or told.
	Rate  float64
	Steps int
	// Clip is the largest norm of what a record adds. 0 stands for none, where the run
	// is not private.
	Clip float64
	// Joint clips gradients as d3p does, see joint; Records is then the public number
	// of records over which prior and entropy are spread.
	Joint   bool
	Records float64

	Guide     func(dim int) Guide // nil: MeanField
	Optimiser Optimiser
	// Start is the guide's mean in the beginning, nil for 0, and StartSD its standard
	// deviation, 0 for 0.1. Neither may be taken from the records.
	Start   []float64
	StartSD float64
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

const defaultStartSD = 0.1

// check returns what is wrong with the options for a model, by field.
func (o *Options) check(m Model) error {
	switch {
	case o.Scheme < accounting.PoissonAddRemove || o.Scheme > accounting.FixedReplaceOne:
		return fmt.Errorf("unknown scheme %d of sampling", int(o.Scheme))
	case !(o.Rate >= accounting.MinRate && o.Rate <= 1):
		return fmt.Errorf("the rate of sampling must be from %v to 1, not %v", accounting.MinRate, o.Rate)
	case o.Steps < 1 || o.Steps > accounting.MaxCount:
		return fmt.Errorf("the number of steps must be from 1 to %d, not %d", accounting.MaxCount, o.Steps)
	case o.Optimiser == nil:
		return errors.New("an optimiser is needed")
	case o.Start != nil && len(o.Start) != m.Dim():
		return fmt.Errorf("the start has %d parameters, the model %d", len(o.Start), m.Dim())
	case !(o.StartSD >= 0 && o.StartSD <= math.MaxFloat64):
		return fmt.Errorf("the standard deviation to start from must be finite and not negative, not %v", o.StartSD)
	case !(o.Average >= 0 && o.Average <= 1):
		return fmt.Errorf("the share of steps to average must be from 0 to 1, not %v", o.Average)
	case o.Joint && !(o.Records >= 1 && o.Records <= math.MaxInt64):
		return errors.New("to clip jointly, the public number of records must be known")
	case o.Trace < 0:
		return fmt.Errorf("the trace cannot have %d points", o.Trace)
	case o.Scheme == accounting.FixedReplaceOne && m.Len() == 0:
		return errors.New("there are no records to draw batches from")
	case m.Dim() < 1 || len(m.Names()) < 1:
		return errors.New("the model has no parameters")
	}
	return o.checkClip()
}

func (o *Options) checkClip() error {
	if o.Privacy == nil && o.Clip == 0 {
		return nil
	}
	if !(o.Clip >= minClip && o.Clip <= maxClip) {
		return fmt.Errorf("the clipping norm must be from %v to %v, not %v", minClip, maxClip, o.Clip)
	}
	return nil
}
