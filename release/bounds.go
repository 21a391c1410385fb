package release

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/schema"
)

// AutoBounds is the method of Bounds that takes powers of two from a noisy
// histogram of magnitudes: see docs/bounds-auto.md.
const AutoBounds = "auto"

// Bounds says that the bounds of some columns are not public knowledge: they were
// found in the rows, with differential privacy of their own. Epsilon is their part
// of Privacy.Epsilon, and the statistics have what it leaves.
type Bounds struct {
	Method  string   `json:"method"`
	Epsilon float64  `json:"epsilon"`
	Columns []string `json:"columns"` // of the schema; none are left in some sub-models
}

// WithBounds returns a copy of r, whose columns have the bounds that b speaks of:
// epsilon is that of both together, by basic composition; what r states is the
// part of the statistics. It is an error if the parts come to more than epsilon,
// or if r cannot have such bounds.
func (r *Release) WithBounds(b Bounds, epsilon float64) (*Release, error) {
	if r.Privacy == nil {
		return nil, errors.New("a release that states no privacy has none to share with bounds")
	}
	out, p := *r, *r.Privacy
	p.Epsilon = epsilon
	b.Columns = slices.Clone(b.Columns)
	out.Privacy, out.Bounds = &p, &b
	return &out, out.Validate()
}

// statisticsEpsilon is the part of ε that the statistics have, exactly; it needs
// Privacy.
func (r *Release) statisticsEpsilon() *big.Rat {
	epsilon := number.Decimal(r.Privacy.Epsilon)
	if r.Bounds != nil {
		epsilon.Sub(epsilon, number.Decimal(r.Bounds.Epsilon))
	}
	if r.Persons != nil && r.Persons.Epsilon > 0 {
		epsilon.Sub(epsilon, number.Decimal(r.Persons.Epsilon))
	}
	return epsilon
}

// validateBounds checks all of Bounds but the claim on the noise.
func (r *Release) validateBounds() error {
	b := r.Bounds
	switch {
	case b == nil:
		return nil
	case b.Method != AutoBounds:
		return within("method", fmt.Errorf("must be %q, not %q", AutoBounds, b.Method))
	case r.Privacy == nil:
		return errors.New("only with \"privacy\", of which bounds have a part")
	case !positive(b.Epsilon):
		return within("epsilon", fmt.Errorf("must be a positive number up to 1e100, not %v", b.Epsilon))
	case r.statisticsEpsilon().Sign() <= 0:
		return within("epsilon", fmt.Errorf("must be below %v, the epsilon of the whole release, not %v", r.Privacy.Epsilon, b.Epsilon))
	}
	for i, name := range b.Columns {
		if err := r.validateBounded(name, b.Columns[:i]); err != nil {
			return within("columns", within(index(i), err))
		}
	}
	return nil
}

// validateBounded checks that a column can have such bounds: a number, between 0
// or a power of two and another.
func (r *Release) validateBounded(name string, before []string) error {
	columns := r.Schema.Columns()
	at := schema.Index(columns, name)
	switch {
	case at < 0:
		return fmt.Errorf("the schema has no column %q", name)
	case slices.Contains(before, name):
		return fmt.Errorf("column %q stands twice", name)
	case columns[at].Binary():
		return fmt.Errorf("column %q is 0 or 1, and has no bounds to be found", name)
	}
	for _, x := range []float64{columns[at].Lower, columns[at].Upper} {
		if f, _ := math.Frexp(math.Abs(x)); x != 0 && f != 0.5 {
			return fmt.Errorf("column %q has the bound %v, which is neither 0 nor a power of two: the method finds no other", name, x)
		}
	}
	if columns[at].Lower > 0 || columns[at].Upper < 0 {
		return fmt.Errorf("column %q has bounds %v:%v without 0 between them: the method finds no such", name, columns[at].Lower, columns[at].Upper)
	}
	return nil
}

// pick leaves the columns that a sub-model has; what their bounds spent stays.
func (b *Bounds) pick(d *schema.Design) *Bounds {
	if b == nil {
		return nil
	}
	out := &Bounds{Method: b.Method, Epsilon: b.Epsilon, Columns: []string{}}
	for _, name := range b.Columns {
		if schema.Index(d.Columns(), name) >= 0 {
			out.Columns = append(out.Columns, name)
		}
	}
	return out
}
