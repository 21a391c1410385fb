package published

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/vi"
)

// Clusters is the Gaussian mixture of d3p (Prediger et al., PETS 2022, appendix A; Jälkö
// et al. 2017): five spherical clusters of variance ½ in the plane, around (0, 0) and
// (±2, ±2), equally likely.
type Clusters struct{ train, test []float64 }

const (
	clusters      = 5
	clustersTrain = 2000
	clustersTest  = 2000
)

// NewClusters simulates 2000 records to train and 2000 to test; the authors test on 100.
func NewClusters(seed uint64) *Clusters {
	rng := rand.New(rand.NewPCG(seed, 0x636c))
	centres := [clusters][2]float64{{0, 0}, {2, 2}, {-2, -2}, {-2, 2}, {2, -2}}
	draw := func(n int) (v []float64) {
		for range n {
			c := centres[rng.IntN(clusters)]
			v = append(v, c[0]+math.Sqrt(0.5)*rng.NormFloat64(), c[1]+math.Sqrt(0.5)*rng.NormFloat64())
		}
		return v
	}
	return &Clusters{train: draw(clustersTrain), test: draw(clustersTest)}
}

// ClustersRun is a setting; Epsilon 0 is without privacy.
type ClustersRun struct{ Epsilon float64 }

// Run returns the mean log-likelihood of the test records at the fitted law's mean. The
// means of clusters start on a ring, turned by a random angle: from random points,
// gradients find local optima, with privacy or without.
func (r ClustersRun) Run(ctx context.Context, data *Clusters, seed uint64) (float64, error) {
	m := vi.Mixture(data.train, 2, clusters, 1)
	start := make([]float64, m.Dim())
	rng := rand.New(rand.NewPCG(seed, 0x7374))
	turn := rng.Float64()
	for j := range clusters {
		angle := 2 * math.Pi * (turn + float64(j)) / clusters
		start[clusters-1+2*j], start[clusters+2*j] = 2*math.Cos(angle), 2*math.Sin(angle)
	}
	o := vi.Options{Rate: 0.05, Steps: 1000, Seed: seed, Start: start, Optimiser: &vi.Adam{Rate: 0.02}, Average: 0.25}
	if r.Epsilon > 0 {
		o.Clip = 3
		o.Privacy = &vi.Privacy{Epsilon: r.Epsilon, Delta: 1e-3, Entropy: simulated(seed)}
	}
	fit, err := vi.Run(ctx, m, o)
	if err != nil {
		return 0, err
	}
	mean, _ := fit.Moments()
	test, sum := vi.Mixture(data.test, 2, clusters, 1), 0.
	grad := make([]float64, m.Dim())
	for i := range test.Len() {
		sum += test.LogLik(grad, mean, i)
	}
	return sum / float64(test.Len()), nil
}
