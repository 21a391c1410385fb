package vi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/dpreg/dpreg/internal/parallel"
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
	// Point fits a point in place of a law: θ where the density is highest.
	Point bool
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
func (o *Options) check(m *Model) error {
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
	case m.Dim() < 1:
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
func (o *Options) Plan(records float64) (t accounting.Training, err error) {
	t = accounting.Training{Rate: o.Rate, Steps: o.Steps, Scheme: o.Scheme}
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
	} else if t.Multiplier, err = t.FindMultiplier(accounting.PLD, p.Epsilon, p.Delta); err != nil {
		return t, fmt.Errorf("(ε = %v, δ = %v) for %d steps: %w", p.Epsilon, p.Delta, o.Steps, err)
	}
	if t.Multiplier > accounting.MaxMultiplier {
		return t, fmt.Errorf("%w: for ε = %v, %d steps need noise of %.4g clipping norms each; take fewer steps", ErrBudget, p.Epsilon, o.Steps, t.Multiplier)
	}
	if most := math.Sqrt(float64(t.Steps)) * t.Rate * records; records > 0 && t.Multiplier > most {
		return t, fmt.Errorf("%w: for ε = %v, %d steps need noise of %.4g clipping norms each, and hide all that about %.4g records of a batch can add; take fewer steps or a larger rate", ErrBudget, p.Epsilon, t.Steps, t.Multiplier, t.Rate*records)
	}
	return t, nil
}

// Run maximises the evidence lower bound
//
//	ELBO(λ) = E_q[log p(θ) + Σ_i log p(record i | θ)] + entropy(q).
//
// Errors: options that cannot serve, a budget that does not pay for them (nothing is then
// computed), and ctx's, with which comes the fit as far as it got: its Training says what had
// been spent. No error depends on records.
func Run(ctx context.Context, m *Model, o Options) (*Fit, error) {
	a, err := newAscent(m, o)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	for step := range o.Steps {
		if err := ctx.Err(); err != nil {
			a.fit.Training.Steps = step
			a.finish()
			return a.fit, err
		}
		a.step(step)
	}
	a.finish()
	a.fit.Seconds = time.Since(began).Seconds()
	return a.fit, nil
}

// ascent is a run under way. Its gradients are doubly stochastic (Titsias & Lázaro-Gredilla,
// ICML 2014): one θ = m + Sε a step, the same for all records of the batch. Then their
// gradients with respect to every λ are functions of one vector of θ's length,
//
//	∇_λ = J(ε)ᵀ Σ_i ∇_θ log p(record i | θ),
//
// with J public. So that sum is what is clipped and noised, and the gradients of scales
// and covariances follow from it at no further cost and with the noise in line (the
// aligned gradients of Jälkö, Prediger, Honkela & Kaski, DPVIm, 2023). Prior and entropy
// are public and are added afterwards, without noise.
type ascent struct {
	options Options
	fit     *Fit
	guide   Guide
	batches Batches
	stream  *mechanisms.Stream
	rng     *rand.Rand // of θs
	door    *Door
	prior   *Gradients

	lambda, gradient       []float64
	theta, epsilon, g, own []float64 // own is the prior's gradient
	adam                   *Adam

	average  []float64 // over averaged steps
	half     []float64 // over the first half of these
	averaged int
	elbo     float64 // summed since the last point of the trace
	since    int
}

// startSD is the standard deviation of the law in the beginning.
const startSD = 0.1

// newAscent puts options and model together. The noise's stream also draws the batches,
// which must stay secret for sampling to count. A θ that a batch shares is public: they
// have a generator of their own.
func newAscent(m *Model, o Options) (*ascent, error) {
	if err := o.check(m); err != nil {
		return nil, err
	}
	training, err := o.Plan(0)
	if err != nil {
		return nil, err
	}
	dim := m.Dim()
	vector := func() []float64 { return make([]float64, dim) }
	a := &ascent{options: o, guide: Guide{dim, o.Full, o.Point}, rng: rand.New(rand.NewPCG(o.Seed, 1)), prior: NewGradients(m, nil),
		theta: vector(), epsilon: vector(), g: vector(), own: vector()}
	a.fit = &Fit{Guide: a.guide, Training: training, model: m}
	a.lambda, a.gradient, a.average = make([]float64, a.guide.Len()), make([]float64, a.guide.Len()), make([]float64, a.guide.Len())
	a.adam = NewAdam(o.LearningRate, a.guide.Len())
	if o.Start == nil {
		o.Start = a.theta
	}
	a.guide.Set(a.lambda, o.Start, startSD)
	entropy := mechanisms.Simulated(rand.New(rand.NewPCG(o.Seed, 2)))
	if p := o.Privacy; p != nil {
		entropy = p.Entropy
		a.fit.Privacy = &Privacy{Epsilon: p.Epsilon, Delta: p.Delta, Multiplier: training.Multiplier}
		a.fit.Simulated = entropy.IsSimulated()
	}
	a.stream = mechanisms.NewStream(entropy)
	a.batches = Poisson(m.Records, o.Rate, a.stream)
	a.door = NewDoor(m, o.Clip, training.Multiplier, a.stream)
	a.door.tape.told = a.tellsELBO()
	return a, nil
}

