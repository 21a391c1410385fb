package exact

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
)

// noiseLaws are those of a sum, about z, by kind and scale.
func noiseLaws(z, scale float64) map[release.Kind]func(sum float64) float64 {
	return map[release.Kind]func(sum float64) float64{
		release.Laplace:  func(sum float64) float64 { return -math.Abs(z-sum) / scale },
		release.Gaussian: func(sum float64) float64 { return -0.5 * (z - sum) * (z - sum) / (scale * scale) },
	}
}

// TestBinomialSum compares the law of a noisy sum with that of all counts one by one, and its slope with differences. Of a
// million rows terms stand for several.
func TestBinomialSum(t *testing.T) {
	for _, c := range []struct{ n, z, scale, eta float64 }{
		{0, 3.2, 1, 0.4}, {1, -5, 2, -1}, {7, 3.7, 0.01, 0.3}, {40, 12.3, 4, 2}, {40, 60, 3, -2}, {300, -410, 5, 1}, {300, 17, 200, 6},
		{300, 120, 1, -8}, {1e6, 2e5, 900, 0.4}, {1e6, 1.99e5, 2000, 0.45}, {1e6, -9.9e5, 100, -5.3},
	} {
		for kind, noise := range noiseLaws(c.z, c.scale) {
			for _, name := range []model.Family{model.Binomial, model.Probit} {
				if name == model.Probit && math.Abs(c.eta) > 5 { // g is 1 but for a part in ten million: differences are of digits
					continue
				}
				of := familyOf(name, 1)
				sum := newBinomialSum(c.z, c.scale, 1, noise)
				got, slope, _, ok := sum.value(c.n, of.rate(c.eta))
				law, terms := distuv.Binomial{N: c.n, P: name.Mean(c.eta)}, []float64(nil)
				typical := math.Round(law.Mean())
				least := noise(2*typical-c.n) + law.LogProb(typical) - 60 // terms that noise has below are a 1e-20th of one
				for k := range int(c.n) + 1 {
					if of := noise(2*float64(k) - c.n); of > least {
						terms = append(terms, of+law.LogProb(float64(k)))
					}
				}
				within := 1e-9
				if c.n > 1e5 { // sums of a lattice, beside logarithms of factorials
					within = 5e-5
				}
				if want := floats.LogSumExp(terms); !ok || math.Abs(got-want) > within*(1+math.Abs(want)) {
					t.Errorf("%s %s %+v: %v, one by one %v", name, kind, c, got, want)
				}
				want := fd.Derivative(func(eta float64) float64 {
					v, _, _, _ := sum.value(c.n, of.rate(eta))
					return v
				}, c.eta, &fd.Settings{Formula: fd.Central, Step: 1e-4})
				if math.Abs(slope-want) > max(1e-5, 20*within)*(1+math.Abs(want)) {
					t.Errorf("%s %s %+v: slope %v, differences %v", name, kind, c, slope, want)
				}
			}
		}
	}
}

// TestBinomialSumOfCounts compares the law of a noisy sum of clamped counts with that of their convolution: exact where
// hardly any is clamped, and where all are. Between them noise of a twentieth of the range of S, and of more, hides what a
// binomial's shape is off by.
func TestBinomialSumOfCounts(t *testing.T) {
	const most = 20
	of := familyOf(model.Poisson, most)
	for _, n := range []int{1, 4, 30} {
		for _, mean := range []float64{0.05, 1, 6, 14, 20, 30, 45} {
			law, eta := convolved(n, mean, most), math.Log(mean)
			r := of.rate(eta)
			for _, scale := range []float64{0.05, 0.3, 2} {
				for _, off := range []float64{-2, 0, 1.5} {
					z := 2*float64(n)*r.mean/most - float64(n) + off*(scale*float64(n)+2*math.Sqrt(float64(n)*r.variance)/most)
					for kind, noise := range noiseLaws(z, scale*float64(n)) {
						sum := newBinomialSum(z, scale*float64(n), most, noise)
						got, slope, _, ok := sum.value(float64(n), r)
						terms := []float64(nil)
						for k, p := range law {
							terms = append(terms, math.Log(p)+noise(2*float64(k)/most-float64(n)))
						}
						within := 1e-4
						switch {
						case mean == 45:
							within = 0.01
						case mean > 6 && n < 30:
							continue
						case mean > 6:
							within = 0.2
						}
						want := floats.LogSumExp(terms)
						if !ok || math.Abs(got-want) > within {
							t.Errorf("%s n = %d of mean %v, noise %v, %v off: %v, by convolution %v", kind, n, mean, scale, off, got, want)
						}
						by := fd.Derivative(func(eta float64) float64 {
							v, _, _, _ := sum.value(float64(n), of.rate(eta))
							return v
						}, eta, &fd.Settings{Formula: fd.Central, Step: 1e-4})
						if math.Abs(slope-by) > 1e-3*(1+math.Abs(by)) {
							t.Errorf("%s n = %d of mean %v, noise %v, %v off: slope %v, differences %v", kind, n, mean, scale, off, slope, by)
						}
					}
				}
			}
		}
	}
}

