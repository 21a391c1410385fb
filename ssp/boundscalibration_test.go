package ssp

import (
	"flag"
	"fmt"
	"iter"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/release"
)

// Threshold and Found are the smallest that the failures stated allow, by the exact
// law of the noise.
func TestCalibrateBounds(t *testing.T) {
	for _, nb := range []release.Neighbours{release.ReplaceOne, release.AddRemove} {
		for _, columns := range []int{1, 2, 7, 1000} {
			for _, epsilon := range []float64{1e-12, 0.003, 0.1, 1, 33, 1e12} {
				c := must.Get(CalibrateBounds(columns, epsilon, nb))(t)
				if back := new(big.Rat).Mul(c.Scale, number.Decimal(epsilon)); back.Cmp(BoundsSensitivity(columns, nb)) != 0 {
					t.Errorf("%d columns, ε = %v: scale·ε = %s", columns, epsilon, back)
				}
				b, _ := c.Scale.Float64()
				above := func(k int64) float64 { return math.Exp(-float64(k)/b) / (1 + math.Exp(-1/b)) } // P(noise ≥ k), k ≥ 1
				for what, p := range map[string]func(off int64) float64{
					"threshold": func(off int64) float64 { return float64(columns*binsAColumn) * above(c.Threshold+off) },
					"found":     func(off int64) float64 { return 2 * float64(columns) * above(c.Found-c.Threshold+1+off) },
				} {
					least := what == "threshold" && c.Threshold == 1 || what == "found" && c.Found == c.Threshold
					if p(0) > boundsFailure*(1+1e-9) || !least && p(-1) < boundsFailure*(1-1e-9) {
						t.Errorf("%d columns, ε = %v, %s: failures %v, and %v for one less", columns, epsilon, what, p(0), p(-1))
					}
				}
				if c.Rows != findable*c.Found || c.Rows <= 0 {
					t.Errorf("%d columns, ε = %v: %d rows", columns, epsilon, c.Rows)
				}
			}
		}
	}
	for _, c := range []struct {
		columns int
		epsilon float64
		nb      release.Neighbours
	}{{0, 1, release.ReplaceOne}, {1001, 1, release.ReplaceOne}, {1, 0, release.ReplaceOne}, {1, math.NaN(), release.AddRemove}, {1, 1e-13, release.AddRemove}, {1, 1, "both"}} {
		if _, err := CalibrateBounds(c.columns, c.epsilon, c.nb); err == nil {
			t.Errorf("%+v is not refused", c)
		}
	}
}

// What bounds leave of ε is the most that adds up, and the noise calibrated to it is
// what a reader of the whole release accepts: with the decimals that the file states.
func TestAfterBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	s := testStatistics(t, []float64{1, -1}, []float64{0.5, 0.25})
	for i := range 2000 {
		total := math.Exp(10*rng.Float64() - 5)
		if i%2 == 0 {
			total = math.Round(100*total)/100 + 0.01
		}
		part := total * rng.Float64()
		if i%3 == 0 {
			part = total / 10
		}
		rest := AfterBounds(pure(total), part)
		left := new(big.Rat).Sub(number.Decimal(total), number.Decimal(part))
		if number.Decimal(rest.Epsilon).Cmp(left) > 0 || number.Decimal(math.Nextafter(rest.Epsilon, math.Inf(1))).Cmp(left) <= 0 {
			t.Fatalf("%v after %v: %v", total, part, rest.Epsilon)
		}
		if i%20 != 0 {
			continue
		}
		r := must.Get(Publish(t.Context(), s, testDesign(2), rest, release.Laplace, Exact, seeded(1)))(t)
		must.Get(r.WithBounds(release.Bounds{Method: release.AutoBounds, Epsilon: part}, total))(t)
		if _, err := r.WithBounds(release.Bounds{Method: release.AutoBounds, Epsilon: part}, total*(1-1e-9)); err == nil {
			t.Fatalf("the parts of %v pass for less", total)
		}
	}
	if got := AfterBounds(pure(1), 1).Epsilon; got != 0 {
		t.Errorf("%v is left of nothing", got)
	}
	if got := AfterBounds(pure(1), 0.1).Epsilon; got != 0.9 {
		t.Errorf("1 - 0.1 = %v", got)
	}
}

// An audit of the whole path from rows to bounds: one row goes from a positive bin to
// a negative one, where its coming makes the count T from T-1; and the event "the
// upper bound is there, and there is no lower one" is e^ε times as probable without,
// since the noise of both bins counts with ratio e^{ε/2}. As in TestAuditWorstPair,
// the lower limit on ε is the estimate less 4.3 standard errors.
func TestAuditBounds(t *testing.T) {
	testsize.Full(t, "TestSensitivityOfMagnitudes has the sensitivity, and TestBoundsCoverage the noise")
	const epsilon = 1.
	lower, estimate := auditBounds(t, epsilon, epsilon)
	if lower > epsilon {
		t.Errorf("epsilon is at least %.3f, claimed %v", lower, epsilon)
	}
	if estimate < 0.8*epsilon {
		t.Errorf("the audit sees only epsilon = %.3f of %v: too much noise, or no power", estimate, epsilon)
	}
}

