package release

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
)

// The bounds are attained: by v = (1,...,1) against v' = 1 - d with
// d = (m+2)/(m+1) everywhere (L1), and by flipping ⌊(m+1)/2⌋ signs (L2). Without
// Σy², by v against (0,...,0,-1) (L1).
func TestBoundsAreAttained(t *testing.T) {
	entries := func(v []float64) []float64 {
		e := append([]float64{}, v...)
		for j := range v {
			for k := j; k < len(v); k++ {
				e = append(e, v[j]*v[k])
			}
		}
		return e
	}
	check := func(r *Release, name string, got float64, bound *big.Rat) {
		if want, _ := bound.Float64(); math.Abs(got-want) > 1e-12*want {
			t.Errorf("m=%d, withheld %v: %s %v, bound %v", r.Dim(), r.WithoutYY(), name, got, want)
		}
	}
	for m := 2; m <= 7; m++ {
		ones, near, flipped, zero := make([]float64, m), make([]float64, m), make([]float64, m), make([]float64, m)
		zero[m-1] = -1
		for j := range m {
			ones[j], near[j], flipped[j] = 1, 1-float64(m+2)/float64(m+1), 1
			if j < (m+1)/2 {
				flipped[j] = -1
			}
		}
		for _, withheld := range []int{0, 1} {
			a, b, c := entries(ones), entries(near), entries(flipped)
			if withheld == 1 {
				b = entries(zero)
			}
			var l1, l2 float64
			for i := range a[:len(a)-withheld] {
				l1 += math.Abs(a[i] - b[i])
				l2 += (a[i] - c[i]) * (a[i] - c[i])
			}
			r := random(m, rand.New(rand.NewPCG(1, 1)))
			r.Statistics = StatisticsFromVector(m, a[:len(a)-withheld])
			boundL1, boundL2 := r.vector().Sensitivity(m, ReplaceOne)
			check(r, "L1", l1, boundL1)
			check(r, "L2²", l2, boundL2)
			// Add-remove: a row of ones adds 1 to n and to every entry.
			r.Privacy.Neighbours = AddRemove
			boundL1, boundL2 = r.vector().Sensitivity(m, AddRemove)
			check(r, "add-remove L1", float64(1+len(a)-withheld), boundL1)
			check(r, "add-remove L2²", float64(1+len(a)-withheld), boundL2)
		}
	}
}

