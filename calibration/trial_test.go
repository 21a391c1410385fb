package calibration

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/posterior"
)

// ladder has draws 1 … n of one quantity.
func ladder(n int) *posterior.Draws {
	chain := make([]float64, n)
	for i := range chain {
		chain[i] = float64(i + 1)
	}
	return &posterior.Draws{Names: []string{"a"}, Chains: [][]float64{chain}}
}

func TestScore(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		truth, u float64
		rank     int
		hits     [len(Levels)]bool
	}{
		{0, 0, 0, [4]bool{}},
		{500.5, 0.5, 63, [4]bool{true, true, true, true}},
		{1001, 1, Ranked, [4]bool{}},
		{60, 0.0595, 7, [4]bool{false, false, true, true}},
		{250.75, 0.25, 32, [4]bool{true, true, true, true}},
	} {
		trial := must.Get(score(&Sample{Names: []string{"a"}, Truth: []float64{c.truth}, Draws: ladder(1000)}, rng))(t)
		got := trial.Scores[0]
		if got.U != c.u || math.Abs(float64(got.Rank-c.rank)) > 1 || got.Hits != c.hits || trial.Draws != 1000 {
			t.Errorf("%v: %+v", c.truth, got)
		}
	}
}

// A sample may be measures alone; one that is not a number is an error, which names it.
func TestScoreOfMeasures(t *testing.T) {
	measures := []Measure{{"width", 2}, {"error", 0}}
	trial, err := score(&Sample{Measures: measures, Seconds: 3}, nil)
	if err != nil || len(trial.Scores) != 0 || !slices.Equal(trial.Measures, measures) || trial.Seconds != 3 {
		t.Errorf("%+v, %v", trial, err)
	}
	measures[1].Value = math.NaN()
	must.Fail(t, must.Err(score(&Sample{Measures: measures}, nil)), "error is NaN")
	if _, err := score(&Sample{}, nil); err == nil {
		t.Error("a sample of nothing")
	}
}

// Ranks among ties are uniform, so that a quantity that is known has uniform ranks.
func TestRankOfTies(t *testing.T) {
	rng, seen := rand.New(rand.NewPCG(1, 1)), map[int]bool{}
	for range 2000 {
		seen[rankOf([]float64{1, 2, 2, 2, 3}, 2, rng)] = true
	}
	if len(seen) != 4 || !seen[1] || !seen[4] {
		t.Errorf("ranks %v", seen)
	}
	if u := quantileOf([]float64{1, 2, 2, 2, 3}, 2); u != 0.5 {
		t.Errorf("u = %v", u)
	}
}

func TestThin(t *testing.T) {
	for _, n := range []int{Ranked, 128, 500, 10_001} {
		kept := slices.Concat(points(ladder(n), Ranked, 1)...)
		if !slices.IsSorted(kept) || len(slices.Compact(slices.Clone(kept))) != Ranked {
			t.Errorf("of %d: %v", n, kept)
		}
		if first, last := kept[0]-1, float64(n)-kept[Ranked-1]; math.Abs(first-last) > 1 {
			t.Errorf("of %d: %v before the first, %v after the last", n, first, last)
		}
	}
}

// Chains are thinned alike, and rows stay whole.
func TestPoints(t *testing.T) {
	d := &posterior.Draws{Names: []string{"a", "b", "c"}, Chains: make([][]float64, 2)}
	for c := range d.Chains {
		for i := range 200 {
			v := float64(1000*c + i)
			d.Chains[c] = append(d.Chains[c], v, v+0.25, -1)
		}
	}
	rows := points(d, Ranked, 2)
	for _, row := range rows {
		if len(row) != 2 || row[1] != row[0]+0.25 {
			t.Fatal(row)
		}
	}
	if rows[0][0] > 2 || rows[Ranked-1][0] < 1197 {
		t.Errorf("from %v to %v", rows[0], rows[Ranked-1])
	}
}

