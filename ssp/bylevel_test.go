package ssp

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/release"
)

// leveledRows are what a pass makes of rows of three levels.
func leveledRows(t *testing.T, f *release.Frame, rows ...[]float64) []*BallAccumulator {
	t.Helper()
	all := must.Get(Pass{Columns: len(f.Centre), Dummies: 2, Frame: f}.Gather(1, func(sinks ...func([]float64) error) error {
		return sinks[0](slices.Concat(rows...))
	}))(t)
	parts, _ := Parts[*BallAccumulator](all)
	return parts
}

// levelsApart are, by the sums that noise is put on, in units of the frame, the squared L2 distance of ψ, the
// square of the sum over levels, and the squared distance of products.
func levelsApart(f *release.Frame, x, y []*BallAccumulator) (l2, byLevel, products float64) {
	d, lattice := len(f.Centre), math.Ldexp(1, -2*radiusLattice(f.Radius))
	change := make([]float64, release.Length(d))
	for l := range x {
		before, own := y[l].integers(), 0.0
		for i, z := range x[l].integers() {
			v := toFloat(z.Sub(z, before[i])) * lattice
			if change[i] += v; i < d {
				own += v * v
			}
		}
		n := f.Weight * float64(x[l].N()-y[l].N())
		own += n * n
		l2 += own
		byLevel += math.Sqrt(own)
	}
	for j := range d {
		for k := range d {
			v := change[release.Index(d, j, k)]
			products += v * v
		}
	}
	return l2, byLevel * byLevel, products
}

// TestNeighboursByLevel: through sums of data sets, in integers, no neighbours are further apart than the
// sensitivities that noise is calibrated to; where the whole ball lies in the box, the worst come within 1 %.
func TestNeighboursByLevel(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 1))
	for _, d := range []int{2, 1, 4}[:testsize.Of(1, 3)] {
		frames, inside := framesAround(rng, d, 3)
		for i, f := range frames {
			f.Weight = min(max(f.Radius*[]float64{0.5, 1, 2}[i%3], 1./1024), 1<<20)
			var found [3]float64 // of Gaussian noise, of balls, of products
			for _, apart := range []func(aa, bb, ab float64) float64{
				func(aa, bb, ab float64) float64 { return aa + bb },        // levels differ
				func(aa, bb, ab float64) float64 { return aa + bb - 2*ab }, // or not
				func(aa, bb, ab float64) float64 { return aa*aa + bb*bb - 2*ab*ab },
			} {
				s := mustBall(t, f, d).NewAccumulator()
				find := attack{t, s, 0, true, make([]int64, d), make([]int64, d), apart}
				worst, others := find.climb(rng, 8), inLevel(2, 1, frameRows(rng, 1, f)[0])
				for _, level := range []int{0, 2} {
					x := leveledRows(t, f, others, inLevel(2, level, worst[:d]))
					l2, byLevel, products := levelsApart(f, x, leveledRows(t, f, others, inLevel(2, 2, worst[d:])))
					found = [3]float64{max(found[0], l2), max(found[1], byLevel), max(found[2], products)}
				}
			}
			levels, products := f.LevelSensitivity(release.Gaussian, release.ReplaceOne)
			inBalls, _ := f.LevelSensitivity(release.Ball, release.ReplaceOne)
			for k, most := range []*big.Rat{levels, inBalls, products} {
				ratio := math.Sqrt(found[k] / ratToFloat(most))
				if ratio > 1+1e-12 || i >= inside && ratio < 0.99 && !(d == 1 && k == 2) && !(k == 1 && f.Weight < f.Radius/2) {
					t.Errorf("d = %d, frame %+v: found %v of sensitivity %d", d, f, ratio, k)
				}
			}
			levels, products = f.LevelSensitivity(release.Gaussian, release.AddRemove)
			find := attack{t, mustBall(t, f, d).NewAccumulator(), 0, false, make([]int64, d), nil, nil}
			worst, others := find.climb(rng, 4), inLevel(2, 1, frameRows(rng, 1, f)[0])
			l2, byLevel, ofProducts := levelsApart(f, leveledRows(t, f, others, inLevel(2, i%3, worst[:d])), leveledRows(t, f, others))
			for k, ratio := range []float64{l2 / ratToFloat(levels), byLevel / ratToFloat(levels), ofProducts / ratToFloat(products)} {
				if ratio > 1+1e-12 || i >= inside && ratio < 0.98 {
					t.Errorf("d = %d, frame %+v, one row more: found the square of %v of sensitivity %d", d, f, math.Sqrt(ratio), k)
				}
			}
		}
	}
}

