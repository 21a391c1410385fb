package exact

import (
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
)

// TestFewRowsMix: where noise hides a latent n, draws of it are worth 15 % of their number; with one try for each level in
// place of twenty 6 %, of the first data set 1 % in place of 12.
func TestFewRowsMix(t *testing.T) {
	testsize.Full(t, "TestLevelsSBC has the law of such draws")
	t.Parallel()
	s := model.Shape{P: 3, Intercept: true}
	c := leveledRows{s, 3, 30, release.Laplace, 6, modeltest.TamePrior(s), false, 0, 150}
	const draws = 600
	sets, worth := 4, 0.0
	for set := range sets {
		rng := rand.New(rand.NewPCG(uint64(set), 61))
		_, obs := c.draw(rng)
		k, err := newKernel(newByLevel(alone(obs), c.prior), rng)
		must.Do(t, err)
		names := obs.Names()
		row, n := make([]float64, len(names)), []float64(nil)
		for i := range 200 + draws {
			k.Step(rng)
			if i < 200 {
				k.Adapt(i, 200)
				continue
			}
			k.Params(row)
			n = append(n, row[len(row)-1])
		}
		worth += posterior.Of([][]float64{n}).ESSMean() / float64(sets*draws)
	}
	if worth < 0.1 {
		t.Errorf("draws of n are worth %v of their number", worth)
	}
}
