package custody_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/mechanisms/ledger"
	"github.com/dpreg/dpreg/persons"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// dealt are the parts of rows of x and y, or of id, x and y, with noise and coins that are the same each time.
func dealt(t *testing.T, source custody.Source, o custody.Order, seed uint64) []*release.Release {
	t.Helper()
	o.Rows, o.Design, o.Entropy = source, twoColumns, mechanisms.Simulated(rand.New(rand.NewPCG(seed, 3)))
	s := must.Get(custody.Settle(o))(t)
	return must.Get(s.PublishParts(t.Context()))(t)
}

// changed counts the parts whose statistics or number of rows differ, and the rows of all.
func changed(a, b []*release.Release) (parts int) {
	for j, r := range a {
		if r.N != b[j].N || !slices.Equal(r.Statistics.Vector(), b[j].Statistics.Vector()) {
			parts++
		}
	}
	return parts
}

func someRows(rng *rand.Rand, n int) (lines []string) {
	for range n {
		lines = append(lines, fmt.Sprintf("%.3f,%.3f", 2*rng.Float64()-1, 2*rng.Float64()-1))
	}
	return lines
}

// By the path that users run, whatever row is exchanged, or comes last: under the same coins and noise one part
// changes, by no more than the sensitivity; sizes are those that n and the number of parts have.
func TestSplitAttacked(t *testing.T) {
	lines := someRows(rand.New(rand.NewPCG(1, 2)), 43)
	for _, steps := range []int{1, 2} {
		o := custody.Order{Split: 4, Steps: steps, Privacy: release.Privacy{Epsilon: 1, Neighbours: release.ReplaceOne}}
		before := dealt(t, rows(t, lines...), o, 5)
		for j, r := range before {
			if want := int64(10 + map[bool]int{true: 1}[j < 3]); r.N != want || r.Part.Number != int64(j+1) || r.Part.Of != 4 || *r.Privacy != o.Privacy {
				t.Errorf("part %d: %d rows, %+v, %+v", j+1, r.N, r.Part, r.Privacy)
			}
		}
		if !release.OneDealing(before...) || release.OneDealing(before[0], before[0]) || release.OneDealing(before[0], dealt(t, rows(t, lines...), o, 6)[1]) {
			t.Error("a dealing is not known again")
		}
		for i := range lines {
			after := dealt(t, rows(t, slices.Concat(lines[:i], []string{"1,-1"}, lines[i+1:])...), o, 5)
			if n := changed(before, after); n != 1 {
				t.Fatalf("%d steps: row %d changes %d parts", steps, i, n)
			}
			for j, r := range after {
				moved := 0.0
				for k, v := range r.Statistics.Vector() {
					moved += math.Abs(v - before[j].Statistics.Vector()[k])
				}
				if steps == 1 && moved > r.Noise.Sensitivity+1e-9 {
					t.Errorf("row %d moves a part by %v, more than %v", i, moved, r.Noise.Sensitivity)
				}
			}
		}
		o.Privacy.Neighbours, o.StatedRows = release.AddRemove, map[int]int64{2: 43}[steps]
		before = dealt(t, rows(t, lines...), o, 5)
		if n := changed(before, dealt(t, rows(t, append(lines, "1,-1")...), o, 5)); n != 1 {
			t.Errorf("%d steps: a row that comes changes %d parts", steps, n)
		}
	}
}

// Where a row comes first, the coins of those behind it are others: what protects is that all dealings are as likely,
// so that the order of rows has no part in their law. Read off parts without noise, each turns up as often.
func TestSplitCoins(t *testing.T) {
	testsize.Full(t, "TestSplitAudited has the coins of parts")
	const trials = 4000
	for _, c := range []struct {
		neighbours release.Neighbours
		rows       int
		dealings   float64
	}{{release.ReplaceOne, 6, 20}, {release.AddRemove, 4, 16}} {
		var data []float64
		for i := range c.rows {
			data = append(data, 0, math.Ldexp(1, -i)) // sums of y tell which
		}
		counts, rng := map[float64]float64{}, rand.New(rand.NewPCG(7, 8))
		for range trials {
			counts[math.Round(dealtOnce(t, data, twoColumns, 1e6, c.neighbours, rng)[0].Statistics.SumY*1024)]++
		}
		far := 0.0
		for _, n := range counts {
			far += (n - trials/c.dealings) * (n - trials/c.dealings) / (trials / c.dealings)
		}
		if len(counts) != int(c.dealings) || far > 50 { // χ² of 15 and 19 degrees: once in 10⁴
			t.Errorf("%s: %d dealings, χ² = %.1f", c.neighbours, len(counts), far)
		}
	}
}

