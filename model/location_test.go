package model

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// mixedRow draws columns 0 and 1, dummies of a factor of 60, 30 and 10 %, column 2, a truth value that hangs on the factor, and
// columns 3 and 4, which are normal given these.
func mixedRow(x []float64, rng *rand.Rand) {
	level := 0
	for u := rng.Float64(); level < 2 && u > []float64{0.6, 0.9}[level]; level++ {
	}
	for j := range 3 {
		x[j] = -1
	}
	if level > 0 {
		x[level-1] = 1
	}
	if rng.Float64() < []float64{0.1, 0.25, 0.2}[level] {
		x[2] = 1
	}
	x[3] = 0.1*x[0] - 0.1*x[2] + 0.25*rng.NormFloat64()
	x[4] = 0.2*x[1] + 0.5*x[3] + 0.2*rng.NormFloat64()
}

var mixedGroups = [][]int{{0, 1}, {2}}

// mixedLaw are mean and covariance of mixedRow, of so many rows, and E[(1, x) E[y | x]] at theta.
func mixedLaw(f Family, most float64, theta []float64, n int) (law *Params, m []float64) {
	const p = 5
	law, m = NewParams(Shape{P: p, Intercept: true}), make([]float64, p+1)
	rng, row, columns, mean := rand.New(rand.NewPCG(3, 1)), make([]float64, p+1), make([][]float64, p), f.Moments(most)
	row[0] = 1
	for range n {
		mixedRow(row[1:], rng)
		eta := floats.Dot(theta, row)
		g, _, _, _ := mean(eta, math.Exp(eta))
		floats.AddScaled(m, g/float64(n), row)
		for j := range p {
			columns[j] = append(columns[j], row[1+j])
		}
	}
	for j := range p {
		law.MuX[j] = stat.Mean(columns[j], nil)
		for k := range p {
			law.Tau[j*p+k] = stat.Covariance(columns[j], columns[k], nil)
		}
	}
	return law, m
}

// solve takes b to coefficients that have m where groups are apart.
func solve(t *testing.T, f Family, most float64, law *Params, groups [][]int, m, b []float64) {
	t.Helper()
	l := newLocation(f, most, 5, nil, groups)
	l.alike = false
	l.Set(law)
	anchorFirmly(t, l, b)
	copy(l.m, m)
	if !l.solve(b) {
		t.Fatalf("%s: no coefficients of these moments", f)
	}
}

// anchorFirmly is Anchor of draws next to b, and of a prior that says nothing.
func anchorFirmly(t *testing.T, l *location, b []float64) {
	t.Helper()
	covariance := mat.NewSymDense(len(b), nil)
	for k := range b {
		covariance.SetSym(k, k, 1e-8)
	}
	if !l.Anchor(b, covariance, make([]float64, len(b)), slices.Repeat([]float64{1e4}, len(b)), nil, 1, 1e8) {
		t.Fatal("no anchor")
	}
}

// TestLocation: coefficients by the law of normal x, or by that of rows of which the factor alone is apart, are taken to those
// that rows have, which they are far from; with columns 0 and 1 and 2 taken to be independent they are not.
func TestLocation(t *testing.T) {
	const n = 400_000
	theta := []float64{-0.8, 0.5, 0.9, 0.7, 1.5, -1}
	for f, most := range map[Family]float64{Binomial: 1, Probit: 1, Poisson: 30} {
		law, m := mixedLaw(f, most, theta, n)
		for _, read := range [][][]int{nil, mixedGroups[:1]} {
			b := make([]float64, len(theta))
			solve(t, f, most, law, read, m, b)
			off := 0.0
			for k, v := range b {
				off = max(off, math.Abs(v-theta[k]))
			}
			l, apart := newLocation(f, most, 5, read, mixedGroups), slices.Clone(b)
			alike := NewParams(Shape{P: 5, Intercept: true})
			alike.Copy(law)
			for j := range 2 {
				alike.Tau[j*5+2], alike.Tau[10+j] = 0, 0
			}
			l.Set(alike)
			anchorFirmly(t, l, b)
			if l.ToRows(apart); !(floats.Distance(apart, theta, math.Inf(1)) > 0.02) {
				t.Errorf("%s: columns that hang on one another are taken to be independent, and coefficients are %v", f, apart)
			}
			l.Set(law)
			anchorFirmly(t, l, b)
			if !l.ToRows(b) || !(off > 0.05) {
				t.Errorf("%s: off by %v before", f, off)
			}
			for k, v := range b {
				if !(math.Abs(v-theta[k]) < 0.01) {
					t.Errorf("%s, %d groups apart: coefficient %d is %v, of rows %v", f, len(read), k, v, theta[k])
				}
			}
		}
	}
}

