package custody_test

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testdir"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/mechanisms/ledger"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
	"github.com/dpreg/dpreg/table"
)

func TestMain(m *testing.M) { os.Exit(testdir.Run(m)) }

var twoColumns = &schema.Design{
	Response:   schema.Column{Name: "y", Lower: -1, Upper: 1},
	Covariates: []schema.Column{{Name: "x", Lower: -1, Upper: 1}}, Intercept: true,
}

// rows are a file of rows of x and y.
func rows(t testing.TB, lines ...string) custody.Files { return rowsOf(t, "x,y", lines...) }

// rowsOf are a file of a header and rows.
func rowsOf(t testing.TB, header string, lines ...string) custody.Files {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rows.csv")
	must.Do(t, os.WriteFile(path, []byte(header+"\n"+strings.Join(lines, "\n")+"\n"), 0o600))
	return custody.Files{Source: must.Get(table.Find(path))(t)}
}

// ordered is an order of two columns with pure ε.
func ordered(source custody.Source, epsilon float64) custody.Order {
	return custody.Order{NoLedger: true, Rows: source, Design: twoColumns, Privacy: release.Privacy{Epsilon: epsilon, Neighbours: release.ReplaceOne}}
}

// The moments of a release are those of its rows, and it serves gibbs-ss-noisy.
func TestPublishMoments(t *testing.T) {
	var lines []string
	for i := range 2000 {
		x := float64(i)/1000 - 1
		lines = append(lines, fmt.Sprintf("%v,%v", x, 0.5*x+0.2*math.Sin(float64(i))))
	}
	o := ordered(rows(t, lines...), 10)
	o.WithMoments = true
	r := must.Get(custody.Publish(t.Context(), o))(t)
	// Σx⁴ is 2000/5; noise of scale 0.74 is beyond 40 with probability 1e-23.
	if math.Abs(r.Moments.Sums[1]-400) > 40 || r.Moments.Noise.Scale != 0.7375 {
		t.Errorf("moments %+v", r.Moments)
	}
	must.Get(dpreg.Infer(t.Context(), dpreg.One(r), dpreg.Options{Method: "gibbs-ss-noisy", Plan: mcmc.Plan{Chains: 1, Warmup: 100, Draws: 100, Seed: 1}}))(t)
}

