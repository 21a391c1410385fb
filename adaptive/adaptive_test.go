package adaptive

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/release"
)

func noiseOf(m int, pr release.Privacy, share float64) func(*release.Frame) release.Noise {
	return func(f *release.Frame) release.Noise {
		kind, sd, scale := release.Gaussian, unit(m, pr)*(f.Weight*f.Weight+f.Radius*f.Radius), 1.
		if pr.Delta > 0 {
			sd /= math.Sqrt(share)
		} else {
			kind, scale = release.Ball, math.Sqrt(float64(release.Length(m)+1))
			sd /= share
		}
		sd /= scale
		n := release.Noise{Kind: kind, Scale: sd, Cross: sd / math.Sqrt2, Linear: sd / (math.Sqrt2 * f.Weight)}
		if kind == release.Ball {
			n.Freedom = scale * scale
		}
		return n
	}
}

// sane tells of a frame that no worker can use.
func sane(t *testing.T, f *release.Frame) {
	t.Helper()
	for j, row := range f.Matrix {
		largest := 0.
		for _, w := range row {
			if !(math.Abs(w) <= 1<<20) {
				t.Fatalf("row %d of the matrix: %v", j, row)
			}
			largest = max(largest, math.Abs(w))
		}
		if !(row[j] > largest*0x1p-26) || !(row[j] > 0x1p-20) {
			t.Fatalf("row %d of the matrix: %v", j, row)
		}
		if !(math.Abs(f.Centre[j]) <= 1) {
			t.Fatalf("centre %v", f.Centre)
		}
	}
	if !(f.Lost >= 0 && f.Lost < 1e30) || f.Radius != 0 && !(f.Radius > 1e-9 && f.Radius < 1e20 && f.Weight > 0) {
		t.Fatalf("radius %v, weight %v, lost %v", f.Radius, f.Weight, f.Lost)
	}
}

// Whatever noise says, frames can be used: no rows, one bin, no n, noise of any size.
func TestFramesAreSane(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, m := range []int{2, 5, 30} {
		for _, delta := range []float64{0, 1e-6} {
			for _, epsilon := range []float64{1e-6, 1, 100} {
				for _, n := range []float64{0, 1, 1000, 1e9} {
					pr := release.Privacy{Epsilon: epsilon, Delta: delta, Neighbours: release.AddRemove}
					plan, f := NewPlan(m, n, pr, 4), First(m)
					for i := range plan.Looks {
						r := &release.Radii{Least: -8, Counts: make([]int64, 1+10*i), Scale: 1 / (epsilon * plan.Radii[i])}
						for k := range r.Counts {
							r.Counts[k] = int64(rng.NormFloat64() * r.Scale)
						}
						r.Counts[rng.IntN(len(r.Counts))] += int64(n)
						noise := noiseOf(m, pr, plan.Looks[i])
						f = plan.Radius(i, f, r, n, noise)
						sane(t, f)
						look := release.Look{Frame: f, Radii: r, N: int64(n), Noise: noise(f)}
						z := make([]float64, release.Length(m))
						for k := range z {
							z[k] = rng.NormFloat64() * look.Noise.SD()
						}
						look.Statistics = release.StatisticsFromVector(m, z)
						f = Next(&look, n, m)
						sane(t, f)
					}
				}
			}
		}
	}
}
