package release

import (
	"errors"
	"fmt"
	"math"
	"math/big"

	"github.com/dpreg/dpreg/internal/number"
)

// Persons says that Privacy is of persons, who have any number of rows, and what their rows
// became: see docs/persons.md. n is the number of persons, or of rows that were taken.
type Persons struct {
	Rows string `json:"rows"` // PersonMean, PersonWeight or PersonRows
	Most int64  `json:"most,omitzero"`

	// Of PersonRows: about how many persons had more rows, with Laplace noise of this scale, by a
	// part of Privacy.Epsilon; or with Gaussian noise that custodians share, and no part.
	More    int64   `json:"more,omitzero"`
	Scale   float64 `json:"more_noise,omitzero"`
	Epsilon float64 `json:"more_epsilon,omitzero"`
}

// What becomes of a person's rows.
const (
	PersonMean   = "mean"   // their mean is the one row
	PersonWeight = "weight" // each counts one over their number
	PersonRows   = "rows"   // at most Most of them count, chosen by a keyed hash
)

// WithPersons returns a copy of r, of which p says what rows became, with the privacy of persons.
// It is an error if r does not keep that.
func (r *Release) WithPersons(p Persons, privacy Privacy) (*Release, error) {
	out := *r
	out.Privacy, out.Persons = &privacy, &p
	return &out, out.Validate()
}

// perPerson is the largest number of rows that one person changes.
func (r *Release) perPerson() *big.Rat {
	if r.Persons == nil {
		return big.NewRat(1, 1)
	}
	return big.NewRat(max(1, r.Persons.Most), 1)
}

// validate checks all but the claim on the noise of the statistics.
func (p *Persons) validate(r *Release) error {
	switch {
	case p == nil:
		return nil
	case r.Privacy == nil:
		return errors.New("only with \"privacy\", which is of persons then")
	case r.Moments != nil || r.Bounds != nil || r.WithoutYY():
		return errors.New("not with \"moments\", \"bounds\" or \"withheld\"")
	case p.Rows != PersonMean && p.Rows != PersonWeight && p.Rows != PersonRows:
		return within("rows", fmt.Errorf("must be %q, %q or %q, not %q", PersonMean, PersonWeight, PersonRows, p.Rows))
	case p.Rows == PersonWeight && r.Frame != nil:
		return within("rows", fmt.Errorf("%q is of sums in the box, not in a frame", PersonWeight))
	case p.Rows != PersonRows && (p.Most != 0 || p.More != 0 || p.Scale != 0 || p.Epsilon != 0):
		return within("most", fmt.Errorf("only where \"rows\" is %q", PersonRows))
	case p.Rows != PersonRows:
		return nil
	case p.Most < 1 || p.Most > maxN:
		return within("most", fmt.Errorf("must be at least 1, not %d", p.Most))
	case p.Most > 1 && r.Neighbours() != AddRemove:
		return within("most", fmt.Errorf("%d is for %q neighbours: of how many rows persons are is not public", p.Most, AddRemove))
	case r.Pooled != nil && p.Epsilon == 0 && positive(p.Scale):
		return nil // Gaussian noise
	case r.Pooled != nil || !positive(p.Scale) || !positive(p.Epsilon):
		return within("more_noise", errors.New("it and \"more_epsilon\" must be positive; with \"pooled\" it alone is there"))
	case new(big.Rat).Mul(number.Exactly(p.Scale), number.Decimal(p.Epsilon)).Cmp(relax(big.NewRat(1, 1))) < 0:
		return within("more_noise", fmt.Errorf("%v is too small for epsilon %v: a person changes the count by 1", p.Scale, p.Epsilon))
	case r.statisticsEpsilon().Sign() <= 0:
		return within("more_epsilon", fmt.Errorf("must be below %v, the epsilon of the whole release, not %v", r.Privacy.Epsilon, p.Epsilon))
	}
	return nil
}

// warnings say which model holds of what persons' rows became.
func (p *Persons) warnings() []string {
	switch {
	case p == nil || p.Most == 1:
		return nil
	case p.Rows == PersonMean:
		return []string{"a row is the mean of a person's rows: coefficients are those of the line through persons' means, which differs from that through rows where these vary within a person, and sigma is that of means"}
	case p.Rows == PersonWeight:
		return []string{"intervals are those of as many independent rows as there are persons: where persons have many rows, they are too wide"}
	}
	return []string{fmt.Sprintf("up to %d rows of a person are taken for independent: where a person's rows are alike, intervals are too narrow, by a factor of up to %.3g beside the noise", p.Most, math.Sqrt(float64(p.Most)))}
}
