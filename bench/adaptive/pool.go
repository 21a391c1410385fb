package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/release"
)

// pooled is the release of the order's rows as so many custodians, who have alike numbers of them, make it
// in a session a look, by the files that they exchange.
func pooled(ctx context.Context, o custody.Order, rows custody.Scaled, custodians int) (r *release.Release, err error) {
	dir, err := os.MkdirTemp("", "pool")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	m := len(o.Design.Columns())
	n := len(rows.Rows) / m
	terms := custody.Session{Privacy: o.Privacy, Schema: *o.Design, Steps: o.Steps, Rows: int64(n)}
	for look := 0; r == nil || int64(look) < r.Pooled.Rounds; look++ {
		at := func(i int, of string) string { return filepath.Join(dir, fmt.Sprintf("%d-%d.%s", look, i, of)) }
		var members []custody.Member
		var shared, masked []string
		for i := range custodians {
			if err := custody.NewMember(fmt.Sprint("c", i), at(i, "key"), at(i, "member")); err != nil {
				return nil, err
			}
			member, err := custody.ReadMember(at(i, "member"))
			if err != nil {
				return nil, err
			}
			members, shared, masked = append(members, member), append(shared, at(i, "shares")), append(masked, at(i, "masked"))
		}
		terms.Former = r
		s, err := custody.NewSession(members, terms)
		if err != nil {
			return nil, err
		}
		keys := make([]custody.MemberKey, custodians)
		for i := range keys {
			if keys[i], err = custody.ReadMemberKey(at(i, "key")); err != nil {
				return nil, err
			}
			own := custody.Scaled{Name: rows.Name, Rows: rows.Rows[m*(i*n/custodians) : m*((i+1)*n/custodians)]}
			if err := s.Share(ctx, custody.Order{Rows: own, Path: shared[i], Entropy: o.Entropy}, keys[i]); err != nil {
				return nil, err
			}
		}
		for i, k := range keys {
			if err := custody.Mask(k, masked[i], shared); err != nil {
				return nil, err
			}
		}
		if r, err = custody.Total(masked); err != nil {
			return nil, err
		}
	}
	return r, nil
}
