package model

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

func about(a, b, tol float64) bool { return math.Abs(a-b) <= tol*(1+math.Abs(b)) }

// TestUnits: means and roots of scatters of rows, mapped, are those of mapped rows, which Common undoes;
// what pulls gradients back is their transpose.
func TestUnits(t *testing.T) {
	const m, n = 3, 7
	rng := rand.New(rand.NewPCG(31, 1))
	a := []float64{1.5, 0, 0, -0.4, 1, 0, 0.7, 3, 2}
	u := NewUnits(a, []float64{0.3, 0, -0.7})
	common, own := make([]float64, release.Length(m)), make([]float64, release.Length(m))
	add := func(s, v []float64) {
		r := make([]float64, len(s))
		row(r, v)
		for i, x := range r {
			s[i] += x
		}
	}
	moments := func(s []float64) (mean, factor []float64) {
		mean, factor = slices.Clone(s[:m]), make([]float64, m*m)
		floats.Scale(1.0/n, mean)
		Scatter(factor, s, m, n)
		if !dense.Cholesky(factor, m) {
			t.Fatal("the scatter has no root")
		}
		for i := range m {
			clear(factor[i*m+i+1 : (i+1)*m])
		}
		return mean, factor
	}
	for range n {
		v, w := make([]float64, m), make([]float64, m)
		for j := range v {
			v[j] = rng.NormFloat64()
			w[j] = u.Shift(j)
			for h, x := range v[:j+1] {
				w[j] += a[j*m+h] * x
			}
		}
		add(common, v)
		add(own, w)
	}
	mean, factor := moments(common)
	wantMean, want := moments(own)
	u.Mean(mean)
	u.Factor(factor)
	for i, v := range append(mean, factor...) {
		if w := append(wantMean, want...)[i]; !about(v, w, 1e-12) {
			t.Errorf("number %d of mean and root is %g, want %g", i, v, w)
		}
	}
	u.Common(own, own, n)
	for i, v := range own {
		if !about(v, common[i], 1e-12) {
			t.Errorf("s[%d] = %g, want %g", i, v, common[i])
		}
	}
	u = NewUnits(a, make([]float64, m)) // linear: ⟨g, Ax⟩ = ⟨Aᵀg, x⟩
	for _, c := range []struct {
		size        int
		there, back func([]float64)
	}{{m, u.Mean, u.PullMean}, {m * m, u.Factor, u.PullFactor}} {
		x, g := make([]float64, c.size), make([]float64, c.size)
		for i := range x {
			if c.size == m || i%m <= i/m {
				x[i], g[i] = rng.NormFloat64(), rng.NormFloat64()
			}
		}
		to, back := slices.Clone(x), slices.Clone(g)
		c.there(to)
		c.back(back)
		if left, right := floats.Dot(g, to), floats.Dot(back, x); !about(left, right, 1e-12) {
			t.Errorf("⟨g, Ax⟩ = %g, ⟨Aᵀg, x⟩ = %g", left, right)
		}
	}
}

// TestSpread: the gradient of the prior and of a function of (τ, C), against
// differences; R has a unit diagonal.
func TestSpread(t *testing.T) {
	const k = 5
	s := NewSpread(k-1, nil)
	rng := rand.New(rand.NewPCG(31, 2))
	phi, gTau, gC := make([]float64, s.Dim()), make([]float64, k), make([]float64, k*k)
	for i := range phi {
		phi[i] = 0.7 * rng.NormFloat64()
	}
	for i := range gC {
		gC[i] = rng.NormFloat64()
	}
	for i := range gTau {
		gTau[i] = rng.NormFloat64()
	}
	unused := make([]float64, len(phi))
	value := func() float64 {
		s.Constrain(phi)
		f := s.LogPrior(unused, phi)
		for i, v := range s.Tau {
			f += gTau[i] * v
		}
		for i := range k {
			for j := range i + 1 {
				f += gC[i*k+j] * s.Factor[i*k+j]
			}
		}
		return f
	}
	value()
	for i := range k {
		sum := 0.0
		for _, v := range s.Factor[i*k : i*k+i+1] {
			sum += v * v
		}
		if !about(sum, 1, 1e-12) {
			t.Errorf("R[%d,%d] = %g", i, i, sum)
		}
	}
	grad := make([]float64, len(phi))
	s.LogPrior(grad, phi)
	copy(s.GTau, gTau)
	copy(s.GFactor, gC)
	s.Pull(grad)
	for i, x := range phi {
		const h = 1e-5
		phi[i] = x + h
		up := value()
		phi[i] = x - h
		down := value()
		phi[i] = x
		if d := (up - down) / (2 * h); !about(grad[i], d, 1e-7) {
			t.Errorf("gradient %d: %g, by differences %g", i, grad[i], d)
		}
	}
}

