package accounting

import (
	"fmt"
)

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
