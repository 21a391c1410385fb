// Package shares adds up vectors of integers, of which several members have one each, so that
// nobody sees but the total: each splits its vector by Shamir's polynomials and seals a share for
// every member; each adds up the shares that it was sent, and shows this sum; a threshold of the
// sums tells the total (Ben-Or, Goldwasser & Wigderson, Completeness theorems for non-cryptographic
// fault-tolerant distributed computation, STOC 1988, for a sum). It knows nothing of rows and noise.
// docs/secure-sum.md has the proof.
package shares

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
)

// MaxMembers is the largest number of members.
const MaxMembers = 1000

// Group are the members of one session.
type Group struct {
	Keys      [][]byte // public ones, in order
	Threshold int      // how many of their sums tell the total
	Session   [32]byte // a digest of all that they agreed upon
}

// Check refuses a group that is none.
func (g *Group) Check() error {
	switch n := len(g.Keys); {
	case n < 2 || n > MaxMembers:
		return fmt.Errorf("from 2 to %d can add up, not %d", MaxMembers, n)
	case g.Threshold < 1 || g.Threshold > n:
		return fmt.Errorf("%d of %d cannot tell a total", g.Threshold, n)
	}
	for i, k := range g.Keys {
		if slices.ContainsFunc(g.Keys[:i], func(other []byte) bool { return bytes.Equal(k, other) }) {
			return errors.New("two have the same key")
		}
	}
	return nil
}

// Split shares z of the member from, whose key this is; the i-th of what is returned is sealed for
// member i. Sums over members must keep within ±2¹²⁶.
func (g *Group) Split(key Key, from int, z []*big.Int) (sealed [][]byte, err error) {
	elements := make([]*big.Int, len(z))
	for l, v := range z {
		elements[l] = new(big.Int).Mod(v, prime)
	}
	for to, values := range split(append(elements, g.check(elements)), g.Threshold, len(g.Keys)) {
		s, err := g.seal(key, from, to, encode(values))
		if err != nil {
			return nil, err
		}
		sealed = append(sealed, s)
	}
	return sealed, nil
}

// check is Σ_l r^l z_l, at an r that the session fixes: shared beside z, it shows whether the total is that
// of whole shares. It is a function of z, so the total of it tells nothing that the total of z does not.
func (g *Group) check(z []*big.Int) *big.Int {
	seed := sha256.Sum256(append([]byte("dpreg check "), g.Session[:]...))
	r := new(big.Int).SetBytes(seed[:width])
	sum := value(z, r)
	return sum.Mod(sum.Mul(sum, r), prime)
}

// Add opens what members, who are the keys of sealed, sealed for this one, and adds it up. It is
// nothing without the sums of so many others as the threshold asks for.
func (g *Group) Add(key Key, by int, sealed map[int][]byte) ([]byte, error) {
	var sum []*big.Int
	for _, from := range slices.Sorted(maps.Keys(sealed)) {
		text, err := g.open(key, from, by, sealed[from])
		if err != nil {
			return nil, &MemberError{from, err}
		}
		v, ok := decode(text)
		if !ok || sum != nil && len(v) != len(sum) {
			return nil, &MemberError{from, errors.New("the share is of another vector")}
		}
		if sum == nil {
			sum = v
			continue
		}
		for l, x := range v {
			sum[l].Mod(sum[l].Add(sum[l], x), prime)
		}
	}
	return encode(sum), nil
}

// Total is the total of what was split, by the sums of as many members as the threshold asks for, or more.
// It is an error if a sum was changed, or is not of the same shares as the others.
func (g *Group) Total(sums map[int][]byte) ([]*big.Int, error) {
	members := slices.Sorted(maps.Keys(sums))
	if len(members) < g.Threshold {
		return nil, fmt.Errorf("%d sums tell nothing: the total needs %d", len(members), g.Threshold)
	}
	var points []int64
	var values [][]*big.Int
	for _, i := range members {
		v, ok := decode(sums[i])
		if !ok || len(v) < 2 || values != nil && len(v) != len(values[0]) {
			return nil, &MemberError{i, errors.New("the sums are damaged")}
		}
		points, values = append(points, int64(i+1)), append(values, v)
	}
	used, same := g.Threshold, func(a, b *big.Int) bool { return a.Cmp(b) == 0 }
	for i := used; i < len(points); i++ {
		if !slices.EqualFunc(values[i], interpolate(points[i], points[:used], values[:used]), same) {
			return nil, errChanged
		}
	}
	total := interpolate(0, points[:used], values[:used])
	last := len(total) - 1
	if g.check(total[:last]).Cmp(total[last]) != 0 {
		return nil, errChanged
	}
	for l, v := range total[:last] {
		total[l] = centred(v)
	}
	return total[:last], nil
}

var errChanged = errors.New("the sums do not make a total: one was changed, or was made with other shares")

// MemberError is one of what a member wrote.
type MemberError struct {
	Member int
	Err    error
}

func (e *MemberError) Error() string { return fmt.Sprintf("member %d: %v", e.Member+1, e.Err) }

// Unwrap gives the mistake itself.
func (e *MemberError) Unwrap() error { return e.Err }
