package exact

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/release"
)

// respondingCustodians are linkedCustodians by the levels of the response: in the box and in frames, the last, where
// covariates are shared, of one look at all columns.
func respondingCustodians(t *testing.T, p int, shared bool) linkedSites {
	name := model.Binomial
	if shared {
		name = model.Probit
	}
	c := linkedCustodians(name, p, shared, false)
	c.kinds, c.scales = []release.Kind{release.Laplace, release.Gaussian, release.Ball}, []float64{0.5, 2, 1}
	c.byResponse, c.t, c.wider = []bool{true, true, !shared}, t, 5 // rows lie in boxes
	if shared {
		c.kinds[2] = release.Gaussian
	}
	return c
}

// TestJointByResponseGradient compares slopes with differences.
func TestJointByResponseGradient(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 26))
	for p := range testsize.Of(2, 4) {
		for _, shared := range []bool{false, true} {
			c := respondingCustodians(t, 1+p, shared)
			c.kinds[0], c.partial = release.Gaussian, p%2 == 0
			c.checkGradient(t, fmt.Sprintf("p=%d shared=%t", 1+p, shared), rng)
		}
	}
}

// TestJointByResponseSBC is TestJointFamilySBC of sums by the levels of the response. The long form:
//
//	go test ./nuts/exact -run TestJointByResponseSBC -sbc.long -v -timeout 4h
func TestJointByResponseSBC(t *testing.T) {
	trials := testsize.Of(4, 9)
	if *sbcLong {
		trials = 500
	}
	for i, shared := range []bool{false, true} {
		for _, p := range []int{1, 2, 4} {
			if (p != 2 || shared && testing.Short()) && !*sbcLong {
				continue
			}
			t.Run(fmt.Sprintf("p=%d shared=%t", p, shared), func(t *testing.T) {
				t.Parallel()
				names, ranks := jointFamilyRanks(t, uint64(40+2*p+i), respondingCustodians(t, p, shared), trials, nil)
				modeltest.Report(t, names, ranks)
			})
		}
	}
}

// TestJointByResponseSBCFindsFaults: a frame that is left out is found.
func TestJointByResponseSBCFindsFaults(t *testing.T) {
	testsize.Planted(t)
	t.Parallel()
	_, ranks := jointFamilyRanks(t, 40, respondingCustodians(t, 1, false), 60, func(p *model.Joint) { p.Sites[2].Told.Response.Frame = nil })
	if !modeltest.Unlike(ranks) {
		t.Error("a frame that was left out went unnoticed")
	}
}