func TestClaim(t *testing.T) {
	down := func(x float64) float64 { return math.Nextafter(x, 0) }
	const s = 5.333333333333333 // 16/3, rounded down
	for _, c := range []struct {
		name  string
		edit  func(r *Release)
		field string // where the error is; "" if there is none
	}{
		{"as written by hand", func(r *Release) {}, ""},
		{"scale one ulp short", func(r *Release) { r.Noise.Scale = down(s) }, "noise.scale"},
		{"decimals by hand", func(r *Release) { r.Privacy.Epsilon, r.Noise.Scale = 0.1, 53.33333333333333 }, ""},
		{"more noise than needed", func(r *Release) { r.Noise.Scale = 24 }, ""},
		{"the paper's sensitivity", func(r *Release) { r.Noise.Sensitivity, r.Noise.Scale = 24, 24 }, ""},
		{"sensitivity too small", func(r *Release) { r.Noise.Sensitivity = 5.333 }, "noise.sensitivity"},
		{"no sensitivity stated", func(r *Release) { r.Noise.Sensitivity, r.Noise.Scale = 0, 1 }, ""},
		{"no privacy stated", func(r *Release) { r.Privacy, r.Noise.Scale = nil, 1 }, ""},
		{"epsilon not binary", func(r *Release) { r.Privacy.Epsilon, r.Noise.Scale = 0.3, 17.77777777777777 }, "noise.scale"},
		{"gaussian", func(r *Release) {
			r.Noise = Noise{Kind: Gaussian, Scale: 10.6, Sensitivity: 2.8284271247461903}
			r.Privacy.Delta = 1e-5
		}, ""}, // m = 2: 2√2, of which ε = 1 and δ = 1e-5 need σ = 10.552
		{"gaussian, scale one in fifty short", func(r *Release) {
			r.Noise = Noise{Kind: Gaussian, Scale: 10.34, Sensitivity: 2.8284271247461903}
			r.Privacy.Delta = 1e-5
		}, "noise.scale"},
		{"gaussian, scale nothing", func(r *Release) {
			r.Noise = Noise{Kind: Gaussian, Scale: 1e-9, Sensitivity: 2.8284271247461903}
			r.Privacy.Delta = 1e-5
		}, "noise.scale"},
		{"gaussian, add-remove", func(r *Release) { // 5/12² + 1/6² = 0.25²
			r.Privacy.Neighbours, r.NNoise, r.Privacy.Delta = AddRemove, 6, 1e-4
			r.Noise = Noise{Kind: Gaussian, Scale: 12, Sensitivity: 2.4494897427831783}
		}, ""}, // μ = 0.25 needs δ = 2.6e-5
		{"gaussian, add-remove, too little noise on n", func(r *Release) {
			r.Privacy.Neighbours, r.NNoise, r.Privacy.Delta = AddRemove, 3, 1e-4
			r.Noise = Noise{Kind: Gaussian, Scale: 12, Sensitivity: 2.4494897427831783}
		}, "noise.scale"},
		{"gaussian, sensitivity too small", func(r *Release) {
			r.Noise = Noise{Kind: Gaussian, Scale: 1, Sensitivity: 2.8}
			r.Privacy.Delta = 1e-5
		}, "noise.sensitivity"},
		{"gaussian without delta", func(r *Release) { r.Noise = Noise{Kind: Gaussian, Scale: 1} }, "privacy.delta"},
		{"add-remove", func(r *Release) {
			r.Privacy.Neighbours, r.NNoise = AddRemove, 6
			r.Noise.Sensitivity, r.Noise.Scale = 6, 6
		}, ""},
		{"add-remove, less noise on n", func(r *Release) {
			r.Privacy.Neighbours, r.NNoise = AddRemove, 2 // 5/10 + 1/2 = 1
			r.Noise.Sensitivity, r.Noise.Scale = 6, 10
		}, ""},
		{"add-remove, too little noise on n", func(r *Release) {
			r.Privacy.Neighbours, r.NNoise = AddRemove, down(2)
			r.Noise.Sensitivity, r.Noise.Scale = 6, 10
		}, "noise.scale"},
		{"extremes", func(r *Release) { r.Noise.Sensitivity, r.Noise.Scale = 1e100, 1e100 }, ""},
	} {
		r := example()
		c.edit(r)
		wantInvalid(t, c.name, r, c.field)
	}
}

