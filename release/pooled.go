package release

import (
	"errors"
	"fmt"
	"math"
	"math/big"
)

// Pooled says that custodians added up their sums without showing them, each with a share of the
// noise: see docs/secure-sum.md. Privacy holds against all who read the file and against Colluding of
// the custodians, who know their own shares.
type Pooled struct {
	Custodians int64 `json:"custodians"`
	Colluding  int64 `json:"colluding"`

	// Of looks in frames, each of which is pooled by itself: how many were agreed upon, and about how
	// many rows, by which they share Privacy.
	Rounds int64 `json:"rounds,omitzero"`
	Rows   int64 `json:"rows,omitzero"`
}

// validatePooled checks all but the claim on the noise.
func (r *Release) validatePooled() error {
	switch {
	case r.Pooled == nil:
	case r.Privacy == nil || r.Noise.Kind != Gaussian || r.Levels != nil:
		return fmt.Errorf("only with \"privacy\" and %q noise, and without \"levels\": that of others does not add up", Gaussian)
	case r.Moments != nil || r.Bounds != nil || r.WithoutYY():
		return errors.New("not with \"moments\", \"bounds\" or \"withheld\"")
	case r.Frame != nil && r.Pooled.Rounds < int64(len(r.Looks())):
		return within("rounds", fmt.Errorf("must be at least %d, the number of looks, not %d", len(r.Looks()), r.Pooled.Rounds))
	}
	return r.inLooks(func(l *Look) error {
		if (l.Pooled == nil) != (r.Pooled == nil) {
			return errors.New("all looks are of several custodians, or none is")
		}
		return l.Pooled.validate()
	})
}

func (p *Pooled) validate() error {
	switch {
	case p == nil:
		return nil
	case p.Custodians < 1 || p.Custodians > maxN:
		return within("custodians", fmt.Errorf("must be at least 1, not %d", p.Custodians))
	case p.Colluding < 0 || p.Colluding >= p.Custodians:
		return within("colluding", fmt.Errorf("must be at least 0, and below the number of custodians, not %d", p.Colluding))
	}
	return nil
}

// known is the variance of the noise over that of the part which no colluding custodian knows.
func (p *Pooled) known() *big.Rat {
	if p == nil {
		return big.NewRat(1, 1)
	}
	return big.NewRat(p.Custodians, p.Custodians-p.Colluding)
}

// countRatio is what the count of persons with more rows has of μ where its noise is pooled: with Gaussian
// noise, as custodians in the first look.
func (r *Release) countRatio() float64 {
	if r.Pooled == nil || r.Persons == nil || r.Persons.Most == 0 {
		return 0
	}
	known, _ := r.Looks()[0].Pooled.known().Float64()
	return math.Sqrt(known) / r.Persons.Scale
}
