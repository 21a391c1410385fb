package model

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/posterior"
)

// pooledRows are rows (1, x, y) of custodians, and the hierarchy of them.
type pooledRows struct {
	*Hierarchy
	x    [][][]float64
	y    [][]float64
	draw func(rng *rand.Rand) // draws the parameters from their prior
}

// conjugatePrior is for an intercept and a slope.
func conjugatePrior() *Prior {
	return &Prior{Theta: &conjugate.NIG{Mean: []float64{0.3, -0.2}, Precision: []float64{1.5, 0.4, 0.4, 2}, Shape: 6, Scale: 4}}
}

// freePrior has free scales of σ and of the slope.
func freePrior(unscaled bool) *Prior {
	return &Prior{
		Theta:    &conjugate.NIG{Mean: []float64{0.3, -0.2}, Precision: []float64{1.5, 0.6, 0.6, 2 + 0.24}, Shape: 3, Scale: 6},
		Unscaled: unscaled,
		Scales:   []Scale{{SD: 0.5, Sigma: true}, {SD: 1.5, Coefficients: []int{1}, Precision: []float64{2}}},
	}
}

// newPooledRows are of so many rows.
func newPooledRows(prior *Prior, sizes ...int) *pooledRows {
	s, rng := Shape{P: 1, Intercept: true}, rand.New(rand.NewPCG(71, 1))
	r := &pooledRows{}
	for _, n := range sizes {
		var x [][]float64
		for range n {
			x = append(x, []float64{1, rng.NormFloat64()})
		}
		r.x, r.y = append(r.x, x), append(r.y, make([]float64, n))
	}
	r.Hierarchy = NewHierarchy(s, prior, len(sizes))
	conditionals, at := NewConditionals(s, prior, false), &Params{Theta: r.Theta}
	r.draw = func(rng *rand.Rand) {
		conditionals.DrawPrior(at, rng)
		r.Centre[2] = math.Log(at.Sigma2)
		r.drawSpreadPrior(rng)
	}
	return r
}

// drawSpreadPrior draws the spread from its prior and the custodians given that.
func (r *pooledRows) drawSpreadPrior(rng *rand.Rand) {
	for k, sd := range []float64{SpreadSD, SpreadSD, 2 * SpreadLogSigmaSD} {
		r.Phi[k] = math.Log(sd * math.Abs(rng.NormFloat64()))
	}
	u := []float64{rng.Float64(), rng.Float64(), rng.Float64()} // the median is Beta(2, 2)
	slices.Sort(u)
	r.Phi[3] = math.Atanh(2*u[1] - 1)
	r.Spread.Constrain(r.Phi)
	for j := range r.At {
		r.Spread.Draw(r.At[j], r.Centre, rng)
	}
}

// observe draws y given the parameters.
func (r *pooledRows) observe(rng *rand.Rand) {
	for j, x := range r.x {
		for i, row := range x {
			r.y[j][i] = row[0]*r.At[j][0] + row[1]*r.At[j][1] + math.Sqrt(r.sigma2(j))*rng.NormFloat64()
		}
	}
	r.sum()
}

// sum takes the statistics of the rows.
func (r *pooledRows) sum() {
	for j, x := range r.x {
		s := make([]float64, 5)
		for i, row := range x {
			v, y := row[1], r.y[j][i]
			for k, term := range []float64{v, y, v * v, v * y, y * y} {
				s[k] += term
			}
		}
		r.Observe(j, s, float64(len(x)))
	}
}

