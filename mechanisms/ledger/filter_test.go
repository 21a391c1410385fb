package ledger

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mechanisms/accounting"
)

func rat(text string) *big.Rat {
	x, ok := new(big.Rat).SetString(text)
	if !ok {
		panic(text)
	}
	return x
}

// laplace and gaussian are releases as ssp calibrates them.
func laplace(epsilon string) Charge {
	return Charge{Epsilon: rat(epsilon), Delta: new(big.Rat), Noise: Laplace, Neighbours: "replace-one"}
}

func gaussian(t testing.TB, epsilon, delta string) Charge {
	t.Helper()
	const sensitivity = 3.7
	e, d := rat(epsilon), rat(delta)
	sigma := must.Get(accounting.Sigma(number.RoundDown(e), number.RoundDown(d), sensitivity))(t)
	return Charge{Epsilon: e, Delta: d, Noise: Gaussian, Sensitivity: sensitivity, Scale: sigma, Neighbours: "replace-one"}
}

// sampled is a run, worth a bit less than Gaussian noise of its (ε, δ).
func sampled(t testing.TB, epsilon, delta string) Charge {
	c := gaussian(t, epsilon, delta)
	c.Noise = Sampled
	c.Scale *= 1.001
	return c
}

func budget(epsilon, delta string, filter Filter) Budget {
	return Budget{Data: "test", Neighbours: "replace-one", Epsilon: rat(epsilon), Delta: rat(delta), Filter: filter}
}

// accepted charges what fits, in order, and says what did.
func accepted(t *testing.T, b Budget, charges ...Charge) []bool {
	t.Helper()
	h := &History{Budget: b}
	var did []bool
	for _, c := range charges {
		ok := must.Get(h.Fits(c))(t)
		if ok {
			h.Entries = append(h.Entries, Entry{Charge: c})
		}
		did = append(did, ok)
	}
	return did
}

func TestFits(t *testing.T) {
	g := func(epsilon, delta string) Charge { return gaussian(t, epsilon, delta) }
	r := func(epsilon, delta string) Charge { return sampled(t, epsilon, delta) }
	const yes, no = true, false
	for name, c := range map[string]struct {
		budget  Budget
		charges []Charge
		want    []bool
	}{
		"pure":                     {budget("1", "0", Auto), []Charge{laplace("0.7"), laplace("0.4"), laplace("0.3"), laplace("1e-12")}, []bool{yes, no, yes, no}},
		"pure takes no Gaussian":   {budget("1", "0", Auto), []Charge{g("0.1", "1e-9")}, []bool{no}},
		"all at once":              {budget("1", "1e-6", Auto), []Charge{g("1", "1e-6"), g("1e-3", "1e-9"), laplace("1e-3")}, []bool{yes, no, no}},
		"all at once, sum":         {budget("1", "1e-6", Sum), []Charge{g("1", "1e-6"), laplace("1e-9")}, []bool{yes, no}},
		"too much":                 {budget("1", "1e-6", Auto), []Charge{g("1.001", "1e-6"), g("1", "1.1e-6")}, []bool{no, no}},
		"another (ε, δ) of it":     {budget("1", "1e-6", Auto), []Charge{g("0.9", "1e-5"), g("0.7", "1e-5")}, []bool{no, yes}},
		"Laplace first":            {budget("2", "1e-6", Auto), []Charge{laplace("1"), g("1", "1e-6"), laplace("0.01")}, []bool{yes, yes, no}},
		"Laplace last, too large":  {budget("2", "1e-6", Auto), []Charge{g("1", "1e-6"), laplace("1"), laplace("0.1")}, []bool{yes, no, yes}},
		"Laplace last, by the sum": {budget("2", "2e-6", Auto), []Charge{g("1", "1e-6"), laplace("1")}, []bool{yes, yes}},
		"sum takes any order":      {budget("2", "1e-6", Sum), []Charge{g("1", "1e-6"), laplace("1"), laplace("1e-9")}, []bool{yes, yes, no}},
		"sum counts no squares":    {budget("2", "1e-6", Sum), []Charge{g("0.5", "1e-6"), g("0.5", "1e-6")}, []bool{yes, no}},
		"Gaussian ones":            {budget("2", "1e-6", Auto), slices.Repeat([]Charge{g("0.5", "1e-6")}, 14), append(slices.Repeat([]bool{yes}, 13), no)},
		"a run, all at once":       {budget("1", "1e-6", Auto), []Charge{r("1", "1e-6"), laplace("1e-3"), g("1e-3", "1e-9")}, []bool{yes, no, no}},
		"a large run, by the sum":  {budget("2", "1e-6", Auto), []Charge{r("1", "6e-7"), laplace("0.5"), g("0.5", "4e-7"), r("1e-3", "1e-9")}, []bool{yes, yes, yes, no}},
		"runs count as Gaussian":   {budget("2", "1e-6", Auto), slices.Repeat([]Charge{r("0.5", "1e-8")}, 19), append(slices.Repeat([]bool{yes}, 18), no)},
		"δ of runs is of the sum":  {budget("9", "1e-6", Auto), slices.Repeat([]Charge{r("0.01", "2e-7")}, 3), []bool{yes, yes, no}},
		"Gaussian after a run":     {budget("2", "1e-6", Auto), append([]Charge{r("0.5", "1e-7")}, slices.Repeat([]Charge{g("0.5", "1e-7")}, 15)...), append(slices.Repeat([]bool{yes}, 15), no)},
		"no run after all of δ":    {budget("2", "1e-6", Auto), []Charge{g("0.5", "1e-6"), r("0.1", "1e-9"), g("0.5", "1e-6")}, []bool{yes, no, yes}},
		"sum takes a run":          {budget("2", "1e-6", Sum), []Charge{r("1", "6e-7"), g("1", "4e-7"), r("1e-9", "1e-12")}, []bool{yes, yes, no}},
	} {
		if got := accepted(t, c.budget, c.charges...); !slices.Equal(got, c.want) {
			t.Errorf("%s: accepted %v, want %v", name, got, c.want)
		}
	}
}

