package gibbs

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
)

// TestProposalTakenBack: a proposal of one release that is not accepted leaves the chain where it
// stood, whichever of parameters, ω and n it had moved.
func TestProposalTakenBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 1))
	g := newJoint(t, 2, 12, 8)
	g.kind, g.count, g.law = release.Laplace, 3, fixedLawOf(t, g.shape, model.UniformX{})
	k := g.start(rng)
	p := k.kernel.(*clt)
	omega, rows := 0, 0
	for range 400 {
		k.kernel.Step(rng)
		before := k.standing()
		if p.propose(rng).Failed {
			t.Fatal("failed")
		}
		if !reflect.DeepEqual(before.omega2, k.omega2) {
			omega++
		}
		if before.n != k.n {
			rows++
		}
		p.conclude(false)
		if after := k.standing(); !reflect.DeepEqual(before, after) {
			t.Fatalf("it stands at\n%+v, before at\n%+v", after, before)
		}
	}
	if omega < 10 || rows < 10 {
		t.Errorf("too little happened: ω moved %d times, n %d times", omega, rows)
	}
}