// The bound lies below δ, computed with mpmath at 60 digits; and for noise that is
// a tenth short of what a δ asks for, it is above that δ. (For ε ≤ 0.1 and δ > 1e-5
// it is too low for that.)
func TestLeastDelta(t *testing.T) {
	for _, c := range []struct{ epsilon, mu, delta float64 }{
		{0.01, 4.004993765576343, 0.95454206582},
		{0.01, 0.0016664352494632788, 2.60491532451e-13},
		{0.01, 0.0006666518525102515, 1.61724317433e-55},
		{0.01, 0.0003333314815020573, 5.43976532308e-203},
		{0.1, 4.049390153191919, 0.954912165829},
		{0.1, 0.033150177620620225, 1.25576302582e-5},
		{0.1, 0.016643582596529375, 2.59564724743e-12},
		{0.1, 0.0066651858432558286, 1.61628190954e-54},
		{0.1, 0.0033331481687214224, 5.4389513095e-202},
		{1, 4.449489742783178, 0.957806164314},
		{1, 1.0, 0.126936737634},
		{1, 0.31662479035539987, 0.000111559088075},
		{1, 0.16441400296897646, 2.5068420661e-11},
		{1, 0.06651917331936362, 1.60673861401e-53},
		{1, 0.03331483536241292, 5.43082603547e-201},
		{10, 6.898979485566356, 0.966640193919},
		{10, 4.0, 0.233698808096},
		{10, 2.385164807134504, 0.00055277897169},
		{10, 1.4833147735478829, 1.88447427579e-10},
		{10, 0.6524758424985279, 1.5177459351e-52},
		{10, 0.3315017762062022, 5.35103123086e-200},
		{1000, 46.76605857119878, 0.976044400714},
		{1000, 44.224154547626725, 0.300669540559},
		{1000, 41.82186966202994, 0.00125107025675},
		{1000, 39.12205669071391, 8.51999299164e-10},
		{1000, 32.16990566028302, 2.49898438325e-51},
		{1000, 23.85164807134504, 2.17116439914e-198},
		{1000000, 1416.2149765859504, 0.977211691708},
		{1000000, 1413.71365076144, 0.308288591394},
		{1000000, 1411.2167443500307, 0.00134676425153},
		{1000000, 1408.2262902378814, 9.8229138887e-10},
		{1000000, 1399.2931096487744, 3.63186039986e-51},
		{1000000, 1384.5317246354002, 4.80253490415e-198},
	} {
		if least := leastDelta(c.epsilon, c.mu); !(least <= c.delta) {
			t.Errorf("epsilon %v, mu %v: bound %v above delta %v", c.epsilon, c.mu, least, c.delta)
		}
		if least := leastDelta(c.epsilon, c.mu/0.9); !(least > c.delta) {
			t.Errorf("epsilon %v, mu %v: noise one tenth short has bound %v, delta %v", c.epsilon, c.mu, least, c.delta)
		}
	}
}

// Of pure ε, μ and ρ are no less than what the attack by randomised response, at which ε is attained, asks
// for; of Gaussian noise they are those of its sensitivity over its scale.
func TestComposable(t *testing.T) {
	r := func(kind Kind, epsilon, delta, sensitivity, scale float64) *Release {
		x := example()
		x.Privacy = &Privacy{epsilon, delta, ReplaceOne}
		x.Noise = Noise{Kind: kind, Scale: scale, Sensitivity: sensitivity}
		return x
	}
	for _, epsilon := range []float64{1e-6, 0.1, 1, 5, 15.9, 16.1, 100} {
		c := must.Get(r(Laplace, epsilon, 0, 9.375, 9.375/epsilon*1.001).Composable())(t)
		// G_μ at α = 1/(1 + e^ε) is Φ(Φ⁻¹(1−α) − μ), which must not be above α: so Φ(μ/2) ≥ e^ε/(1+e^ε).
		if tail := math.Erfc(c.Mu/2/math.Sqrt2) / 2; tail > 1/(1+math.Exp(epsilon)) || c.Rho < epsilon*epsilon/2 || epsilon < 16 && c.Mu > 2*math.Sqrt(math.Pi/8)*epsilon*(1+1e-6) {
			t.Errorf("ε = %v: %+v", epsilon, c)
		}
	}
	c, err := r(Gaussian, 1, 1e-5, 4, 20).Composable()
	if err != nil || math.Abs(c.Mu-0.2) > 1e-8 || math.Abs(c.Rho-0.02) > 1e-9 {
		t.Errorf("%+v, %v", c, err)
	}
	person := r(Gaussian, 1, 1e-5, 4, 200)
	person.Privacy.Neighbours, person.NNoise = AddRemove, 200
	person.Persons = &Persons{Rows: PersonRows, Most: 5, Scale: 10, Epsilon: 0.1}
	c, err = person.Composable()
	ratio := 5 * math.Hypot(math.Sqrt(15)/200, 1./200)
	if err != nil || math.Abs(c.Rho-(ratio*ratio+0.01)/2) > 1e-9 || c.Mu < ratio {
		t.Errorf("%+v, %v", c, err)
	}
	silent := r(Laplace, 1, 0, 0, 9)
	if _, err := silent.Composable(); err == nil {
		t.Error("what is taken on trust composes")
	}
}