// Sums are those of the decimals: 0.1 is a tenth, and ten of them are 1.
func TestExactSums(t *testing.T) {
	for _, b := range []Budget{budget("1", "0", Auto), budget("1", "0.9", Sum)} {
		c := laplace("0.1")
		if b.Filter == Sum {
			c = gaussian(t, "0.1", "0.09")
		}
		want := append(slices.Repeat([]bool{true}, 10), false)
		if got := accepted(t, b, slices.Repeat([]Charge{c}, 11)...); !slices.Equal(got, want) {
			t.Errorf("%v", got)
		}
	}
}

// Where only Gaussian releases follow the first one, what fits by the sum with all
// of δ fits, nearly to the last digit, and much more does.
func TestCountIsNoStricterThanSum(t *testing.T) {
	for _, list := range [][][2]string{
		{{"0.5", "1e-6"}, {"0.5", "1e-6"}}, {{"0.1", "1e-7"}, {"0.9", "1.9e-6"}}, {{"0.9", "1.9e-6"}, {"0.1", "1e-7"}},
		{{"0.2", "5e-7"}, {"0.3", "5e-7"}, {"0.1", "5e-7"}, {"0.4", "5e-7"}},
	} {
		var charges []Charge
		for _, x := range list {
			charges = append(charges, gaussian(t, x[0], x[1]))
		}
		if got := accepted(t, budget("1", "2e-6", Auto), charges...); slices.Contains(got, false) {
			t.Errorf("%v: accepted %v", list, got)
		}
	}
}

