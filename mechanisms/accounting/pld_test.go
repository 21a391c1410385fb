package accounting

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
)

// curveOf is Σ (p − e^ε q)₊ over a lattice's points, its hockey-stick curve.
func (l *lattice) curveOf(epsilon float64) float64 {
	sum := l.infinite
	for i, p := range l.mass {
		sum += p * math.Max(0, -math.Expm1(epsilon-l.loss(i)))
	}
	return sum
}

// exactly is the curve of a pair of normal laws: the outcomes above at(ε) are those
// where P exceeds e^ε Q.
func (s sampled) exactly(epsilon float64) float64 {
	x := s.at(epsilon)
	above := func(mean float64) float64 { return (1-s.q)*upperTail(x/s.sigma) + s.q*upperTail((x-mean)/s.sigma) }
	q := upperTail(x / s.sigma)
	if s.replace {
		q = above(-1)
	}
	return above(1) - math.Exp(epsilon)*q
}

func (l laplace) exactly(epsilon float64) float64 {
	return math.Max(0, math.Max(-math.Expm1(epsilon), -math.Expm1((epsilon-1/l.scale)/2)))
}

func (l *lattice) masses() (p, q float64) {
	for i, m := range l.mass {
		p, q = p+m, q+m*math.Exp(-l.loss(i))
	}
	return p, q
}

// pure is the dominating pair of all that is (ε, 0)-differentially private: a coin
// with P(heads) = e^ε/(1 + e^ε), tossed by P, and turned round by Q.
type pure struct{ epsilon float64 }

func (p pure) symmetric() bool   { return true }
func (p pure) most(bool) float64 { return p.epsilon }
func (p pure) span() float64     { return 2 * p.epsilon }

func (p pure) law(resolution) *law {
	low := 1 / (1 + math.Exp(p.epsilon))
	return &law{symmetric: true, below: 1, cells: []cell{{mass: low, loss: -p.epsilon, span: 1}, {mass: 1 - low, loss: p.epsilon, span: 1}}}
}

func (p pure) renyi(order float64) float64 {
	heads := -math.Log1p(math.Exp(-p.epsilon))
	return logSum(heads+(order-1)*p.epsilon, heads-p.epsilon-(order-1)*p.epsilon) / (order - 1)
}

func (p pure) exactly(epsilon float64) float64 { return coins(p.epsilon, 1, epsilon) }

type exact interface {
	pair
	exactly(epsilon float64) float64
}

// Whatever the step, the curve of what connect makes lies above the exact one, and
// that of what merge makes below, at all ε, in both directions; and not far from it.
func TestBracketingCurves(t *testing.T) {
	for _, p := range []exact{
		sampled{sigma: 2, q: 0.1}, sampled{sigma: 1, q: 0.2, replace: true}, laplace{1}, pure{0.5},
		sampled{sigma: 1, q: 1}, sampled{sigma: 0.6, q: 0.01}, sampled{sigma: 0.3, q: 0.5}, sampled{sigma: 20, q: 0.001},
		sampled{sigma: 3, q: 1, replace: true}, sampled{sigma: 0.5, q: 0.01, replace: true}, sampled{sigma: 0.1776, q: 6.3e-5, replace: true}, laplace{10},
	}[:testsize.Of(4, 12)] {
		reach := p.law(resolution{step: math.Inf(1), tail: 1e-12}).reach()
		for _, steps := range []float64{20, 33.3, 2000} {
			tail := 1e-12
			if steps < 1000 {
				tail = 1e-2 // what is cut off must be seen
			}
			step := reach / steps
			if span := p.span(); span > 0 && steps != 33.3 { // the atoms may also lie beside
				step = span / 2 / math.Ceil(span/2/step)
			}
			l := p.law(resolution{step: step, tail: tail, focus: focus{slope: 1, most: 1e6}})
			up, down := connect(l, step), merge(l, step)
			turned := merge(l, step).mirrored()
			down.settle()
			turned.settle()
			// No mass is gained, and little is lost: what is cut off, and a leftover that is rounded down.
			if mp, mq := down.masses(); mp > 1+1e-12 || mq > 1+1e-12 || steps > 1000 && (mp < 1-1e-4 || mq < 1-1e-4) {
				t.Fatalf("%#v, %v steps: merged masses %v and %v", p, steps, mp, mq)
			}
			upTurned := up.mirrored()
			for i := range 100 {
				epsilon := (float64(i)/50 - 1) * reach
				want := p.exactly(epsilon)
				// (Q, P) has the curve 1 − e^ε + e^ε H(−ε).
				mirrored := -math.Expm1(epsilon) + math.Exp(epsilon)*p.exactly(-epsilon)
				for _, c := range []struct {
					name            string
					low, want, high float64
				}{{"", down.curveOf(epsilon), want, up.curveOf(epsilon)}, {"mirrored", turned.curveOf(epsilon), mirrored, upTurned.curveOf(epsilon)}} {
					slack := 1e-12 * (1 + math.Exp(epsilon))
					if !(c.low <= c.want+slack && c.want <= c.high+slack) {
						t.Fatalf("%#v, %v steps, ε = %v %s: %v is not within [%v, %v]", p, steps, epsilon, c.name, c.want, c.low, c.high)
					}
					if steps > 1000 && c.high-c.low > 5e-3*(1+math.Exp(epsilon)) {
						t.Fatalf("%#v, %v steps, ε = %v %s: [%v, %v] is wide", p, steps, epsilon, c.name, c.low, c.high)
					}
				}
			}
		}
	}
}