// TestDispersedSum compares the law of a noisy sum of counts of φ times Poisson's variance with that of the negative binomial
// of the same mean and variance, count by count, or below it the binomial of whole N, and its slopes with differences.
func TestDispersedSum(t *testing.T) {
	const most = 1000
	for _, c := range []struct{ n, mean, phi float64 }{{3, 0.4, 4}, {30, 2, 1.7}, {30, 2, 0.5}, {400, 5, 12}, {20_000, 0.5, 3}, {30, 2, 1}, {400, 20, 0.2}} {
		of, eta, total := familyOf(model.Poisson, most), math.Log(c.mean), c.n*c.mean
		mass := func(k float64) float64 {
			r := total / (c.phi - 1)
			switch {
			case c.phi > 1:
				return logGamma(k+r) - logGamma(r) - logGamma(k+1) + k*math.Log(1-1/c.phi) - r*math.Log(c.phi)
			case c.phi < 1:
				return distuv.Binomial{N: math.Round(-r), P: 1 - c.phi}.LogProb(k)
			}
			return distuv.Poisson{Lambda: total}.LogProb(k)
		}
		for _, scale := range []float64{0.02, 1, 5} { // in sds of the sum
			sd := scale * 2 / most * math.Sqrt(total*c.phi)
			z := 2*total/most - c.n + sd
			for kind, noise := range noiseLaws(z, sd) {
				law, terms := newBinomialSum(z, sd, most, noise), []float64(nil)
				got, slope, bySpread, ok := law.value(c.n, of.rate(eta).times(c.phi))
				for k := range int(4*total + 100*c.phi) {
					terms = append(terms, mass(float64(k))+noise(2*float64(k)/most-c.n))
				}
				if want := floats.LogSumExp(terms); !ok || !(math.Abs(got-want) < 1e-4) {
					t.Errorf("%s %+v, noise %v: %v, count by count %v", kind, c, scale, got, want)
				}
				by := fd.Derivative(func(eta float64) float64 {
					v, _, _, _ := law.value(c.n, of.rate(eta).times(c.phi))
					return v
				}, eta, &fd.Settings{Formula: fd.Central, Step: 1e-4})
				also := fd.Derivative(func(log float64) float64 {
					v, _, _, _ := law.value(c.n, of.rate(eta).times(math.Exp(log)))
					return v
				}, math.Log(c.phi), &fd.Settings{Formula: fd.Central, Step: 1e-4})
				within := 2e-3
				if c.phi == 1 { // slopes are of normal laws
					within = 0.05
				}
				if math.Abs(slope-by) > within*(1+math.Abs(by)) || math.Abs(bySpread-also) > within*(1+math.Abs(also)) {
					t.Errorf("%s %+v, noise %v: slopes %v and %v, differences %v and %v", kind, c, scale, slope, bySpread, by, also)
				}
			}
		}
	}
}

// convolved is the law of the sum of n Poisson counts, each clamped.
func convolved(n int, mean float64, most int) []float64 {
	all := []float64{1}
	for range n {
		next := make([]float64, len(all)+most)
		for k, p := range all {
			for y := range most + 1 {
				next[k+y] += p * math.Exp(model.Poisson.LogProb(float64(y), math.Log(mean), float64(most)))
			}
		}
		all = next
	}
	return all
}

// TestCountsGradient compares the gradient of three custodians' counts by levels with differences, pooled in part and in
// whole, a level of one being empty.
func TestCountsGradient(t *testing.T) {
	rng := rand.New(rand.NewPCG(66, 1))
	for _, name := range []model.Family{model.Binomial, model.Probit, model.Poisson} {
		for _, partial := range []bool{false, true} {
			c := leveledFamilies(name, 3, 0, 3, linkPrior(model.Shape{P: 2, Intercept: true}))
			_, problem := c.draw(rng)
			if problem.Partial = partial; partial {
				problem.SpreadSD = []float64{0.5, 0.5, 0.5}
			}
			f := newJoint(problem)
			y := make([]float64, f.Dim())
			for !f.start(problem, y, rng) {
			}
			checkLevelsGradient(t, fmt.Sprintf("%s partial=%t", name, partial), f, y, 0.3, 1e-4, rng)
		}
	}
}