func TestLeft(t *testing.T) {
	h := &History{Budget: budget("2", "1e-5", Auto)}
	for range 4 {
		for _, delta := range []string{"0", "1e-6", "1e-5"} {
			noise := Laplace
			if delta != "0" {
				noise = Gaussian
			}
			left, err := h.Left(noise, rat(delta))
			if err != nil || left == 0 {
				t.Fatal(left, err)
			}
			for factor, want := range map[float64]bool{1: true, 1.011: left == 2 && delta == "1e-6"} { // 2 is all that it says
				epsilon := text(number.Decimal(left * factor))
				c := laplace(epsilon)
				if delta != "0" {
					c = gaussian(t, epsilon, delta)
				}
				if ok, err := h.Fits(c); ok != want || err != nil {
					t.Errorf("after %d releases, δ = %s: %v is left, and %s fits: %v (%v)", len(h.Entries), delta, left, epsilon, ok, err)
				}
			}
		}
		h.Entries = append(h.Entries, Entry{Charge: gaussian(t, "0.3", "1e-6")})
	}
	full := &History{Budget: budget("1", "0", Auto), Entries: []Entry{{Charge: laplace("1")}}}
	if left, err := full.Left(Laplace, new(big.Rat)); left != 0 || err != nil {
		t.Errorf("left %v (%v)", left, err)
	}
}

func TestUses(t *testing.T) {
	h := &History{Budget: budget("2", "4e-6", Auto)}
	for _, c := range []Charge{laplace("0.5"), gaussian(t, "0.5", "1e-6"), gaussian(t, "0.5", "1e-6"), laplace("0.5")} {
		h.Entries = append(h.Entries, Entry{Charge: c})
	}
	uses := must.Get(h.Uses())(t)
	last := uses[3]
	if uses[0].Sum != 0.25 || !math.IsInf(uses[0].Gaussian, 1) || last.Sum != 1 || last.Epsilon.Cmp(rat("2")) != 0 || last.Delta.Cmp(rat("2e-6")) != 0 {
		t.Errorf("%+v", uses)
	}
	if ratio := (uses[2].Gaussian - 0.25) / (uses[1].Gaussian - 0.25); math.Abs(ratio-2) > 1e-12 {
		t.Errorf("two equal releases count %v times one", ratio)
	}
	for _, u := range uses {
		if !(u.Part() > 0 && u.Part() <= 1) {
			t.Errorf("%+v", u)
		}
	}
}

// Squares are rounded up, by little, whatever their size.
func TestShort(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 72))
	for range 2000 {
		x := number.Exactly(math.Ldexp(1+rng.Float64(), rng.IntN(1800)-900))
		x = times(x, number.Exactly(1/(1+rng.Float64())))
		up := short(x)
		most := times(x, new(big.Rat).Add(one, big.NewRat(1, 1<<62)))
		if up.Cmp(x) < 0 || up.Cmp(most) > 0 {
			t.Fatalf("%v became %v", x, up)
		}
	}
	if half := big.NewRat(1, 2); short(half).Cmp(half) != 0 {
		t.Error("a half is not a half")
	}
}

func tail(x float64) float64 { return math.Erfc(x/math.Sqrt2) / 2 }

// hockey is E[(1 − e^{x−W})₊] for W ~ N(τ/2, τ): δ(x, τ), for every real x.
func hockey(x, square float64) float64 {
	mu := math.Sqrt(square)
	return max(0, tail(x/mu-mu/2)-math.Exp(x)*tail(x/mu+mu/2))
}

// response is the same for randomised response, the least private mechanism of ε: the
// loss is ±ε, +ε with probability e^ε/(1 + e^ε).
func response(x, epsilon float64) float64 {
	p := 1 / (1 + math.Exp(-epsilon))
	part := func(loss float64) float64 { return max(0, -math.Expm1(x-loss)) }
	return p*part(epsilon) + (1-p)*part(-epsilon)
}

