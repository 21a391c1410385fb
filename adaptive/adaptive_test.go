package adaptive

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpreg/dpreg/internal/testsize"
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
		if !(row[j] > largest*0x1p-14) || !(row[j] > 0x1p-20) {
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

// Shares are above 0 and add up to at most 1, as exact numbers, and the last look has most
// where rows are many.
func TestShares(t *testing.T) {
	for _, steps := range []int{1, 2, 3, 4, 5, 6, 7, 8, 100} {
		for _, n := range []float64{0, 1e3, 1e4, 1e8} {
			for _, delta := range []float64{0, 1e-6} {
				p, sum := NewPlan(4, n, release.Privacy{Epsilon: 1, Delta: delta}, steps), new(big.Rat)
				for i := range p.Looks {
					if !(p.Looks[i] > 0 && p.Radii[i] > 0) {
						t.Errorf("%v", p)
					}
					sum.Add(sum, new(big.Rat).SetFloat64(p.Looks[i]))
					sum.Add(sum, new(big.Rat).SetFloat64(p.Radii[i]))
				}
				if sum.Cmp(big.NewRat(1, 1)) > 0 || len(p.Looks) != steps || len(p.Radii) != steps {
					t.Errorf("%d steps of %v rows: %v", steps, n, p)
				}
				if n == 1e8 && steps < 9 && p.Looks[steps-1] < .64 {
					t.Errorf("the last look of %v rows has %v", n, p.Looks)
				}
			}
		}
	}
}

// Rows that all lie in one bin are held by its upper edge, and hardly any is said to be lost.
func TestRadiusOfOneBin(t *testing.T) {
	plan, pr := NewPlan(4, 1e5, release.Privacy{Epsilon: 1, Delta: 1e-6}, 3), release.Privacy{Epsilon: 1, Delta: 1e-6}
	r := &release.Radii{Least: -8, Counts: make([]int64, 20), Scale: 1}
	r.Counts[14] = 1e5
	if f := plan.Radius(1, First(4), r, 1e5, noiseOf(4, pr, .8)); math.Abs(f.Radius*f.Radius-8) > 1e-9 || f.Lost > 100 {
		t.Errorf("R² is %v, and %v is lost", f.Radius*f.Radius, f.Lost)
	}
}

// The last look at rows that fill the box is in the box: there its noise moves slopes least.
func TestLastLookOfABox(t *testing.T) {
	pr := release.Privacy{Epsilon: 1, Delta: 1e-6}
	plan, r := NewPlan(4, 1e5, pr, 3), &release.Radii{Least: -8, Counts: make([]int64, 20), Scale: 1}
	r.Counts[14] = 1e5
	f := First(4)
	for j := range 4 {
		f.Matrix[j][j] = 1.1
	}
	if got := plan.Radius(2, f, r, 1e5, noiseOf(4, pr, .8)); got.Matrix[0][0] != 1 || got.Radius != 2 || got.Lost != 0 {
		t.Errorf("the last look has %+v", got)
	}
	for j := range 4 {
		f.Matrix[j][j] = 3
	}
	if got := plan.Radius(2, f, r, 1e5, noiseOf(4, pr, .8)); got.Matrix[0][0] != 3 {
		t.Errorf("the last look has %+v", got)
	}
}

// Few rows lie beyond a gap, census incomes in bounds ten times too wide: their noisy radii, and
// the true ones. The last look's Lost is half to three times what clipping takes; that of a look before
// it, which is not inferred from, is half at most.
func TestRowsBeyondAGap(t *testing.T) {
	noisy := []int64{13, -10, 34, 10, 193, 728, 1544, 2060, 2505, 1328, 860, 514, 128, 13, 29, 42, 56, 40, 12, 25, -5, 34, 5, -25, 1, -7, -14, -2, -7, 6, 4, -13}
	rows := []float64{0, 0, 0, 0, 159, 734, 1558, 2077, 2503, 1315, 855, 507, 120, 35, 26, 26, 51, 20, 9, 5}
	pr := release.Privacy{Epsilon: 1, Delta: 1e-6}
	plan, f := NewPlan(4, 1e4, pr, 3), First(4)
	for j := range 4 {
		f.Matrix[j][j] = 10
	}
	r := &release.Radii{Least: -4, Counts: noisy, Scale: 22}
	for step, ok := range map[int]func(ratio float64) bool{1: func(x float64) bool { return x < .5 }, 2: func(x float64) bool { return x > .5 && x < 3 }} {
		g, lost := plan.Radius(step, f, r, 1e4, noiseOf(4, pr, .7)), 0.
		for i, n := range rows {
			middle := math.Exp2((float64(r.Least+i) - .5) / 2)
			lost += n * max(middle-g.Radius*g.Radius, 0)
		}
		if !ok(g.Lost / lost) {
			t.Errorf("step %d: R is %v, and %v is lost; it is about %v", step, g.Radius, g.Lost, lost)
		}
	}
}

// A histogram of 4000 normal rows in bounds ten times too wide has twenty bins that hold noise alone.
// R² is 8 or 11.3 of the rows themselves; it is far beyond, or the look in the box, in few of 1000 releases (in 54
// at δ = 0 where any edge is believed that stands out by 2.5 sd). Rows with one value far out, twice as many as
// Unseen says, are held or counted as lost.
func TestNoiseFarOut(t *testing.T) {
	releases := testsize.Of(300, 1000)
	for _, delta := range []float64{1e-6, 0} {
		far := func(more float64) (n int) {
			rng := rand.New(rand.NewPCG(3, 4))
			for range releases {
				if f, rows := lookFarOut(delta, more, rng); f.Matrix[0][0] == 1 || f.Radius*f.Radius > 64 || rows > 0 && f.Lost > rows*oneValue/4 {
					n++
				}
			}
			return n
		}
		if n := far(0); n > releases/100 {
			t.Errorf("δ = %g: R² is far beyond the rows in %d of %d releases", delta, n, releases)
		}
		if n := far(2); n < releases*19/20 {
			t.Errorf("δ = %g: rows with one value far out are seen in %d of %d releases", delta, n, releases)
		}
	}
}

// oneValue is ‖u‖² of rows with one value.
const oneValue = 1 << 13

// lookFarOut takes a last look at 4000 normal rows, and at so many times Unseen with one value.
func lookFarOut(delta, more float64, rng *rand.Rand) (f *release.Frame, rows float64) {
	pr, kind := release.Privacy{Epsilon: 1, Delta: delta}, release.Gaussian
	plan := NewPlan(4, 4000, pr, 3)
	r := &release.Radii{Least: -4, Counts: make([]int64, 37), Scale: binSD(pr, plan.Radii[2])}
	noise := func() float64 { return rng.NormFloat64() * r.Scale }
	if delta == 0 {
		kind, r.Scale = release.Ball, r.Scale/math.Sqrt2
		noise = func() float64 { return r.Scale * (rng.ExpFloat64() - rng.ExpFloat64()) }
	}
	rows = math.Round(more * Unseen(r, kind))
	for i := range r.Counts {
		r.Counts[i] = int64(math.Round(noise()))
	}
	for i, n := range []int64{20, 26, 33, 85, 155, 232, 357, 538, 678, 718, 586, 385, 149, 34, 4} {
		r.Counts[i] += n
	}
	r.Counts[30] += int64(rows)
	box := First(4)
	for j := range 4 {
		box.Matrix[j][j] = 50
	}
	return plan.Radius(2, box, r, 4000+rows, noiseOf(4, pr, plan.Looks[2])), rows
}

// boxError against noise that is drawn: squares have sd 1, all other sums 1/√2.
func TestBoxError(t *testing.T) {
	const draws = 40000
	f := &release.Frame{Centre: []float64{.3, -.6, .1}, Matrix: [][]float64{{2}, {-1, 1.5}, {.5, -2, 3}}}
	rng, sum := rand.New(rand.NewPCG(5, 6)), 0.
	for range draws {
		var e [4][4]float64 // of (1, v)
		for i := range 4 {
			for j := max(i, 1); j < 4; j++ {
				e[i][j] = rng.NormFloat64()
				if i < j {
					e[i][j] /= math.Sqrt2
					e[j][i] = e[i][j]
				}
			}
		}
		row := func(j int) (a [4]float64) {
			for k, w := range f.Matrix[j] {
				a[0], a[k+1] = a[0]-w*f.Centre[k], w
			}
			return a
		}
		b := row(2)
		for j := range 2 {
			moved := 0.
			for i, x := range row(j) {
				for k, y := range b {
					moved += x * e[i][k] * y
				}
			}
			sum += moved * moved
		}
	}
	// The root of a mean of 40000 pairs of squares has a relative sd of 1/√(2·40000) at most: 3.5 of it.
	if got, want := boxError(f), math.Sqrt(2*sum/2/draws); math.Abs(got/want-1) > .0125 {
		t.Errorf("%v, and of noise that was drawn %v", got, want)
	}
}

// Of several parts the last look clips fewer rows: noise averages out, and clipping does not.
func TestRadiusOfParts(t *testing.T) {
	pr := release.Privacy{Epsilon: 1, Delta: 1e-6}
	plan, r := NewPlan(4, 5000, pr, 2), &release.Radii{Least: -8, Counts: make([]int64, 20), Scale: 5}
	for i := range 12 { // twice as far, half as many
		r.Counts[8+i] = 2500 >> i
	}
	lost := func(step, parts int) float64 {
		plan.Parts = parts
		return plan.Radius(step, First(4), r, 5000, noiseOf(4, pr, .8)).Lost
	}
	if lost(1, 16) > 0.5*lost(1, 1) || lost(1, 1) != lost(1, 0) || lost(0, 16) != lost(0, 1) {
		t.Errorf("the last look loses %v, of 16 parts %v; the first %v and %v", lost(1, 1), lost(1, 16), lost(0, 1), lost(0, 16))
	}
}

// An empty histogram in noise does not say that rows lie within its least edge: R is such that none
// is clipped.
func TestRadiusOfNothing(t *testing.T) {
	pr := release.Privacy{Epsilon: 1e-3, Delta: 1e-6}
	plan, r := NewPlan(4, 1000, pr, 3), &release.Radii{Least: -26, Counts: make([]int64, 31), Scale: 3000}
	if f := plan.Radius(0, First(4), r, 1000, noiseOf(4, pr, .1)); f.Radius*f.Radius < 4 {
		t.Errorf("R is %v, and %v is lost", f.Radius, f.Lost)
	}
}

// gram is Σ(x − c)(x − c)ᵀ/n in the frame, in which the rows lie as they should if it is near I.
func gram(f *release.Frame, rows [][]float64) (sums []float64, mean, worst float64) {
	m := len(f.Centre)
	z := make([]float64, release.Length(m))
	for _, row := range rows {
		u, square := make([]float64, m), 0.
		for j, w := range f.Matrix {
			for i, x := range w {
				u[j] += x * (row[i] - f.Centre[i])
			}
			square += u[j] * u[j]
		}
		short := 1.
		if square > f.Radius*f.Radius {
			short = f.Radius / math.Sqrt(square)
		}
		for j := range u {
			z[j] += u[j] * short
			for k := j; k < m; k++ {
				z[release.Index(m, j, k)] += u[j] * u[k] * short * short
			}
		}
	}
	for j := range m {
		mean = max(mean, math.Abs(z[j])/float64(len(rows)))
		for k := j; k < m; k++ {
			want := 0.
			if j == k {
				want = 1
			}
			worst = max(worst, math.Abs(z[release.Index(m, j, k)]/float64(len(rows))-want))
		}
	}
	return z, mean, worst
}

func radiiOf(f *release.Frame, rows [][]float64) []int64 {
	counts := make([]int64, 44)
	for _, row := range rows {
		g := *f
		g.Radius = math.Inf(1)
		z, _, _ := gram(&g, [][]float64{row})
		var square float64
		for j := range row {
			square += z[release.Index(len(row), j, j)]
		}
		counts[min(max(int(math.Ceil(2*math.Log2(square)))+14, 0), 43)]++
	}
	return counts
}

// search looks at 20000 rows of a small, tilted ellipsoid, in bounds of which upper ones of columns are above times as
// far from lower ones as they could be. It returns the last frame, how far rows are off its centre and off
// its shape.
func search(pr release.Privacy, steps int, above [4]float64, seed uint64) (f *release.Frame, mean, worst float64) {
	rng, rows := rand.New(rand.NewPCG(3, seed)), make([][]float64, 20000)
	for i := range rows {
		z := rng.NormFloat64()
		for j := range 4 {
			rows[i] = append(rows[i], (1.3-.2*float64(j)+.1*z+.05*rng.NormFloat64())/above[j]-1)
		}
	}
	plan, f := NewPlan(4, 20000, pr, steps), First(4)
	for i := 0; ; i++ {
		r := &release.Radii{Least: -14, Counts: radiiOf(f, rows), Scale: math.Sqrt2 / pr.Epsilon / plan.Radii[i]}
		if pr.Delta > 0 {
			r.Scale = unit(4, pr) / math.Sqrt(plan.Radii[i])
		}
		for k := range r.Counts {
			r.Counts[k] += int64(rng.NormFloat64() * r.Scale)
		}
		noise := noiseOf(4, pr, plan.Looks[i])
		f = plan.Radius(i, f, r, 20000, noise)
		z, mean, worst := gram(f, rows)
		if i == steps-1 {
			return f, mean, worst
		}
		look := release.Look{Frame: f, Radii: r, Noise: noise(f)}
		for k := range z {
			scale := look.Noise.Cross
			if k < 4 {
				scale = look.Noise.Linear
			}
			z[k] += rng.NormFloat64() * scale * look.Noise.SD() / look.Noise.Scale
		}
		look.Statistics = release.StatisticsFromVector(4, z)
		f = Next(&look, 20000, 4)
	}
}

// Looks find the rows, by both laws of noise, in bounds of any width: medians of nine searches. In bounds of one
// column that are far too wide they come near: its spread is off by 1 where they find nothing of it.
func TestFindsTheRows(t *testing.T) {
	gaussian, pure := release.Privacy{Epsilon: 1, Delta: 1e-6}, release.Privacy{Epsilon: 3}
	for _, c := range []struct {
		pr           release.Privacy
		steps        int
		above        [4]float64
		median, most float64 // off the shape
	}{
		{gaussian, 3, [4]float64{1, 1, 1, 1}, .35, .6},
		{release.Privacy{Epsilon: 1}, 3, [4]float64{1, 1, 1, 1}, .35, .6},
		{gaussian, 4, [4]float64{20, 20, 20, 20}, .35, .6},
		{pure, 4, [4]float64{20, 20, 20, 20}, .35, .6},
		{gaussian, 4, [4]float64{1, 1, 1, 10}, .75, .97},
		{pure, 4, [4]float64{10, 1, 1, 1}, .75, .97},
	} {
		var of [4][]float64
		for seed := range uint64(9) {
			f, mean, worst := search(c.pr, c.steps, c.above, seed)
			for i, x := range []float64{mean, worst, f.Radius, f.Lost} {
				of[i] = append(of[i], x)
			}
		}
		for i := range of {
			slices.Sort(of[i])
		}
		if mean, worst, radius, lost := of[0], of[1], of[2], of[3]; !(mean[4] < .15 && mean[8] < .3 && worst[4] < c.median && worst[8] < c.most && radius[4] < 5 && lost[4] < 2000) {
			t.Errorf("%+v: in last frames rows are %.2g off the centre and %.2g off the shape, R is %.3g, and %.3g is lost", c, mean, worst, radius, lost)
		}
	}
}

// Where noise hides the rows, the frame stays about the box.
func TestFindsNothing(t *testing.T) {
	f, _, _ := search(release.Privacy{Epsilon: 1e-4}, 3, [4]float64{1, 1, 1, 1}, 4)
	for j, c := range f.Centre {
		if !(math.Abs(c) < .5 && f.Matrix[j][j] > .2) {
			t.Errorf("noise alone made the frame %+v", f)
		}
	}
}

func TestAuto(t *testing.T) {
	for _, c := range []struct {
		m     int
		n     float64
		delta float64
		want  int
	}{{1, 5000, 0, 1}, {2, 500, 0, 1}, {2, 1000, 0, 3}, {2, 5000, 0, 4}, {3, 5000, 0, 4}, {4, 0, 1e-6, 1}, {4, 50, 1e-6, 1}, {4, 442, 1e-6, 3}, {4, 1000, 1e-6, 3}, {4, 2000, 1e-6, 4}, {12, 5000, 1e-6, 4}, {4, 200, 0, 1}, {4, 1000, 0, 3}, {4, 4000, 0, 4}} {
		if got, why := Auto(c.m, c.n, release.Privacy{Epsilon: 1, Delta: c.delta, Neighbours: release.ReplaceOne}); got != c.want {
			t.Errorf("%+v: %d (%s)", c, got, why)
		}
	}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-6*math.Abs(want)+1e-9) {
		t.Errorf("%s is %v, not %v", what, got, want)
	}
}

