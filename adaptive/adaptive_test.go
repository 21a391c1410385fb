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

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-6*math.Abs(want)+1e-9) {
		t.Errorf("%s is %v, not %v", what, got, want)
	}
}

// The numbers of an independent prototype, in Python, of the same rules.
func TestAgainstPrototype(t *testing.T) {
	pr := release.Privacy{Epsilon: 1, Delta: 1e-6, Neighbours: release.ReplaceOne}
	plan := NewPlan(3, 2000, pr, 3)
	for i, share := range []float64{.105, .11993796674444762, .6243672437072973} {
		near(t, "a share of a look", plan.Looks[i], share)
		near(t, "a share of radii", plan.Radii[i], []float64{.045, .051401985747620414, .05429280380063456}[i])
	}
	f := &release.Frame{Centre: []float64{.1, -.8, .25}, Matrix: [][]float64{{4}, {-1.5, 3}, {.5, -2, 6}}}
	r := &release.Radii{Least: -8, Scale: 9.5, Counts: []int64{3, -7, 5, 20, -4, 16, 40, 33, 70, 110, 160, 230, 301, 330,
		280, 205, 120, 60, 30, -9, 14, 6, -12, 8, 3, -5, 11, 2, -6, 4, 1, 0, -3}}
	first := plan.Radius(0, f, r, 2000, noiseOf(3, pr, plan.Looks[0]))
	near(t, "R", first.Radius, 3.3635856610148585)
	near(t, "κ", first.Weight, 1.6817928305074292)
	near(t, "Lost", first.Lost, 1934.3294900173173)
	later := plan.Radius(1, f, r, 2000, noiseOf(3, pr, plan.Looks[1]))
	near(t, "R", later.Radius, 4)
	near(t, "κ", later.Weight, 1)
	near(t, "Lost", later.Lost, 1231.1496442385749)
	look := release.Look{Frame: later, Radii: r, Noise: noiseOf(3, pr, plan.Looks[1])(later),
		Statistics: release.StatisticsFromVector(3, []float64{120, -340, 55, 1900, 210, -90, 900, 333, 1500})}
	next := Next(&look, 2000, 3)
	for j, c := range []float64{.11495979, -.84890014, .23696718} {
		near(t, "the centre", math.Round(next.Centre[j]*1e8)/1e8, c)
		for i, w := range [][]float64{{4.11166607}, {-1.5349081, 2.31794873}, {-.09038563, -.75903812, 5.6717481}}[j] {
			near(t, "W", math.Round(next.Matrix[j][i]*1e8)/1e8, w)
		}
	}
}