// box is a release of x and y on boxes of their own, with the statistics of rows that
// stand in the data's units.
func box(x, y [2]float64, rows [][2]float64) *release.Release {
	column := func(name string, b [2]float64) schema.Column {
		return schema.Column{Name: name, Lower: b[0], Upper: b[1]}
	}
	d := schema.Design{Response: column("y", y), Covariates: []schema.Column{column("x", x)}, Intercept: true}
	f, s, r := d.Frame(), make([]float64, 5), make([]float64, 5)
	v := make([]float64, 2)
	for _, w := range rows {
		f.Scale(v, w[:])
		row(r, v)
		for i, a := range r {
			s[i] += a
		}
	}
	return &release.Release{Format: release.Format, N: int64(len(rows)), Schema: d,
		Noise: release.Noise{Kind: release.Laplace, Scale: 1}, Statistics: release.StatisticsFromVector(2, s)}
}

// TestNaivePools: exact statistics of two parts of the rows, in boxes of their own,
// have the posterior of all rows in the hull of the boxes.
func TestNaivePools(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 3))
	var all [][2]float64
	for range 40 {
		x := 4 * rng.Float64()
		all = append(all, [2]float64{x, 2 + x + rng.NormFloat64()})
	}
	plan := mcmc.Plan{Chains: 1, Draws: 20, Seed: 3}
	sample := func(rs ...*release.Release) []float64 {
		p := &Problem{Releases: rs, Prior: DefaultPrior(Shape{P: 1, Intercept: true})}
		d := must.Get(Naive{}.Sample(context.Background(), p, plan))(t)
		return d.Chains[0]
	}
	want := sample(box([2]float64{-1, 6}, [2]float64{-5, 12}, all))
	got := sample(box([2]float64{-1, 4}, [2]float64{-5, 11}, all[:15]), box([2]float64{0, 6}, [2]float64{-4, 12}, all[15:]))
	for i, v := range got {
		if !about(v, want[i], 1e-9) {
			t.Fatalf("draw %d: %g from two releases, %g from one", i, v, want[i])
		}
	}
}

// TestJoinRefuses releases in another order, which Arrange would have put right.
func TestJoinRefuses(t *testing.T) {
	a := twoColumns("u", "v")
	p := &Problem{Releases: []*release.Release{a, twoColumns("v", "u")}, Prior: DefaultPrior(Shape{P: 2, Intercept: true})}
	if _, err := p.Join(); err == nil {
		t.Error("releases in different orders were joined")
	}
	p.Releases[1] = p.Releases[1].Arrange(&a.Schema)
	j := must.Get(p.Join())(t)
	if want := (Shape{P: 2, Intercept: true}).RegressionNames(); !slices.Equal(j.Names(), want) {
		t.Errorf("names %q, want %q", j.Names(), want)
	}
}

func twoColumns(names ...string) *release.Release {
	d := schema.Design{Response: schema.Column{Name: "y", Lower: -1, Upper: 1}, Intercept: true}
	for _, name := range names {
		d.Covariates = append(d.Covariates, schema.Column{Name: name, Lower: -1, Upper: 1})
	}
	return &release.Release{Format: release.Format, N: 10, Schema: d, Noise: release.Noise{Kind: release.Laplace, Scale: 1},
		Statistics: release.StatisticsFromVector(3, make([]float64, 9))}
}
