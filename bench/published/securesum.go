package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts/exact"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/ssp"
)

const secureSumIntro = `One regression by J custodians who are alike, as in custodians-gaussian: %d rows in all,
ε = %g, δ = %g. Separate: a release each. One noise: the sum of their sums, with shares of
noise of which no custodian, or a third of them, may know its own.`

// secureSumStudy compares one noise in all with one for each custodian.
func secureSumStudy(source) (*study, error) {
	const epsilon, delta = 0.3, 1e-6
	s := custodiansTable(fmt.Sprintf(secureSumIntro, custodianRows, epsilon, delta))
	for number, j := range []int{3, 10, 100} {
		c := custodianCase{number, slices.Repeat([]custodian{{custodianRows / j, epsilon, delta}}, j)}
		s.addCase(fmt.Sprintf("J = %d", j), c, []custodianMethod{
			{"non-private", 1, model.Naive{}, func(d pooledData) *model.Problem { return d.without }},
			{"separate", 1, exact.Method{}, func(d pooledData) *model.Problem { return d.noisy }},
			{"one noise", 1, exact.Method{}, c.oneNoise(0)},
			{"one noise, a third colludes", 1, exact.Method{}, c.oneNoise(j / 3)},
		})
	}
	return s, nil
}

// oneNoise adds up the sums of custodians, with a share of the noise each.
func (c custodianCase) oneNoise(colluding int) func(pooledData) *model.Problem {
	j, one := len(c.custodians), c.custodians[0]
	noise, err := one.noise()
	if err != nil {
		panic(err) // the study's own constants
	}
	shared, err := ssp.Shared{Noise: noise}.Split(j, j-colluding)
	if err != nil {
		panic(err)
	}
	share := shared.Noise
	return func(d pooledData) *model.Problem {
		z := make([]float64, regression2.Statistics())
		rng := rand.New(rand.NewPCG(math.Float64bits(d.theta[0]), uint64(colluding)))
		for _, r := range d.without.Releases {
			for i, v := range r.Statistics.Vector() {
				z[i] += v + model.RandNoise(release.Gaussian, share.Scale, rng)
			}
		}
		return &model.Problem{Prior: d.noisy.Prior, Releases: []*release.Release{written(j*one.rows, release.Gaussian, share.Scale*math.Sqrt(float64(j)), z)}}
	}
}
