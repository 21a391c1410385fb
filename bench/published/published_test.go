package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/vi"
)

// The vectors of the authors' moments accountant, to five digits.
func TestMomentsOfAbalone(t *testing.T) {
	for rate, vectors := range map[float64]map[float64]float64{
		abaloneRate: {2: .93577, 4: .43312, 6: .28375, 8: .21126, 10: .16834},
		0.001:       {.4: 7.94151, .8: 1.02224, 1.2: .40371, 1.6: .22565, 2: .14594},
	} {
		for sigma, want := range vectors {
			got, err := moments(abaloneDelta, abaloneMoments, accounting.Training{Multiplier: sigma, Rate: rate, Steps: abaloneSteps})
			if err != nil || math.Abs(got-want) > 5.0001e-6 {
				t.Errorf("rate %v, sigma %v: %v, want %v (%v)", rate, sigma, got, want, err)
			}
		}
	}
}

// The paper's accounting lets the last update pass: numbers of updates on the Adult data,
// where another implementation has the same.
func TestPaperAccounting(t *testing.T) {
	for _, c := range []struct {
		n, batch, delta float64
		want            [3]int // at ε = 0.5, 0.75, 1
	}{
		{3907, 79, 1e-4, [3]int{31, 69, 122}},
		{390, 20, 1e-3, [3]int{7, 14, 25}},
		{7424, 149, 1e-4, [3]int{31, 71, 124}},
	}[:testsize.Of(1, 3)] {
		one := accounting.Training{Multiplier: 5, Rate: c.batch / c.n, Steps: 25}
		for i, epsilon := range []float64{0.5, 0.75, 1} {
			if n, err := (workshop{epsilon: epsilon, paper: true}).updates(one, c.delta); n != c.want[i] || err != nil {
				t.Errorf("N = %v, ε = %v: %d updates, want %d (%v)", c.n, epsilon, n, c.want[i], err)
			}
		}
	}
}

// By hand: of the four pairs of a 1 and a 0, scores order three, one of them a tie.
func TestAUC(t *testing.T) {
	if got := auc([]float64{3, 1, 1, 2}, []float64{1, 1, 0, 0}); got != 2.5/4 {
		t.Errorf("%v", got)
	}
}

// Without variance the probability is σ(m); with a large one it goes to ½.
func TestPredict(t *testing.T) {
	rows := &vi.Rows{P: 1, X: []float64{1, 1, 1}, Y: []float64{1, 1, 0}}
	for _, c := range []struct{ sd, a float64 }{{0, 2}, {1, 2 / math.Sqrt(1+math.Pi/8)}, {1e9, 0}} {
		accuracy, logLik := predict(rows, []float64{2}, []float64{c.sd})
		want := (-2*math.Log1p(math.Exp(-c.a)) - math.Log1p(math.Exp(c.a))) / 3
		if math.Abs(accuracy-2./3) > 1e-15 || math.Abs(logLik-want) > 1e-8 {
			t.Errorf("sd %v: %v, %v, want %v", c.sd, accuracy, logLik, want)
		}
	}
}

// A short run is far from chance and from the truth's own value: −3.64 is the mixture's,
// −4.3 one normal law's; 0.9 the groups'.
func TestShortRuns(t *testing.T) {
	if a, err := (groupsRun{steps: 2000}).run(t.Context(), newGroups(1000, 1), 1); err != nil || a < 0.85 {
		t.Errorf("groups: AUC %v (%v)", a, err)
	}
	if l, err := newClusters(1).fit(t.Context(), 0, 1); err != nil || l < -3.7 {
		t.Errorf("clusters: %v (%v)", l, err)
	}
}

// logistic are few rows, so that no file is read: a one-hot column pair beside two numeric
// ones.
func logistic(n int, rng *rand.Rand) *vi.Rows {
	rows := &vi.Rows{P: 4}
	for range n {
		a, b := rng.NormFloat64(), rng.NormFloat64()
		level, y := float64(rng.IntN(2)), 0.
		if rng.Float64() < 1/(1+math.Exp(-2*a+b-level)) {
			y = 1
		}
		rows.X, rows.Y = append(rows.X, a, b, level, 1-level), append(rows.Y, y)
	}
	return rows
}

