package adassp

import (
	"fmt"
	"math/big"

	"github.com/dpreg/dpreg/release"
)

// squares are the squared L2 sensitivities of λ_min(XᵀX), of the unique entries of XᵀX and of
// Xᵀy, in scaled units.
type squares struct{ least, xx, xy *big.Int }

// sensitivities are those of q columns x, which lie in [-1, 1] as y does, so that B² = q
// bounds |x|². With the sums of x alone, as ssp has them, docs/adassp.md derives
//
//	              λ_min   XᵀX, squared                        Xᵀy
//	add-remove    q       q(q+1)/2                            √q
//	replace-one   q       4⌊q²/4⌋ with an intercept, else     2√q
//	                      the smaller of 2q², 4⌊(q+1)²/4⌋
//
// It is an error if there are other neighbours.
func sensitivities(p int, intercept bool, nb release.Neighbours) (squares, error) {
	q := int64(p)
	if intercept {
		q++
	}
	s := squares{least: big.NewInt(q * q)}
	switch nb {
	case release.AddRemove:
		s.xx, s.xy = big.NewInt(q*(q+1)/2), big.NewInt(q)
	case release.ReplaceOne:
		_, squared := release.Sums.Sensitivity(p, nb)
		s.xx, s.xy = new(big.Int).Set(squared.Num()), big.NewInt(4*q)
		if general := big.NewInt(2 * q * q); !intercept && general.Cmp(s.xx) < 0 {
			s.xx = general
		}
	default:
		return s, fmt.Errorf("neighbours must be %q or %q, not %q", release.ReplaceOne, release.AddRemove, nb)
	}
	return s, nil
}
