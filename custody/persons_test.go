package custody_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/mechanisms/ledger"
	"github.com/dpreg/dpreg/persons"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/table"
)

// ofPersons are rows of id, x and y in a file.
func ofPersons(t *testing.T, lines []string) custody.Files { return rowsOf(t, "id,x,y", lines...) }

// crowd is rows of 200 persons, of whom each has 1 to 8.
func crowd(rng *rand.Rand) (lines []string) {
	for i := range 200 {
		for range 1 + i%8 {
			lines = append(lines, fmt.Sprintf("p%d,%.4f,%.4f", i, 2*rng.Float64()-1, 2*rng.Float64()-1))
		}
	}
	return lines
}

// simulated publishes rows with noise that is the same each time.
func simulated(t *testing.T, lines []string, rule persons.Rule, p release.Privacy, steps int) *release.Release {
	t.Helper()
	r := must.Get(custody.Publish(t.Context(), custody.Order{
		Rows: ofPersons(t, lines), Design: twoColumns, Privacy: p, Steps: steps, StatedRows: map[bool]int64{true: 500}[steps > 1 && p.Neighbours == release.AddRemove],
		Persons: custody.Persons{Column: "id", Rule: rule}, Entropy: mechanisms.Simulated(rand.New(rand.NewPCG(11, 12))),
	}))(t)
	return r
}

// Attacks by the path that users run: a person, of any number of rows wherever they lie, comes, goes
// or is exchanged, under noise that stays the same. Sums, numbers and counts move by no more than
// what the noise is calibrated to.
func TestPersonsAttacked(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	others := crowd(rng)
	corner := func(name, cells string, rows int) (lines []string) {
		for range rows {
			lines = append(lines, name+","+cells)
		}
		return lines
	}
	alternating := func(name string, rows int) (lines []string) {
		for i := range rows {
			lines = append(lines, fmt.Sprintf("%s,%d,%d", name, 1-2*(i%2), 1-2*(i/2%2)))
		}
		return lines
	}
	scattered := func(name string, rows int) (lines []string) {
		for range rows {
			lines = append(lines, fmt.Sprintf("%s,%v,%v", name, 2*rng.Float64()-1, 2*rng.Float64()-1))
		}
		return lines
	}
	victims := [][]string{
		corner("v", "1,1", 1), corner("v", "1,1", 3000), corner("v", "1e9,-1e9", 7), corner("w", "-0.333333,-0.333333", 1), corner("w", "-0.333333,-0.333333", 999),
		corner("w", "-1,1", 40_000), alternating("v", 40_001), scattered("w", 500), scattered("v", 3), corner("w", "0,0", 1234),
	}
	victims = victims[:testsize.Of(4, len(victims))]
	for _, rule := range []persons.Rule{{Kind: persons.Mean}, {Kind: persons.Weight}, {Kind: persons.Rows, Most: 1}, {Kind: persons.Rows, Most: 4}} {
		for _, p := range []release.Privacy{
			{Epsilon: 1, Neighbours: release.ReplaceOne}, {Epsilon: 1, Neighbours: release.AddRemove},
			{Epsilon: 1, Delta: 1e-6, Neighbours: release.ReplaceOne}, {Epsilon: 1, Delta: 1e-6, Neighbours: release.AddRemove},
		} {
			if rule.Most > 1 && p.Neighbours == release.ReplaceOne {
				continue
			}
			for _, steps := range []int{1, 2} {
				if steps > 1 && rule.Kind == persons.Weight {
					continue
				}
				attacked(t, others, victims, rule, p, steps)
			}
		}
	}
}

