package accounting

import "fmt"

// Scheme says which data sets are neighbours, and how a step's batch is drawn.
type Scheme int

const (
	// PoissonAddRemove: each record is in a batch with probability q, independently;
	// neighbours have one record more or less.
	PoissonAddRemove Scheme = iota
	// PoissonReplaceOne: batches as above; neighbours differ by the values of one
	// record.
	PoissonReplaceOne
	// FixedReplaceOne: a batch is a share q of the records, always as many, drawn
	// without replacement; neighbours differ by the values of one record. What is
	// given for it is a bound, which no mechanism is known to reach.
	FixedReplaceOne
)

// Training is a sequence of steps, each of which releases the sum over a batch of
// vectors, one a record, of norm at most C, with normal noise of standard deviation
// Multiplier·C: stochastic gradient descent with clipped gradients, of Abadi et al.
// (Deep Learning with Differential Privacy, CCS 2016), for one.
type Training struct {
	Multiplier float64 // σ
	Rate       float64 // q, in (0, 1]
	Steps      int     // T
	Scheme     Scheme
}

// The multipliers that laws of the loss are computed for.
const (
	MinMultiplier = 0.1
	MaxMultiplier = 1e6
	MinRate       = 1e-9
)

// Check returns an error that says which field is out of its range.
func (t Training) Check() error {
	if err := check(positive("sigma", t.Multiplier), inMultipliers("sigma", t.Multiplier)); err != nil {
		return err
	}
	switch {
	case !(t.Rate >= MinRate && t.Rate <= 1):
		return fmt.Errorf("q must be from %v to 1, not %v", MinRate, t.Rate)
	case t.Steps < 1 || t.Steps > MaxCount:
		return fmt.Errorf("the number of steps must be from 1 to %d, not %d", MaxCount, t.Steps)
	case t.Scheme < PoissonAddRemove || t.Scheme > FixedReplaceOne:
		return fmt.Errorf("unknown scheme %d of sampling", int(t.Scheme))
	}
	return nil
}

func inMultipliers(name string, ratio float64) error {
	if !(ratio >= MinMultiplier && ratio <= MaxMultiplier) {
		return fmt.Errorf("%s must be from %v to %v sensitivities, not %v", name, MinMultiplier, MaxMultiplier, ratio)
	}
	return nil
}

// pair is the dominating pair of a step.
func (t Training) pair() pair {
	switch {
	case t.Scheme == PoissonAddRemove:
		return sampled{sigma: t.Multiplier, q: t.Rate}
	case t.Scheme == PoissonReplaceOne || t.Rate == 1:
		return sampled{sigma: t.Multiplier, q: t.Rate, replace: true}
	}
	return fixed{sigma: t.Multiplier, rate: t.Rate}
}

// Repeated is Count releases with Laplace noise of scale Multiplier times the L1
// sensitivity.
type Repeated struct {
	Multiplier float64 // b
	Count      int     // k
}

// Check returns an error that says which field is out of its range.
func (r Repeated) Check() error {
	if err := check(positive("scale", r.Multiplier), inMultipliers("scale", r.Multiplier)); err != nil {
		return err
	}
	if r.Count < 1 || r.Count > MaxCount {
		return fmt.Errorf("the number of releases must be from 1 to %d, not %d", MaxCount, r.Count)
	}
	return nil
}

// Epsilon is as of Training.
func (r Repeated) Epsilon(a Accountant, delta float64) (float64, error) { return epsilon(r, a, delta) }

// Delta is as of Training.
func (r Repeated) Delta(a Accountant, epsilon float64) (float64, error) { return delta(r, a, epsilon) }

// FindMultiplier returns the smallest multiplier for which an accountant's ε for delta
// is at most epsilon; r's own is not read. Errors: those of Check for Count, and those
// of Training.FindMultiplier.
func (r Repeated) FindMultiplier(a Accountant, epsilon, delta float64) (float64, error) {
	r.Multiplier = 1
	if err := r.Check(); err != nil {
		return 0, err
	}
	return search{
		name: "scale", few: MaxMultiplier, many: MinMultiplier, start: 1,
		with: func(x float64) run { r.Multiplier = x; return r },
	}.find(a, epsilon, delta)
}

// FindCount returns the largest count likewise.
func (r Repeated) FindCount(a Accountant, epsilon, delta float64) (int, error) {
	r.Count = 1
	if err := r.Check(); err != nil {
		return 0, err
	}
	count, err := search{
		name: "number of releases", few: 1, many: MaxCount, start: 10, whole: true,
		with: func(x float64) run { r.Count = int(x); return r },
	}.find(a, epsilon, delta)
	return int(count), err
}

func (r Repeated) composition() (*Composition, error) {
	c := new(Composition)
	return c, c.Laplace(r.Multiplier, 1, r.Count)
}

// Each release is (1/b, 0)-differentially private.
func (r Repeated) step() Budget { return Budget{Epsilon: 1 / r.Multiplier} }

func (r Repeated) basic(float64) (float64, error) { return r.step().Basic(r.Count).Epsilon, nil }

func (r Repeated) advanced(delta float64) (float64, error) {
	return r.step().Advanced(r.Count, delta).Epsilon, nil
}

// RDP is as of Composition. Errors: those of Check.
func (t Training) RDP(order float64) (float64, error) {
	c, err := t.composition()
	if err != nil {
		return 0, err
	}
	return c.RDP(order), nil
}
