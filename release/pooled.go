package release

import (
	"errors"
	"fmt"
	"math"
)

// Pooled says that custodians added up their sums without showing them, each with a share of the
// noise: see docs/secure-sum.md. Privacy holds against all who read the file and against Colluding of
// the custodians, who know their own shares.
type Pooled struct {
	Custodians int64 `json:"custodians"`
	Colluding  int64 `json:"colluding"`
}

// validate checks all but the claim on the noise.
func (p *Pooled) validate(r *Release) error {
	switch {
	case p == nil:
		return nil
	case r.Privacy == nil || r.Noise.Kind != Gaussian || r.Format != Format:
		return fmt.Errorf("only in %q, with \"privacy\" and %q noise: that of others does not add up", Format, Gaussian)
	case r.Moments != nil || r.Bounds != nil || r.Persons != nil || r.WithoutYY():
		return errors.New("not with \"moments\", \"bounds\", \"persons\" or \"withheld\"")
	case p.Custodians < 1 || p.Custodians > maxN:
		return within("custodians", fmt.Errorf("must be at least 1, not %d", p.Custodians))
	case p.Colluding < 0 || p.Colluding >= p.Custodians:
		return within("colluding", fmt.Errorf("must be at least 0, and below the number of custodians, not %d", p.Colluding))
	}
	return nil
}

// known is the sd of the noise over that of the part which no colluding custodian knows.
func (p *Pooled) known() float64 {
	if p == nil {
		return 1
	}
	return math.Sqrt(float64(p.Custodians) / float64(p.Custodians-p.Colluding))
}
