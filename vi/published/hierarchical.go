package published

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/vi"
)

// Groups is the hierarchical logistic regression of d3p (Prediger et al., PETS 2022,
// sections 3.3 and 5.3), simulated: three groups, five standard normal covariates, and as
// descriptors of a group its own indicator, as in the authors' code.
type Groups struct {
	train, test *vi.Rows
	group       [2][]int
}

const (
	groups, groupDim = 3, 5
	groupPriorSD     = 4
)

// NewGroups simulates n records to train and n to test. M is standard normal, and a
// group's coefficients are N(M g, 0.1 I).
func NewGroups(n int, seed uint64) *Groups {
	rng := rand.New(rand.NewPCG(seed, 0x6772))
	var w [groups][groupDim]float64
	for l := range w {
		for j := range w[l] {
			w[l][j] = rng.NormFloat64() + math.Sqrt(0.1)*rng.NormFloat64()
		}
	}
	g := &Groups{}
	for k, rows := range []**vi.Rows{&g.train, &g.test} {
		*rows = &vi.Rows{P: groupDim}
		for range n {
			l, eta := rng.IntN(groups), 0.
			for j := range groupDim {
				x := rng.NormFloat64()
				(*rows).X = append((*rows).X, x)
				eta += x * w[l][j]
			}
			y := 0.
			if rng.Float64() < 1/(1+math.Exp(-eta)) {
				y = 1
			}
			(*rows).Y = append((*rows).Y, y)
			g.group[k] = append(g.group[k], l)
		}
	}
	return g
}

// GroupsRun is a setting: Epsilon 0 is without privacy. δ is 1/n and batches have about
// ten records, as in the paper.
type GroupsRun struct {
	Epsilon float64
	Steps   int
	Joint   bool // clip as d3p does
}

// Run returns the area under the ROC of the test records.
func (r GroupsRun) Run(ctx context.Context, data *Groups, seed uint64) (float64, error) {
	n := float64(len(data.train.Y))
	o := vi.Options{
		Rate: 10 / n, Steps: r.Steps, Seed: seed, Joint: r.Joint, Records: n, Average: 0.5,
		Optimiser: &vi.Adam{Rate: 1e-3},
	}
	if r.Epsilon > 0 {
		o.Clip = 1
		o.Privacy = &vi.Privacy{Epsilon: r.Epsilon, Delta: 1 / n, Entropy: simulated(seed)}
	}
	descriptors := make([]float64, groups*groups)
	for l := range groups {
		descriptors[l*groups+l] = 1
	}
	fit, err := vi.Run(ctx, vi.Hierarchical(data.train, data.group[0], descriptors, groups, groupPriorSD), o)
	if err != nil {
		return 0, err
	}
	mean, sd := fit.Moments()
	scores := make([]float64, len(data.test.Y))
	for i, l := range data.group[1] {
		at := l * groupDim
		scores[i] = predictor(data.test.X[i*groupDim:(i+1)*groupDim], mean[at:at+groupDim], sd[at:at+groupDim])
	}
	return auc(scores, data.test.Y), nil
}
