package ssp

import (
	"context"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

func testDesign(m int) *schema.Design {
	d := &schema.Design{Response: schema.Column{Name: "y", Lower: -1, Upper: 1}, Intercept: true}
	for j := 1; j < m; j++ {
		d.Covariates = append(d.Covariates, schema.Column{Name: "x" + strconv.Itoa(j), Lower: -1, Upper: 1})
	}
	return d
}

func testStatistics(t testing.TB, rows ...[]float64) *Statistics {
	t.Helper()
	a := NewAccumulator(len(rows[0]))
	mustAdd(t, a, rows...)
	return a.Statistics()
}

func seeded(seed uint64) *mechanisms.Entropy {
	return mechanisms.Simulated(rand.New(rand.NewPCG(seed, 7)))
}

func pure(epsilon float64) release.Privacy {
	return release.Privacy{Epsilon: epsilon, Neighbours: release.ReplaceOne}
}

// A release is the exact sums plus the noise of the scale that it states, on the
// lattice that it states, and nothing else. At ε = 1e-9 noisy sums have more bits
// than a float64: a sum that was rounded before the noise was added shows.
func TestPublishIsSumsPlusNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 8))
	for i := range 10 {
		m, epsilon := 2+i/2, []float64{0.5, 1e-9}[i%2]
		sumsPlusNoise(t, randomRows(rng, 50, m), pure(epsilon), release.Laplace, mechanisms.Laplace)
	}
}

func sumsPlusNoise(t *testing.T, rows [][]float64, pr release.Privacy, kind release.Kind, law func(*big.Rat) (mechanisms.Mechanism, error)) {
	t.Helper()
	m, s := len(rows[0]), testStatistics(t, rows...)
	before := s.BigInts()
	r := must.Get(Publish(t.Context(), s, testDesign(m), pr, kind, Exact, seeded(3)))(t)
	must.Do(t, r.Validate())
	if !equalInts(s.BigInts(), before) {
		t.Error("Publish changed the statistics")
	}
	if r.N != int64(len(rows)) || !r.Simulated || *r.Privacy != pr || r.Noise.Kind != kind || r.Noise.Lattice != 1./(1<<40) {
		t.Errorf("m = %d: the release says %+v", m, r)
	}
	scale := number.Exactly(r.Noise.Scale)
	noise := must.Get(law(scale.Mul(scale, big.NewRat(1<<40, 1))))(t)
	noise.AddNoise(before, seeded(3))
	for i, got := range r.Statistics.Vector() {
		if want, _ := new(big.Rat).SetFrac(before[i], big.NewInt(1<<40)).Float64(); got != want {
			t.Errorf("m = %d: entry %d is %v, want %v", m, i, got, want)
		}
	}
}

func TestPublishFromTheSystem(t *testing.T) {
	s := testStatistics(t, []float64{0.5, 0.5})
	r := must.Get(Publish(t.Context(), s, testDesign(2), pure(1), release.Laplace, Exact, mechanisms.OS()))(t)
	if r.Simulated {
		t.Error("noise of the operating system is called simulated")
	}
	again := must.Get(Publish(t.Context(), s, testDesign(2), pure(1), release.Laplace, Exact, mechanisms.OS()))(t)
	if r.Statistics.SumY == again.Statistics.SumY { // probability 1e-13
		t.Error("two releases with the same noise")
	}
}

