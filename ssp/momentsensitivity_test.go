package ssp

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/release"
)

// quartic is Σ c_i tⁱ, i ≤ 4.
type quartic [5]*big.Rat

func (q quartic) at(t *big.Rat) *big.Rat {
	sum := new(big.Rat)
	for i := len(q) - 1; i >= 0; i-- {
		sum.Mul(sum, t)
		sum.Add(sum, q[i])
	}
	return sum
}

func (q quartic) derivative() quartic {
	var d quartic
	for i := range d {
		d[i] = new(big.Rat)
		if i+1 < len(q) {
			d[i].Mul(q[i+1], big.NewRat(int64(i+1), 1))
		}
	}
	return d
}

// alongDiagonal is Σ_α u^α at u = (t, …, t) over monomials of degree 1 to 4 of p
// variables, less (1 + pt)²/4, the most that those with y can take off, where y is
// there; and the number of all monomials.
func alongDiagonal(p int, y bool) (q quartic, count int64) {
	q[0] = new(big.Rat)
	for d := 1; d <= release.MomentDegree; d++ {
		c := new(big.Int).Binomial(int64(p+d-1), int64(d)).Int64()
		q[d] = big.NewRat(c, 1)
		count += c
	}
	if y {
		k := int64(p)
		q[0].Sub(q[0], big.NewRat(1, 4))
		q[1].Sub(q[1], big.NewRat(2*k, 4))
		q[2].Sub(q[2], big.NewRat(k*k, 4))
		count += k + 2
	}
	return q, count
}

// TestMomentsL1IsCertified: in rational arithmetic, q is convex (of q″, a quadratic,
// the discriminant is negative) and so lies above its tangent at any t₀, which on
// [−1, 1] falls at most 2|q′(t₀)| below q(t₀). The sensitivity is N − min q, and the
// number used is not below N less that bound, nor more than 2e-9 above N − q(t₀),
// which is attained.
func TestMomentsL1IsCertified(t *testing.T) {
	for p := 1; p <= release.MaxMomentCovariates; p++ {
		for _, c := range []struct {
			y    bool
			used *big.Rat
		}{{false, momentsL1(p, release.ReplaceOne)}, {true, togetherL1(p, release.ReplaceOne)}} {
			q, count := alongDiagonal(p, c.y)
			slope := q.derivative()
			second := slope.derivative()
			if d := new(big.Rat).Mul(second[0], second[2]); second[2].Sign() <= 0 || d.Mul(d, big.NewRat(4, 1)).Cmp(new(big.Rat).Mul(second[1], second[1])) <= 0 {
				t.Fatalf("p = %d: not convex", p)
			}
			low, high := big.NewRat(-1, 1), big.NewRat(1, 1)
			for range 60 {
				middle := new(big.Rat).Add(low, high)
				middle.Quo(middle, big.NewRat(2, 1))
				if slope.at(middle).Sign() < 0 {
					low = middle
				} else {
					high = middle
				}
			}
			attained := new(big.Rat).Sub(big.NewRat(count, 1), q.at(high))
			steep := slope.at(high)
			steep.Abs(steep)
			bound := steep.Mul(steep, big.NewRat(2, 1))
			bound.Add(bound, attained)
			if c.used.Cmp(bound) < 0 && c.used.Cmp(attained) != 0 {
				t.Errorf("p = %d, y %v: %v is below the bound %v", p, c.y, c.used.FloatString(12), bound.FloatString(12))
			}
			if slack, _ := new(big.Rat).Sub(c.used, attained).Float64(); slack > 2e-9 {
				t.Errorf("p = %d, y %v: %g above what is attained", p, c.y, slack)
			}
		}
	}
}

// monomials are those of both vectors, the last exponent that of y.
func monomials(p int, y bool) [][]int {
	var all [][]int
	for _, e := range release.MomentExponents(p, 1) {
		all = append(all, append(e[:p:p], 0))
	}
	if y {
		for j := range p + 2 {
			e := make([]int, p+1)
			e[p] = 1
			if j <= p {
				e[j]++ // x_j y, and y² for j = p
			}
			all = append(all, e)
		}
	}
	return all
}

func power(u []float64, e []int) float64 {
	v := 1.
	for j, k := range e {
		for range k {
			v *= u[j]
		}
	}
	return v
}

// TestMomentsSearch: no pair that a search finds goes beyond what is claimed, and it
// comes within 1 %.
func TestMomentsSearch(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 1))
	for p := 1; p <= release.MaxMomentCovariates; p++ {
		for _, y := range []bool{false, true} {
			all := monomials(p, y)
			over := func(f func(x float64) float64) distance {
				return func(v, w []float64) (sum float64) {
					for _, e := range all {
						sum += f(power(v, e) - power(w, e))
					}
					return sum
				}
			}
			claims := map[string]*big.Rat{"L1": momentsL1(p, release.ReplaceOne)}
			if y {
				claims = map[string]*big.Rat{"L1": togetherL1(p, release.ReplaceOne), "L2": togetherL2Squared(p, release.ReplaceOne)}
			}
			for norm, claim := range claims {
				f := math.Abs
				if norm == "L2" {
					f = func(x float64) float64 { return x * x }
				}
				found, limit := searchPairs(rng, p+1, over(f)), 0.
				limit, _ = claim.Float64()
				if found > limit*(1+1e-12) || found < 0.99*limit {
					t.Errorf("p = %d, y %v, %s: found %v, claimed %v", p, y, norm, found, limit)
				}
			}
		}
	}
}

// searchPairs is a shorter search than that for the statistics.
func searchPairs(rng *rand.Rand, m int, f distance) float64 {
	best := 0.
	for start := range 8 {
		point := make([]float64, 2*m)
		for i := range point {
			point[i] = 2*rng.Float64() - 1
			if start%2 == 1 {
				point[i] = math.Copysign(1, point[i])
			}
		}
		here := f(point[:m], point[m:])
		for sweep := range 60 {
			step := math.Pow(0.85, float64(sweep))
			for i := range point {
				for _, to := range []float64{-1, 1, point[i] + step*rng.NormFloat64(), point[i] - step/4} {
					old := point[i]
					point[i] = max(-1, min(1, to))
					if v := f(point[:m], point[m:]); v > here {
						here = v
					} else {
						point[i] = old
					}
				}
			}
		}
		best = max(best, here)
	}
	return best
}
