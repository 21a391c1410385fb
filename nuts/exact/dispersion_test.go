package exact

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/model/modeltest"
	"github.com/dpreg/dpreg/nuts"
	"github.com/dpreg/dpreg/release"
)

// TestDispersedSquares takes Σu² of rows, of negative binomial counts, normal x and an index of an sd of ½: given F it must
// be about S, and vary by τ² and hardly more, which a dispersion that is off by a quarter is not.
func TestDispersedSquares(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	const n, most, trials = 500, 200.0, 400
	for _, c := range []struct{ mean, phi float64 }{{2, 1}, {2, 3}, {10, 1}, {10, 5}} {
		eta := math.Log(c.mean) - 0.125
		off, square, wrong := 0.0, 0.0, 0.0
		for range trials {
			sum, squares := 0.0, 0.0
			u, _ := given([]int{n}, 1, rng)
			for _, v := range u {
				mu := math.Exp(eta + 0.5*v[0])
				if c.phi > 1 {
					mu = distuv.Gamma{Alpha: mu / (c.phi - 1), Beta: 1 / (c.phi - 1), Src: rng}.Rand()
				}
				y := min(distuv.Poisson{Lambda: mu, Src: rng}.Rand(), most) / most
				sum, squares = sum+y, squares+(2*y-1)*(2*y-1)
			}
			obs := &model.Observation{Shape: model.Shape{Intercept: true}, N: n, Z: []float64{2*sum - n, squares}, Scale: []float64{1e-3, 1e-3}, Kind: release.Gaussian}
			d := newDispersion(&model.Site{Observation: obs}, ofCounts(most), false)
			expect := func(phi float64) float64 {
				i := newIndex(ofCounts(most), n, 1, 1)
				i.dispersion, i.f[0] = d, 0.5
				i.at[0].root, i.at[0].sum, i.at[0].eta = math.Sqrt(n), sum/math.Sqrt(n), eta
				d.take([]float64{(math.Log(phi) - d.centre) * d.root})
				i.direct()
				d.value(i)
				return (squares - n*d.per) / d.tau
			}
			r := expect(c.phi)
			off, square, wrong = off+r/trials, square+r*r/trials, wrong+expect(1.25*c.phi)/trials
		}
		if math.Abs(off) > 0.4 || square > 2 || square < 0.2 || math.Abs(wrong) < 0.6 {
			t.Errorf("%+v: (Σu² − S)/τ has the mean %.2f and the mean square %.2f, and the mean %.2f of φ off by a quarter", c, off, square, wrong)
		}
	}
}

// TestDispersionDensity holds the density of z against quadrature over Σu², and its derivative against differences.
func TestDispersionDensity(t *testing.T) {
	for _, d := range []dispersion{{z: 3, noise: 2, tau: 1}, {z: 3, noise: 2, tau: 1, laplace: true}, {z: 3, noise: 0.01, tau: 1, laplace: true}, {z: 3, noise: 2, tau: 0.1, laplace: true}} {
		law := distuv.Normal{Sigma: d.noise}.Prob
		if d.laplace {
			law = distuv.Laplace{Scale: d.noise}.Prob
		}
		ofRows := distuv.Normal{Sigma: d.tau}
		constant := math.NaN()
		for _, sum := range []float64{3, -6, 1, 2.9, 5, 9} {
			joint := func(e float64) float64 { return law(d.z-sum-e) * ofRows.Prob(e) }
			kink, total := d.z-sum, 0.0
			for i := -200.0; i < 200; i++ { // about the kink, and about 0
				total += quad.Fixed(joint, kink+i*d.noise*0.2, kink+(i+1)*d.noise*0.2, 20, nil, 0)
			}
			if d.noise*40 < 12*d.tau {
				total = quad.Fixed(func(e float64) float64 { return law(e) * ofRows.Prob(d.z-sum-e) }, -40*d.noise, 0, 400, nil, 0) +
					quad.Fixed(func(e float64) float64 { return law(e) * ofRows.Prob(d.z-sum-e) }, 0, 40*d.noise, 400, nil, 0)
			}
			got, slope := d.at(sum)
			if math.IsNaN(constant) {
				constant = got - math.Log(total)
			}
			if math.Abs(got-constant-math.Log(total)) > 1e-4*(1+math.Abs(got)) {
				t.Errorf("%+v at S = %g: log p %g, by quadrature %g", d, sum, got-constant, math.Log(total))
			}
			const step = 1e-5
			above, _ := d.at(sum + step)
			below, _ := d.at(sum - step)
			if want := (above - below) / (2 * step); math.Abs(slope-want) > 1e-5*(1+math.Abs(want)) {
				t.Errorf("%+v at S = %g: slope %g, by differences %g", d, sum, slope, want)
			}
		}
	}
}