// dealtOnce are two parts of rows in memory.
func dealtOnce(t *testing.T, data []float64, d *schema.Design, epsilon float64, nb release.Neighbours, rng *rand.Rand) []*release.Release {
	t.Helper()
	s := must.Get(custody.Settle(custody.Order{Rows: custody.Scaled{Name: "rows", Rows: data}, Design: d, Steps: 1, Split: 2,
		Privacy: release.Privacy{Epsilon: epsilon, Neighbours: nb}, Entropy: mechanisms.Simulated(rng)}))(t)
	return must.Get(s.PublishParts(t.Context()))(t)
}

// All parts together tell whether a row came first no better than ε lets them; of six rows they tell more, and the
// attack finds that.
func TestSplitAudited(t *testing.T) {
	const trials, epsilon = 4000, 1.0
	mean := &schema.Design{Response: twoColumns.Response, Intercept: true}
	score := func(ones int, seed uint64) (all []float64) {
		data, rng := append(slices.Repeat([]float64{1}, ones), make([]float64, 6)...), rand.New(rand.NewPCG(seed, 9))
		for range trials {
			sum := 0.0
			for _, r := range dealtOnce(t, data, mean, epsilon, release.AddRemove, rng) {
				sum += float64(r.N) - 3 + r.Statistics.SumY + *r.Statistics.SumYY
			}
			all = append(all, sum)
		}
		return all
	}
	// told is the largest logarithm of a ratio of probabilities that a threshold shows, chance taken off.
	told := func(without, with []float64) (most float64) {
		for at := 0.0; at < 24; at += 4 {
			p, q := share(with, at), share(without, at)
			chance := 2 * (math.Sqrt(p*(1-p)/trials) + math.Sqrt(q*(1-q)/trials))
			most = max(most, math.Log((p-chance)/(q+chance)))
		}
		return most
	}
	without := score(0, 1)
	if e := told(without, score(1, 2)); e > epsilon {
		t.Errorf("a row is told by ε = %.2f", e)
	}
	if e := told(without, score(6, 3)); e < epsilon {
		t.Errorf("the attack finds ε = %.2f of six rows", e)
	}
}

func share(values []float64, above float64) float64 {
	n := 0.0
	for _, v := range values {
		if v > above {
			n++
		}
	}
	return n / float64(len(values))
}

// A person is in one part with all rows, wherever they lie, whoever is exchanged or comes.
func TestSplitPersons(t *testing.T) {
	lines := crowd(rand.New(rand.NewPCG(21, 22)))
	other := func(line string) string { return strings.Replace(line, "p7,", "another,", 1) }
	for _, c := range []struct {
		rule       persons.Rule
		neighbours release.Neighbours
	}{
		{persons.Rule{Kind: persons.Mean}, release.ReplaceOne}, {persons.Rule{Kind: persons.Weight}, release.ReplaceOne},
		{persons.Rule{Kind: persons.Rows, Most: 1}, release.ReplaceOne}, {persons.Rule{Kind: persons.Mean}, release.AddRemove},
		{persons.Rule{Kind: persons.Rows, Most: 3}, release.AddRemove},
	} {
		o := custody.Order{Split: 3, Steps: 1, Privacy: release.Privacy{Epsilon: 1, Neighbours: c.neighbours}, Persons: custody.Persons{Column: "id", Rule: c.rule}}
		before := dealt(t, ofPersons(t, lines), o, 5)
		if n := before[0].N + before[1].N + before[2].N; c.neighbours == release.ReplaceOne && (n != 200 || before[2].N != 66) {
			t.Errorf("%v: parts of %d, the last of %d", c.rule, n, before[2].N)
		}
		var exchanged []string
		for _, line := range lines {
			exchanged = append(exchanged, other(line))
		}
		last := append(slices.Clone(lines), "new,1,1", "new,1,-1", "new,-1,1", "new,1,1")
		if n := changed(before, dealt(t, ofPersons(t, exchanged), o, 5)); n > 1 {
			t.Errorf("%v: a person who is exchanged changes %d parts", c.rule, n)
		}
		if n := changed(before, dealt(t, ofPersons(t, last), o, 5)); c.neighbours == release.AddRemove && n != 1 {
			t.Errorf("%v: a person who comes changes %d parts", c.rule, n)
		}
	}
}