// law is that of all y, and of θ behind them, given Ω and the scales: every θ_j and, in y, θ
// integrated out.
func (r *pooledRows) law(t *testing.T) (of *distmv.Normal, y []float64) {
	t.Helper()
	var lambda, inverse mat.Dense
	lambda.Scale(math.Exp(-r.Centre[2]), mat.NewDense(2, 2, r.prior.Precision))
	must.Do(t, inverse.Inverse(&lambda))
	triangle := make([]float64, 4) // and υ
	r.Spread.Write(triangle)
	omega := mat.NewDense(2, 2, []float64{triangle[0], triangle[1], triangle[1], triangle[2]})
	var all [][]float64
	var site []int
	for j, x := range r.x {
		y = append(y, r.y[j]...)
		for _, row := range x {
			all, site = append(all, row), append(site, j)
		}
	}
	all, site = append(all, []float64{1, 0}, []float64{0, 1}), append(site, -1, -1)
	k := len(all)
	mean, cov := make([]float64, k), mat.NewSymDense(k, nil)
	for i := range k {
		v := mat.NewVecDense(2, all[i])
		mean[i] = mat.Dot(v, mat.NewVecDense(2, r.prior.Mean))
		for l := range i + 1 {
			u := mat.NewVecDense(2, all[l])
			c := mat.Inner(v, &inverse, u)
			if site[i] >= 0 && site[i] == site[l] {
				c += mat.Inner(v, omega, u)
			}
			if i == l && site[i] >= 0 {
				c += r.sigma2(site[i])
			}
			cov.SetSym(i, l, c)
		}
	}
	of, ok := distmv.NewNormal(mean, cov, nil)
	if !ok {
		t.Fatal("no law")
	}
	return of, y
}

// TestHierarchyMarginal compares log p(Ω | scales, s), and the law of θ that goes with it, with
// those of the rows themselves.
func TestHierarchyMarginal(t *testing.T) {
	r, rng := newPooledRows(conjugatePrior(), 4, 1, 7), rand.New(rand.NewPCG(71, 2))
	r.draw(rng)
	r.observe(rng)
	var first float64
	for trial := range 30 {
		for i := range r.Phi {
			r.Phi[i] = rng.NormFloat64()
		}
		got := r.marginal()
		law, y := r.law(t)
		observed := make([]int, len(y))
		for i := range observed {
			observed[i] = i
		}
		of, ok := law.MarginalNormal(observed, nil)
		theta, ok2 := law.ConditionNormal(observed, y, nil)
		if !ok || !ok2 {
			t.Fatal("no law given y")
		}
		off := got - of.LogProb(y) - r.Spread.LogPrior(r.unused, r.Phi)
		if trial == 0 {
			first = off
		}
		if !(math.Abs(off-first) < 1e-9) {
			t.Errorf("trial %d: log p(Ω | scales, s) is off by %g", trial, off-first)
		}
		want := theta.Mean(nil)
		var precision, inverse mat.Dense
		root := mat.NewDense(2, 2, []float64{r.chol[0], 0, r.chol[2], r.chol[3]})
		precision.Mul(root, root.T())
		must.Do(t, inverse.Inverse(&precision))
		var cov mat.SymDense
		theta.CovarianceMatrix(&cov)
		for k := range 2 {
			if !(math.Abs(r.mean[k]-want[k]) < 1e-9) {
				t.Errorf("trial %d: E[θ_%d | Ω, scales] is %g, want %g", trial, k, r.mean[k], want[k])
			}
			for l := range 2 {
				if !(math.Abs(inverse.At(k, l)-cov.At(k, l)) < 1e-9) {
					t.Errorf("trial %d: Cov θ_%d%d is %g, want %g", trial, k, l, inverse.At(k, l), cov.At(k, l))
				}
			}
		}
	}
}