func TestAuditBoundsSeesFaults(t *testing.T) {
	testsize.Planted(t)
	if lower, _ := auditBounds(t, 1, 1/0.7); lower <= 1 {
		t.Errorf("noise of 0.7 times the scale is not found out: epsilon is at least %.3f", lower)
	}
}

func auditBounds(t *testing.T, claimed, used float64) (lower, estimate float64) {
	c := must.Get(CalibrateBounds(1, used, release.ReplaceOne))(t)
	count := func(positive, negative int64, e *mechanisms.Entropy) (hits float64) {
		h := NewMagnitudes(1)
		for i := range positive + negative {
			must.Do(t, h.Add([]float64{map[bool]float64{true: 3, false: -3}[i < positive]}))
		}
		for range 2000 {
			b := must.Get(h.Bounds([]string{"x"}, used, release.ReplaceOne, e))(t)
			if b[0].Upper == 4 && b[0].Lower == 0 {
				hits++
			}
		}
		return hits
	}
	a, b := count(c.Threshold, c.Threshold-1, seeded(51)), count(c.Threshold-1, c.Threshold, seeded(52))
	estimate = math.Log(a / b)
	return estimate - 4.3*math.Sqrt(1/a+1/b), estimate
}

var boundsTrials = flag.Int("bounds.trials", 40, "trials of each line of the study of coverage in docs/bounds-auto.md; -v prints it")

// columnsToBound are the columns of the study: a value, and what they are like.
var columnsToBound = []struct {
	name string
	draw func(rng *rand.Rand) float64
}{
	{"normal, mean 20, sd 6", func(rng *rand.Rand) float64 { return 20 + 6*rng.NormFloat64() }},
	{"standard normal", func(rng *rand.Rand) float64 { return rng.NormFloat64() }},
	{"uniform on 0 … 100", func(rng *rand.Rand) float64 { return 100 * rng.Float64() }},
	{"uniform on −65 … 65", func(rng *rand.Rand) float64 { return 130*rng.Float64() - 65 }},
	{"year, 1900 … 2020", func(rng *rand.Rand) float64 { return 1900 + float64(rng.IntN(121)) }},
	{"0 or 1, a fifth are 1", func(rng *rand.Rand) float64 { return math.Floor(rng.Float64() + 0.2) }},
	{"0 in 9 of 10, else lognormal", func(rng *rand.Rand) float64 {
		return math.Floor(rng.Float64()+0.1) * math.Exp(8+rng.NormFloat64())
	}},
	{"lognormal, like incomes", func(rng *rand.Rand) float64 { return math.Exp(10 + rng.NormFloat64()) }},
	{"Cauchy", func(rng *rand.Rand) float64 { return rng.NormFloat64() / rng.NormFloat64() }},
	{"uniform on 0 … 10⁻⁶", func(rng *rand.Rand) float64 { return 1e-6 * rng.Float64() }},
}

// The two promises of private bounds, over simulated data sets of as many rows as are
// needed and of ten times as many: no bound lies beyond the power of two next to the
// values, and none leaves out a bin with Found rows. Each fails with probability 0.005
// at most; so many failures in a line that 0.01 would give them with probability
// 5e-7 are an error, which for all 20 lines is 1e-5.
func TestBoundsCoverage(t *testing.T) {
	trials := testsize.Of(min(5, *boundsTrials), *boundsTrials)
	for line := range coverage(t, trials, func(c *BoundsCalibration) {}) {
		t.Log(line.text)
		if line.failed > line.allowed {
			t.Errorf("%d of %d trials failed, %d are allowed:\n%s", line.failed, trials, line.allowed, line.text)
		}
	}
}

// Faults in the mechanism are seen by this test.
func TestBoundsCoverageSeesFaults(t *testing.T) {
	testsize.Planted(t)
	for name, fault := range map[string]func(c *BoundsCalibration){
		"threshold ignored": func(c *BoundsCalibration) { c.Threshold = 1 },
		"threshold halved":  func(c *BoundsCalibration) { c.Threshold /= 2 },
		"threshold doubled": func(c *BoundsCalibration) { c.Threshold *= 2 },
		"noise doubled":     func(c *BoundsCalibration) { c.Scale.Mul(c.Scale, big.NewRat(2, 1)) },
	} {
		seen := false
		for line := range coverage(t, 20, fault) {
			if seen = line.failed > line.allowed; seen {
				break
			}
		}
		if !seen {
			t.Errorf("%s: nothing is seen", name)
		}
	}
}