// Whatever the order of draws, no client spends more than its budget, but by the paper's
// accounting; and what is learned is about what can be.
func TestWorkshop(t *testing.T) {
	testsize.Full(t, "TestRun has studies that learn")
	rng := rand.New(rand.NewPCG(8, 8))
	data := &parted{logistic(2000, rng), logistic(500, rng)}
	few := &parted{&vi.Rows{P: data.train.P, X: data.train.X[:600*data.train.P], Y: data.train.Y[:600]}, data.test}
	for _, w := range []workshop{
		{method: dpPVI, epsilon: 2, paper: true},
		{method: dpPVI, epsilon: 2},
		{method: pviMethod},
		{method: globalVI},
	} {
		w.partition, w.counts = partition{rho: 0.5}, make(map[string]int)
		data := data
		if w.method != dpPVI { // no noise is to be outweighed, and each of thousands of steps takes all rows
			data = few
		}
		m := must.Get(w.run(t.Context(), data, 1))(t)
		if passed := m[4] > w.epsilon && m[5] > w.epsilon; passed != w.paper || (m[4] > 0) != (w.method == dpPVI) {
			t.Errorf("%s: spent %v and %v of %v", w.method, m[4], m[5], w.epsilon)
		}
		if !(m[0] > 0.7 && m[1] > -0.62) {
			t.Errorf("%s: %v", w.method, m)
		}
		if w.paper {
			if again, err := w.run(t.Context(), data, 1); err != nil || !slices.Equal(m, again) {
				t.Errorf("%s: two runs with one seed differ: %v, %v (%v)", w.method, m, again, err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := w.run(ctx, data, 1); !errors.Is(err, context.Canceled) {
			t.Errorf("%s, cancelled: %v", w.method, err)
		}
	}
	small := workshop{method: dpPVI, epsilon: 1e-3, counts: make(map[string]int)}
	must.Fail(t, must.Err(small.run(t.Context(), data, 1)), "client 1")
}

// Clients have the paper's sizes and shares of classes, and no record is dealt twice.
func TestPartition(t *testing.T) {
	y := make([]float64, 39074)
	negatives := 0.
	for i := range y {
		if i%1000 < 239 {
			y[i] = 1
		}
		negatives += 1 - y[i]
	}
	share := negatives / float64(len(y))
	for name, sizes := range map[string][2]int{"A": {3907, 3907}, "B": {390, 7424}, "C": {1172, 6642}, "D": {1562, 6251}} {
		dealt := must.Get(partitions[name].deal(y, rand.New(rand.NewPCG(1, 1))))(t)
		seen := make([]bool, len(y))
		for m, records := range dealt {
			if len(records) != sizes[m/5] {
				t.Errorf("%s: client %d has %d records, want %d", name, m, len(records), sizes[m/5])
			}
			negative := 0.
			for _, i := range records {
				if seen[i] {
					t.Fatalf("%s: record %d was dealt twice", name, i)
				}
				seen[i] = true
				negative += 1 - y[i]
			}
			if want := math.Floor(float64(sizes[0]) * (share + (1-share)*partitions[name].kappa)); m < 5 && negative != want {
				t.Errorf("%s: client %d has %v negative records, want %v", name, m, negative, want)
			}
		}
	}
	for _, p := range []partition{{0.9999, 0}, {0, 1.5}, {0, -4}, {0, -3.2}} {
		if _, err := p.deal(y, rand.New(rand.NewPCG(1, 1))); err == nil {
			t.Errorf("%+v: no error", p)
		}
	}
}

// The thesis's figures, by few seeds: without noise the posterior is exact; with it the
// median divergence is about 2, in medians of 100 runs.
func TestThesis(t *testing.T) {
	testsize.Full(t, "TestShortRuns runs each study")
	base := thesis{clients: 20, records: 10, prior: 5, sd: 1.75, damping: 0.1}
	for _, c := range []struct {
		sharing          string
		clip, multiplier float64
		rounds           int
		low, high        float64
	}{
		{individual, 1, 0, 700, -1e-12, 1e-3},
		{individual, 64, 0, 120, -1e-12, 1e-3},
		{published, 5, 5, 77, 1, 4},
		{aggregated, 5, 5, 77, 1, 4},
		{individual, 5, 5, 77, 30, 500},
	} {
		s := base
		s.sharing, s.clip, s.multiplier, s.rounds = c.sharing, c.clip, c.multiplier, c.rounds
		kl := make([]float64, 100)
		for seed := range kl {
			m := must.Get(s.run(t.Context(), uint64(seed)))(t)
			kl[seed] = m[0]
		}
		slices.Sort(kl)
		if median := kl[len(kl)/2]; !(median >= c.low && median <= c.high) {
			t.Errorf("%+v: median KL %v", c, median)
		}
	}
	base.sharing, base.clip, base.multiplier, base.rounds = individual, 5, 5, 77
	if byMoments, _, err := base.spent(); err != nil || math.Abs(byMoments-9.998) > 5e-4 {
		t.Errorf("moments accountant: %v (%v)", byMoments, err)
	}
	records := thesis{clients: 3, records: 10, prior: 5, sd: 0.5, damping: 0.1, rounds: 10, clip: 4, multiplier: 2}
	if m, err := records.run(t.Context(), 1); err != nil || math.IsNaN(m[0]) {
		t.Errorf("KL %v (%v)", m, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := base.run(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Where noise is unequal, the sum of releases has wider intervals than the releases.
func TestSummedIsWorthLess(t *testing.T) {
	testsize.Full(t, "TestShortRuns runs each study")
	weak := custodian{rows: 1000, epsilon: 0.1}
	c, width := custodianCase{custodians: []custodian{{rows: 1000, epsilon: 10}, weak, weak, weak, weak}}, map[string]float64{}
	for _, m := range custodianMethods(0) {
		measured := must.Get(c.run(t.Context(), m, 0))(t)
		width[m.name] = measured[2]
	}
	if !(width["mcmc-exact"] < 0.7*width["summed"]) {
		t.Errorf("widths %v", width)
	}
}

const (
	abaloneLine = "M,0.4,0.3,0.1,0.5,0.2,0.1,0.15,9"
	adultLine   = "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0, 40, United-States, <=50K"
)

// file writes one of UCI's.
func file(t *testing.T, path, text string) string {
	t.Helper()
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestReadAdult(t *testing.T) {
	dir := t.TempDir()
	second := strings.NewReplacer("39", "50", "State-gov", "?", "<=50K", ">50K.").Replace(adultLine)
	file(t, filepath.Join(dir, "adult.data"), adultLine+"\n"+adultLine+"\n\n")
	file(t, filepath.Join(dir, "adult.test"), "|1x3 Cross validator\n"+second+"\n"+second)
	a := must.Get(readAdult(dir, 0))(t)
	// 6 numbers, and 1 level of each of 8 columns but of one, where it is 2.
	if a.train.P != 15 || len(a.train.Y) != 4 || len(a.test.Y) != 0 {
		t.Fatalf("%d columns, %d and %d rows", a.train.P, len(a.train.Y), len(a.test.Y))
	}
	for i, y := range a.train.Y {
		x := a.train.X[i*15 : (i+1)*15]
		if math.Abs(x[0]-(2*y-1)) > 1e-12 || x[6] != y || x[2] != 0 { // age, "?" before State-gov, education
			t.Errorf("y = %v: %v", y, x)
		}
	}
}

// What is wrong with a file is told by its name, the line and the column, and not by what it
// holds.
func TestReadRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ name, text, want string }{
		{"abalone", "M,1,1,1\n", "abalone.data:1: 4 columns"},
		{"abalone", strings.Replace(abaloneLine, "M", "X", 1), "abalone.data:1: column 1 is none of I, F, M"},
		{"abalone", strings.Replace(abaloneLine, "9", "NaN", 1), "abalone.data:1: column 9"},
		{"abalone", abaloneLine + "\n" + strings.Replace(abaloneLine, "0.4", "x", 1), "abalone.data:2: column 2"},
		{"abalone", abaloneLine, "1 rows"},
		{"workshop-A", "39, State-gov", "adult.data:1: 2 columns"},
		{"workshop-A", adultLine + "\n" + strings.Replace(adultLine, "39", "old", 1), "adult.data:2: column 1 is no number"},
		{"workshop-A", strings.Replace(adultLine, "<=50K", "x", 1), "adult.data:1: column 15 is neither"},
		{"workshop-A", strings.Replace(adultLine, "2174", "NaN", 1), "adult.data:1: column 11"},
		{"workshop-A", "", "no rows"},
		{"federated", strings.Replace(adultLine, "39", "old", 1), "adult.data:1: column 1 is no number"},
	} {
		path := file(t, filepath.Join(dir, "abalone.data"), c.text)
		if c.name != "abalone" {
			file(t, filepath.Join(dir, "adult.data"), c.text)
			file(t, filepath.Join(dir, "adult.test"), "")
			path = dir
		}
		must.Fail(t, run(t.Context(), io.Discard, io.Discard, []string{c.name, path}), c.want)
	}
}

// Whatever a file holds, it is read whole or refused with its name.
func FuzzScan(f *testing.F) {
	f.Add(abaloneLine)
	f.Add("M,1")
	f.Add(adultLine)
	f.Add("|x\n\n" + adultLine + ".\n39,")
	f.Fuzz(func(t *testing.T, text string) {
		var b abalone
		if err := scan(strings.NewReader(text), "f:", abaloneFields, b.add); err != nil && !strings.Contains(err.Error(), "f:") {
			t.Errorf("%q: %v", text, err)
		}
		var a adult
		if err := scan(strings.NewReader(text), "f:", adultFields, a.add); err == nil && len(a.records) > 0 {
			rows := a.code()
			if len(rows.X) != rows.P*len(a.records) || slices.ContainsFunc(rows.X, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }) {
				t.Errorf("%q: %v", text, rows)
			}
		}
	})
}

// The command runs, and says what a study is of.
func TestRun(t *testing.T) {
	dir, rng := t.TempDir(), rand.New(rand.NewPCG(1, 1))
	for name, end := range map[string]string{"adult.data": "", "adult.test": "."} {
		var text strings.Builder
		for range 1250 {
			age, income := 20+rng.IntN(50), "<=50K"
			if age+rng.IntN(20) > 55 {
				income = ">50K"
			}
			fmt.Fprintf(&text, "%d, Private, 1, HS-grad, %d, Divorced, Sales, Husband, White, %s, %d, 0, 40, Cuba, %s%s\n",
				age, rng.IntN(16), []string{"Male", "Female"}[rng.IntN(2)], rng.IntN(2), income, end)
		}
		file(t, filepath.Join(dir, name), text.String())
	}
	var rings strings.Builder
	for range 3500 {
		fmt.Fprintf(&rings, "%s,%v,0.3,0.1,0.5,0.2,0.1,0.15,%d\n", []string{"I", "F", "M"}[rng.IntN(3)], rng.Float64(), rng.IntN(20))
	}
	abalones := file(t, filepath.Join(dir, "abalone.data"), rings.String())
	for args, want := range map[string]string{
		"-seeds 2 -only none abalone " + abalones:        "0.7667",
		"-seeds 1 -only dp-pvi\x000.5 workshop-A " + dir: "2000 rows to train and 500 to test",
		"-seeds 1 thesis-dataset":                        "9.998",
		"-seeds 1 -only analytic thesis-datapoint":       "median KL",
		"-only nothing hierarchical":                     "AUC",
		"-seeds 1 -only 10 mixture":                      "log-likelihood",
		"-seeds 1 -only 1 federated " + dir:              "DP-PVI, gradients ",
	} {
		if testing.Short() && (strings.Contains(args, "federated") || strings.Contains(args, "workshop")) {
			continue // they take as long as the others
		}
		var stdout bytes.Buffer
		words := strings.Fields(args)
		for i := range words {
			words[i] = strings.ReplaceAll(words[i], "\x00", " ")
		}
		if err := run(t.Context(), &stdout, io.Discard, words); err != nil || !strings.Contains(stdout.String(), strings.TrimPrefix(want, "0")) || !strings.Contains(stdout.String(), "imulated") {
			t.Errorf("%s: %v\n%s", args, err, stdout.String())
		}
	}
	for args, want := range map[string]string{
		"":                         "is no experiment",
		"workshop-E":               "is no experiment",
		"workshop-A":               "needs a directory",
		"hierarchical x":           "needs no data",
		"-seeds 0 hierarchical":    "-seeds 0",
		"workshop-A " + abalones:   "adult.data",
		"-only dp-pvi thesis":      "is no experiment",
		"abalone " + dir + "/none": "none",
	} {
		must.Fail(t, run(t.Context(), io.Discard, io.Discard, strings.Fields(args)), want)
	}
}