// Over the range of ε, in rational arithmetic on the numbers that are written:
// sensitivity ≥ Δ, scale·ε ≥ sensitivity, and no smaller float64 does.
func TestCalibrationRoundsUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 9))
	epsilons := []float64{MinEpsilon, 1e-3, 0.1, 0.3, 1. / 3, 0.5, 1, math.Nextafter(1, 0), math.Nextafter(1, 2), 3, math.Pi, 1e3, MaxEpsilon}
	for range 2000 {
		epsilons = append(epsilons, math.Pow(10, 24*rng.Float64()-12))
	}
	for i, epsilon := range epsilons {
		m := 2 + i%9
		for kind, delta := range map[Sensitivity]*big.Rat{Exact: sensitivityL1(m, release.ReplaceOne), Paper: PaperSensitivity(m)} {
			c := must.Get(Calibrate(m, pure(epsilon), release.Laplace, kind))(t)
			if number.Exactly(c.Sensitivity).Cmp(delta) < 0 || number.Exactly(math.Nextafter(c.Sensitivity, 0)).Cmp(delta) >= 0 {
				t.Fatalf("m = %d: sensitivity %v is not %v rounded up", m, c.Sensitivity, delta)
			}
			pays := func(scale float64) bool {
				return new(big.Rat).Mul(number.Exactly(scale), number.Decimal(epsilon)).Cmp(number.Exactly(c.Sensitivity)) >= 0
			}
			if !pays(c.Scale) || pays(math.Nextafter(c.Scale, 0)) {
				t.Fatalf("m = %d: scale %v is not the smallest with scale*%v >= %v", m, c.Scale, epsilon, c.Sensitivity)
			}
		}
	}
}

// ε is the decimal that it is written as: 0.1 is one tenth.
func TestDecimal(t *testing.T) {
	for x, want := range map[float64]*big.Rat{0.1: big.NewRat(1, 10), 1e-5: big.NewRat(1, 100000), 2.5: big.NewRat(5, 2), 3e10: big.NewRat(3e10, 1)} {
		if got := number.Decimal(x); got.Cmp(want) != 0 {
			t.Errorf("%v is read as %v", x, got)
		}
	}
}

func TestPublishRefuses(t *testing.T) {
	s := testStatistics(t, []float64{0.8125, -0.4375})
	type request struct {
		s *Statistics
		d *schema.Design
		p release.Privacy
		n release.Kind
		k Sensitivity
	}
	good := request{s, testDesign(2), pure(1), release.Laplace, Exact}
	for name, c := range map[string]struct {
		change func(*request)
		want   string
	}{
		"epsilon zero":      {func(r *request) { r.p.Epsilon = 0 }, "ε must be above 0"},
		"epsilon negative":  {func(r *request) { r.p.Epsilon = -1 }, "ε must be above 0"},
		"epsilon NaN":       {func(r *request) { r.p.Epsilon = math.NaN() }, "ε must be above 0"},
		"epsilon infinite":  {func(r *request) { r.p.Epsilon = math.Inf(1) }, "no privacy to speak of"},
		"epsilon tiny":      {func(r *request) { r.p.Epsilon = 5e-324 }, "nothing is left but noise"},
		"epsilon huge":      {func(r *request) { r.p.Epsilon = 1e300 }, "no privacy to speak of"},
		"delta":             {func(r *request) { r.p.Delta = 1e-6 }, "delta must be 0"},
		"delta NaN":         {func(r *request) { r.p.Delta = math.NaN() }, "delta must be 0"},
		"add-remove, paper": {func(r *request) { r.p.Neighbours, r.k = release.AddRemove, Paper }, "the paper's sensitivity"},
		"neighbours":        {func(r *request) { r.p.Neighbours = "" }, "neighbours must be"},
		"sensitivity":       {func(r *request) { r.k = 7 }, "unknown sensitivity"},
		"gaussian, pure":    {func(r *request) { r.n = release.Gaussian }, "δ must be above 0"},
		"gaussian, 1":       {func(r *request) { r.n, r.p.Delta = release.Gaussian, 1 }, "δ must be below 1"},
		"gaussian, NaN":     {func(r *request) { r.n, r.p.Delta = release.Gaussian, math.NaN() }, "δ must be above 0"},
		"gaussian, tiny":    {func(r *request) { r.n, r.p.Delta = release.Gaussian, 1e-201 }, "as good as none"},
		"gaussian, paper":   {func(r *request) { r.n, r.p.Delta, r.k = release.Gaussian, 1e-6, Paper }, "the paper's sensitivity"},
		"auto, NaN":         {func(r *request) { r.n, r.p.Delta = Auto, math.NaN() }, "δ must be above 0"},
		"auto, negative":    {func(r *request) { r.n, r.p.Delta = Auto, -0.1 }, "δ must be above 0"},
		"noise":             {func(r *request) { r.n = "cauchy" }, "noise must be"},
		"one column":        {func(r *request) { r.s = testStatistics(t, []float64{0.8125}) }, "the sums are over 1 columns, the design has 2"},
		"another design":    {func(r *request) { r.d = testDesign(3) }, "the design has 3"},
		"no rows":           {func(r *request) { r.s = NewAccumulator(2).Statistics() }, "no rows"},
		"bad design":        {func(r *request) { r.d = &schema.Design{} }, "covariate"},
	} {
		r := good
		c.change(&r)
		got, err := Publish(t.Context(), r.s, r.d, r.p, r.n, r.k, seeded(1))
		if err == nil || got != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if strings.Contains(err.Error(), "8125") || strings.Contains(err.Error(), "4375") {
			t.Errorf("%s: the error tells about a row: %v", name, err)
		}
	}
}

func TestPublishHeedsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := Publish(ctx, testStatistics(t, []float64{1, 1}), testDesign(2), pure(1), release.Laplace, Exact, seeded(1))
	if r != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("release %v, error %v", r, err)
	}
}

// The release owns what it says: the caller's design may change afterwards.
func TestPublishCopiesDesign(t *testing.T) {
	d := testDesign(2)
	r := must.Get(Publish(t.Context(), testStatistics(t, []float64{1, 1}), d, pure(1), release.Laplace, Exact, seeded(1)))(t)
	d.Covariates[0].Upper = 1000
	if r.Schema.Covariates[0].Upper != 1 {
		t.Error("the release changed with the caller's design")
	}
}

// An add-remove release has a noisy count of the statistics' scale, and says so;
// it comes of no rows as of one, since an error would tell them apart.
func TestPublishAddRemove(t *testing.T) {
	for _, rows := range [][][]float64{{}, {{1, 1}}, {{0.5, -1}, {1, 1}}} {
		a := NewAccumulator(2)
		for _, row := range rows {
			must.Do(t, a.AddRows(row))
		}
		pr := release.Privacy{Epsilon: 0.5, Neighbours: release.AddRemove}
		r, err := Publish(context.Background(), a.Statistics(), testDesign(2), pr, release.Laplace, Exact, seeded(1))
		if err != nil {
			t.Fatalf("%d rows: %v", len(rows), err)
		}
		if r.NNoise != 12 || r.Noise.Scale != 12 || r.Noise.Sensitivity != 6 {
			t.Errorf("%d rows: noise %+v, on n %v; want scale (1+2+3)/0.5", len(rows), r.Noise, r.NNoise)
		}
	}
}

// TestNoiseOnCount: the noise on n has its law's mean absolute value, b for
// Laplace noise (its standard deviation is b) and σ√(2/π) for Gaussian (σ√(1−2/π)).
// Bounds of 4.4 standard errors: false alarms of 2e-5 in all.
func TestNoiseOnCount(t *testing.T) {
	const n = 4000
	a := NewAccumulator(2)
	for range 1000 {
		must.Do(t, a.AddRows([]float64{0.25, 0.5}))
	}
	s, e := a.Statistics(), seeded(2)
	for kind, c := range map[release.Kind]struct{ delta, mean, sd float64 }{
		release.Laplace:  {0, 1, 1},
		release.Gaussian: {1e-6, math.Sqrt(2 / math.Pi), math.Sqrt(1 - 2/math.Pi)},
	} {
		pr := release.Privacy{Epsilon: 0.1, Delta: c.delta, Neighbours: release.AddRemove}
		sum, scale := 0.0, 0.0
		for range n {
			r := must.Get(Publish(context.Background(), s, testDesign(2), pr, kind, Exact, e))(t)
			sum += math.Abs(float64(r.N - 1000))
			scale = r.NNoise
		}
		mean := sum / n / scale
		if tolerance := 4.4*c.sd/math.Sqrt(n) + 1/(12*scale*scale); math.Abs(mean-c.mean) > tolerance {
			t.Errorf("%s: the noise on n has mean size %.4f of its scale, want %.4f ± %.4f", kind, mean, c.mean, tolerance)
		}
	}
}