// TestLocationOfRowsAlike: where all is apart that rows have so, or where a release tells nothing of slopes, nothing moves.
func TestLocationOfRowsAlike(t *testing.T) {
	theta := []float64{-0.8, 0.5, 0.9, 0.7, 1.5, -1}
	law, _ := mixedLaw(Binomial, 1, theta, 20_000)
	same, told := newLocation(Binomial, 1, 5, mixedGroups, mixedGroups), newLocation(Binomial, 1, 5, nil, mixedGroups)
	same.Set(law)
	told.Set(law)
	covariance := mat.NewSymDense(6, nil)
	for k := range 6 {
		covariance.SetSym(k, k, 100)
	}
	told.Anchor(theta, covariance, theta, slices.Repeat([]float64{1e-3}, 6), nil, 1, 1e4)
	for what, l := range map[string]*location{"the same law": same, "nothing is told": told} {
		got := slices.Clone(theta)
		if l.ToRows(got); !(floats.Distance(got[1:], theta[1:], math.Inf(1)) < 1e-4) {
			t.Errorf("%s: %v becomes %v", what, theta, got)
		}
	}
}

// TestMixedSlope compares the derivative of m with differences.
func TestMixedSlope(t *testing.T) {
	theta := []float64{-0.8, 0.5, 0.9, 0.7, 1.5, -1}
	for f, most := range map[Family]float64{Binomial: 1, Probit: 1, Poisson: 4} {
		law, _ := mixedLaw(f, most, theta, 20_000)
		l := NewMixed(f, most, 5, mixedGroups)
		l.Set(law.MuX, law.Tau)
		var want mat.Dense
		want.ReuseAs(6, 6)
		fd.Jacobian(&want, func(dst, x []float64) {
			l.At(x)
			copy(dst, l.M)
		}, theta, &fd.JacobianSettings{Formula: fd.Central})
		l.At(theta)
		for i := range 6 {
			for j := range i + 1 {
				if !(math.Abs(l.slope[i*6+j]-want.At(i, j)) < 1e-7) {
					t.Errorf("%s: slope %d, %d is %v, by differences %v", f, i, j, l.slope[i*6+j], want.At(i, j))
				}
			}
		}
	}
}

// TestLocationStretches: of maximum likelihood from normal x's law, mapped and stretched, sds are those of maximum likelihood on
// rows, which the information of the location model has: W is M of logit.
func TestLocationStretches(t *testing.T) {
	theta, n := []float64{-1.5, 0.1, 0.4, 0.8, 0.7, -0.6}, 1e4
	law, m := mixedLaw(Binomial, 1, theta, 100_000)
	b := slices.Clone(theta)
	solve(t, Binomial, 1, law, nil, m, b)
	l := newLocation(Binomial, 1, 5, nil, mixedGroups)
	l.Set(law)
	l.read.At(b)
	var covariance mat.Dense
	if covariance.Inverse(l.read.derivative()) != nil {
		t.Fatal("singular")
	}
	covariance.Scale(1/n, &covariance)
	precision := mat.DenseCopyOf(l.read.derivative())
	precision.Scale(n, precision)
	l.Anchor(b, mat.NewSymDense(6, slices.Clone(covariance.RawMatrix().Data)), make([]float64, 6), slices.Repeat([]float64{1e4}, 6), nil, 1, n)
	rows := NewMixed(Binomial, 1, 5, mixedGroups)
	rows.Set(law.MuX, law.Tau)
	rows.At(theta)
	want, _ := sandwich(6, rows.slope, rows.slope)
	l.ToRows(slices.Clone(b))
	told := mat.DenseCopyOf(precision)
	l.inform(told.RawMatrix().Data)
	var inverse mat.Dense
	if inverse.Inverse(told) != nil {
		t.Fatal("singular")
	}
	for k, v := range want {
		if got := inverse.At(k, k) * n / v; !(math.Abs(got-1) < 0.02) {
			t.Errorf("coefficient %d: variance without noise over that of rows is %v", k, got)
		}
		if l.stretch[k] != l.unnoised[k] && !(math.Abs(l.stretch[k]/l.unnoised[k]-1) < 0.02) {
			t.Errorf("coefficient %d is stretched by %v, not %v", k, l.stretch[k], l.unnoised[k])
		}
	}
}

// TestApart: groups are of factors and truth values, by type or by what one look tells, and not of products.
func TestApart(t *testing.T) {
	r := &release.Release{N: 1000, Noise: release.Noise{Kind: release.Laplace, Scale: 1}}
	r.Schema.Covariates = []schema.Column{{Name: "x", Upper: 5}, {Name: "fb", Upper: 1, Factor: "f", Level: "b"}, {Name: "fc", Upper: 1, Factor: "f", Level: "c"},
		{Name: "u", Upper: 1, Type: "boolean"}, {Name: "v", Upper: 1}, {Name: "w", Upper: 1}, {Name: "u:v", Upper: 1, Term: []string{"u", "v"}}}
	z := make([]float64, release.Length(8))
	z[release.Index(8, 4, 4)], z[release.Index(8, 5, 5)], z[release.Index(8, 6, 6)] = 999, 600, 1000
	r.Statistics = release.StatisticsFromVector(8, z)
	read, rows := Apart(r)
	if want := [][]int{{1, 2}, {3}, {4}}; read != nil || !slices.EqualFunc(rows, want, slices.Equal) {
		t.Errorf("groups %v and %v, not %v", read, rows, want)
	}
	r.Schema.Covariates = slices.Concat(r.Schema.Covariates[1:3], r.Schema.Covariates[:1], r.Schema.Covariates[3:])
	r.Levels = &release.Levels{Factor: "f", Sums: make([][]float64, 3)}
	read, rows = Apart(r)
	if want := [][]int{{0, 1}, {3}, {4}}; !slices.Equal(read[0], want[0]) || !slices.EqualFunc(rows, want, slices.Equal) {
		t.Errorf("groups %v and %v, not %v", read, rows, want)
	}
}