// tellsELBO says whether the trace has the ELBO. It is computed from records without
// noise, so it is not told of a private run.
func (a *ascent) tellsELBO() bool {
	return a.options.Trace > 0 && (a.options.Privacy == nil || a.stream.IsSimulated())
}

func (a *ascent) step(step int) {
	o := &a.options
	elbo := a.climb()
	a.adam.Step(a.lambda, a.gradient)
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
		a.trace(step, elbo)
	}
	if o.Progress != nil {
		o.Progress(step + 1)
	}
}

// climb writes an estimate of the ELBO's gradient at λ, and returns one of the ELBO, which is
// computed from records and has no noise.
func (a *ascent) climb() (elbo float64) {
	if !a.options.Point {
		normal(a.epsilon, a.rng)
	}
	a.guide.Draw(a.theta, a.lambda, a.epsilon)
	logLik := a.door.Add(a.theta, a.batches.Next())
	a.door.Release(a.g)
	elbo = logLik/a.options.Rate + a.prior.LogPrior(a.own, a.theta) + a.guide.Entropy(a.lambda)
	for j, p := range a.own {
		a.g[j] = a.g[j]/a.options.Rate + p
	}
	a.guide.Gradient(a.gradient, a.lambda, a.g, a.epsilon, 1)
	return elbo
}

func normal(dst []float64, rng *rand.Rand) {
	for j := range dst {
		dst[j] = rng.NormFloat64()
	}
}

// trace keeps a point wherever a further share 1/Trace of the steps is done.
func (a *ascent) trace(step int, elbo float64) {
	o := &a.options
	if a.tellsELBO() {
		a.elbo += elbo
		a.since++
	}
	if (step+1)*o.Trace/o.Steps == step*o.Trace/o.Steps {
		return
	}
	mean, sd := a.guide.Moments(a.lambda)
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
	first, _ := a.guide.Moments(a.half)
	mean, sd := a.fit.Moments()
	a.fit.Moved = make([]float64, len(mean))
	for j := range mean {
		a.fit.Moved[j] = 2 * (mean[j] - first[j]) / sd[j] // the average of all is amid both halves
	}
}

// Adam is that of Kingma & Ba (ICLR 2015), with their β₁ = 0.9, β₂ = 0.999 and 1e-8.
type Adam struct {
	rate             float64
	mean, square     []float64
	lambda, gradient []float64 // of a step
	steps            int
}

// NewAdam is for a function of dim variables.
func NewAdam(rate float64, dim int) *Adam {
	return &Adam{rate: rate, mean: make([]float64, dim), square: make([]float64, dim)}
}

// Step goes up a function, given a noisy gradient.
func (a *Adam) Step(lambda, gradient []float64) {
	a.steps++
	a.lambda, a.gradient = lambda, gradient
	parallel.Share(a, len(gradient), grain, (*Adam).step)
}

func (a *Adam) step(from, to int) {
	const beta1, beta2, small = 0.9, 0.999, 1e-8
	first := a.rate / (1 - math.Pow(beta1, float64(a.steps)))
	second := 1 / (1 - math.Pow(beta2, float64(a.steps)))
	mean, square, lambda := a.mean[from:to], a.square[from:to], a.lambda[from:to]
	for j, g := range a.gradient[from:to] {
		m := beta1*mean[j] + (1-beta1)*g
		v := beta2*square[j] + (1-beta2)*g*g
		mean[j], square[j] = m, v
		lambda[j] += first * m / (math.Sqrt(second*v) + small)
	}
}
