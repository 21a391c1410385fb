package pvi

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// adultLike are few rows, so that no file is read.
func adultLike() *Adult {
	rng := rand.New(rand.NewPCG(8, 8))
	return &Adult{Train: logisticRows(800, rng), Test: logisticRows(500, rng)}
}

// Whatever the order of draws, no client spends more than its budget, but by the paper's
// accounting; and what is learned is about what can be.
func TestWorkshop(t *testing.T) {
	data := adultLike()
	for _, w := range []Workshop{
		{Partition: Partition{Clients: 4, Rho: 0.5}, Method: DPPVI, Epsilon: 1},
		{Partition: Partition{Clients: 4, Rho: 0.5}, Method: DPPVI, Epsilon: 1, Accounting: Paper},
		{Partition: Partition{Clients: 4}, Method: PVI},
		{Partition: Partition{Clients: 4}, Method: GlobalVI},
	} {
		r, err := w.Run(context.Background(), data, 1)
		if err != nil {
			t.Fatal(err)
		}
		passed := r.SmallSpent > w.Epsilon && r.LargeSpent > w.Epsilon
		if paper := w.Accounting == Paper; passed != paper || (r.SmallSpent > 0) != (w.Method == DPPVI) {
			t.Errorf("%v: spent %v and %v of %v", w.Method, r.SmallSpent, r.LargeSpent, w.Epsilon)
		}
		if !(r.Accuracy > 0.7 && r.LogLik > -0.62) {
			t.Errorf("%v: %+v", w.Method, r.Score)
		}
		if w.Accounting == Paper && *must(w.Run(context.Background(), data, 1)) != *r {
			t.Errorf("%v: two runs with one seed differ", w.Method)
		}
	}
}