// Of no rows an add-remove release is made as of one: to refuse would tell of the row.
func TestPublishNoRows(t *testing.T) {
	for name, change := range map[string]func(*custody.Order){
		"sums":    func(*custody.Order) {},
		"moments": func(o *custody.Order) { o.WithMoments = true },
		// Rows are as stated: no number that is not public is looked at.
		"bounds": func(o *custody.Order) {
			o.Bounds, o.StatedRows = custody.Bounds{Columns: []string{"y"}, Share: 0.5}, 1e6
		},
		"elsewhere": func(o *custody.Order) {
			o.Rows = custody.Summed(ssp.NewAccumulator(2).Statistics())
		},
		"steps":  func(o *custody.Order) { o.Steps = 2 },
		"scaled": func(o *custody.Order) { o.Rows, o.Steps = custody.Scaled{}, 2 },
	} {
		o := ordered(rows(t), 1)
		o.Privacy.Neighbours = release.AddRemove
		change(&o)
		r := must.Get(custody.Publish(t.Context(), o))(t)
		if r.NNoise == 0 || (r.Moments == nil) == (name == "moments") || (r.Bounds == nil) == (name == "bounds") {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// What cannot stand is refused with nothing spent: no ledger is charged, no file is written,
// and Check is asked before either.
func TestPublishRefuses(t *testing.T) {
	done, cancel := context.WithCancel(t.Context())
	cancel()
	gaussian := release.Privacy{Epsilon: 1, Delta: 1e-6, Neighbours: release.ReplaceOne}
	five := *twoColumns
	for _, name := range []string{"b", "c", "d"} {
		five.Covariates = append(five.Covariates[:len(five.Covariates):len(five.Covariates)], schema.Column{Name: name, Lower: -1, Upper: 1})
	}
	twice := *twoColumns
	twice.Response.Name = "x"
	for _, c := range []struct {
		says    string
		private bool
		change  func(*custody.Order)
	}{
		{"rows and a design", false, func(o *custody.Order) { o.Rows = nil }},
		{"rows and a design", false, func(o *custody.Order) { o.Design = nil }},
		{"x", false, func(o *custody.Order) { o.Design = &twice }},
		{"3:", false, func(o *custody.Order) { o.Rows = rows(t, "0,0", "0,0,0") }},
		{"decimal number", false, func(o *custody.Order) { o.Rows = rows(t, "0,secret") }},
		{"no rows", false, func(o *custody.Order) { o.Rows = rows(t) }},
		{"no rows", false, func(o *custody.Order) { o.Rows = custody.Summed(ssp.NewAccumulator(2).Statistics()) }},
		{"epsilon", false, func(o *custody.Order) { o.Privacy.Epsilon = 0 }},
		{"epsilon", false, func(o *custody.Order) {
			o.Privacy.Epsilon = math.NaN()
			o.Bounds.Columns = []string{"y"}
		}},
		{"neighbours", false, func(o *custody.Order) { o.Privacy.Neighbours = "" }},
		{"δ above 0", false, func(o *custody.Order) { o.Mechanism = release.Gaussian }},
		{"needs no δ", false, func(o *custody.Order) { o.Privacy, o.Mechanism = gaussian, release.Laplace }},
		{"--mechanism", false, func(o *custody.Order) { o.Mechanism = "uniform" }},
		{"1 to 3", false, func(o *custody.Order) { o.WithMoments, o.Design = true, &five }},
		{"needs the rows", false, func(o *custody.Order) {
			o.WithMoments, o.Rows = true, custody.Summed(ssp.NewAccumulator(2).Statistics())
		}},
		{"from 1 to 8", false, func(o *custody.Order) { o.Steps = 9 }},
		{"from 1 to 8", false, func(o *custody.Order) { o.Steps = -2 }},
		{"--steps 1", false, func(o *custody.Order) { o.Steps, o.WithMoments = 2, true }},
		{"--steps 1", false, func(o *custody.Order) { o.Steps, o.Mechanism = 2, release.Laplace }},
		{"needs no δ", false, func(o *custody.Order) { o.Steps, o.Privacy, o.Mechanism = 2, gaussian, release.Ball }},
		{"needs the rows", false, func(o *custody.Order) {
			o.Steps, o.Rows = 2, custody.Summed(ssp.NewAccumulator(2).Statistics())
		}},
		{"3 values are no rows", false, func(o *custody.Order) { o.Steps, o.Rows = 2, custody.Scaled{Name: "memory", Rows: make([]float64, 3)} }},
		{"[-1, 1]", false, func(o *custody.Order) { o.Rows = custody.Scaled{Name: "memory", Rows: []float64{0, 2}} }},
		{"[-1, 1]", false, func(o *custody.Order) { o.Steps, o.Rows = 2, custody.Scaled{Name: "memory", Rows: []float64{0, 2}} }},
		{"no rows", false, func(o *custody.Order) { o.Steps, o.Rows = 2, custody.Scaled{} }},
		{"decimal number", false, func(o *custody.Order) { o.Steps, o.Rows = 2, rows(t, "0,secret") }},
		{"--missing drop", true, func(o *custody.Order) { o.Cells.Missing = table.Drop }},
		{"checked", false, func(o *custody.Order) {
			o.Check = func(n int64) error {
				if n != 2 {
					t.Errorf("%d rows are told", n)
				}
				return fmt.Errorf("checked")
			}
		}},
		{"by the release's file", false, func(o *custody.Order) { o.Path = "" }},
	} {
		folder := t.TempDir()
		o := ordered(rows(t, "0.1,0.2", "0.3,0.4"), 1)
		o.Path, o.Ledger, o.NoLedger = filepath.Join(folder, "r.json"), filepath.Join(folder, "ledger.db"), false
		must.Do(t, newLedger(t, o.Ledger))
		c.change(&o)
		_, err := custody.Publish(t.Context(), o)
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", c.says, err)
		}
		if e, ok := err.(*custody.Error); ok && e.Private != c.private || !ok && c.says != "checked" {
			t.Errorf("%s: %#v", c.says, err)
		}
		untouched(t, folder)
	}
	folder := t.TempDir()
	o := ordered(rows(t, "0,0"), 1)
	o.Path, o.Ledger, o.NoLedger = filepath.Join(folder, "r.json"), filepath.Join(folder, "ledger.db"), false
	must.Do(t, newLedger(t, o.Ledger))
	must.Fail(t, must.Err(custody.Publish(done, o)), "canceled")
	untouched(t, folder)
}

// untouched finds a ledger that is charged, or a file beside it.
func untouched(t *testing.T, folder string) {
	t.Helper()
	if entries := charges(t, filepath.Join(folder, "ledger.db")); len(entries) > 0 {
		t.Errorf("%d charges", len(entries))
	}
	for _, pattern := range []string{"*.json", ".*"} {
		if left, _ := filepath.Glob(filepath.Join(folder, pattern)); left != nil {
			t.Errorf("left %v", left)
		}
	}
}

// A release is charged, written, kept from being overwritten, and told from another one.
func TestPublishOnce(t *testing.T) {
	folder := t.TempDir()
	o := ordered(rows(t, "0.1,0.2", "0.3,0.4"), 0.4)
	o.Path, o.Ledger, o.NoLedger = filepath.Join(folder, "r.json"), filepath.Join(folder, "ledger.db"), false
	must.Do(t, newLedger(t, o.Ledger))
	var said []string
	o.Say = func(text string) { said = append(said, text) }
	r := must.Get(custody.Publish(t.Context(), o))(t)
	info := must.Get(os.Stat(o.Path))(t)
	if entries := charges(t, o.Ledger); len(entries) != 1 || !entries[0].Written || info.Mode() != fs.FileMode(0o644) || r.Simulated {
		t.Errorf("charges %+v, mode %v, simulated %t", entries, info.Mode(), r.Simulated)
	}
	if text := strings.Join(said, "\n"); !strings.Contains(text, "charged to") || strings.Index(text, "charged to") > strings.Index(text, "release written") {
		t.Errorf("it said:\n%s", text)
	}
	s := must.Get(custody.Settle(o))(t)
	if err := s.Differs(r); err != nil {
		t.Error(err)
	}
	if _, err := s.Publish(t.Context()); err == nil || !err.(*custody.Error).Private || len(charges(t, o.Ledger)) != 1 {
		t.Errorf("a second release: %v", err)
	}
	withheld := *r
	withheld.Statistics.SumYY, withheld.Withheld = nil, []string{release.WithheldYY}
	must.Fail(t, s.Differs(&withheld), `withholds the sum of squares of "y"`)
	o.SpendAgain = true
	must.Get(custody.Publish(t.Context(), o))(t)
	if len(charges(t, o.Ledger)) != 2 {
		t.Error("to spend again is not charged")
	}
	if _, err := custody.Publish(t.Context(), o); err == nil || !strings.Contains(err.Error(), "has no room") || !err.(*custody.Error).Private {
		t.Errorf("no room: %v", err)
	}
}

// unpaid is randomness that must not be drawn before a charge was told.
type unpaid struct {
	t    *testing.T
	paid bool
	rng  *rand.PCG
}

func (u *unpaid) Uint64() uint64 {
	if !u.paid {
		u.t.Error("noise is drawn before the charge")
	}
	return u.rng.Uint64()
}

// Noise comes after the charge, whatever is noised, and there is none where the charge fails.
func TestChargeBeforeNoise(t *testing.T) {
	for name, change := range map[string]func(*custody.Order){
		"sums":     func(*custody.Order) {},
		"moments":  func(o *custody.Order) { o.WithMoments = true },
		"gaussian": func(o *custody.Order) { o.Privacy.Delta, o.Mechanism = 0.009, release.Gaussian },
		"bounds":   func(o *custody.Order) { o.Bounds.Columns, o.Bounds.Share = []string{"y"}, 0.5 },
		"steps":    func(o *custody.Order) { o.Steps = 3 },
		"steps within bounds, gaussian": func(o *custody.Order) {
			o.Steps, o.Privacy.Delta, o.Mechanism = 2, 0.009, release.Gaussian
			o.Bounds.Columns, o.Bounds.Share = []string{"y"}, 0.5
		},
	} {
		o := ordered(rows(t, unscaled(3000)...), 1)
		change(&o)
		u := &unpaid{t: t, rng: rand.NewPCG(1, 1)}
		o.Path, o.Ledger, o.NoLedger = filepath.Join(t.TempDir(), "r.json"), filepath.Join(t.TempDir(), "ledger.db"), false
		must.Do(t, newLedger(t, o.Ledger))
		o.Entropy = mechanisms.Simulated(rand.New(u))
		o.Say = func(text string) { u.paid = u.paid || strings.HasPrefix(text, "charged to") }
		if _, err := custody.Publish(t.Context(), o); err != nil || !u.paid {
			t.Errorf("%s: %v, a charge is told: %t", name, err, u.paid)
		}
		u.paid, o.Path = false, filepath.Join(t.TempDir(), "r.json")
		if _, err := custody.Publish(t.Context(), o); err == nil || !strings.Contains(err.Error(), "has no room") {
			t.Errorf("%s: a ledger that is exhausted: %v", name, err)
		}
	}
}

// A δ that is no smaller than 1/n is warned of, wherever the rows are.
func TestLargeDelta(t *testing.T) {
	a := ssp.NewAccumulator(2)
	for range 20 {
		must.Do(t, a.AddRows([]float64{0.1, 0.2}))
	}
	var said strings.Builder
	o := ordered(custody.Summed(a.Statistics()), 1)
	o.Privacy.Delta, o.Mechanism, o.Say = 0.1, release.Gaussian, func(text string) { said.WriteString(text) }
	o.Entropy = mechanisms.Simulated(rand.New(rand.NewPCG(1, 1)))
	r := must.Get(custody.Publish(t.Context(), o))(t)
	if !strings.Contains(said.String(), "δ = 0.1 is not below 1/n") || !r.Simulated {
		t.Errorf("simulated %t, and it said %s", r.Simulated, &said)
	}
}

// newLedger makes one with room for ε = 1.
func newLedger(t *testing.T, path string) error {
	return newLedgerOf(t, path, release.ReplaceOne)
}

func newLedgerOf(t *testing.T, path string, nb release.Neighbours) error {
	return ledger.Create(t.Context(), path, ledger.Budget{Data: "rows", Epsilon: big.NewRat(1, 1), Delta: big.NewRat(1, 100), Neighbours: string(nb), Filter: ledger.Auto})
}

// charges are those of a ledger.
func charges(t *testing.T, path string) []ledger.Entry {
	t.Helper()
	l := must.Get(ledger.Open(t.Context(), path))(t)
	defer l.Close()
	h := must.Get(l.History(t.Context()))(t)
	return h.Entries
}

// A run goes on where its ledger has it: a round has one answer, and what ends before the last one that was answered
// is an older copy.
func TestRunGoesOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.db")
	must.Do(t, newLedger(t, path))
	run := ledger.Charge{Epsilon: big.NewRat(1, 2), Delta: big.NewRat(1, 1000), Noise: ledger.Sampled, Sensitivity: 0.1, Scale: 1, Neighbours: string(release.ReplaceOne), Release: "run"}
	payment := func(cost ...ledger.Charge) *custody.Payment {
		t.Helper()
		return must.Get(custody.NewPayment(t.Context(), func(string) {}, custody.Account{Path: path}, string(release.ReplaceOne), cost...))(t)
	}
	refused := func(err error, says string) {
		t.Helper()
		if custody.Exit(t.Context(), io.Discard, "dpreg", err) != custody.Refused || !strings.Contains(err.Error(), says) {
			t.Errorf("error %v", err)
		}
	}
	first := payment(run)
	must.Do(t, first.Pay(t.Context(), nil))
	must.Do(t, first.Answer(t.Context(), 1, []float64{1, 2}))
	must.Do(t, first.Answer(t.Context(), 2, []float64{1, 2}))
	first.Finish(t.Context(), false)

	again := payment()
	_, err := again.Stands(t.Context(), "run", 1, again.Marks())
	refused(err, "it ends with round 1, and "+path+" has an answer to round 2")
	if stands, err := again.Stands(t.Context(), "another run", 1, again.Marks()); stands || err != nil {
		t.Errorf("%v, error %v", stands, err)
	}
	stands, err := again.Stands(t.Context(), "run", 2, again.Marks())
	if must.Do(t, err); !stands {
		t.Error("the charge does not stand")
	}
	must.Do(t, again.Answer(t.Context(), 2, []float64{1, 2}))
	refused(again.Answer(t.Context(), 2, []float64{2, 1}), "another answer to round 2")
	must.Do(t, again.Answer(t.Context(), 3, []float64{2, 1}))
	again.Finish(t.Context(), true)
	if all := charges(t, path); len(all) != 1 || !all[0].Written {
		t.Errorf("%+v", all)
	}
}
