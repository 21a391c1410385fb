package vi

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/mechanisms/accounting"
)

// setting is what an estimator is made of.
type setting struct {
	model    Model
	options  Options
	training accounting.Training
	guide    Guide
	batches  Batches
	stream   *mechanisms.Stream
	rng      *rand.Rand
}

// sum is the door for vectors of length dim.
func (s *setting) sum(dim int) summer {
	if s.options.Privacy == nil {
		clip := s.options.Clip
		if clip == 0 {
			clip = math.Inf(1)
		}
		return &plainSum{clip: clip, total: make([]float64, dim)}
	}
	return NewSum(dim, s.options.Clip, s.training.Multiplier, s.stream)
}

// newSetting puts options and model together. The noise's stream also draws the batches,
// which must stay secret for sampling to count. A θ that a batch shares is public: they
// have a generator of their own.
func newSetting(m Model, o Options) (*setting, error) {
	if err := o.check(m); err != nil {
		return nil, err
	}
	training, err := o.training(m.Len())
	if err != nil {
		return nil, err
	}
	s := &setting{model: m, options: o, training: training, guide: MeanField(m.Dim())}
	if o.Guide != nil {
		s.guide = o.Guide(m.Dim())
	}
	s.rng = rand.New(rand.NewPCG(o.Seed, 1))
	entropy := mechanisms.Simulated(rand.New(rand.NewPCG(o.Seed, 2)))
	if o.Privacy != nil {
		entropy = o.Privacy.Entropy
	}
	s.stream = mechanisms.NewStream(entropy)
	if o.Scheme == accounting.FixedReplaceOne {
		s.batches = FixedSize(m.Len(), o.batchSize(m.Len()), s.stream)
	} else {
		s.batches = Poisson(m.Len(), o.Rate, s.stream)
	}
	return s, nil
}

// tellsELBO says whether the trace has the ELBO. It is computed from records without
// noise, so it is not told of a private run.
func (s *setting) tellsELBO() bool {
	return s.options.Trace > 0 && (s.options.Privacy == nil || s.stream.IsSimulated())
}

func (s *setting) estimator() estimator {
	if s.options.Joint {
		return newJoint(s)
	}
	return newAligned(s)
}

// Run maximises the evidence lower bound. Errors: options that cannot serve, a budget
// that does not pay for them (nothing is then computed), and ctx's, with which comes the
// fit as far as it got: its Training says what had been spent. No error depends on
// records.
func Run(ctx context.Context, m Model, o Options) (*Fit, error) {
	s, err := newSetting(m, o)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	fit := &Fit{Guide: s.guide, Lambda: make([]float64, s.guide.Len()), Training: s.training, model: m}
	if p := o.Privacy; p != nil {
		fit.Privacy = &Privacy{Epsilon: p.Epsilon, Delta: p.Delta, Multiplier: s.training.Multiplier}
		fit.Simulated = s.stream.IsSimulated()
	}
	a := &ascent{setting: s, fit: fit, estimator: s.estimator()}
	a.start()
	for step := range o.Steps {
		if err := ctx.Err(); err != nil {
			fit.Training.Steps = step
			a.finish()
			return fit, err
		}
		a.step(step)
	}
	a.finish()
	fit.Seconds = time.Since(began).Seconds()
	return fit, nil
}

// ascent is a run under way.
type ascent struct {
	*setting
	estimator estimator
	fit       *Fit

	lambda, gradient []float64
	average          []float64 // over averaged steps
	half             []float64 // over the first half of these
	averaged         int
	elbo             float64 // summed since the last point of the trace
	since            int
}

func (a *ascent) start() {
	o := &a.options
	a.lambda, a.gradient, a.average = make([]float64, a.guide.Len()), make([]float64, a.guide.Len()), make([]float64, a.guide.Len())
	mean, sd := o.Start, o.StartSD
	if mean == nil {
		mean = make([]float64, a.model.Dim())
	}
	if sd == 0 {
		sd = defaultStartSD
	}
	a.guide.Set(a.lambda, mean, sd)
	o.Optimiser.Start(len(a.lambda))
}

func (a *ascent) step(step int) {
	o := &a.options
	a.estimator.gradient(a.gradient, a.lambda)
	o.Optimiser.Step(a.lambda, a.gradient)
	if float64(o.Steps-step) <= o.Average*float64(o.Steps) {
		a.averaged++
		for j, v := range a.lambda {
			a.average[j] += (v - a.average[j]) / float64(a.averaged)
		}
		if float64(o.Steps-step) > o.Average*float64(o.Steps)/2 {
			a.half = append(a.half[:0], a.average...)
		}
	}
	if o.Trace > 0 {
		a.trace(step)
	}
	if o.Progress != nil {
		o.Progress(step + 1)
	}
}

// trace keeps a point wherever a further share 1/Trace of the steps is done.
func (a *ascent) trace(step int) {
	o := &a.options
	if a.tellsELBO() {
		a.elbo += a.estimator.elbo()
		a.since++
	}
	if (step+1)*o.Trace/o.Steps == step*o.Trace/o.Steps {
		return
	}
	mean, sd := make([]float64, a.model.Dim()), make([]float64, a.model.Dim())
	a.guide.Moments(mean, sd, a.lambda)
	a.fit.Trace = append(a.fit.Trace, Point{Step: step + 1, Mean: mean, SD: sd, ELBO: a.elbo / float64(a.since)})
	a.elbo, a.since = 0, 0
}

func (a *ascent) finish() {
	a.fit.Lambda = slices.Clone(a.lambda)
	if a.averaged == 0 {
		return
	}
	copy(a.fit.Lambda, a.average)
	if a.half == nil {
		return
	}
	first, _ := a.fit.moments(a.half)
	mean, sd := a.fit.Moments()
	a.fit.Moved = make([]float64, len(mean))
	for j := range mean {
		a.fit.Moved[j] = 2 * (mean[j] - first[j]) / sd[j] // the average of all is amid both halves
	}
}
