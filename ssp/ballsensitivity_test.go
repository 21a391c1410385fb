package ssp

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/release"
)

// attack looks for neighbours whose sums in a frame are far apart.
type attack struct {
	*testing.T
	*BallAccumulator
	kappa float64                          // in units of the lattice of rows
	pair  bool                             // one row for another; else one row more
	a, b  []int64                          // where the rows are
	apart func(aa, bb, ab float64) float64 // of a pair another distance, squared, by inner products; nil: of φ
}

// distance is ‖φ(a) − φ(b)‖², or ‖φ(a)‖², of the places that the rows take.
func (t *attack) distance(rows []float64) float64 {
	m := t.Dim()
	copy(t.a, t.at(rows[:m]))
	k2 := t.kappa * t.kappa
	norm := k2 + dot(t.a, t.a)
	if !t.pair {
		return norm * norm
	}
	copy(t.b, t.at(rows[m:]))
	if t.apart != nil {
		return t.apart(dot(t.a, t.a), dot(t.b, t.b), dot(t.a, t.b))
	}
	other, inner := k2+dot(t.b, t.b), k2+dot(t.a, t.b)
	return norm*norm + other*other - 2*inner*inner
}

func (t *attack) at(row []float64) []int64 { return t.placed(t.T, row) }

func dot(a, b []int64) (sum float64) {
	for i, x := range a {
		sum += float64(x) * float64(b[i])
	}
	return sum
}

// climb starts at random rows, at corners, near the centre, at opposite rows, and moves one
// value at a time.
func (t *attack) climb(rng *rand.Rand, starts int) (worst []float64) {
	m := t.Dim()
	best := -1.
	for start := range starts {
		rows := make([]float64, 2*m)
		for i := range rows {
			centre := t.ball.frame.Centre[i%m]
			switch x := rng.NormFloat64(); start % 4 {
			case 0:
				rows[i] = 2*rng.Float64() - 1
			case 1:
				rows[i] = math.Copysign(1, x)
			case 2:
				rows[i] = centre + 0.001*x
			case 3:
				rows[i] = centre + x*math.Exp2(-8*rng.Float64())
				if i >= m {
					rows[i] = 2*centre - rows[i-m]
				}
			}
			rows[i] = max(-1, min(1, rows[i]))
		}
		here := t.distance(rows)
		for step := 1.; step > 1e-6; step *= 0.7 {
			for i := range rows {
				for _, to := range []float64{math.Copysign(1, rng.NormFloat64()), rows[i] + step, rows[i] - step, rows[i] + step*rng.NormFloat64()} {
					old := rows[i]
					rows[i] = max(-1, min(1, to))
					if d := t.distance(rows); d > here {
						here = d
					} else {
						rows[i] = old
					}
				}
			}
		}
		if here > best {
			best, worst = here, rows
		}
	}
	return worst
}

// TestNeighboursInFrames: through sums of data sets, in integers, no neighbours are further
// apart than the sensitivity that the noise is calibrated to; and where the whole ball lies
// in the box, the worst that are found come within 1 %.
func TestNeighboursInFrames(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 1))
	for _, m := range []int{2, 3, 1, 5}[:testsize.Of(1, 4)] {
		frames, inside := framesAround(rng, m, 5)
		for i, f := range frames {
			for _, pr := range budgets[:2] {
				f.Weight = f.Radius * []float64{0.2, 0.7, 1, 3}[rng.IntN(4)]
				f.Weight = min(max(f.Weight, 1./1024), 1<<20)
				attained := checkNeighbours(t, rng, mustBudget(t, pr), f)
				if i >= inside && attained < 0.99 && (pr.Neighbours == release.AddRemove || m > 1 && f.Weight <= f.Radius) {
					t.Errorf("m = %d, frame %+v, %s: found only %v of the sensitivity", m, f, pr.Neighbours, attained)
				}
			}
		}
	}
}

// framesAround are frames of which some, from inside on, have all of their ball in the box.
func framesAround(rng *rand.Rand, m, more int) (frames []*release.Frame, inside int) {
	frames = testFrames(rng, m)
	inside = len(frames)
	for range more {
		f := testFrame(rng, m, 40)
		f.Radius = 0.5 + rng.Float64()
		frames = append(frames, RoundFrame(f))
	}
	return frames, inside
}

// checkNeighbours returns what the worst neighbours reach of the sensitivity.
func checkNeighbours(t *testing.T, rng *rand.Rand, b Budget, f *release.Frame) float64 {
	t.Helper()
	m := len(f.Centre)
	ball := mustBall(t, f, m)
	s := ball.NewAccumulator()
	find := attack{t, s, math.Ldexp(f.Weight, radiusLattice(f.Radius)), b.Neighbours == release.ReplaceOne, make([]int64, m), make([]int64, m), nil}
	worst := find.climb(rng, 12)
	noise := must.Get(b.Noise(m, f, 0.5))(t)
	others := frameRows(rng, 2, f)
	got := new(big.Rat).Quo(sumsApart(t, ball, f, others, worst, find.pair), square(noise.Sensitivity))
	if got.Cmp(big.NewRat(1, 1)) > 0 {
		t.Fatalf("m = %d, frame %+v, %s: neighbours are %v times the sensitivity apart", m, f, b.Neighbours, math.Sqrt(ratToFloat(got)))
	}
	return math.Sqrt(ratToFloat(got))
}

// sumsApart is the squared distance in φ of the sums of others and one of the worst rows,
// and of others and the other (or none), in units of the frame.
func sumsApart(t *testing.T, ball *Ball, f *release.Frame, others [][]float64, worst []float64, pair bool) *big.Rat {
	t.Helper()
	m := ball.Dim()
	x, y := ball.NewAccumulator(), ball.NewAccumulator()
	for _, row := range others {
		if x.AddRows(row) != nil || y.AddRows(row) != nil {
			t.Fatal("a row is refused")
		}
	}
	if x.AddRows(worst[:m]) != nil || pair && y.AddRows(worst[m:]) != nil {
		t.Fatal("a row is refused")
	}
	lattice := powerOfTwo(-2 * radiusLattice(f.Radius))
	kappa := square(f.Weight)
	sum := new(big.Rat).Mul(square(float64(x.N()-y.N())), new(big.Rat).Mul(kappa, kappa))
	squares := make(map[int]bool)
	for j := range m {
		squares[release.Index(m, j, j)] = true
	}
	before := y.integers()
	for i, z := range x.integers() {
		d := new(big.Rat).SetInt(z.Sub(z, before[i]))
		d.Mul(d, lattice)
		d.Mul(d, d)
		if i < m {
			d.Mul(d, kappa)
		}
		if !squares[i] {
			d.Add(d, d)
		}
		sum.Add(sum, d)
	}
	return sum
}
