package custody_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/adaptive"
	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/mechanisms/ledger"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/ssp"
	"github.com/dpreg/dpreg/table"
)

// inSteps is an order of three steps, under simulated noise.
func inSteps(t *testing.T, source custody.Source) custody.Order {
	t.Helper()
	o := ordered(source, 1)
	o.Privacy.Delta, o.Mechanism, o.Steps = 1e-6, release.Gaussian, 3
	o.Entropy = mechanisms.Simulated(rand.New(rand.NewPCG(1, 2)))
	return o
}

// tight are n rows of x and y near a line, in scaled units, as text and as numbers.
func tight(n int) (lines []string, values []float64) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range n {
		x := 0.2 + 0.1*rng.NormFloat64()
		y := 0.5*x + 0.02*rng.NormFloat64()
		lines, values = append(lines, fmt.Sprintf("%v,%v", x, y)), append(values, x, y)
	}
	return lines, values
}

// The last look at rows in the corners of the box is in the box: nothing is clipped, and its sums
// are those of all rows but for noise.
func TestLastStepInTheBox(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	corners := custody.Scaled{Name: "corners"}
	for range 20000 {
		x := float64(2*rng.IntN(2) - 1)
		corners.Rows = append(corners.Rows, x, x*float64(min(1, 2*rng.IntN(8)-1)))
	}
	r := must.Get(custody.Publish(t.Context(), inSteps(t, corners)))(t)
	look := r.Looks()[2]
	if f := look.Frame; f.Matrix[0][0] != 1 || f.Matrix[1][0] != 0 || f.Matrix[1][1] != 1 || f.Lost != 0 {
		t.Fatalf("the last look has %+v", f)
	}
	if square := look.Statistics.Vector()[release.Index(2, 0, 0)]; math.Abs(square-20000) > 6*look.Noise.SD() {
		t.Errorf("Σx² is %v of 20000 rows, with noise of sd %v", square, look.Noise.SD())
	}
}