// sharpen leaves slopes their kink, as differences have it.
func (d *dispersion) sharpen() {
	if d != nil {
		d.kink = 0
	}
}

// TestDispersionKink: where noise is wide slopes change sign over a quarter of its scale, with the density's own beyond.
func TestDispersionKink(t *testing.T) {
	d := dispersion{z: 3, noise: 2, tau: 0.01, laplace: true, kink: 2 * kinkOfSquares}
	for _, off := range []float64{-40, -0.5, 0, 0.5, 40} {
		logp, slope := d.at(d.z - off)
		if want := off / math.Sqrt(off*off+0.25) / 2; !(math.Abs(slope-want) < 1e-12) {
			t.Errorf("slope %v of %v, not %v", slope, off, want)
		}
		d.sharpen()
		sharp, _ := d.at(d.z - off)
		if d.kink = 2 * kinkOfSquares; sharp != logp {
			t.Errorf("the density is %v, %v with slopes of its own", logp, sharp)
		}
	}
}

// TestCountsAreTold: the density of each kind of release has its noisy Σy² for counts, and none for what is 0 or 1.
func TestCountsAreTold(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	same := func(name model.Family, got *dispersion, z []float64) {
		t.Helper()
		if told := name == model.Poisson; (got != nil) != told || told && got.z != z[len(z)-1] {
			t.Errorf("%s: %+v, of %v", name, got, z)
		}
	}
	for _, name := range []model.Family{model.Binomial, model.Poisson} {
		c := linkedCustodians(name, 1, false, false)
		problem, _ := c.draw(linkPrior(c.shape), rng)
		for j, s := range newJoint(problem).spokes {
			same(name, s.(*spoke).family.dispersion, problem.Sites[j].Z)
		}
		same(name, newGeneralized(problem.Sites[0], problem.Prior, familyOf(name, problem.Sites[0].Upper)).linked.dispersion, problem.Sites[0].Z)
		_, problem = leveledFamilies(name, 2, 1, 1, linkPrior(model.Shape{P: 2, Intercept: true})).draw(rng)
		same(name, newJoint(problem).spokes[0].(*levelSpoke).family.dispersion, problem.Sites[0].Told.Z)
	}
}

// TestOverdispersedCounts takes ranks of the true slope among draws, of 60 data sets of negative binomial counts of four times
// Poisson's variance, with little noise: they are about uniform, and by Poisson's law they are not.
func TestOverdispersedCounts(t *testing.T) {
	testsize.Full(t, "TestFamilyCheck has a dispersion that is told")
	t.Parallel()
	const phi, most = 4.0, 40.0
	of := testFamily{ofCounts(most), func(eta float64, rng *rand.Rand) float64 {
		rate := distuv.Gamma{Alpha: math.Exp(eta) / (phi - 1), Beta: 1 / (phi - 1), Src: rng}.Rand()
		return min(distuv.Poisson{Lambda: rate, Src: rng}.Rand(), most) / most
	}}
	s := model.Shape{P: 1, Intercept: true}
	truth := &model.Params{Theta: []float64{0.7, 2}, MuX: []float64{0}, Tau: []float64{0.06}}
	slope := func(dispersed bool) [][]float64 {
		ranks := modeltest.Calibrate(t, chainOf(3), 60, false, func(trial int) (mcmc.Kernel[nuts.Info], []float64, *rand.Rand) {
			rng := rand.New(rand.NewPCG(uint64(trial), 40))
			f := generalizedOf(observeRows(truth, s, 500, 0.05, of, release.Gaussian, rng), linkPrior(s), of.family)
			row := []float64{truth.Theta[0], truth.Theta[1], 0, truth.Tau[0], phi}
			if !dispersed {
				f.linked.dispersion, row = nil, row[:4]
			}
			return must.Get(newKernel(f, rng))(t), row, rng
		})
		return ranks[1:2]
	}
	modeltest.Report(t, []string{"slope"}, slope(true))

	if !modeltest.Unlike(slope(false)) {
		t.Error("Poisson's variance went unnoticed")
	}
}