// TestHierarchySites: draws of θ_j have their laws. Of 50,000 draws the mean of each of 15
// functions is off by five standard errors with probability 6e-7.
func TestHierarchySites(t *testing.T) {
	const draws, bound = 50_000, 5.0
	r, rng := newPooledRows(conjugatePrior(), 4, 1, 7), rand.New(rand.NewPCG(71, 3))
	r.draw(rng)
	r.observe(rng)
	r.setRoot()
	sum, square := make([]float64, 5), make([]float64, 5)
	check := func(name string, want []float64, f func() []float64) {
		clear(sum)
		clear(square)
		for range draws {
			for i, v := range f() {
				sum[i] += v
				square[i] += v * v
			}
		}
		for i, w := range want {
			mean := sum[i] / draws
			sd := math.Sqrt(square[i]/draws - mean*mean)
			if !(math.Abs(mean-w) < bound*sd/math.Sqrt(draws)) {
				t.Errorf("%s: mean of function %d is %g, want %g, sd %g", name, i, mean, w, sd)
			}
		}
	}
	triangle := make([]float64, 4) // and υ
	r.Spread.Write(triangle)
	for j := range r.x {
		sigma2 := r.sigma2(j)
		var precision, cov mat.Dense // Ω⁻¹ + XX/σ_j²
		must.Do(t, precision.Inverse(mat.NewDense(2, 2, []float64{triangle[0], triangle[1], triangle[1], triangle[2]})))
		var linear mat.VecDense
		linear.MulVec(&precision, mat.NewVecDense(2, r.Theta))
		for i, row := range r.x[j] {
			v := mat.NewVecDense(2, row)
			var outer mat.Dense
			outer.Outer(1/sigma2, v, v)
			precision.Add(&precision, &outer)
			linear.AddScaledVec(&linear, r.y[j][i]/sigma2, v)
		}
		must.Do(t, cov.Inverse(&precision))
		var mean mat.VecDense
		mean.MulVec(&cov, &linear)
		a, b := mean.AtVec(0), mean.AtVec(1)
		check("θ_j", []float64{a, b, cov.At(0, 0), cov.At(0, 1), cov.At(1, 1)}, func() []float64 {
			r.drawSites(rng)
			u, v := r.At[j][0]-a, r.At[j][1]-b
			return []float64{u + a, v + b, u * u, u * v, v * v}
		})
	}
}

// scores is Geweke's (2004) test of a sweep: parameters and y from the prior on, against a
// chain that alternates the sweep with y given the parameters.
func (r *pooledRows) scores(draws int, sweep func(*rand.Rand), seed uint64) (z []float64) {
	const chains = 4
	rng := rand.New(rand.NewPCG(71, seed))
	var two [2][][][]float64 // [way][function][chain][draw]
	for way := range two {
		for c := range chains {
			r.draw(rng)
			r.observe(rng)
			for range draws {
				if way == 0 {
					r.draw(rng)
				} else {
					sweep(rng)
				}
				r.observe(rng)
				for f, v := range r.test() {
					if len(two[way]) <= f {
						two[way] = append(two[way], make([][]float64, chains))
					}
					two[way][f][c] = append(two[way][f][c], v)
				}
			}
		}
	}
	for f, a := range two[0] {
		b := two[1][f]
		z = append(z, (mean(a)-mean(b))/math.Hypot(posterior.Of(a).MCSEMean(), posterior.Of(b).MCSEMean()))
	}
	return z
}

func mean(chains [][]float64) (sum float64) {
	all := slices.Concat(chains...)
	for _, v := range all {
		sum += v
	}
	return sum / float64(len(all))
}

// test writes functions of parameters and data, bounded where free scales leave laws
// without moments.
func (r *pooledRows) test() (f []float64) {
	for _, v := range slices.Concat(r.Centre, r.Phi) {
		f = append(f, v, v*v)
	}
	for j, theta := range r.At {
		for k, v := range theta {
			d := v - r.Centre[k]
			f = append(f, v, v*v, d*d, d*r.y[j][0])
		}
		e := r.y[j][0] - theta[0] - theta[1]*r.x[j][0][1]
		f = append(f, e*e, e*e/r.sigma2(j))
	}
	if len(r.mixture.A) > 0 {
		for i, v := range f {
			f[i] = v / (1 + math.Abs(v))
		}
	}
	return f
}

// hierarchyBound on the largest of 56 scores has a false-alarm rate of 3e-5.
const hierarchyBound = 5

func TestHierarchyGeweke(t *testing.T) {
	for name, prior := range map[string]*Prior{"conjugate": conjugatePrior(), "free scales": freePrior(false), "θ not scaled": freePrior(true)} {
		if testing.Short() && name == "free scales" {
			continue // θ not scaled has them too
		}
		r := newPooledRows(prior, 4, 1, 7)
		if z := r.scores(testsize.Of(1500, 6000), func(rng *rand.Rand) {
			if !r.Step(rng) {
				t.Fatal("a step failed")
			}
		}, 4); !(must.Largest(z) < hierarchyBound) {
			t.Errorf("%s: the largest of %d scores is %.2f: %.2f", name, len(z), must.Largest(z), z)
		}
	}
}