func attacked(t *testing.T, others []string, victims [][]string, rule persons.Rule, p release.Privacy, steps int) {
	t.Helper()
	name := fmt.Sprintf("%v, %+v, %d steps", rule, p, steps)
	made := make([]*release.Release, len(victims))
	for i, v := range victims {
		made[i] = simulated(t, append(append([]string{}, others[:100]...), append(v, others[100:]...)...), rule, p, steps)
	}
	if p.Neighbours == release.AddRemove {
		made = append([]*release.Release{simulated(t, others, rule, p, steps)}, made...)
	}
	largest := 0.
	for i, a := range made {
		for _, b := range made[:i] {
			if p.Neighbours == release.AddRemove && b != made[0] {
				break
			}
			la, lb := a.Looks()[0], b.Looks()[0]
			if largest = max(largest, moved(&la, &lb)/float64(rule.PerPerson())); largest > la.Noise.Sensitivity*(1+1e-9) {
				t.Fatalf("%s: sums move by %v, and the noise is for %v", name, largest, la.Noise.Sensitivity)
			}
			if p.Neighbours == release.ReplaceOne && a.N != b.N {
				t.Fatalf("%s: the public number is %d and %d", name, a.N, b.N)
			}
			if n := math.Abs(float64(la.N - lb.N)); n > float64(rule.PerPerson()) {
				t.Fatalf("%s: the number moves by %v", name, n)
			}
			if d := a.Persons.More - b.Persons.More; d < -1 || d > 1 {
				t.Fatalf("%s: the count of persons with more rows moves by %d", name, d)
			}
			if la.Radii == nil {
				continue
			}
			change := 0.
			for i, n := range la.Radii.Counts {
				change += math.Abs(float64(n - lb.Radii.Counts[i]))
			}
			if most := map[release.Neighbours]float64{release.ReplaceOne: 2, release.AddRemove: 1}[p.Neighbours]; change > most*float64(rule.PerPerson()) {
				t.Fatalf("%s: radii move by %v", name, change)
			}
		}
	}
	if first := made[0].Looks()[0]; steps == 1 && largest < 0.7*first.Noise.Sensitivity {
		t.Errorf("%s: the attack finds %v of %v: it would not see a fault", name, largest, first.Noise.Sensitivity)
	}
}

// moved is how far the sums of two looks are apart, the number of rows included where it has noise, in
// the norm that the noise is calibrated in.
func moved(a, b *release.Look) float64 {
	va, vb := a.Statistics.Vector(), b.Statistics.Vector()
	one, two := 0., 0.
	entry := func(d, weight float64) {
		one += math.Abs(d)
		two += weight * d * d
	}
	linear, cross := 1., 1.
	if a.Frame != nil { // ‖φ‖²: κ⁴ of the number, 2κ² of linear sums, 2 of products
		linear, cross = 2*a.Frame.Weight*a.Frame.Weight, 2
	}
	for i := range va {
		switch {
		case i < 2:
			entry(va[i]-vb[i], linear)
		case i == release.Index(2, 0, 1):
			entry(va[i]-vb[i], cross)
		default:
			entry(va[i]-vb[i], 1)
		}
	}
	switch {
	case a.NNoise == 0:
	case a.Frame == nil:
		entry(float64(a.N-b.N), 1)
	case a.Noise.Kind == release.Gaussian:
		entry(float64(a.N-b.N), math.Pow(a.Frame.Weight, 4))
	}
	if a.Noise.Kind == release.Laplace {
		return one
	}
	return math.Sqrt(two)
}

