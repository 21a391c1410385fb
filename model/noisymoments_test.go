package model

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// released lists noisy moments of an x of p covariates.
func released(x *XMoments, n, sd float64, rng *rand.Rand) *NoisyMoments {
	u, d := factors(x.P), 1+release.Length(x.P)
	m := &NoisyMoments{P: x.P, N: n}
	for i, places := range sameMoments(x.P) {
		if i == 0 {
			continue
		}
		e := make([]int, x.P)
		for _, j := range slices.Concat(u[places[0]/d], u[places[0]%d]) {
			e[j]++
		}
		m.Exponents = append(m.Exponents, e)
		m.Sums = append(m.Sums, n*x.M[places[0]]+sd*rng.NormFloat64())
		m.SD = append(m.SD, sd)
	}
	return m
}

// discrete returns the moments of a random law on a few points of [−1, 1]^p.
func discrete(p int, rng *rand.Rand) *XMoments {
	points := make([]float64, p*(1+rng.IntN(6)))
	for i := range points {
		points[i] = 2*rng.Float64() - 1
	}
	x, err := sampledX{draws: 50, seed: rng.Uint64(), rand: func(dst []float64, rng *rand.Rand) {
		copy(dst, points[p*rng.IntN(len(points)/p):])
	}}.Moments(p)
	if err != nil {
		panic(err)
	}
	return x
}

// TestProjectMoments: the projection M of A lies in both sets, and is the nearest point
// of them: ⟨A − M, Y − M⟩ ≤ 0 for every Y there.
func TestProjectMoments(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 1))
	for p := 1; p <= 3; p++ {
		same, d := sameMoments(p), 1+release.Length(p)
		for _, sd := range []float64{0.003, 0.03, 0.3} {
			for range testsize.Of(6, 20) {
				a := discrete(p, rng)
				for _, places := range same[1:] {
					e := sd * rng.NormFloat64()
					for _, at := range places {
						a.M[at] += e
					}
				}
				m := &XMoments{P: p, M: slices.Clone(a.M)}
				if err := projectMoments(m); err != nil {
					t.Fatalf("p = %d, sd = %g: %v", p, sd, err)
				}
				twice := slices.Clone(m.M)
				equate(twice, same)
				for i, v := range twice {
					if math.Abs(m.M[i]-v) > 1e-15 {
						t.Fatal("one moment is two numbers, or is out of range")
					}
				}
				values := make([]float64, d)
				if dense.SymEigen(values, make([]float64, d*d), m.M, d, twice); values[0] < -momentTolerance {
					t.Fatalf("an eigenvalue is %g", values[0])
				}
				for range 20 {
					y, inner := discrete(p, rng), 0.0
					for i := range y.M {
						inner += (a.M[i] - m.M[i]) * (y.M[i] - m.M[i])
					}
					if inner > 1e-5 {
						t.Errorf("p = %d, sd = %g: not the nearest: %g", p, sd, inner)
					}
				}
			}
		}
	}
}

// TestObserveMoments: a release with moments of degree 3 and 4 has the others among
// its statistics, and one with all of them is taken at its word.
func TestObserveMoments(t *testing.T) {
	const n = 1000
	for p := 1; p <= 3; p++ {
		x := must.Get(normalLaw(p).Moments(p))(t)
		f := fixedLaw(t, Shape{P: p, Intercept: true}, normalLaw(p))
		params := NewRegressionParams(f.shape)
		params.Sigma2 = 0.1
		f.Set(params)
		s := make([]float64, f.shape.Statistics())
		f.Expect(s, n)
		r := &release.Release{Format: release.Format, N: n, Noise: release.Noise{Kind: release.Laplace, Scale: 1e-3},
			Schema: schema.Design{Response: schema.Column{Name: "y", Lower: -1, Upper: 1}, Intercept: true}}
		for j := range p {
			r.Schema.Covariates = append(r.Schema.Covariates, schema.Column{Name: string(rune('a' + j)), Lower: -1, Upper: 1})
		}
		all := released(x, n, 0, rand.New(rand.NewPCG(33, 1)))
		for _, least := range []int{1, 3} {
			if least == 1 {
				r.Statistics = release.StatisticsFromVector(p+1, make([]float64, len(s)))
			} else {
				r.Statistics = release.StatisticsFromVector(p+1, s)
			}
			r.Moments = &release.Moments{Noise: r.Noise, Exponents: release.MomentExponents(p, least)}
			for _, e := range r.Moments.Exponents {
				i := slices.IndexFunc(all.Exponents, func(o []int) bool { return slices.Equal(o, e) })
				r.Moments.Sums = append(r.Moments.Sums, all.Sums[i])
			}
			obs := must.Get(Observe(r))(t)
			got := must.Get(obs.Moments.XMoments())(t)
			for i, v := range x.M {
				if math.Abs(got.M[i]-v) > 1e-8 {
					t.Errorf("p = %d, degrees from %d: element %d of M is %g, not %g", p, least, i, got.M[i], v)
				}
			}
		}
	}
}

// TestNoisyMoments: hardly any noise leaves the moments as they are, and what is
// too noisy, too large or not there is refused.
func TestNoisyMoments(t *testing.T) {
	rng := rand.New(rand.NewPCG(32, 1))
	for p := 1; p <= 3; p++ {
		want := uniformMoments(p)
		got := must.Get(released(want, 1e6, 1, rng).XMoments())(t)
		for i, v := range want.M { // the noise on a moment has sd 1e-6
			if math.Abs(got.M[i]-v) > 1e-5 {
				t.Errorf("p = %d: element %d of M is %g, not %g", p, i, got.M[i], v)
			}
		}
		if _, err := released(want, 10, 10, rng).XMoments(); err == nil || !strings.Contains(err.Error(), "n·ε is too small") {
			t.Errorf("p = %d: noise of the size of n: %v", p, err)
		}
	}
	one := released(uniformMoments(1), 1000, 1, rng)
	one.Sums = one.Sums[:3]
	one.Exponents = one.Exponents[:3]
	for want, m := range map[string]*NoisyMoments{
		"at most 3":   released(uniformMoments(4), 1000, 1, rng),
		"lack the":    one,
		"noisy count": released(uniformMoments(1), 0, 1, rng),
		"too large":   {P: 1, N: 1, Exponents: [][]int{{1}, {2}, {3}, {4}}, Sums: []float64{math.Inf(1), 0, 0, 0}, SD: make([]float64, 4)},
	} {
		must.Fail(t, must.Err(m.XMoments()), want)
	}
}