func TestSampleCheck(t *testing.T) {
	nan := ladder(200)
	nan.Chains[0][7] = math.NaN()
	for says, s := range map[string]*Sample{
		"a column of draws": {Names: []string{"a"}, Truth: []float64{1, 2}, Draws: ladder(200)},
		"a name":            {Truth: []float64{1}, Draws: ladder(200)},
		"126 draws":         {Names: []string{"a"}, Truth: []float64{1}, Draws: ladder(126)},
		"NaN":               {Names: []string{"a"}, Truth: []float64{math.NaN()}, Draws: ladder(200)},
		"not a number":      {Names: []string{"a"}, Truth: []float64{1}, Draws: nan},
		"more columns":      {Names: []string{"a"}, Truth: []float64{1}, Draws: ladder(200), Reference: &posterior.Draws{Names: []string{"a", "b"}}},
	} {
		must.Fail(t, must.Err(score(s, rand.New(rand.NewPCG(1, 1)))), says)
	}
}

// The estimate is unbiased: of one law it is 0 on the average over 400 pairs, and of
// N(0, 1) and N(2, 1) it is 2(1 − e^{−2²/6})/√3, to 4.5 standard errors.
func TestMMD2(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	draw := func(mean float64) [][]float64 {
		x := make([][]float64, 30)
		for i := range x {
			x[i] = []float64{mean + rng.NormFloat64()}
		}
		return x
	}
	for _, shift := range []float64{0, 2} {
		want := 2 * (1 - math.Exp(-shift*shift/6)) / math.Sqrt(3)
		values := make([]float64, 400)
		for i := range values {
			values[i] = MMD2(draw(0), draw(shift))
		}
		if got, e := *mean(values), *standardError(values); math.Abs(got-want) > 4.5*e {
			t.Errorf("shift %v: %v ± %v, want %v", shift, got, e, want)
		}
	}
	if got := MMD2([][]float64{{0, 0}, {0, 2}}, [][]float64{{0, 0}, {0, 0}}); math.Abs(got-(math.Exp(-2)+1-(1+math.Exp(-2)))) > 1e-15 {
		t.Errorf("by hand: %v", got)
	}
}

// The interval of Clopper and Pearson: 0 of 10 has the upper end 1 − 0.025^{1/10}, and
// 7 of 10 has (0.3475, 0.9333), as R's binom.test gives it.
func TestCoverage(t *testing.T) {
	c := newCoverage(0.5, 0, 10)
	if c.Lower != 0 || math.Abs(c.Upper-(1-math.Pow(0.025, 0.1))) > 1e-9 {
		t.Errorf("%+v", c)
	}
	if c = newCoverage(0.5, 7, 10); math.Abs(c.Lower-0.3475471) > 1e-6 || math.Abs(c.Upper-0.9332605) > 1e-6 || c.Share != 0.7 {
		t.Errorf("%+v", c)
	}
	if c = newCoverage(0.5, 10, 10); c.Upper != 1 || math.Abs(c.Lower-math.Pow(0.025, 0.1)) > 1e-9 {
		t.Errorf("%+v", c)
	}
}

// binomialTail is P(Binomial(n, x) ≥ k), summed.
func binomialTail(k, n int, x float64) float64 {
	sum := 0.0
	whole, _ := math.Lgamma(float64(n + 1))
	for i := k; i <= n; i++ {
		a, _ := math.Lgamma(float64(i + 1))
		b, _ := math.Lgamma(float64(n - i + 1))
		sum += math.Exp(whole - a - b + float64(i)*math.Log(x) + float64(n-i)*math.Log1p(-x))
	}
	return sum
}

// At the bound of Clopper and Pearson, what was seen has exactly the level's probability.
func TestLeastShare(t *testing.T) {
	for _, c := range []struct{ k, n int }{{1, 1}, {1, 10}, {7, 10}, {10, 10}, {300, 1000}, {66105, 90886}, {40, 2000000}}[:testsize.Of(6, 7)] {
		for _, level := range []float64{1e-5, 2.5e-6, 0.1} {
			x := LeastShare(c.k, c.n, level)
			if p := binomialTail(c.k, c.n, x); math.Abs(p/level-1) > 1e-6 {
				t.Errorf("%d of %d at %v: the tail at %v is %v", c.k, c.n, level, x, p)
			}
		}
	}
	if LeastShare(0, 10, 0.1) != 0 {
		t.Error("of nothing there is a bound")
	}
}
