package audit

import (
	"context"
	"encoding/csv"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/release"
)

// plant is a path of its own, in which faults can be planted.
type plant struct {
	*Audit
	noise   release.Noise // that is stated
	drawn   float64       // the scale that is drawn, over the one stated
	square  func(x, y float64) float64
	entropy func(trial int) *mechanisms.Entropy
	noised  func(p *plant, z []*big.Int, e *mechanisms.Entropy)
	float   bool                                                 // add float64 noise to float64 sums
	count   func(p *plant, n int64, e *mechanisms.Entropy) int64 // add-remove
}

// sound is the path without a fault.
func sound(a *Audit, noise release.Noise) *plant {
	return &plant{Audit: a, noise: noise, drawn: 1, square: clampedProduct, entropy: seeded(9), noised: addNoise, count: addCount}
}

func clamp(x float64) float64 { return min(max(x, lower), upper) }

func scaled(x float64) float64 { return (x + 1) / 2 }

func clampedProduct(x, y float64) float64 {
	return math.Floor(scaled(clamp(x))*lattice+0.5) * math.Floor(scaled(clamp(y))*lattice+0.5)
}

// mechanism is noise on integers in units of unit.
func (p *plant) mechanism(unit float64) mechanisms.Mechanism {
	scale := new(big.Rat).SetFloat64(p.noise.Scale * p.drawn / unit)
	m, err := mechanisms.Laplace(scale)
	if err != nil {
		panic(err)
	}
	return m
}

func addNoise(p *plant, z []*big.Int, e *mechanisms.Entropy) {
	p.mechanism(p.noise.Lattice).AddNoise(z, e)
}

func addCount(p *plant, n int64, e *mechanisms.Entropy) int64 {
	z := []*big.Int{big.NewInt(n)}
	p.mechanism(1).AddNoise(z, e)
	return z[0].Int64()
}

// path publishes what the plant makes of the rows.
func (p *plant) path(_ context.Context, text string) (func(context.Context, int) (*release.Release, error), error) {
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return nil, err
	}
	m := p.Columns
	sums := make([]float64, release.Length(m)) // in units of 2^-40
	for _, record := range records[1:] {
		for j := range m {
			x, err := strconv.ParseFloat(record[j], 64)
			if err != nil {
				return nil, err
			}
			sums[j] += math.Floor(scaled(clamp(x))*lattice+0.5) * lattice
			for k := j; k < m; k++ {
				y, err := strconv.ParseFloat(record[k], 64)
				if err != nil {
					return nil, err
				}
				sums[release.Index(m, j, k)] += p.square(x, y)
			}
		}
	}
	return func(_ context.Context, trial int) (*release.Release, error) {
		e := p.entropy(trial)
		r := &release.Release{Format: release.Format, Schema: *p.design(), Privacy: &p.Privacy, N: int64(len(records) - 1), Noise: p.noise}
		if p.counted() {
			r.N, r.NNoise = p.count(p, r.N, e), p.noise.Scale
		}
		r.Statistics = release.StatisticsFromVector(m, p.publish(sums, e, trial))
		return r, nil
	}, nil
}

func (p *plant) publish(sums []float64, e *mechanisms.Entropy, trial int) []float64 {
	v := make([]float64, len(sums))
	if p.float {
		rng := rand.New(rand.NewPCG(7, uint64(trial)))
		for i, s := range sums {
			v[i] = s*p.noise.Lattice + p.noise.Scale*math.Copysign(math.Log(rng.Float64()), rng.Float64()-0.5)
		}
		return v
	}
	z := make([]*big.Int, len(sums))
	for i, s := range sums {
		z[i], _ = big.NewFloat(s).Int(nil)
	}
	p.noised(p, z, e)
	for i, x := range z {
		f, _ := x.Float64()
		v[i] = f * p.noise.Lattice
	}
	return v
}