// adversary is the δ at total ε that somebody gets who asks for first, of Gaussian noise
// (a run may be one release), looks at the loss it caused, and then takes what is worst of
// what the account still allows: all of the rest as one pure release, as one Gaussian one,
// or as a run that tells the data with a probability of δ.
func adversary(t *testing.T, first Charge, after account) float64 {
	t.Helper()
	epsilon, _ := after.total.Epsilon.Float64()
	square, _ := after.square.Float64()
	most := func(next func(x float64) Charge) float64 {
		low, high := 0.0, 100.0
		for range 30 {
			middle := (low + high) / 2
			a, c := after, next(middle)
			a.add(&c)
			if ok, err := a.within(); err != nil {
				t.Fatal(err)
			} else if ok {
				low = middle
			} else {
				high = middle
			}
		}
		return low
	}
	pure := most(func(x float64) Charge { return Charge{Noise: Laplace, Epsilon: number.Exactly(x), Delta: new(big.Rat)} })
	// What it states is beyond any sum: only the count decides.
	more := most(func(x float64) Charge {
		return Charge{Noise: Gaussian, Epsilon: rat("1e9"), Delta: rat("0.5"), Sensitivity: max(x, 1e-300), Scale: 1}
	})
	told := most(func(x float64) Charge {
		return Charge{Noise: Sampled, Epsilon: rat("1e-12"), Delta: number.Exactly(x), Sensitivity: 1e-9, Scale: 1}
	})
	worst := 0.0
	const step = 4e-3
	for z := -9.; z < 12; z += step {
		loss := square/2 + math.Sqrt(square)*z
		value := max(response(epsilon-loss, pure), hockey(epsilon-loss, max(more*more, 1e-300)), told+(1-told)*response(epsilon-loss, 0))
		worst += step * value * math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
	}
	return worst
}

// The filter holds against one who chooses by what was seen; the same rule with all
// of δ for both counts, the least of two filters, would not: that is why δ is shared.
func TestAdaptiveAdversary(t *testing.T) {
	overspent := 0.0
	for _, total := range []Budget{budget("2", "1e-6", Auto), budget("2", "1e-5", Auto), budget("8", "1e-5", Auto)}[:testsize.Of(1, 3)] {
		delta, _ := total.Delta.Float64()
		for _, asked := range []string{"0.5", "1", "1.5"} {
			for _, d := range []string{"4e-7", "1e-6", "4e-6", "1e-5"} {
				first := gaussian(t, asked, d)
				a, ok := afterFirst(t, total, first)
				if !ok {
					continue
				}
				if got := adversary(t, first, a); got > delta {
					t.Errorf("total (%v, %v): after (%s, %s) δ = %v can be had", total.Epsilon, delta, asked, d, got)
				}
				a.forSum, a.forCount = total.Delta, total.Delta
				if got := adversary(t, first, a) / delta; got > overspent {
					overspent = got
					t.Logf("total (%s, %v), first (%s, %s): the least of two filters gives away %.3g δ", total.Epsilon.RatString(), delta, asked, d, got)
				}
			}
		}
	}
	if overspent < 1.2 {
		t.Error("the adversary is too weak to overspend the least of two filters")
	}
}

func afterFirst(t *testing.T, total Budget, first Charge) (a account, ok bool) {
	t.Helper()
	a = newAccount(total)
	a.add(&first)
	return a, must.Get(a.within())(t)
}

// It holds where the first one is a run, too.
func TestAdaptiveAdversaryAfterRun(t *testing.T) {
	total := budget("2", "1e-5", Auto)
	for _, d := range []string{"1e-6", "4e-6", "1e-5"} {
		first := gaussian(t, "1", d)
		first.Noise = Sampled
		a, ok := afterFirst(t, total, first)
		if !ok {
			t.Fatalf("no room for (1, %s)", d)
		}
		if got := adversary(t, first, a); got > 1e-5 {
			t.Errorf("after (1, %s) δ = %v can be had", d, got)
		}
	}
}

// A pure release is never worth more than the Gaussian one that it counts as.
func TestPureCountsAsGaussian(t *testing.T) {
	factor, _ := halfPi.Float64()
	if factor < math.Pi/2 {
		t.Errorf("%v is below π/2", factor)
	}
	for epsilon := 0.01; epsilon < 12; epsilon *= 1.1 {
		for x := -15.; x < 15; x += 0.01 {
			if pure, counted := response(x, epsilon), hockey(x, factor*epsilon*epsilon); pure > counted+1e-13 {
				t.Fatalf("ε = %v: at %v δ is %v, and counted %v", epsilon, x, pure, counted)
			}
		}
	}
}