// Three steps spend what one release does, and end with less noise than it has.
func TestSteps(t *testing.T) {
	lines, _ := tight(20000)
	source := rows(t, lines...)
	for name, change := range map[string]func(*custody.Order){
		"gaussian":             func(*custody.Order) {},
		"pure":                 func(o *custody.Order) { o.Privacy.Delta, o.Mechanism = 0, "" },
		"gaussian, add-remove": func(o *custody.Order) { o.Privacy.Neighbours = release.AddRemove },
		"pure, add-remove": func(o *custody.Order) {
			o.Privacy.Delta, o.Mechanism, o.Privacy.Neighbours, o.StatedRows = 0, "", release.AddRemove, 20000
		},
		"bounds": func(o *custody.Order) { o.Bounds = custody.Bounds{Columns: []string{"y"}, Share: 0.25} },
	} {
		o := inSteps(t, source)
		change(&o)
		o.Path, o.Ledger, o.NoLedger = filepath.Join(t.TempDir(), "r.json"), filepath.Join(t.TempDir(), "ledger.db"), false
		must.Do(t, newLedgerOf(t, o.Ledger, o.Privacy.Neighbours))
		var said []string
		o.Say = func(text string) { said = append(said, text) }
		r, err := custody.Publish(t.Context(), o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		must.Do(t, r.Validate())
		if *r.Privacy != o.Privacy || !r.Simulated || len(r.Steps) != 2 || (r.NNoise == 0) == (o.Privacy.Neighbours == release.AddRemove) || (r.Bounds == nil) == (name == "bounds") {
			t.Errorf("%s: %+v", name, r)
		}
		written, err := release.ReadFile(o.Path)
		if err != nil || !reflect.DeepEqual(written, r) {
			t.Errorf("%s: the file holds %+v, %v", name, written, err)
		}
		spent := charges(t, o.Ledger)
		if last := spent[len(spent)-1]; len(spent) != map[bool]int{true: 2, false: 1}[name == "bounds"] || !last.Written {
			t.Errorf("%s: charges %+v", name, spent)
		} else if o.Privacy.Delta > 0 {
			left := o.Privacy.Epsilon
			if r.Bounds != nil {
				left -= r.Bounds.Epsilon
			}
			if s, err := accounting.Sigma(left, o.Privacy.Delta, 1); err != nil || last.Scale/last.Sensitivity != s {
				t.Errorf("%s: a charge of Gaussian noise of scale %v for sensitivity %v", name, last.Scale, last.Sensitivity)
			}
		}
		s := must.Get(custody.Settle(o))(t)
		r.Simulated = false
		if err := s.Differs(r); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		s.Steps = 2
		if err := s.Differs(r); err == nil || !strings.Contains(err.Error(), "looks at the rows: 3, not 2") {
			t.Errorf("%s: another number of steps: %v", name, err)
		}
	}
}

// The law of the noise is chosen once the rows are counted: many rows at a large ε are found with any
// noise, and the ball's is less in the last look, so that the release and its charge need no δ.
func TestStepsChooseNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, c := range []struct {
		rows    int
		epsilon float64
		steps   int
		kind    release.Kind
	}{{4000, 10, 4, release.Ball}, {4000, 1, 4, release.Gaussian}, {400, 10, 4, release.Gaussian}, {50, 1, 1, release.Laplace}} {
		values := make([]float64, 4*c.rows)
		for i := range values {
			values[i] = min(max(.4*rng.NormFloat64(), -1), 1)
		}
		o := custody.Order{NoLedger: true, Rows: custody.Scaled{Name: "rows", Rows: values}, Design: dpreg.UnitDesign(3), Privacy: release.Privacy{Epsilon: c.epsilon, Delta: 1e-6, Neighbours: release.ReplaceOne}}
		o.Entropy = mechanisms.Simulated(rand.New(rng))
		o.Path, o.Ledger, o.NoLedger = filepath.Join(t.TempDir(), "r.json"), filepath.Join(t.TempDir(), "ledger.db"), false
		must.Do(t, ledger.Create(t.Context(), o.Ledger, ledger.Budget{Data: "rows", Epsilon: big.NewRat(10, 1), Delta: big.NewRat(1, 100), Neighbours: "replace-one", Filter: ledger.Auto}))
		said := 0
		o.Say = func(text string) { said += strings.Count(text, "--mechanism auto") }
		r, err := custody.Publish(t.Context(), o)
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		delta := map[bool]float64{true: 1e-6}[c.kind == release.Gaussian]
		charged, _ := charges(t, o.Ledger)[0].Delta.Float64()
		if len(r.Looks()) != c.steps || r.Noise.Kind != c.kind || r.Privacy.Delta != delta || charged != delta || said != 1 {
			t.Errorf("%+v: %d looks with %s noise, δ = %v, charged with δ = %v, said %d times", c, len(r.Looks()), r.Noise.Kind, r.Privacy.Delta, charged, said)
		}
		s := must.Get(custody.Settle(o))(t)
		r.Simulated = false
		if err := s.Differs(r); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// A release has the same bits whatever the rows' order and wherever they are.
func TestStepsSameRows(t *testing.T) {
	lines, values := tight(1000)
	want := must.Get(custody.Publish(t.Context(), inSteps(t, custody.Scaled{Name: "rows", Rows: values})))(t)
	for range 3 {
		rand.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		got, err := custody.Publish(t.Context(), inSteps(t, rows(t, lines...)))
		if must.Do(t, err); !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v\n%+v", got, want)
		}
	}
}

// Of real rows: whoever has the release can compute each of its frames again, by the number of
// rows or, where that is private, by what the first counts of radii say of it.
func TestStepsRecord(t *testing.T) {
	source := must.Get(table.Find("../testdata/pums10000.csv"))(t)
	described, _, err := custody.ReadSchema("../testdata/pums10000.schema.json", "")
	must.Do(t, err)
	design := must.Get(described.Design("income ~ age + educ + married"))(t)
	for _, nb := range []release.Neighbours{release.ReplaceOne, release.AddRemove} {
		o := inSteps(t, custody.Files{Source: source})
		o.Design, o.Privacy.Neighbours = design, nb
		r := must.Get(custody.Publish(t.Context(), o))(t)
		looks, n := r.Looks(), 0.0
		for _, count := range looks[0].Radii.Counts {
			n += float64(count)
		}
		if nb == release.ReplaceOne {
			n = float64(r.N)
		}
		if math.Abs(n-10000) > 1000 || math.Abs(float64(r.N)-10000) > 2000 {
			t.Errorf("%s: n = %v, %d", nb, n, r.N)
		}
		for i := range looks[1:] {
			next, found := ssp.RoundFrame(adaptive.Next(&looks[i], n, r.Dim())), looks[i+1].Frame
			if !reflect.DeepEqual(next.Centre, found.Centre) || !reflect.DeepEqual(next.Matrix, found.Matrix) {
				t.Errorf("%s: frame %d is %+v, not %+v", nb, i+2, found, next)
			}
		}
	}
}

// stopping is an order whose run is disturbed when it comes to a step.
func stopping(t *testing.T, at string, disturb func(path string)) (o custody.Order, said *strings.Builder) {
	t.Helper()
	lines, _ := tight(500)
	source := rows(t, lines...)
	folder := t.TempDir()
	o = inSteps(t, source)
	o.Path, o.Ledger, o.NoLedger = filepath.Join(folder, "r.json"), filepath.Join(folder, "ledger.db"), false
	must.Do(t, newLedger(t, o.Ledger))
	said = &strings.Builder{}
	o.Say = func(text string) {
		if said.WriteString(text + "\n"); text == at {
			disturb(source.Name)
		}
	}
	return o, said
}

// Rows that do not stay what they are, and an interruption, end a run: before the charge
// nothing is spent; after it the charge stays, which is said, and nothing is written.
func TestStepsStopped(t *testing.T) {
	grow := func(path string) {
		text := must.Get(os.ReadFile(path))(t)
		must.Do(t, os.WriteFile(path, append(text, "0,0\n"...), 0o600))
	}
	forge := func(path string) { // of the same length and time of change
		info := must.Get(os.Stat(path))(t)
		text := must.Get(os.ReadFile(path))(t)
		must.Do(t, os.WriteFile(path, bytes.Replace(text, []byte("0.2"), []byte("0.9"), 1), 0o600))
		must.Do(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
	}
	for _, at := range []string{"step 1 of 3: radii", "step 1 of 3: sums", "step 2 of 3: radii", "step 3 of 3: sums"} {
		charged := at != "step 1 of 3: radii"
		for name, disturb := range map[string]func(path string){"grown": grow, "forged": forge, "interrupted": nil} {
			if !charged && disturb != nil {
				continue // these are the rows
			}
			ctx, cancel := context.WithCancel(t.Context())
			says := "changed while it was read"
			if disturb == nil {
				disturb, says = func(string) { cancel() }, "canceled"
			}
			o, said := stopping(t, at, disturb)
			_, err := custody.Publish(ctx, o)
			must.Fail(t, err, says)
			spent := charges(t, o.Ledger)
			if kept := strings.Contains(said.String(), "keeps the charge"); kept != charged || (len(spent) == 1) != charged || charged && spent[0].Written {
				t.Errorf("%s at %s: charges %+v, and it said\n%s", name, at, spent, said)
			}
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(o.Path), "*r.json*")); left != nil {
				t.Errorf("%s at %s: left %v", name, at, left)
			}
			cancel()
		}
	}
}

