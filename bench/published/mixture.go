package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/dpreg/dpreg/vi"
)

const clustersIntro = `Gaussian mixture of d3p (Prediger et al. 2022, appendix A), simulated: five clusters, 2000
records, 1000 steps, δ = 1e-3. Mean log-likelihood of 2000 other records. Noise is
simulated.`

func clustersStudy(from source) (*study, error) {
	data := newClusters(from.seed)
	s := &study{intro: clustersIntro, settings: []string{"eps"}, header: []string{"log-likelihood"}}
	for _, epsilon := range []float64{0, 0.1, 0.316, 1, 3.16, 4, 10} {
		s.arms = append(s.arms, one(func(ctx context.Context, seed uint64) (float64, error) { return data.fit(ctx, epsilon, seed) }, fmt.Sprint(epsilon)))
	}
	return s, nil
}

// clusters is the Gaussian mixture of d3p (Prediger et al., PETS 2022, appendix A; Jälkö
// et al. 2017): five spherical clusters of variance ½ in the plane, around (0, 0) and
// (±2, ±2), equally likely.
type clusters struct{ train, test []float64 }

// newClusters simulates 2000 records to train and 2000 to test; the authors test on 100.
func newClusters(seed uint64) *clusters {
	rng := rand.New(rand.NewPCG(seed, 0x636c))
	centres := [...][2]float64{{0, 0}, {2, 2}, {-2, -2}, {-2, 2}, {2, -2}}
	draw := func() (v []float64) {
		for range 2000 {
			c := centres[rng.IntN(len(centres))]
			v = append(v, c[0]+math.Sqrt(0.5)*rng.NormFloat64(), c[1]+math.Sqrt(0.5)*rng.NormFloat64())
		}
		return v
	}
	return &clusters{train: draw(), test: draw()}
}

// fit returns the mean log-likelihood of the test records at the fitted law's mean; epsilon 0
// is without privacy. The means of clusters start on a ring, turned by a random angle: from
// random points, gradients find local optima, with privacy or without.
func (c *clusters) fit(ctx context.Context, epsilon float64, seed uint64) (float64, error) {
	const number = 5
	m := mixture(c.train, 2, number, 1)
	start := make([]float64, m.Dim())
	turn := rand.New(rand.NewPCG(seed, 0x7374)).Float64()
	for j := range number {
		angle := 2 * math.Pi * (turn + float64(j)) / number
		start[number-1+2*j], start[number+2*j] = 2*math.Cos(angle), 2*math.Sin(angle)
	}
	o := vi.Options{Rate: 0.05, Steps: 1000, Seed: seed, Start: start, LearningRate: 0.02, Average: 0.25}
	if epsilon > 0 {
		o.Clip = 3
		o.Privacy = &vi.Privacy{Epsilon: epsilon, Delta: 1e-3, Entropy: simulated(seed, entropyOfVI)}
	}
	fit, err := vi.Run(ctx, m, o)
	if err != nil {
		return 0, err
	}
	mean, _ := fit.Moments()
	return stat.Mean(mixture(c.test, 2, number, 1).Evaluate(mean, nil), nil), nil
}

// mixture is of K spherical normal laws in R^d, the components summed out (d3p, appendix A):
//
//	v ~ Σ_k π_k N(μ_k, τ_k I),  π ~ Dirichlet(1), μ_k ~ N(0, sd² I), τ_k ~ InvGamma(1, 1),
//
// for records v, n × d, row by row, and k ≥ 2. π is simplex of u.
func mixture(v []float64, d, k int, sd float64) *vi.Model {
	var tiled []float64 // each record as often as there are components
	for x := range slices.Chunk(v, d) {
		tiled = append(tiled, slices.Repeat(x, k)...)
	}
	byComponent := make([]float64, k*k*d) // sums d entries each
	for j := range byComponent {
		if j/(k*d) == j%(k*d)/d {
			byComponent[j] = 1
		}
	}
	weights := newSimplex(k)
	return &vi.Model{
		Records: len(v) / d,
		Parameters: []vi.Parameter{{Name: "u", Size: k - 1}, {Name: "mu", Size: k * d, Columns: d},
			{Name: "tau", Size: k, Positive: true}},
		LogLik: func(t *vi.Tape) {
			gap := t.Rows(tiled, k*d).Minus(t.Param(1))
			w := t.Param(2)
			precision := w.Map(func(w float64) (float64, float64) { v := math.Exp(-w); return v, -v })
			scale := w.Map(func(w float64) (float64, float64) {
				return -float64(d) * (w + math.Log(2*math.Pi)) / 2, -float64(d) / 2
			})
			square := gap.Times(gap).Linear(byComponent).Times(precision)
			t.Factor(square.Scaled(-0.5).Plus(scale.Plus(weights.log(t, t.Param(0)))).LogSumExp())
		},
		LogPrior: func(t *vi.Tape) {
			t.Factor(weights.log(t, t.Param(0))) // with the Jacobian
			t.LogNormal(t.Param(1), sd)
			t.LogInvGamma(t.Param(2), 1, 1)
		},
	}
}

// simplex is x on the simplex of K parts, by breaking K−1 times a part off a stick:
//
//	x_k = z_k ∏_{j<k} (1 − z_j),  z_k = 1/(1 + (K−k) e^{−u_k}),  z_K = 1,
//
// k = 1, …, K; u = 0 is the middle. The log Jacobian is Σ_k log x_k, so the Dirichlet law of
// parameters α has the density Π x_k^α_k in u, up to a constant.
type simplex struct{ shift, own, before []float64 }

func newSimplex(parts int) simplex {
	s := simplex{own: make([]float64, parts*(parts-1)), before: make([]float64, parts*(parts-1))}
	for k := range parts {
		for j := range parts - 1 {
			switch at := k*(parts-1) + j; {
			case j == k:
				s.shift, s.own[at] = append(s.shift, math.Log(float64(parts-1-k))), 1
			case j < k:
				s.before[at] = 1
			}
		}
	}
	return s
}

// log is log x of u: with v = u_k − log(K−k), log z_k = −softplus(−v) and log(1 − z_k) =
// −softplus(v).
func (s simplex) log(t *vi.Tape, u *vi.Node) *vi.Node {
	v := u.Minus(t.Constant(s.shift, len(s.shift)))
	return v.Scaled(-1).Map(softplus).Linear(s.own).Plus(v.Map(softplus).Linear(s.before)).Scaled(-1)
}

// softplus is log(1 + e^x), of which the derivative is 1/(1 + e^{−x}).
func softplus(x float64) (value, slope float64) {
	e := math.Exp(-math.Abs(x))
	if slope = 1 / (1 + e); x < 0 {
		slope *= e
	}
	return max(x, 0) + math.Log1p(e), slope
}
