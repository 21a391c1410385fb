package report

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
	"gonum.org/v1/plot/plotter"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/schema"
)

// area is by the trapezoidal rule.
func area(points plotter.XYs) (sum float64) {
	for i := 1; i < len(points); i++ {
		sum += (points[i].X - points[i-1].X) * (points[i].Y + points[i-1].Y) / 2
	}
	return sum
}

// summarised draws independently, from sample.
func summarised(name string, sample func(*rand.Rand) float64) (*posterior.Parameter, [][]float64) {
	rng := rand.New(rand.NewPCG(1, 2))
	d := &posterior.Draws{Names: []string{name}}
	for range 4 {
		chain := make([]float64, 5000)
		for i := range chain {
			chain[i] = sample(rng)
		}
		d.Chains = append(d.Chains, chain)
	}
	return &posterior.Summarise(d, 0.95).Parameters[0], d.Chains
}

// The estimate is that of the law smoothed by the kernel, N(3, 4 + h²), with an error
// of sd at most √(R(K) f(mode)/(Nh)), R(K) = 1/(2√π) (Silverman 1986, eq. 3.19): five of
// those are passed at one of 161 points, neighbours alike, about once in 1e5.
func TestDensity(t *testing.T) {
	p, chains := summarised("theta[1]", func(rng *rand.Rand) float64 { return 3 + 2*rng.NormFloat64() })
	points, h := density(p, chains), bandwidth(p, chains)
	sd := math.Hypot(2, h)
	tolerance := 5 * math.Sqrt(1/(2*math.Sqrt(math.Pi))/(2*math.Sqrt(2*math.Pi))/(20_000*h))
	for _, at := range points {
		want := math.Exp(-(at.X-3)*(at.X-3)/(2*sd*sd)) / (sd * math.Sqrt(2*math.Pi))
		if math.Abs(at.Y-want) > tolerance {
			t.Errorf("density %g at %g, want %g ± %g", at.Y, at.X, want, tolerance)
		}
	}
	if a := area(points); math.Abs(a-1) > 1e-3 {
		t.Errorf("area %g", a)
	}
}

// Nothing is lost below 0 of a parameter that crowds there: a half-normal has its
// mode at 0, and without the fold the curve would fall to half of it.
func TestDensityAtZero(t *testing.T) {
	p, chains := summarised("sigma", func(rng *rand.Rand) float64 { return math.Abs(rng.NormFloat64()) })
	points := density(p, chains)
	if points[0].X != 0 || math.Abs(points[0].Y-2/math.Sqrt(2*math.Pi)) > 0.1 {
		t.Errorf("starts at %v", points[0])
	}
	if a := area(points); math.Abs(a-1) > 5e-3 {
		t.Errorf("area %g", a)
	}
}

// The marginal priors have area 1, and where the prior is conjugate the variances that package
// conjugate states; those of the default prior are normal and half-t.
func TestPriorDensities(t *testing.T) {
	theta := must.Get(conjugate.NewNIG([]float64{1, -2}, []float64{4, 1, 1, 3}, 6, 2))(t)
	prior := model.DefaultPrior(model.Shape{P: 1, Intercept: true})
	prior.Theta, prior.Unscaled, prior.Scales = theta, false, nil
	d := &schema.Design{Response: schema.Column{Name: "y", Lower: 0, Upper: 10}, Covariates: []schema.Column{{Name: "x", Lower: 1, Upper: 4}}, Intercept: true}
	f := &dpreg.Fit{Design: d, Prior: prior}
	original := must.Get(prior.Original(d.Frame()))(t)
	for units, nig := range map[dpreg.Units]*conjugate.NIG{dpreg.Scaled: theta, dpreg.Original: original.Theta} {
		want := make([]float64, 2, 4)
		nig.VarTheta(want)
		gamma := func(x float64) float64 {
			v, _ := math.Lgamma(x)
			return v
		}
		sigma := math.Sqrt(nig.Scale) * math.Exp(gamma(nig.Shape-0.5)-gamma(nig.Shape))
		want = append(want, distuv.InverseGamma{Alpha: nig.Shape, Beta: nig.Scale}.Variance(), nig.Scale/(nig.Shape-1)-sigma*sigma)
		for j, density := range priorDensities(f, units) {
			sum, mean, square := 0.0, 0.0, 0.0
			step := math.Sqrt(want[j]) / 10
			for i := -200; i <= 200; i++ { // 20 sds either way
				x := float64(i) * step
				w := step * density(x)
				sum, mean, square = sum+w, mean+w*x, square+w*x*x
			}
			if v := square - mean*mean; math.Abs(sum-1) > 1e-3 || math.Abs(v/want[j]-1) > 1e-2 {
				t.Errorf("%s, density %d: area %g, variance %g, want %g", units, j, sum, v, want[j])
			}
		}
	}
	f.Prior = model.DefaultPrior(model.Shape{P: 1, Intercept: true})
	half := distuv.StudentsT{Sigma: 1, Nu: 3}
	for at, densities := 0.1, priorDensities(f, dpreg.Scaled); at < 5; at *= 2 {
		for _, c := range []struct{ got, want float64 }{
			{densities[0](at), distuv.Normal{Sigma: 5}.Prob(at)}, {densities[1](-at), distuv.Normal{Sigma: 2.5}.Prob(at)}, {densities[3](at), 2 * half.Prob(at)},
		} {
			if math.Abs(c.got/c.want-1) > 0.1 {
				t.Errorf("at %g: %g instead of %g", at, c.got, c.want)
			}
		}
	}
}

func TestRankCounts(t *testing.T) {
	// Chain 0 has the lower half of all draws, but for ties across the middle.
	low, high := make([]float64, 100), make([]float64, 100)
	for i := range low {
		low[i], high[i] = float64(i), float64(100+i)
	}
	counts := rankCounts([][]float64{low, high})
	want := append(slices.Repeat([]float64{2}, rankBins/2), make([]float64, rankBins/2)...)
	for b := range want {
		if math.Abs(counts[0][b]-want[b]) > 1e-12 || math.Abs(counts[1][b]-want[rankBins-1-b]) > 1e-12 {
			t.Fatalf("counts %v, want %v and its mirror", counts, want)
		}
	}
	same := rankCounts([][]float64{make([]float64, 40), make([]float64, 40)})
	if got := same[0][rankBins/2]; math.Abs(got-20) > 1e-12 { // all ties at the mean rank 40.5 of 80
		t.Errorf("ties: %v", same)
	}
}
