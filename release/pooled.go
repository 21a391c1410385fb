package release

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
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

// Part says that rows, or persons with all of theirs, were dealt to parts by coins, of each of which there is a
// release. A row is in one part: Privacy is of all parts together. See docs/custodians.md.
type Part struct {
	Number  int64  `json:"number"` // from 1
	Of      int64  `json:"of"`
	Dealing string `json:"dealing"` // 32 random hexadecimal digits, of all parts the same
}

// MaxParts is the largest number of parts.
const MaxParts = 100

func (p *Part) validate(r *Release) error {
	switch {
	case p == nil:
		return nil
	case r.Privacy == nil:
		return fmt.Errorf("only with \"privacy\", which is of all parts together")
	case p.Of < 2 || p.Of > MaxParts:
		return within("of", fmt.Errorf("must be from 2 to %d, not %d", MaxParts, p.Of))
	case p.Number < 1 || p.Number > p.Of:
		return within("number", fmt.Errorf("must be from 1 to %d, not %d", p.Of, p.Number))
	case len(p.Dealing) != 32 || strings.Trim(p.Dealing, "0123456789abcdef") != "":
		return within("dealing", fmt.Errorf("must be 32 hexadecimal digits, not %q", abbreviate(p.Dealing)))
	}
	return nil
}

// Parts is how many parts there are, 0 of what is none.
func (p *Part) Parts() int64 {
	if p == nil {
		return 0
	}
	return p.Of
}

// OneDealing tells whether all are different parts of one dealing, so that no row is in two.
func OneDealing(all ...*Release) bool {
	seen := map[int64]bool{}
	for _, r := range all {
		if r.Part == nil || seen[r.Part.Number] || r.Part.Dealing != all[0].Part.Dealing {
			return false
		}
		seen[r.Part.Number] = true
	}
	return true
}