// The numbers of testdata/prototype.py, an independent derivation of the same rules.
func TestAgainstPrototype(t *testing.T) {
	pr := release.Privacy{Epsilon: 1, Delta: 1e-6, Neighbours: release.ReplaceOne}
	plan := NewPlan(3, 2000, pr, 3)
	for i, share := range []float64{.13707196199378816, .13707196199378816, .49299007126096506} {
		near(t, "a share of a look", plan.Looks[i], share)
		near(t, "a share of radii", plan.Radii[i], []float64{.03426799049844704, .03426799049844704, .16433002375365502}[i])
	}
	f := &release.Frame{Centre: []float64{.1, -.6, .25}, Matrix: [][]float64{{4}, {-1.5, 3}, {.5, -2, 6}}}
	r := &release.Radii{Least: -8, Scale: 9.5, Counts: []int64{3, -7, 5, 20, -4, 16, 40, 33, 70, 110, 160, 230, 301, 330,
		280, 205, 120, 60, 30, -9, 14, 6, -12, 8, 3, -5, 11, 2, -6, 4, 1, 0, -3}}
	first := plan.Radius(0, f, r, 2000, noiseOf(3, pr, plan.Looks[0]))
	near(t, "R", first.Radius, 3.3635856610148585)
	near(t, "κ", first.Weight, 1.6817928305074292)
	near(t, "Lost", first.Lost, 2697.518807321898)
	later := plan.Radius(1, f, r, 2000, noiseOf(3, pr, plan.Looks[1]))
	near(t, "R", later.Radius, 3.3635856610148585)
	near(t, "κ", later.Weight, .8408964152537146)
	near(t, "Lost", later.Lost, 2697.518807321898)
	last := plan.Radius(2, f, r, 2000, noiseOf(3, pr, plan.Looks[2]))
	near(t, "R", last.Radius, 4)
	near(t, "κ", last.Weight, 1)
	near(t, "Lost", last.Lost, 1994.3389615431552)
	next := func(centre, z []float64, w, want [][]float64, wantCentre ...float64) {
		t.Helper()
		in := *later
		in.Centre, in.Matrix = centre, w
		look := &release.Look{Frame: &in, Radii: r, Noise: noiseOf(3, pr, plan.Looks[1])(&in), Statistics: release.StatisticsFromVector(3, z)}
		next := Next(look, 2000, 3)
		for j, c := range wantCentre {
			near(t, "the centre", math.Round(next.Centre[j]*1e8)/1e8, c)
			for i, w := range want[j] {
				near(t, "W", math.Round(next.Matrix[j][i]*1e8)/1e8, w)
			}
		}
	}
	next(f.Centre, []float64{120, -340, 55, 1900, 210, -90, 900, 333, 1500}, f.Matrix,
		[][]float64{{4.11170792}, {-1.50222633, 2.26820289}, {-.11553979, -.7505861, 5.85868362}}, .1149751, -.64900142, .23695852)
	next([]float64{-.75, -.97, -.93}, []float64{120, -40, 55, 700, 210, -90, 5000, 333, 3000}, [][]float64{{4}, {0, 20}, {0, 0, 3}},
		[][]float64{{5.21552688}, {-.16055595, 4.44626661}, {.19741444, -.10584512, 1.83071807}}, -.7350249, -.97099993, -.92086035)
}
