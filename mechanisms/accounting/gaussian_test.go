package accounting

import (
	"encoding/csv"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
)

// table reads a file of testdata: a first column of text, where there is one,
// and numbers.
func table(t *testing.T, name string, text int) (first []string, numbers [][]float64) {
	t.Helper()
	f := must.Get(os.Open("testdata/" + name))(t)
	defer f.Close()
	r := csv.NewReader(f)
	r.Comment = '#'
	records := must.Get(r.ReadAll())(t)
	for _, record := range records {
		var row []float64
		for _, cell := range record[text:] {
			x := must.Get(strconv.ParseFloat(cell, 64))(t)
			row = append(row, x)
		}
		first, numbers = append(first, record[0]), append(numbers, row)
	}
	return first, numbers
}

// The bound on errors that margin is ten times of, over ε from 0 to 1e12 and δ
// from 1e-300 to 1.
func TestLogDelta(t *testing.T) {
	_, rows := table(t, "logdelta.csv", 0)
	if len(rows) < 130 {
		t.Fatalf("%d rows only", len(rows))
	}
	for _, row := range rows {
		epsilon, sigma, want := row[0], row[1], row[2]
		// The scale of σ and Δ is arbitrary.
		for _, unit := range []float64{1, 0x1p40, 0x1p-300} {
			if got := logDelta(epsilon, sigma*unit, unit); !(math.Abs(got-want) < 1e-12) {
				t.Errorf("epsilon %v, sigma %v: log delta = %v, want %v: off by %.2g", epsilon, sigma, got, want, got-want)
			}
		}
	}
}

func TestGoldens(t *testing.T) {
	quantities, rows := table(t, "gaussian.csv", 1)
	for i, row := range rows {
		sigma, epsilon, delta, sensitivity := row[0], row[1], row[2], row[3]
		got, want, err := 0.0, sigma, error(nil)
		if quantities[i] == "sigma" {
			got, err = Sigma(epsilon, delta, sensitivity)
		} else {
			want = epsilon
			got, err = Epsilon(sigma, delta, sensitivity)
		}
		must.Do(t, err)
		if math.Abs(got-want) > 1e-10*want {
			t.Errorf("%s %v: got %v, want %v", quantities[i], row, got, want)
		}
	}
}

// Over all magnitudes, what is returned has δ(ε, σ, Δ) ≤ δ with the margin, and a
// little less would not do: the two sides of 1 part in 10⁸, or of the next float64
// where (1) is so steep that this says nothing.
func TestRoundedUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 4))
	power := func(low, high float64) float64 { return math.Pow(10, low+(high-low)*rng.Float64()) }
	for range 300 {
		epsilon, delta, sensitivity := power(-6, 3), power(-300, 0), power(-3, 3)
		if rng.IntN(2) == 0 {
			delta = power(-12, 0)
		}
		sigma := must.Get(Sigma(epsilon, delta, sensitivity))(t)
		limit := math.Log(delta)
		if !(logDelta(epsilon, sigma, sensitivity) <= limit-margin) {
			t.Errorf("sigma %v is too small for epsilon %v, delta %v", sigma, epsilon, delta)
		}
		if less := sigma * (1 - 1e-8); logDelta(epsilon, less, sensitivity) <= limit {
			t.Errorf("sigma %v is larger than need be for epsilon %v, delta %v", sigma, epsilon, delta)
		}
		back, err := Epsilon(sigma, delta, sensitivity)
		if err != nil || math.Abs(back-epsilon) > 1e-8*epsilon+1e-8*delta {
			t.Errorf("epsilon %v came back as %v (%v), delta %v", epsilon, back, err, delta)
		}
		if !(logDelta(back, sigma, sensitivity) <= limit-margin) {
			t.Errorf("epsilon %v is too small for sigma %v, delta %v", back, sigma, delta)
		}
	}
}

// δ falls as ε and as σ grow, over wide steps where rounding plays no part.
func TestDeltaIsMonotone(t *testing.T) {
	for _, epsilon := range []float64{0, 1e-6, 0.1, 1, 10, 1000} {
		last := 1.0
		for sigma := 1e-3; sigma < 1e6; sigma *= 1.1 {
			delta := must.Get(Delta(epsilon, sigma, 1))(t)
			more := must.Get(Delta(epsilon*1.1+1e-9, sigma, 1))(t)
			if !(delta >= 0 && delta <= last && more <= delta) {
				t.Fatalf("epsilon %v, sigma %v: delta %v after %v, and %v for more epsilon", epsilon, sigma, delta, last, more)
			}
			last = delta
		}
	}
}

