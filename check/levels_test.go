package check

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/release"
)

// leveled are parameters of rows of three levels with two covariates, and an observation of their sums, in the box or in a
// frame, without noise to speak of.
func leveled(framed bool) (obs *model.Observation, share []float64, mean [][]float64, cov []float64, x *model.Params) {
	const k, p = 2, 4
	shape := model.Shape{P: p, Intercept: true}
	share = []float64{0.5, 0.2, 0.3}
	mean = [][]float64{{0.2, -0.1}, {-0.3, 0.4}, {0.1, 0.1}}
	cov = []float64{0.09, 0.03, 0.03, 0.04}
	x = model.NewParams(shape)
	copy(x.Theta, []float64{0.1, 0.2, -0.3, 0.5, -0.7})
	x.Sigma2 = 0.05
	column := func(l, j int) float64 {
		switch {
		case j >= k:
			return mean[l][j-k]
		case j == l-1:
			return 1
		}
		return -1
	}
	for i := range p {
		for l, s := range share {
			x.MuX[i] += s * column(l, i)
		}
	}
	for i := range p {
		for j := range p {
			v := 0.0
			if i >= k && j >= k {
				v = cov[(i-k)*2+j-k]
			}
			for l, s := range share {
				v += s * (column(l, i) - x.MuX[i]) * (column(l, j) - x.MuX[j])
			}
			x.Tau[i*p+j] = v
		}
	}
	obs = &model.Observation{Shape: shape, N: 30, Kind: release.Laplace, Told: &model.Told{Kind: release.Laplace, Dummies: k, Known: -1, Counts: make([]float64, 3), Sums: [][]float64{make([]float64, 3), make([]float64, 3), make([]float64, 3)}}}
	if framed {
		obs.Frame = modeltest.Frame(3).Behind(k)
	}
	return obs, share, mean, cov, x
}

// TestLevelLaw compares mean and covariance of sums by levels, and those of draws, with rows drawn one by one. The covariance
// of a response of a family is that of 500 rows.
func TestLevelLaw(t *testing.T) {
	for _, c := range []struct {
		framed bool
		of     model.Family
		most   float64
	}{{}, {framed: true}, {of: model.Binomial, most: 1}, {of: model.Poisson, most: 6}} {
		framed, rough := c.framed, 0.05
		if c.of != model.Normal {
			rough = 0.5
		}
		obs, share, mean, cov, x := leveled(framed)
		if c.of == model.Poisson { // of no more than Poisson's variance
			x.Sigma2 = 1
		}
		l := newChecker(obs, c.of, c.most).law
		l.Set(x)
		if !l.Factor() {
			t.Fatal("not definite")
		}
		q, n := len(model.NewLevelLaw(obs.Shape, obs.Told.Dummies, len(obs.Told.Counts), nil).Entries), int(obs.N)
		rng := rand.New(rand.NewPCG(1, 2))
		root := append([]float64(nil), cov...)
		dense.Cholesky(root, 2)
		rows := func(z []float64) {
			clear(z)
			row := make([]float64, 5)
			for range n {
				level, u := 0, rng.Float64()
				for level < 2 && u > share[level] {
					u -= share[level]
					level++
				}
				row[0], row[1] = -1, -1
				if level > 0 {
					row[level-1] = 1
				}
				a, b := rng.NormFloat64(), rng.NormFloat64()
				row[2], row[3] = mean[level][0]+root[0]*a, mean[level][1]+root[2]*a+root[3]*b
				row[4] = x.Theta[0]
				for j, v := range row[:4] {
					row[4] += x.Theta[1+j] * v
				}
				if c.of == model.Normal {
					row[4] += math.Sqrt(x.Sigma2) * rng.NormFloat64()
				} else {
					row[4] = 2*c.of.Draw(row[4], c.most, rng)/c.most - 1
				}
				v := append([]float64(nil), row...)
				model.Identity(5).In(obs.Frame).Mean(v)
				v = v[2:]
				z[level]++
				for j := range 3 {
					z[3+level*3+j] += v[j]
					for h := j; h < 3; h++ {
						z[12+release.Index(3, j, h)-3] += v[j] * v[h]
					}
				}
			}
		}
		times := testsize.Of(10_000, 40_000)
		want, wantCov := make([]float64, q), make([]float64, q*q)
		l.Expect(want, obs.N)
		l.Covariance(wantCov, obs.N)
		draws := func(z []float64) { l.RandExact(z, obs.N, rng) }
		for i, draw := range []func([]float64){rows, draws} { // in this order, of one stream
			what := []string{"rows", "draws"}[i]
			z, sum, square := make([]float64, q), make([]float64, q), make([]float64, q*q)
			for range times {
				draw(z)
				for e, v := range z {
					sum[e] += (v - want[e]) / float64(times)
					for g := range e + 1 {
						square[e*q+g] += (v - want[e]) * (z[g] - want[g]) / float64(times)
					}
				}
			}
			for e := range q {
				sd := math.Sqrt(wantCov[e*q+e])
				if math.Abs(sum[e]) > 5*sd/math.Sqrt(float64(times)) {
					t.Errorf("%s, %+v, entry %d: mean off by %v, sd %v", what, c, e, sum[e], sd)
				}
				for g := range e + 1 {
					if scale := sd * math.Sqrt(wantCov[g*q+g]); math.Abs(square[e*q+g]-wantCov[e*q+g]) > rough*scale {
						t.Errorf("%s, %+v, entries %d, %d: covariance %v, want %v", what, c, e, g, square[e*q+g], wantCov[e*q+g])
					}
				}
			}
		}
	}
}