type coverageLine struct {
	text            string
	failed, allowed int
}

func coverage(t *testing.T, trials int, fault func(*BoundsCalibration)) iter.Seq[coverageLine] {
	t.Helper()
	return func(yield func(coverageLine) bool) {
		good := must.Get(CalibrateBounds(1, 0.1, release.ReplaceOne))(t)
		allowed := 0
		for (distuv.Binomial{N: float64(trials), P: 2 * boundsFailure}).Survival(float64(allowed)) > 5e-7 {
			allowed++
		}
		for i, column := range columnsToBound {
			for _, n := range []int64{good.Rows, 10 * good.Rows} {
				wide, narrow, clamped, most := 0, 0, 0., 0.
				for trial := range trials {
					rng := rand.New(rand.NewPCG(uint64(i), uint64(trial)))
					h, x := NewMagnitudes(1), make([]float64, n)
					for k := range x {
						x[k] = column.draw(rng)
						must.Do(t, h.Add(x[k:k+1]))
					}
					c := good
					c.Scale = new(big.Rat).Set(good.Scale)
					fault(&c)
					z := must.Get(h.noisy(c, mechanisms.Simulated(rng)))(t)
					lower, upper := between(z, big.NewInt(c.Threshold))
					tooWide, tooNarrow := promises(h, good.Found, lower, upper)
					if tooWide {
						wide++
					}
					if tooNarrow {
						narrow++
					}
					beyond := 0.
					for _, v := range x {
						if v < lower || v > upper {
							beyond++
						}
					}
					clamped += beyond / float64(n) / float64(trials)
					most = max(most, beyond/float64(n))
				}
				if !yield(coverageLine{
					text:   fmt.Sprintf("| %s | %d | %d | %d | %.2f %% | %.2f %% |", column.name, n, wide, narrow, 100*clamped, 100*most),
					failed: wide + narrow, allowed: allowed,
				}) {
					return
				}
			}
		}
	}
}

// promises tells whether a bound lies beyond all values, and whether one leaves out a
// bin with found rows.
func promises(h *Magnitudes, found int64, lower, upper float64) (wide, narrow bool) {
	for sign, bound := range []float64{upper, -lower} {
		outermost, needed := 0., 0.
		for i, n := range h.count[0][sign*perSign : (sign+1)*perSign] {
			if n > 0 {
				outermost = math.Ldexp(1, i+minExponent)
			}
			if n >= found {
				needed = math.Ldexp(1, i+minExponent)
			}
		}
		wide = wide || bound > max(outermost, InnermostBound)
		narrow = narrow || bound < needed
	}
	return wide, narrow
}

// A smoke audit of the whole path from rows to release: on the pair of neighbours
// that attains the sensitivity, the event "every statistic is at least that of
// the first" has the largest likelihood ratio, e^ε, and probability 2⁻⁵ under the
// first. From its counts comes a lower confidence bound on ε: the logarithm of
// the ratio less 4.3 standard errors √(1/a+1/b), false alarm 1e-5.
func TestAuditWorstPair(t *testing.T) {
	testsize.Full(t, "package audit has short audits of the same sums, with and without this fault")
	const epsilon = 1
	const releases = 30_000
	lower, estimate := audit(t, epsilon, releases)
	if lower > epsilon {
		t.Errorf("epsilon is at least %.3f, claimed %v", lower, epsilon)
	}
	if estimate < 0.8*epsilon {
		t.Errorf("the audit sees only epsilon = %.3f of %v: too much noise, or no power", estimate, epsilon)
	}
	// Planted fault: noise 0.7 times as large as ε calls for.
	if lower, _ := audit(t, epsilon/0.7, releases); lower <= epsilon {
		t.Errorf("noise of 0.7 times the scale is not found out: epsilon is at least %.3f", lower)
	}
}

func audit(t *testing.T, epsilon float64, releases int) (lower, estimate float64) {
	first := testStatistics(t, []float64{1, 1})
	second := testStatistics(t, []float64{-1. / 3, -1. / 3})
	a := countAtLeast(t, first, first.Vector(), epsilon, releases, seeded(41))
	b := countAtLeast(t, second, first.Vector(), epsilon, releases, seeded(42))
	estimate = math.Log(a / b)
	return estimate - 4.3*math.Sqrt(1/a+1/b), estimate
}

// countAtLeast counts the releases of s none of whose statistics is below limit.
func countAtLeast(t *testing.T, s *Statistics, limit []float64, epsilon float64, releases int, e *mechanisms.Entropy) (count float64) {
	d := testDesign(2)
next:
	for range releases {
		r := must.Get(Publish(t.Context(), s, d, pure(epsilon), release.Laplace, Exact, e))(t)
		for i, z := range r.Statistics.Vector() {
			if z < limit[i] {
				continue next
			}
		}
		count++
	}
	return count
}