// TestNoiseByLevel: in the coordinates of ψ and of products noise has the norm of its law, level by level, in each half
// of the share, from the statement alone; of 0.9 times the scale tests say so. Levels have balls of their own.
func TestNoiseByLevel(t *testing.T) {
	testsize.Full(t, "TestNoiseOfLooks has looks at rows without levels, and TestPublishLevels levels")
	const looks, share = 2000, 0.4
	rng := rand.New(rand.NewPCG(23, 2))
	f := testFrame(rng, 2, 2)
	f.Radius, f.Weight = 1.7, 1.1
	f = RoundFrame(f)
	var rows [][]float64
	for i, row := range frameRows(rng, 10, f) {
		rows = append(rows, inLevel(2, i%3, row))
	}
	parts := leveledRows(t, f, rows...)
	clear, _, exact, err := mustBudget(t, release.Privacy{Epsilon: 1e4, Neighbours: release.ReplaceOne}).PublishLevelLook(parts, f, 1, seeded(1))
	if err != nil || clear.Noise.SD() > 0.01 {
		t.Fatal(clear, err)
	}
	lattice := math.Ldexp(1, -2*radiusLattice(f.Radius))
	at := 3
	products := make([]float64, release.Length(2))
	for l, part := range parts { // the sums themselves
		exact[l] = float64(part.N())
		for i, z := range part.integers() {
			if v := toFloat(z) * lattice; i < 2 {
				exact[at] = v
				at++
			} else {
				products[i] += v
			}
		}
	}
	copy(exact[at:], products[2:])
	for _, pr := range []release.Privacy{budgets[0], budgets[2]}[:testsize.Of(1, 2)] {
		b, e := mustBudget(t, pr), seeded(25)
		levels, squares := 2*math.Sqrt(1.1*1.1+1.7*1.7)/(share/2*pr.Epsilon), math.Sqrt2*1.7*1.7/(share/2*pr.Epsilon)
		if pr.Delta > 0 {
			sigma, _ := accounting.Sigma(pr.Epsilon, pr.Delta, 1)
			levels, squares = 2*1.7*sigma/math.Sqrt(share/2), math.Sqrt2*1.7*1.7*sigma/math.Sqrt(share/2)
		}
		norms := make([][]float64, 4)
		for range looks {
			_, _, z, err := b.PublishLevelLook(parts, f, share, e)
			must.Do(t, err)
			for i := range z {
				z[i] -= exact[i]
			}
			for l := range 3 {
				norms[l] = append(norms[l], math.Sqrt(1.1*1.1*z[l]*z[l]+z[3+2*l]*z[3+2*l]+z[4+2*l]*z[4+2*l])/levels)
			}
			norms[3] = append(norms[3], math.Sqrt(z[9]*z[9]+2*z[10]*z[10]+z[11]*z[11])/squares)
		}
		if r := correlation(norms[0], norms[1]); math.Abs(r) > 5/math.Sqrt(looks) {
			t.Errorf("%+v: norms of two levels have a correlation of %v", pr, r)
		}
		limit := 2.76 / math.Sqrt(looks)
		for k, norm := range norms { // which it sorts
			if d := distanceTo(norm, normCDF(pr, 3)); d > limit {
				t.Errorf("%+v: norm %d is %.3f from its law", pr, k, d)
			}
			for i := range norm {
				norm[i] *= 0.9
			}
			if d := distanceTo(norm, normCDF(pr, 3)); d <= limit {
				t.Errorf("%+v: norm %d with 0.9 of its noise passes", pr, k)
			}
		}
	}
}

func correlation(x, y []float64) float64 {
	var sx, sy, xx, yy, xy float64
	for i, v := range x {
		sx, sy, xx, yy, xy = sx+v, sy+y[i], xx+v*v, yy+y[i]*y[i], xy+v*y[i]
	}
	n := float64(len(x))
	return (xy - sx*sy/n) / math.Sqrt((xx-sx*sx/n)*(yy-sy*sy/n))
}

// TestLeveledRefuses: a row that is in no level is refused, and nothing prints.
func TestLeveledRefuses(t *testing.T) {
	empty := must.Get(Pass{Columns: 1, Dummies: 2, Frame: boxFrame(1), Radii: true}.Empty())(t)
	for says, row := range map[string][]float64{"no level": {0, -1, 0}, "in several": {1, 1, 0}, "behind 2 columns": {-1, 1, 3}} {
		must.Fail(t, empty().AddRows(row), says)
	}
	s := empty()
	if err := s.AddRows([]float64{-1, 1, 0.73}); err != nil || strings.Contains(fmt.Sprintf("%v %+v", s, s), "0.73") {
		t.Error(err, s)
	}
}