// What a release of persons claims is checked by who reads it, and what it costs is charged: all of
// it, and as that of persons.
func TestPersonsClaims(t *testing.T) {
	lines := crowd(rand.New(rand.NewPCG(31, 32)))
	for _, c := range []struct {
		rule  persons.Rule
		p     release.Privacy
		steps int
		parts int
	}{
		{persons.Rule{Kind: persons.Mean}, release.Privacy{Epsilon: 1, Neighbours: release.ReplaceOne}, 1, 1},
		{persons.Rule{Kind: persons.Rows, Most: 3}, release.Privacy{Epsilon: 1, Neighbours: release.AddRemove}, 1, 1},
		{persons.Rule{Kind: persons.Rows, Most: 3}, release.Privacy{Epsilon: 1, Delta: 1e-6, Neighbours: release.AddRemove}, 1, 2},
		{persons.Rule{Kind: persons.Rows, Most: 3}, release.Privacy{Epsilon: 1, Delta: 1e-6, Neighbours: release.AddRemove}, 3, 2},
		{persons.Rule{Kind: persons.Rows, Most: 7}, release.Privacy{Epsilon: 1, Neighbours: release.AddRemove}, 3, 1},
	} {
		o := custody.Order{Rows: ofPersons(t, lines), Design: twoColumns, Privacy: c.p, Steps: c.steps, Persons: custody.Persons{Column: "id", Rule: c.rule},
			Path: filepath.Join(t.TempDir(), "r.json"), Ledger: filepath.Join(t.TempDir(), "l.db"), MakeLedger: true}
		if c.p.Delta > 0 {
			o.Mechanism = release.Gaussian
		}
		if c.steps > 1 {
			o.StatedRows = 500
		}
		r := must.Get(custody.Publish(t.Context(), o))(t)
		written := must.Get(release.ReadFile(o.Path))(t)
		if written.Persons == nil || *written.Persons != *r.Persons || *written.Privacy != c.p || strings.Contains(fmt.Sprint(written.Schema), "id") {
			t.Errorf("%+v: %+v", c, written)
		}
		total := new(big.Rat)
		spent := charges(t, o.Ledger)
		for _, e := range spent {
			if total.Add(total, e.Epsilon); e.Neighbours != string(c.p.Neighbours)+ledger.OfPersons {
				t.Errorf("charged for %s", e.Neighbours)
			}
		}
		if len(spent) != c.parts || total.Cmp(big.NewRat(1, 1)) != 0 {
			t.Errorf("%+v: charges %v", c, spent)
		}
		if c.rule.Most == 0 {
			continue
		}
		for name, change := range map[string]func(r *release.Release){
			"more rows":        func(r *release.Release) { r.Persons.Most++ },
			"no persons' ε":    func(r *release.Release) { r.Persons.Epsilon *= 2 },
			"less count noise": func(r *release.Release) { r.Persons.Scale *= 0.99 },
			"a smaller ε":      func(r *release.Release) { r.Privacy.Epsilon *= 0.99 },
			"replace-one":      func(r *release.Release) { r.Privacy.Neighbours, r.NNoise = release.ReplaceOne, 0 },
			"another rule":     func(r *release.Release) { r.Persons.Rows = release.PersonMean },
		} {
			forged := must.Get(release.ReadFile(o.Path))(t)
			change(forged)
			if forged.Validate() == nil {
				t.Errorf("%+v: %s is believed", c, name)
			}
		}
	}
}

// What cannot be had of persons is refused before anything is spent, with the way out.
func TestPersonsRefused(t *testing.T) {
	lines := crowd(rand.New(rand.NewPCG(41, 42)))
	nobody := append([]string{",0.5,0.5"}, lines...)
	for says, change := range map[string]func(o *custody.Order){
		"--person-rows is missing":          func(o *custody.Order) { o.Persons.Rule = persons.Rule{} },
		"--person-rows is for --person":     func(o *custody.Order) { o.Persons.Column = "" },
		"is a column of the model":          func(o *custody.Order) { o.Persons.Column = "x" },
		"Use --neighbours add-remove":       func(o *custody.Order) { o.Persons.Rule = persons.Rule{Kind: persons.Rows, Most: 2} },
		"weight is for --steps 1":           func(o *custody.Order) { o.Persons.Rule, o.Steps = persons.Rule{Kind: persons.Weight}, 2 },
		"is of rows, not of persons":        func(o *custody.Order) { o.WithMoments = true },
		"give public bounds":                func(o *custody.Order) { o.Bounds.Columns = []string{"x"} },
		"leaves them where they are":        func(o *custody.Order) { o.Rows = custody.Summed(nil) },
		"rows in memory do not say":         func(o *custody.Order) { o.Rows = custody.Scaled{Name: "rows"} },
		"has no such column":                func(o *custody.Order) { o.Persons.Column = "name" },
		"a row says no person":              func(o *custody.Order) { o.Rows = ofPersons(t, nobody) },
		`column "id": a row says no person`: func(o *custody.Order) { o.Rows, o.Cells.Missing = ofPersons(t, nobody), table.Midpoint },
		"changing their number":             func(o *custody.Order) { o.Cells.Missing = table.Drop },
	} {
		o := custody.Order{Rows: ofPersons(t, lines), Design: twoColumns, Privacy: release.Privacy{Epsilon: 1, Neighbours: release.ReplaceOne},
			Persons: custody.Persons{Column: "id", Rule: persons.Rule{Kind: persons.Mean}}, Path: filepath.Join(t.TempDir(), "r.json"), Ledger: filepath.Join(t.TempDir(), "l.db"), MakeLedger: true}
		change(&o)
		if _, err := custody.Publish(t.Context(), o); err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), "leaving rows out changes", "changing"), says) {
			t.Errorf("%s: error %v", says, err)
		}
		if _, err := os.Stat(o.Ledger); err == nil {
			t.Errorf("%s: a ledger was made", says)
		}
	}
}
