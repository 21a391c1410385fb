package gibbs

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
)

// TestRenewExact: where (a) is rejected the site stands where it stood. Where it is accepted,
// the parameters stand still, z − s is that of the new s, and the acceptance probability
// was min(1, w′/w) by the densities of gonum.
func TestRenewExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(54, 1))
	for _, shared := range []bool{false, true} {
		k := newJointSites(t, shared, false).warm(rng)
		rejected := 0
		for range 100 {
			for j, s := range k.all {
				before, law := s.standing(), s.rows(t)
				accept, ok := s.renewExact(rng)
				name := fmt.Sprintf("shared=%t, site %d", shared, j)
				if !ok {
					t.Fatalf("%s: failed", name)
				}
				after := s.standing()
				if reflect.DeepEqual(before.s, after.s) {
					rejected++
					if !reflect.DeepEqual(before, after) {
						t.Fatalf("%s: after a rejected step it stands at\n%+v, before at\n%+v", name, after, before)
					}
					continue
				}
				s.isStill(t, name, before)
				w := logExactOverCLT(t, law, after.s, after.n) - logExactOverCLT(t, law, before.s, before.n)
				if want := math.Min(1, math.Exp(w)); !(math.Abs(accept-want) < 1e-5) { // two sums of logarithms of some 1e5
					t.Errorf("%s: accepted with probability %g, not %g", name, accept, want)
				}
			}
			k.another(rng)
		}
		if rejected < 50 {
			t.Errorf("shared=%t: only %d were rejected", shared, rejected)
		}
	}
}

// isStill holds that ω² is that of before, and that s and z − s are those of one z.
func (s *site) isStill(t *testing.T, name string, before standing) {
	t.Helper()
	if !reflect.DeepEqual(before.omega2, s.omega2) {
		t.Errorf("%s: ω² went from %v to %v", name, before.omega2, s.omega2)
	}
	for i, z := range s.obs.Z {
		if d := z - s.s[i] - s.resid[i]; !(math.Abs(d) < 1e-12*(1+math.Abs(z))) {
			t.Errorf("%s: z − s of statistic %d is off by %g", name, i, d)
		}
	}
}