// k coins compose to a binomial law.
func coins(epsilon float64, k int, at float64) float64 {
	sum := 0.
	p := -math.Log1p(math.Exp(-epsilon)) // log of heads
	for i := range k + 1 {
		log := logFactorial(k) - logFactorial(i) - logFactorial(k-i) + float64(k)*p - float64(k-i)*epsilon
		sum += math.Exp(log) * math.Max(0, -math.Expm1(at-float64(2*i-k)*epsilon))
	}
	return sum
}

func logFactorial(n int) float64 {
	v, _ := math.Lgamma(float64(n + 1))
	return v
}

func TestCoins(t *testing.T) {
	for _, c := range []struct {
		epsilon float64
		k       int
		at      float64
	}{{1, 1, 0.5}, {1, 3, 1}, {0.2, 30, 2}, {0.1, 100, 2}, {0.01, 10000, 3}, {2, 20, 25}, {1, 5, 0}} {
		if c.k == 100 && !*all || c.k >= 30 && testing.Short() {
			continue
		}
		composed := composition{pure{c.epsilon}, float64(c.k)}
		got := composed.deltas()(c.at)
		want := coins(c.epsilon, c.k, c.at)
		if !(got.lower <= want*(1+1e-9) && want <= got.upper*(1+1e-9) && got.upper-got.lower < 2e-3*want) {
			t.Errorf("%v: %v, want %v", c, got, want)
		}
		epsilon, err := composed.epsilon(want)
		if err != nil || !(epsilon.lower <= c.at+1e-9 && epsilon.upper >= c.at-1e-9 && epsilon.upper-epsilon.lower < 5e-4*(c.at+c.epsilon)) {
			t.Errorf("%v: %v: %v", c, epsilon, err)
		}
	}
}

// Normal noise, through lattices, is what the analytic formula says.
func TestNormals(t *testing.T) {
	c := composition{sampled{sigma: 9, q: 1}, 140}
	mu, ok := c.normal()
	if !ok {
		t.Fatal("not normal")
	}
	for _, delta := range []float64{1e-3, 1e-6, 1e-12, 1e-60} {
		d := c.direction(false, c.cut(delta))
		got := d.bracketEpsilon(d.scoutEpsilon(delta), delta)
		want, err := Epsilon(1/mu, delta, 1)
		if err != nil || !(got.lower <= want*(1+1e-9) && got.upper >= want*(1-1e-9) && got.upper-got.lower < 2e-5*want) {
			t.Errorf("δ = %v: %v, want %v: %v", delta, got, want, err)
		}
		back := d.bracketDelta(d.scoutDelta(want))
		if !(back.lower <= delta*(1+1e-9) && back.upper >= delta*(1-1e-9) && back.upper-back.lower < 3e-4*delta) {
			t.Errorf("ε = %v: %v, want %v", want, back, delta)
		}
	}
}

// Where much of the laws is cut off, the bracket is wide, and holds.
func TestCutTails(t *testing.T) {
	for _, count := range []int{1, 200} {
		c := composition{sampled{sigma: math.Sqrt(float64(count)), q: 1}, float64(count)}
		const delta = 1e-4
		d := c.direction(false, 0.3*delta/float64(count))
		got := d.bracketEpsilon(d.scoutEpsilon(delta), delta)
		want, err := Epsilon(1, delta, 1)
		if err != nil || !(got.lower < want && got.upper > want && got.upper-got.lower < 0.2*want) {
			t.Errorf("%d releases: %v, want %v: %v", count, got, want, err)
		}
	}
}

