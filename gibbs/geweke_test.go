package gibbs

import (
	"flag"
	"fmt"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/release"
)

var gewekeLong = flag.Bool("geweke.long", false, "run Geweke's test on 40 times as many draws")

// gewekeBound: |z| > 5.5 has probability 4e-8 for a normal score, some 5e-6
// over all functions and cases here.
const gewekeBound = 5.5

// TestGeweke is Geweke's joint-distribution test of the default kernel against
// the exact model. The long form: go test ./gibbs -run Geweke -geweke.long -timeout 2h
func TestGeweke(t *testing.T) {
	draws := testsize.Of(2000, 10_000)
	if *gewekeLong {
		draws *= 40
	}
	for _, c := range []struct {
		p     int
		n, b  float64
		kind  release.Kind
		count float64
		free  bool // the prior is TamePrior
	}{{1, 12, 6, release.Laplace, 0, false}, {3, 25, 10, release.Laplace, 0, true}, {1, 12, 6, release.Gaussian, 0, true},
		{1, 12, 6, release.Laplace, 4, true}, {3, 25, 10, release.Gaussian, 8, false}} {
		t.Run(fmt.Sprintf("p=%d %s n%+g free scales=%t", c.p, c.kind, c.count, c.free), func(t *testing.T) {
			if testing.Short() && c.p > 1 {
				t.Skip("the cases of one covariate are the faster ones")
			}
			t.Parallel()
			g := newJoint(t, c.p, c.n, c.b)
			g.kind, g.count = c.kind, c.count
			if c.free {
				g.prior = modeltest.TamePrior(g.shape)
			}
			z := g.scores(draws, 1)
			if worst := must.Largest(z); !(worst < gewekeBound) {
				t.Errorf("the largest of %d scores is %.2f, beyond %g: %.2f", len(z), worst, gewekeBound, z)
			}
		})
	}
}

// TestGewekeFindsFaults plants faults, which the test must find.
func TestGewekeFindsFaults(t *testing.T) {
	testsize.Planted(t)
	t.Parallel()
	for name, c := range map[string]struct {
		draws int
		plant func(*joint)
	}{
		"statistics drawn of more rows": {10_000, func(g *joint) {
			g.fault = func(k *subject) {
				more := *k.state
				more.n *= 1.1
				k.site.latent.state = &more
			}
		}},
		"omega scaled": {2000, func(g *joint) { g.omega = 1.5 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newJoint(t, 1, 40, 4)
			c.plant(g)
			if worst := must.Largest(g.scores(c.draws, 1)); worst < gewekeBound {
				t.Errorf("the fault went unnoticed: largest score %.2f", worst)
			}
		})
	}
}