// faults are those that the audit must find, and by what. Where it is not said
// otherwise, a fault is of a size that is not missed: p-values are below 1e-50, and
// bounds more than 3 standard errors above the claim.
var faults = map[string]struct {
	neighbours release.Neighbours
	sow        func(*plant)
	releases   int
	found      []string
}{
	// ε is 2/0.7 = 2.86. Expected of 40000 releases are 1250 guesses that are right and 72
	// that are wrong, whose ratio has a log of standard error 0.12: the bound is 0.33 above
	// the claim, a power of 0.997. (All of 30 with other seeds were found.)
	"noise x 0.7": {release.ReplaceOne, func(p *plant) { p.drawn = 0.7 }, 20000, []string{"epsilon", "law"}},
	// Δ₁ = 16/3 without the 4/3 of x: ε is 2·4/3, and the bound 0.2 above the claim, with a
	// standard error of 0.11: a power of 0.96. (30 of 30.)
	"the sensitivity of one entry forgotten": {release.ReplaceOne, func(p *plant) {
		p.noise.Sensitivity, p.noise.Scale = 4, 4/p.Privacy.Epsilon
	}, 20000, []string{"epsilon", "law", "claims"}},
	// The square of 3, which is clamped to 1, is 9, and 9 is the square's upper bound.
	"clamping after squaring": {release.ReplaceOne, func(p *plant) { p.square = squareThenClamp }, 10000, []string{"epsilon", "law"}},
	"n noised upwards only": {release.AddRemove, func(p *plant) {
		p.count = func(p *plant, n int64, e *mechanisms.Entropy) int64 { return n + abs(addCount(p, 0, e)) }
	}, 5000, []string{"law"}},
	"n noised in one of the two data sets only": {release.AddRemove, func(p *plant) {
		p.count = func(p *plant, n int64, e *mechanisms.Entropy) int64 {
			if n == 1 {
				return n
			}
			return addCount(p, n, e)
		}
	}, 20000, []string{"epsilon", "law"}},
	"float noise added after the sum": {release.ReplaceOne, func(p *plant) { p.float = true }, 5000, []string{"lattice"}},
	"noise on a coarser lattice than the sums": {release.ReplaceOne, func(p *plant) {
		p.noised = func(p *plant, z []*big.Int, e *mechanisms.Entropy) {
			noise := zeros(len(z))
			p.mechanism(p.noise.Lattice*lowValues).AddNoise(noise, e)
			for i := range z {
				z[i].Add(z[i], noise[i].Lsh(noise[i], 6))
			}
		}
	}, 5000, []string{"low bits"}},
	"a random stream shared by the entries": {release.ReplaceOne, func(p *plant) {
		p.noised = func(p *plant, z []*big.Int, e *mechanisms.Entropy) {
			noise := zeros(1)
			addNoise(p, noise, e)
			for i := range z {
				z[i].Add(z[i], noise[0])
			}
		}
	}, 5000, []string{"independence"}},
	"a random stream shared by releases": {release.ReplaceOne, func(p *plant) {
		p.entropy = func(trial int) *mechanisms.Entropy { return seeded(9)(trial / 2) }
	}, 5000, []string{"repeated", "independence"}},
	"a random stream shared by two workers": {release.ReplaceOne, func(p *plant) {
		p.entropy = func(trial int) *mechanisms.Entropy { return seeded(9)(trial % 4000) }
	}, 5000, []string{"repeated"}},
}

func zeros(n int) []*big.Int {
	z := make([]*big.Int, n)
	for i := range z {
		z[i] = new(big.Int)
	}
	return z
}

func abs(n int64) int64 { return max(n, -n) }

// squareThenClamp is the product in the data's units, clamped to its bounds there, and
// only then in scaled units: (x+1)(y+1)/4 = (xy + x + y + 1)/4.
func squareThenClamp(x, y float64) float64 {
	product := min(max(x*y, lower*upper), lower*lower)
	return math.Floor((product+clamp(x)+clamp(y)+1)/4*lattice*lattice + 0.5)
}

// foundBy names the bounds and checks that failed, and fails the test unless all of want are among them.
func foundBy(t *testing.T, fault string, r *Result, want []string) (failed []string) {
	t.Helper()
	for _, b := range r.Bounds {
		if b.Certified > b.Claim {
			failed = append(failed, b.Quantity)
		}
	}
	for _, c := range r.Checks {
		if !c.Passed {
			failed = append(failed, c.Name)
		}
	}
	for _, name := range want {
		if !slices.Contains(failed, name) {
			t.Errorf("%s: not found by %s, but by %v:\n%+v", fault, name, failed, r)
		}
	}
	return failed
}

func auditPlant(t *testing.T, neighbours release.Neighbours, releases int, sow func(*plant)) *Result {
	t.Helper()
	a := &Audit{Columns: 2, Privacy: release.Privacy{Epsilon: 2, Neighbours: neighbours}, Noise: release.Laplace, Releases: releases, Seed: 3, Workers: 2}
	b := must.Get(a.open(t.Context(), a.Released()))(t)
	p := sound(a, b.noise)
	sow(p)
	return must.Get(a.Run(t.Context(), p.path))(t)
}

// Every planted fault is found, by each of the bounds and checks named.
func TestFaultsAreFound(t *testing.T) {
	testsize.Planted(t)
	for name, fault := range faults {
		r := auditPlant(t, fault.neighbours, fault.releases, fault.sow)
		failed := foundBy(t, name, r, fault.found)
		if len(r.Failures()) != len(failed) {
			t.Errorf("%s: %d failures in words, %d found", name, len(r.Failures()), len(failed))
		}
	}
}

// The same path without a fault passes: 2e-5 for each.
func TestSoundPlantPasses(t *testing.T) {
	for _, neighbours := range []release.Neighbours{release.ReplaceOne, release.AddRemove}[:testsize.Of(1, 2)] {
		if r := auditPlant(t, neighbours, 5000, func(*plant) {}); len(r.Failures()) > 0 {
			t.Errorf("%s: %v", neighbours, r.Failures())
		}
	}
}