// One step of each scheme, through the whole machinery, against its exact curve.
func TestOneStep(t *testing.T) {
	testsize.Full(t, "TestBracketingCurves has the curves, and TestPoissonGoldens the whole machinery")
	for _, p := range []exact{sampled{sigma: 1, q: 0.1}, sampled{sigma: 0.8, q: 0.3, replace: true}, laplace{2}} {
		c := composition{p, 1}
		mirror := c.direction(!p.symmetric(), MinDelta)
		deltas := c.deltas()
		for _, epsilon := range []float64{0, 0.4, 0.1}[:testsize.Of(2, 3)] {
			got := deltas(epsilon)
			want := p.exactly(epsilon)
			if !(got.lower <= want*(1+1e-9) && got.upper >= want*(1-1e-9) && got.upper-got.lower < 5e-3*want) {
				t.Errorf("%#v, ε = %v: %v, want %v", p, epsilon, got, want)
			}
			// The other direction, of which the loss is bounded.
			mirrored := -math.Expm1(epsilon) + math.Exp(epsilon)*p.exactly(-epsilon)
			other := c.deltaOf(mirror, epsilon)
			if slack := 1e-14 + 1e-9*mirrored; !(other.lower <= mirrored+slack && other.upper >= mirrored-slack && other.upper-other.lower < 5e-3*mirrored+1e-14) {
				t.Errorf("%#v, ε = %v mirrored: %v, want %v", p, epsilon, other, mirrored)
			}
		}
	}
}

// Random trainings: the bracket is narrow, but for a single step of a small rate and a tiny δ,
// below Rényi's bound, and turns round.
func TestRandomTrainings(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 14))
	power := func(low, high float64) float64 { return math.Pow(10, low+(high-low)*rng.Float64()) }
	steps := 2.
	if *all {
		steps = 3
	}
	for range often(testsize.Of(3, 12), 80) {
		run := Training{Multiplier: power(-0.2, 1), Rate: power(-3, 0), Steps: int(power(0, steps)), Scheme: Scheme(rng.IntN(3))}
		if run.Scheme == LaplaceNoise {
			run.Multiplier, run.Rate = power(0.5, 2), 1
		}
		delta := power(-10, -2)
		c := must.Get(run.composition())(t)
		width := 1e-4
		if run.Steps == 1 && run.Rate < 0.01 && delta < 1e-6 {
			width = 0.01
		}
		got, err := c.epsilon(delta)
		rdp := (&renyi{composition: c}).epsilon(delta)
		if err != nil || !(got.lower <= got.upper && got.upper-got.lower < width*(got.upper+0.01) && got.upper <= rdp*(1+1e-5)) {
			t.Errorf("%+v, δ = %v: %v, RDP %v: %v", run, delta, got, rdp, err)
		}
		if back := c.deltas()(got.upper); got.upper > 0 && !(back.lower <= delta && back.upper >= delta*(1-2e-2)) {
			t.Errorf("%+v: ε = %v has δ %v, not %v", run, got.upper, back, delta)
		}
	}
}

// Fewer records in common, more to lose.
func TestSchemesAreOrdered(t *testing.T) {
	run := Training{Multiplier: 2, Rate: 0.05, Steps: 300}
	less, err := run.Epsilon(Optimistic, 1e-6)
	run.Scheme = PoissonReplaceOne
	more, err2 := run.Epsilon(Optimistic, 1e-6)
	if err != nil || err2 != nil || more <= 1.2*less {
		t.Errorf("%v, then %v: %v, %v", less, more, err, err2)
	}
}

func TestTrainingRefuses(t *testing.T) {
	nan := math.NaN()
	for i, run := range []Training{
		{nan, 1, 1, 0}, {1e-3, 1, 1, 0}, {1, 1, 0, 0}, {-1, 1, 1, LaplaceNoise}, {1e9, 1, 1, LaplaceNoise}, {1, 1, MaxCount + 1, LaplaceNoise}, {1, 0.5, 1, LaplaceNoise},
		{1, 0, 1, 0}, {1, 1.1, 1, 0}, {1, nan, 1, 0}, {1, 0.5, 0, 0}, {0, 0.5, 1, 0}, {1, 0.5, 1, 3},
	} {
		_, err := run.Epsilon(PLD, 0.1)
		_, err2 := run.Delta(RDP, 0.1)
		if err == nil || err2 == nil {
			t.Errorf("training %d is accepted", i)
		}
	}
	run := Training{1, 0.1, 10, 0}
	for _, delta := range []float64{nan, 0, 1, -1, 1e-250} {
		if _, err := run.Epsilon(PLD, delta); err == nil {
			t.Errorf("δ = %v is accepted", delta)
		}
	}
	for _, epsilon := range []float64{nan, -1, math.Inf(1)} {
		if _, err := run.Delta(PLD, epsilon); err == nil {
			t.Errorf("ε = %v is accepted", epsilon)
		}
	}
	if _, err := run.RDP(1); err == nil {
		t.Error("a divergence of order 1")
	}
}