// TestLocationTakesWhatIsTold: where draws miss what releases tell, θ has that where there is little noise, and it is said; where
// noise hides it, θ stays.
func TestLocationTakesWhatIsTold(t *testing.T) {
	const n = 1e4
	theta, off := []float64{-0.8, 0.5, 0.9, 0.7, 1.5, -1}, []float64{-0.8, 0.3, 0.6, 0.5, 1.2, -0.8}
	law, m := mixedLaw(Binomial, 1, theta, 400_000)
	_, missed := mixedLaw(Binomial, 1, off, 400_000)
	b := make([]float64, 6)
	solve(t, Binomial, 1, law, nil, missed, b)
	covariance := mat.NewSymDense(6, nil)
	for k := range 6 {
		covariance.SetSym(k, k, 1e-3)
	}
	for noise, want := range map[float64][]float64{1e-12: theta, 1: off} {
		l := newLocation(Binomial, 1, 5, nil, mixedGroups)
		l.Set(law)
		l.Anchor(b, covariance, make([]float64, 6), slices.Repeat([]float64{100}, 6), &Released{law, m, slices.Repeat([]float64{noise}, 6)}, 1, n)
		got := slices.Clone(b)
		if ok := l.ToRows(got); !ok || !(floats.Distance(got, want, math.Inf(1)) < 0.02) || l.strained != (noise < 1) {
			t.Errorf("noise %v: %v, not %v; strained: %t", noise, got, want, l.strained)
		}
	}
}

// TestReleases: releases in boxes of their own tell together what their rows do.
func TestReleases(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 7))
	common := schema.Design{Intercept: true, Covariates: []schema.Column{{Name: "u", Lower: -2, Upper: 4}, {Name: "v", Lower: 0, Upper: 2}}, Response: schema.Column{Name: "y", Upper: 5}}
	in := common.Frame()
	var all []*release.Release
	product, mean, scatter := make([]float64, 3), make([]float64, 2), make([]float64, 4)
	const rows = 300.0
	for j, n := range []int{100, 200} {
		d := common
		d.Covariates = []schema.Column{{Name: "u", Lower: -2 - float64(j), Upper: 3}, {Name: "v", Lower: 0, Upper: 2 + float64(j)}}
		own, z := d.Frame(), make([]float64, release.Length(3))
		var sums [2]float64
		for range n {
			x := []float64{rng.Float64() + float64(j), rng.Float64()}
			y := x[0] + x[1]
			row := append(slices.Clone(x), y)
			for k, v := range row {
				row[k] = (v - own.Centre[k]) / own.Half[k]
				z[k] += row[k]
				for i := range k + 1 {
					z[release.Index(3, i, k)] += row[i] * row[k]
				}
			}
			product[0] += y / 5 / rows
			for k := range 2 {
				x[k] = (x[k] - in.Centre[k]) / in.Half[k]
				mean[k] += x[k] / rows
				sums[k] += x[k]
				product[1+k] += x[k] * y / 5 / rows
				for i := range k + 1 {
					scatter[2*k+i] += x[k] * x[i] / rows
				}
			}
		}
		for k := range 2 {
			for i := range k + 1 {
				scatter[2*k+i] -= sums[k] * sums[i] / float64(n) / rows
			}
		}
		all = append(all, &release.Release{N: int64(n), Schema: d, Noise: release.Noise{Kind: release.Gaussian, Scale: 0.5}, Statistics: release.StatisticsFromVector(3, z)})
	}
	got := Releases(all, &in)
	if !floats.EqualApprox(got.Product, product, 1e-12) || !floats.EqualApprox(got.Law.MuX, mean, 1e-12) {
		t.Errorf("%v and %v, of rows %v and %v", got.Product, got.Law.MuX, product, mean)
	}
	for _, at := range []int{0, 2, 3} {
		if !(math.Abs(got.Law.Tau[at]-scatter[at]) < 1e-12) {
			t.Errorf("covariance %v, of rows %v", got.Law.Tau, scatter)
		}
	}
	if want := 2 * 0.25 * 0.25 / (rows * rows); !(math.Abs(got.Noise[0]-want) < 1e-15) {
		t.Errorf("the variance of noise is %v, not %v", got.Noise[0], want)
	}
}