// Beyond float64's range nothing overflows to a promise: the extremes are errors,
// or on the safe side.
func TestExtremes(t *testing.T) {
	const most, least = math.MaxFloat64, math.SmallestNonzeroFloat64
	for _, c := range [][4]float64{ // ε, σ, Δ, δ
		{most, least, 1, 1}, {0, least, most, 1}, {most, 1, 1, 0}, {0, most, least, 0}, {1, most, 1, 0}, {1, 1, most, 1}, {1e-320, 1e-320, 1e-320, 0.38292492254802624},
	} {
		delta, err := Delta(c[0], c[1], c[2])
		if err != nil || math.Abs(delta-c[3]) > 1e-12 {
			t.Errorf("Delta%v = %v, %v", c[:3], delta, err)
		}
	}
	if sigma, err := Sigma(0, MinDelta, most); err == nil {
		t.Errorf("a finite sigma: %v", sigma)
	}
	if epsilon, err := Epsilon(least, 0.5, 1); err == nil {
		t.Errorf("a finite epsilon: %v", epsilon)
	}
	if epsilon, err := Epsilon(1e9, 0.5, 1); err != nil || epsilon != 0 {
		t.Errorf("epsilon %v, %v", epsilon, err)
	}
	if sigma, err := Sigma(1, 1-1e-16, 1); err != nil || !(sigma > 0.01 && sigma < 1) {
		t.Errorf("sigma %v, %v", sigma, err)
	}
}

func TestRefusals(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for i, call := range []func(x float64) error{
		func(x float64) error { _, err := Delta(x, 1, 1); return err },
		func(x float64) error { _, err := Delta(1, x, 1); return err },
		func(x float64) error { _, err := Delta(1, 1, x); return err },
		func(x float64) error { _, err := Epsilon(x, 0.1, 1); return err },
		func(x float64) error { _, err := Epsilon(1, x, 1); return err },
		func(x float64) error { _, err := Epsilon(1, 0.1, x); return err },
		func(x float64) error { _, err := Sigma(x, 0.1, 1); return err },
		func(x float64) error { _, err := Sigma(1, x, 1); return err },
		func(x float64) error { _, err := Sigma(1, 0.1, x); return err },
	} {
		for _, x := range []float64{nan, inf, -inf, -1} {
			if call(x) == nil {
				t.Errorf("call %d takes %v", i, x)
			}
		}
	}
	for _, delta := range []float64{0, 1e-301, 1, 2} {
		if _, err := Sigma(1, delta, 1); err == nil {
			t.Errorf("delta %v accepted", delta)
		}
	}
}

// A continued fraction of positive terms lies between two successive cuts of it.
func TestContinuedFraction(t *testing.T) {
	for x := float64(far); x < 1e6; x *= 1.03 {
		f := x
		for k := float64(terms(x) + 1); k >= 2; k-- {
			f = x + k/f
		}
		if d := math.Abs(fraction(x)*f - 1); d > 4e-16 {
			t.Errorf("x = %v: another term changes the fraction by %.2g", x, d)
		}
	}
}

// At ε that are no knots the bound holds, and μ is near that of Gaussian noise with the
// same (ε, δ).
func TestAsGaussian(t *testing.T) {
	const delta = 1e-5
	for _, run := range []Training{
		{Multiplier: 8, Rate: 0.02, Steps: 50, Scheme: PoissonReplaceOne},
		{Multiplier: 2.6, Rate: 0.5, Steps: 20},
		{Multiplier: 6.7, Rate: 0.02, Steps: 2000, Scheme: PoissonReplaceOne},
	}[:testsize.Of(1, 3)] {
		c := must.Get(run.composition())(t)
		end := must.Get(c.epsilon(delta))(t)
		mu := must.Get(run.AsGaussian(delta))(t)
		sigma := must.Get(Sigma(end.upper, delta, 1))(t)
		if mu*sigma > 1.02 || mu*sigma < 0.9 {
			t.Errorf("%v: μ = %v, and 1/σ = %v", run, mu, 1/sigma)
		}
		deltas := c.deltas()
		for _, at := range []float64{0.01, 0.31, 0.77, 0.95, 1.1} {
			d := deltas(at * end.upper)
			if g := math.Exp(logDelta(at*end.upper, 1/mu, 1)); d.lower > delta+(1-delta)*g {
				t.Errorf("%v: at %v δ is %v, and bounded by %v", run, at*end.upper, d, delta+(1-delta)*g)
			}
		}
	}
}

// Nine releases of Gaussian noise are one of a third of it.
func TestAsGaussianOfGaussian(t *testing.T) {
	mu, err := Training{Multiplier: 6, Rate: 1, Steps: 9}.AsGaussian(1e-6)
	if err != nil || mu > 0.5*1.02 || mu < 0.49 {
		t.Errorf("μ = %v, want 0.5 (%v)", mu, err)
	}
}