// No rows make a run fail once it is paid for: whatever they are, a release can be made.
func TestStepsOfAnyRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	laws := map[string]func(i int) float64{
		"corners":  func(int) float64 { return float64(2*rng.IntN(2) - 1) },
		"constant": func(int) float64 { return 0.3 },
		"one far":  func(i int) float64 { return map[bool]float64{true: 1, false: 1e-7}[i == 0] },
		"a line":   func(i int) float64 { return float64(i%7)/7 - 0.4 },
		"uniform":  func(int) float64 { return 2*rng.Float64() - 1 },
	}
	for name, law := range laws {
		for _, m := range []int{2, testsize.Of(5, 12)} {
			for _, n := range []int{1, 30, 3000}[:testsize.Of(2, 3)] {
				for _, epsilon := range []float64{1e-12, 1e-3, 1, 1e4, 1e12} {
					for _, p := range []release.Privacy{{Epsilon: epsilon, Neighbours: release.ReplaceOne}, {Epsilon: epsilon, Delta: 1e-9, Neighbours: release.AddRemove}} {
						values := make([]float64, 0, n*m)
						for i := range n {
							for range m {
								values = append(values, law(i))
							}
						}
						o := custody.Order{NoLedger: true, Rows: custody.Scaled{Name: "rows", Rows: values}, Design: dpreg.UnitDesign(m - 1), Privacy: p, Steps: 3}
						o.Entropy = mechanisms.Simulated(rand.New(rng))
						if _, err := custody.Publish(t.Context(), o); err != nil {
							t.Errorf("%s, m = %d, n = %d, %+v: %v", name, m, n, p, err)
						}
					}
				}
			}
		}
	}
}
