package gibbs

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
)

// TestRenewExact: where (a) is rejected the site stands where it stood. Where it is accepted,
// shared coordinates stand still, z − s is that of the new s, and the acceptance probability
// was min(1, w′/w) by the densities of gonum, at the parameters and n of before and after.
func TestRenewExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(54, 1))
	for _, shared := range []bool{false, true} {
		for _, latent := range []bool{false, true} {
			k := newJointSites(t, shared, latent).warm(rng)
			rejected, moved := 0, 0
			for range 100 {
				for j, s := range k.all {
					before, law := s.standing(), s.rows(t)
					accept, ok := s.renewExact(rng)
					name := fmt.Sprintf("shared=%t n latent=%t, site %d", shared, latent, j)
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
					if before.n != after.n {
						moved++
					}
					s.isStill(t, name, before, k.lead)
					w := logExactOverCLT(t, s.rows(t), after.s, after.n) - logExactOverCLT(t, law, before.s, before.n)
					if want := math.Min(1, math.Exp(w)); !(math.Abs(accept-want) < 1e-6) {
						t.Errorf("%s: n from %g to %g: accepted with probability %g, not %g", name, before.n, after.n, accept, want)
					}
				}
				k.another(rng)
			}
			if rejected < 50 || latent && moved < 10 {
				t.Errorf("shared=%t n latent=%t: too little happened: %d rejected, n moved %d times", shared, latent, rejected, moved)
			}
		}
	}
}

// isStill holds that the first coordinates of φ are those of before, ω² too, and that s and z − s
// are those of one z.
func (s *site) isStill(t *testing.T, name string, before standing, coordinates int) {
	t.Helper()
	then, now := make([]float64, s.law.Dim()), make([]float64, s.law.Dim())
	s.law.Unconstrain(then, &before.params)
	s.law.Unconstrain(now, s.params)
	for i, v := range then[:coordinates] {
		if !(math.Abs(now[i]-v) < 1e-12*(1+math.Abs(v))) {
			t.Errorf("%s: shared coordinate %d went from %g to %g", name, i, v, now[i])
		}
	}
	if !reflect.DeepEqual(before.omega2, s.omega2) {
		t.Errorf("%s: ω² went from %v to %v", name, before.omega2, s.omega2)
	}
	for i, z := range s.obs.Z {
		if d := z - s.s[i] - s.resid[i]; !(math.Abs(d) < 1e-12*(1+math.Abs(z))) {
			t.Errorf("%s: z − s of statistic %d is off by %g", name, i, d)
		}
	}
}