// TestHierarchyGewekeFindsFaults plants faults, which the test must find.
func TestHierarchyGewekeFindsFaults(t *testing.T) {
	testsize.Planted(t)
	for name, plant := range map[string]func(*pooledRows) func(*rand.Rand){
		"the precision of θ_j has 0.6 times the rows'": func(r *pooledRows) func(*rand.Rand) {
			scale := func(by float64) {
				for _, s := range r.sites {
					for i := range s.x {
						s.x[i] *= by
					}
					for i := range s.y {
						s.y[i] *= by
					}
				}
			}
			return func(rng *rand.Rand) {
				r.drawSpread(rng)
				r.drawTheta(rng)
				scale(math.Sqrt(0.6))
				r.drawSites(rng)
				scale(math.Sqrt(1 / 0.6))
				r.scales.draw(rng)
			}
		},
		"half the Jacobian of log τ left out": func(r *pooledRows) func(*rand.Rand) {
			r.density = func() float64 { return r.marginal() - 0.5*(r.Phi[0]+r.Phi[1]) } // without all of it there is no law
			return func(rng *rand.Rand) { r.Step(rng) }
		},
		"the part of θ in the prior forgotten in σ²": func(r *pooledRows) func(*rand.Rand) {
			whole := r.prior
			without := &conjugate.NIG{Mean: whole.Mean, Precision: make([]float64, 4), Shape: whole.Shape, Scale: whole.Scale}
			return func(rng *rand.Rand) {
				r.drawSpread(rng)
				r.drawTheta(rng)
				r.drawSites(rng)
				r.prior = without
				r.scales.draw(rng)
				r.prior = whole
			}
		},
		"υ left behind where σ_j are held": func(r *pooledRows) func(*rand.Rand) {
			r.scales.centred = r.scales.prior
			return func(rng *rand.Rand) { r.Step(rng) }
		},
		"σ_j without its law": func(r *pooledRows) func(*rand.Rand) {
			own := r.scales.own
			r.scales.own = func() float64 {
				e := (r.At[r.scales.site][2] - r.Centre[2]) / math.Exp(r.Phi[2])
				return own() + 0.25*e*e
			}
			return func(rng *rand.Rand) { r.Step(rng) }
		},
	} {
		r := newPooledRows(conjugatePrior(), 4, 1, 7)
		if worst := must.Largest(r.scores(6000, plant(r), 5)); worst < hierarchyBound {
			t.Errorf("%s went unnoticed: largest score %.2f", name, worst)
		}
	}
}

// TestHierarchyAtTheBorder: rows without residuals, such as projected sums are of, do not send
// σ_j to 0 and υ to infinity: R_j = 2b₀ keeps σ_j² near 2b₀/n_j at least.
func TestHierarchyAtTheBorder(t *testing.T) {
	for _, prior := range []*Prior{conjugatePrior(), freePrior(true)} {
		r, rng := newPooledRows(prior, 40, 30, 70), rand.New(rand.NewPCG(71, 7))
		r.draw(rng)
		r.observe(rng)
		for i, row := range r.x[1] {
			r.y[1][i] = 0.2*row[0] - 0.3*row[1]
		}
		r.sum()
		r.Start(rng)
		for range 2000 {
			if !r.Step(rng) {
				t.Fatal("a step failed")
			}
			if v := r.At[1][2]; !(v > math.Log(r.scales.least/30)-3) {
				t.Fatalf("log σ_j² is %g", v)
			}
		}
	}
}

// TestHierarchyAllocates: no step does.
func TestHierarchyAllocates(t *testing.T) {
	r, rng := newPooledRows(conjugatePrior(), 4, 1, 7), rand.New(rand.NewPCG(71, 6))
	r.draw(rng)
	r.observe(rng)
	if n := testing.AllocsPerRun(20, func() { r.Step(rng) }); n != 0 {
		t.Errorf("%g allocations a step", n)
	}
}