func TestExperimentsRefuse(t *testing.T) {
	data := adultLike()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, m := range []Method{PVI, GlobalVI} {
		if _, err := (Workshop{Partition: Partition{Clients: 4}, Method: m}).Run(ctx, data, 1); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	w := Workshop{Partition: Partition{Clients: 4}, Method: DPPVI, Epsilon: 1e-3}
	if _, err := w.Run(context.Background(), data, 1); err == nil || !strings.Contains(err.Error(), "client 1") {
		t.Error(err)
	}
	if _, err := (Thesis{Clients: 2, Records: 0, Prior: 5, SD: 1, Damping: 0.1, Rounds: 5}).Run(context.Background(), 1); err == nil {
		t.Error("clients without data: no error")
	}
	if _, err := (Thesis{Clients: 2, Records: 3, Prior: 5, SD: 1, Damping: 0.1, Rounds: 5}).Run(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// The thesis's figures, by few seeds: without noise the posterior is exact; with it the
// median divergence is about 2, in medians of 100 runs.
func TestThesis(t *testing.T) {
	base := Thesis{Clients: 20, Records: 10, Prior: 5, SD: 1.75, Damping: 0.1, Rounds: 77}
	for _, c := range []struct {
		guard     Guard
		rounds    int
		low, high float64
	}{
		{Guard{Clip: 1}, 700, -1e-12, 1e-3},
		{Guard{Clip: 64}, 120, -1e-12, 1e-3},
		{Guard{Clip: 5, Multiplier: 5, Sharing: Published}, 77, 1, 4},
		{Guard{Clip: 5, Multiplier: 5, Sharing: Aggregated}, 77, 1, 4},
		{Guard{Clip: 5, Multiplier: 5, Sharing: Individual}, 77, 30, 500},
	} {
		setting := base
		setting.Guard, setting.Rounds = &c.guard, c.rounds
		kl := make([]float64, 100)
		for seed := range kl {
			kl[seed] = must(setting.Run(context.Background(), uint64(seed))).KL
		}
		slices.Sort(kl)
		if median := kl[50]; !(median >= c.low && median <= c.high) {
			t.Errorf("%+v: median KL %v", c.guard, median)
		}
	}
	base.Guard = &Guard{Clip: 5, Multiplier: 5}
	near(t, "moments accountant", must(base.Spent(Paper)), 9.998, 5e-4)
	for _, local := range []Local{Closed, Descent, Hybrid} {
		r := must(Thesis{Clients: 3, Records: 10, Prior: 5, SD: 0.5, Damping: 0.1, Rounds: 10, Clip: 4, Multiplier: 2, Local: local}.Run(context.Background(), 1))
		if math.IsNaN(r.KL) {
			t.Errorf("%v: KL %v", local, r.KL)
		}
	}
	hybrid := Thesis{Clients: 3, Records: 10, Prior: 5, SD: 0.5, Damping: 0.1, Rounds: 10, Clip: 4, Multiplier: 2, Local: Hybrid}
	descent := hybrid
	descent.Local = Descent
	if !(must(hybrid.Spent(Tight)) > must(descent.Spent(Tight))) {
		t.Error("the hybrid's analytic update costs nothing")
	}
}

const adultLine = "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0, 40, United-States, <=50K"

func writeAdult(t *testing.T, data, test string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"adult.data": data, "adult.test": test} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestReadAdult(t *testing.T) {
	second := strings.NewReplacer("39", "50", "State-gov", "?", "<=50K", ">50K.").Replace(adultLine)
	a, err := ReadAdult(writeAdult(t, adultLine+"\n"+adultLine+"\n\n", "|1x3 Cross validator\n"+second+"\n"+second), 0)
	if err != nil {
		t.Fatal(err)
	}
	// 6 numbers, and 1 level of each of 8 columns but of one, where it is 2.
	if a.Train.P != 15 || len(a.Train.Y) != 4 || len(a.Test.Y) != 0 {
		t.Fatalf("%d columns, %d and %d rows", a.Train.P, len(a.Train.Y), len(a.Test.Y))
	}
	for i, y := range a.Train.Y {
		x := a.Train.X[i*15 : (i+1)*15]
		near(t, "age", x[0], 2*y-1, 1e-12)
		near(t, "?", x[6], y, 0) // before State-gov
		near(t, "education", x[2], 0, 0)
	}
}

func TestReadAdultRefuses(t *testing.T) {
	if _, err := ReadAdult(t.TempDir(), 0); err == nil {
		t.Error("no files: no error")
	}
	if _, err := ReadAdult(writeAdult(t, "", ""), 0); err == nil {
		t.Error("no rows: no error")
	}
	for line, want := range map[string]string{
		"39, State-gov": "2 columns",
		strings.Replace(adultLine, "39", "old", 1):   "column 1 is no number",
		strings.Replace(adultLine, "<=50K", "x", 1):  "column 15 is neither",
		strings.Replace(adultLine, "2174", "NaN", 1): "column 11",
	} {
		_, err := ReadAdult(writeAdult(t, adultLine+"\n"+line, adultLine), 0)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "adult.data:2") {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func FuzzScanAdult(f *testing.F) {
	f.Add(adultLine)
	f.Add("|x\n\n" + adultLine + ".\n39,")
	f.Fuzz(func(t *testing.T, text string) {
		records, err := scanAdult(strings.NewReader(text), "f")
		if err == nil && len(records) > 0 {
			if rows := codeAdult(records); len(rows.X) != rows.P*len(records) || checkRows(rows) != nil {
				t.Errorf("%q: %v", text, checkRows(rows))
			}
		}
	})
}

// With v → 0 the probability is σ(m); with a large v it goes to ½.
func TestPredict(t *testing.T) {
	rows := logisticRows(50, rand.New(rand.NewPCG(9, 9)))
	rows.X, rows.P, rows.Y = []float64{1, 1, 1}, 1, []float64{1, 1, 0}
	s := Predict([]float64{2e12, 1e12}, rows)
	near(t, "accuracy", s.Accuracy, 2./3, 1e-15)
	near(t, "log likelihood", s.LogLik, (-2*math.Log1p(math.Exp(-2))-math.Log1p(math.Exp(2)))/3, 1e-9)
	near(t, "unsure", Predict([]float64{2e-12, 1e-12}, rows).LogLik, -math.Ln2, 1e-5)
	near(t, "probit", Predict([]float64{2, 1}, rows).LogLik, func() float64 {
		a := 2 / math.Sqrt(1+math.Pi/8)
		return (-2*math.Log1p(math.Exp(-a)) - math.Log1p(math.Exp(a))) / 3
	}(), 1e-12)
}