// All parts are written or, where another run was first, none; the ledger counts the ε once, as the noise was drawn.
func TestSplitWritten(t *testing.T) {
	dir := t.TempDir()
	o := ordered(rows(t, someRows(rand.New(rand.NewPCG(1, 2)), 60)...), 1)
	o.Split, o.NoLedger, o.Ledger, o.MakeLedger, o.Path = 10, false, filepath.Join(dir, "rows.ledger.db"), true, filepath.Join(dir, "rows.parts")
	s := must.Get(custody.Settle(o))(t)
	must.Get(s.PublishParts(t.Context()))(t)
	written := must.Get(s.Formers())(t)
	for _, r := range written {
		must.Do(t, s.Differs(r))
	}
	must.Fail(t, must.Err(s.PublishParts(t.Context())), "exists already")
	s.Path = filepath.Join(dir, "other.parts")
	s.Check = func(int64) error { return os.MkdirAll(filepath.Join(s.Path, "of another run"), 0o755) }
	must.Fail(t, must.Err(s.PublishParts(t.Context())), "another run wrote")
	killed := filepath.Join(dir, ".third.parts.123.tmp")
	must.Do(t, os.Mkdir(killed, 0o755))
	s.Path = filepath.Join(dir, "third.parts")
	must.Fail(t, must.Err(s.PublishParts(t.Context())), "rm -r "+killed)
	must.Do(t, os.Remove(killed))
	s.Path = filepath.Join(dir, "other.parts")
	left := must.Get(os.ReadDir(dir))(t)
	if found, err := os.ReadDir(s.Path); err != nil || len(found) != 1 || len(left) != 3 {
		t.Errorf("a run that came second left %v and %v (%v)", left, found, err)
	}
	l := must.Get(ledger.Open(t.Context(), o.Ledger))(t)
	defer l.Close()
	h := must.Get(l.History(t.Context()))(t)
	if len(h.Entries) != 2 || custody.Rational(h.Entries[0].Epsilon) != "1" || h.Entries[0].Release != o.Path {
		t.Errorf("charged: %+v", h.Entries)
	}
}

// What cannot be in parts is refused before anything is spent.
func TestSplitRefused(t *testing.T) {
	for says, change := range map[string]func(*custody.Order){
		"from 2 to":         func(o *custody.Order) { o.Split = 1 },
		"--with-moments":    func(o *custody.Order) { o.WithMoments = true },
		"--bounds auto":     func(o *custody.Order) { o.Bounds.Columns = []string{"y"} },
		"take fewer parts":  func(o *custody.Order) { o.Split = 30 },
		"not overwritten":   func(o *custody.Order) { o.SpendAgain = true },
		"leaves them where": func(o *custody.Order) { o.Rows = custody.Elsewhere{Name: "a cluster"} },
	} {
		o := ordered(rows(t, someRows(rand.New(rand.NewPCG(1, 2)), 60)...), 1)
		o.Split, o.Path = 4, filepath.Join(t.TempDir(), "rows.parts")
		change(&o)
		s, err := custody.Settle(o)
		if err == nil {
			_, err = s.PublishParts(t.Context())
		}
		must.Fail(t, err, says)
		if _, err := os.Stat(o.Path); err == nil {
			t.Errorf("%q: parts were written", says)
		}
	}
}
