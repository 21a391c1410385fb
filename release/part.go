package release

import (
	"fmt"
	"strings"
)

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
