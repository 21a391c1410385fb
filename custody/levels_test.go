package custody_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/persons"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/table"
)

// grouped is a table of a factor, a truth value, x and y, and an order of sums by the factor's levels.
func grouped(t *testing.T, last ...string) custody.Order {
	t.Helper()
	var lines []string
	for i := range 60 {
		lines = append(lines, fmt.Sprintf("%c,%d,%v,%v", 'a'+i%3, i%2, float64(i%7)/7, float64(i%5)/5))
	}
	d := groupedDesign(t, "y ~ x + g")
	return custody.Order{Rows: rowsOf(t, "g,t,x,y", append(lines, last...)...), Design: d, Privacy: release.Privacy{Epsilon: 1, Neighbours: release.ReplaceOne}, ByLevel: "g", NoLedger: true}
}

func groupedDesign(t *testing.T, formula string) *schema.Design {
	t.Helper()
	s := &schema.Schema{Columns: []schema.Column{
		{Name: "g", Type: "string", Levels: []string{"a", "b", "c", "d"}}, {Name: "t", Type: "boolean", Upper: 1},
		{Name: "x", Lower: -1, Upper: 1}, {Name: "y", Lower: -1, Upper: 1}}}
	return must.Get(s.Design(formula))(t)
}

// TestByLevelAttacked publishes, through the path of users, of neighbours that the proof has farthest
// apart: no set of outcomes {a sum along their difference is above c} may have a probability more
// than e^ε times as high, within 5 sd of what so many releases tell; and the true ratio, which is e^ε
// where noise is no larger than it must be, is approached. A ratio is found out that is 1.25 times what
// is claimed, in the short form 1.42 times.
func TestByLevelAttacked(t *testing.T) {
	trials := testsize.Of(1500, 4000)
	var above [2]float64
	for i, last := range []string{"a,0,1,1", "d,0,1,-1"} {
		o := grouped(t, last)
		o.Entropy = mechanisms.Simulated(rand.New(rand.NewPCG(uint64(i), 5)))
		for range trials {
			r := must.Get(custody.Publish(context.Background(), o))(t)
			l := r.Levels
			// counts, Σx and Σy of a against d, Σxy: the signs of the difference, truth of the others at the middle
			if l.Counts[0]-20.5 > 0 && l.Counts[3]-0.5 < 0 && l.Sums[3][0]-0.5 < 0 {
				above[i]++
			}
		}
	}
	tells(t, above, trials)
}

// tells asks that outcomes of two neighbours are as often as ε = 1 lets them, and that they differ.
func tells(t *testing.T, above [2]float64, trials int) {
	t.Helper()
	ratio := above[0] / above[1]
	if bound := math.E * (1 + 5/math.Sqrt(min(above[0], above[1]))); ratio > bound || ratio < 1.2 {
		t.Errorf("%v and %v of %d: their ratio is %v, and at most %v", above[0], above[1], trials, ratio, bound)
	}
}

// TestByLevelAttackedAddRemove is TestByLevelAttacked of a row that others lack: the six sums that it is in are above the
// middle of both. What is said beside the file is alike, n is what noisy counts add up to, and rows without any are
// rows as well.
func TestByLevelAttackedAddRemove(t *testing.T) {
	testsize.Full(t, "TestByLevelAttacked has neighbours of which a row is exchanged")
	trials := testsize.Of(1500, 4000)
	var above [2]float64
	var said [2]string
	for i, o := range []custody.Order{grouped(t, "a,0,1,1"), grouped(t)} {
		o.Privacy.Neighbours = release.AddRemove
		o.Entropy = mechanisms.Simulated(rand.New(rand.NewPCG(uint64(i), 6)))
		o.Say = func(text string) { said[i] += text + "\n" }
		squares := 0.0
		for range trials {
			r := must.Get(custody.Publish(context.Background(), o))(t)
			if z := r.Measured(); z[0] > 20.5 && z[4] > 8.8 && z[5] > 8.5 && z[12] > 15.8 && z[13] > 11.4 && z[14] > 12.5 {
				above[i]++
			}
			squares += (float64(r.N) - 60) * (float64(r.N) - 60)
		}
		if got := squares / float64(trials); math.Abs(got/(4*2*36)-1) > 0.3 {
			t.Errorf("n has noise of variance %v, and four counts have 8·6²", got)
		}
	}
	tells(t, above, trials)
	if said[0] != said[1] {
		t.Errorf("of a row more %q is said, and else %q", said[0], said[1])
	}
	o := grouped(t)
	o.Privacy.Neighbours, o.Rows, o.Entropy = release.AddRemove, custody.Scaled{Name: "none"}, mechanisms.Simulated(rand.New(rand.NewPCG(2, 6)))
	if r, err := custody.Publish(context.Background(), o); err != nil || len(r.Levels.Counts) != 4 {
		t.Errorf("no rows: %v, %v", r, err)
	}
}

// losesEpsilon publishes, through the path of users, of neighbours that the proof has farthest apart: their sums
// differ by what releases of next to no noise tell, and noise is of the scale b that the mean of |z − s| is. The sum of |Δ|/b
// must be ε, within 6 %: the privacy loss where all outcomes are on one side, too seldom to be waited for. Of 1000 trials
// of 8 sums or more |z − s|/b, exponential, has a mean within 1/√8000 = 1.1 %, a fifth of that: false alarms of 1e-7.
func losesEpsilon(t *testing.T, nb release.Neighbours, of func(last string) custody.Order, first, second string) {
	t.Helper()
	trials := testsize.Of(100, 1000)
	told := func(o custody.Order, epsilon float64) []float64 {
		o.Privacy = release.Privacy{Epsilon: epsilon, Neighbours: nb}
		r := must.Get(custody.Publish(context.Background(), o))(t)
		z := r.Measured()
		if at := r.Levels.KnownAt(); at >= 0 {
			return slices.Delete(z, at, at+1)
		}
		return z
	}
	o := of(first)
	truth, other, off, loss := told(o, 1e9), told(of(second), 1e9), 0.0, 0.0
	for range trials {
		for j, z := range told(o, 1) {
			off += math.Abs(z-truth[j]) / float64(trials*len(truth))
		}
	}
	for j, s := range truth {
		loss += math.Abs(s-other[j]) / off
	}
	if math.Abs(loss-1) > 0.06 {
		t.Errorf("%s: the privacy loss is %v, and ε 1", nb, loss)
	}
}

// TestByLevelLosesEpsilon: of products per level; and of a truth value as the response, whose square has no noise.
func TestByLevelLosesEpsilon(t *testing.T) {
	perLevel := func(last string) custody.Order {
		o := grouped(t, last)
		o.PerLevel, o.Entropy = true, mechanisms.Simulated(rand.New(rand.NewPCG(2, 7)))
		return o
	}
	losesEpsilon(t, release.ReplaceOne, perLevel, "a,0,1,1", "d,0,1,1")
	losesEpsilon(t, release.AddRemove, perLevel, "a,0,1,1", "")
	for _, formula := range []string{"t ~ g", "t ~ g + x"} {
		truth := func(last string) custody.Order {
			o := grouped(t, last)
			o.Design, o.Steps, o.Entropy = groupedDesign(t, formula), 1, mechanisms.Simulated(rand.New(rand.NewPCG(3, 7)))
			return o
		}
		losesEpsilon(t, release.ReplaceOne, truth, "a,1,1,0", "d,0,1,0")
		losesEpsilon(t, release.AddRemove, truth, "a,1,1,0", "")
	}
}

// TestByLevelInSteps: several looks spend what is promised, by what each states and the sensitivities of the proof;
// counts and sums within levels are those of the rows; few rows have one look.
func TestByLevelInSteps(t *testing.T) {
	lines, sums, counts := []string(nil), [4]float64{}, [4]float64{}
	for i, rng := 0, rand.New(rand.NewPCG(7, 3)); i < 3000; i++ {
		g := i % 5 % 3
		x := 0.3 + 0.1*float64(g) + 0.05*rng.NormFloat64()
		counts[g]++
		sums[g] += x
		lines = append(lines, fmt.Sprintf("%c,%d,%v,%v", 'a'+g, i%2, x, x/2+0.02*rng.NormFloat64()))
	}
	few := grouped(t, "a,0,1,1")
	source := rowsOf(t, "g,t,x,y", lines...)
	for _, privacy := range []release.Privacy{{Epsilon: 1, Neighbours: release.ReplaceOne}, {Epsilon: 1, Delta: 1e-6, Neighbours: release.ReplaceOne},
		{Epsilon: 1, Neighbours: release.AddRemove}, {Epsilon: 1, Delta: 1e-6, Neighbours: release.AddRemove}} {
		o, delta, replaced := few, privacy.Delta, privacy.Neighbours == release.ReplaceOne
		if !replaced {
			o.StatedRows = 3000
		}
		wanted := 4
		if delta == 0 && replaced {
			wanted = 3
		}
		o.Rows, o.Privacy, o.Path = source, privacy, filepath.Join(t.TempDir(), "r.json")
		o.Design = groupedDesign(t, "y ~ x + g + t")
		o.Entropy = mechanisms.Simulated(rand.New(rand.NewPCG(9, 5)))
		must.Get(custody.Publish(t.Context(), o))(t)
		r := must.Get(release.ReadFile(o.Path))(t)
		if len(r.Looks()) != wanted || r.Levels == nil || r.Levels.Noise == nil || len(r.Steps[0].Frame.Centre) != 3 {
			t.Fatalf("%+v: %d looks, levels %+v", privacy, len(r.Looks()), r.Levels)
		}
		spent, whole, f := 0.0, 1.0, r.Frame
		add := func(sensitivity, scale float64) { spent += sensitivity / scale }
		ofLevels, inHistogram, ofProducts, ofLook := 2*math.Hypot(f.Weight, f.Radius), 2.0, math.Sqrt2*f.Radius*f.Radius, math.Sqrt2
		if delta > 0 {
			sigma := must.Get(accounting.Sigma(1, delta, 1))(t)
			add, whole = func(sensitivity, scale float64) { spent += sensitivity * sensitivity / (scale * scale) }, 1/(sigma*sigma)
			ofLevels, inHistogram = math.Sqrt(2*max(f.Weight*f.Weight+f.Radius*f.Radius, 2*f.Radius*f.Radius)), math.Sqrt2
		}
		if !replaced {
			ofLevels, inHistogram, ofProducts, ofLook = math.Hypot(f.Weight, f.Radius), 1, f.Radius*f.Radius, 1
		}
		for _, l := range r.Looks() {
			add(inHistogram, l.Radii.Scale)
		}
		for _, l := range r.Steps {
			add(ofLook*(l.Frame.Weight*l.Frame.Weight+l.Frame.Radius*l.Frame.Radius), l.Noise.Scale)
			if !replaced && delta == 0 {
				add(1, l.NNoise)
			}
		}
		add(ofLevels, r.Levels.Noise.Scale)
		add(ofProducts, r.Noise.Scale)
		if ratio := spent / whole; ratio > 1+1e-12 || ratio < 0.999 {
			t.Errorf("%+v: %v of the privacy is spent", privacy, ratio)
		}
		got, sd, countSD := r.ScaledLevels()
		for l := range 4 {
			if math.Abs(r.Levels.Counts[l]-counts[l]) > 6*countSD || math.Abs(got[l][0]-sums[l]) > 6*sd[l][0]+0.01*sums[l] {
				t.Errorf("%+v, level %d: %v rows and a sum of %v, with noise of sd %v and %v; there are %v and %v", privacy, l, r.Levels.Counts[l], got[l][0], countSD, sd[l][0], counts[l], sums[l])
			}
		}
	}
	few.Entropy = mechanisms.Simulated(rand.New(rand.NewPCG(9, 6)))
	if r, err := custody.Publish(t.Context(), few); err != nil || r.Frame != nil {
		t.Errorf("60 rows: %v, %v", r, err)
	}
}

func TestByLevelRefuses(t *testing.T) {
	for says, change := range map[string]func(o *custody.Order){
		"not --person": func(o *custody.Order) {
			o.Privacy.Neighbours, o.Persons = release.AddRemove, custody.Persons{Column: "t", Rule: persons.Rule{Kind: persons.Rows, Most: 1}}
		},
		"not with --bounds auto": func(o *custody.Order) { o.Privacy.Neighbours, o.Bounds.Columns = release.AddRemove, []string{"x"} },
		"the response, goes with --neighbours replace-one": func(o *custody.Order) {
			o.Privacy.Neighbours, o.ByLevel, o.Design = release.AddRemove, "t", groupedDesign(t, "t ~ x + y")
		},
		"one look is enough": func(o *custody.Order) {
			o.Steps, o.Design = 3, groupedDesign(t, "y ~ g")
		},
		"--with-moments exclude":  func(o *custody.Order) { o.WithMoments = true },
		"--missing midpoint":      func(o *custody.Order) { o.Cells.Missing = table.Midpoint },
		"no column of categories": func(o *custody.Order) { o.ByLevel = "x" },
		"model with an intercept": func(o *custody.Order) { o.Design.Intercept = false },
	} {
		o := grouped(t, "a,0,1,1")
		change(&o)
		must.Fail(t, must.Err(custody.Settle(o)), says)
	}
	o := grouped(t, "a,0,1,1")
	o.Rows = custody.Scaled{Name: "rows", Rows: []float64{0, -1, -1, 0, 0}}
	must.Fail(t, must.Err(custody.Publish(context.Background(), o)), "in no level")
}

// TestByResponse: sums by the levels of the response are those by the levels of a covariate with columns in another
// order, in the box and in several looks, and either release answers for the other.
func TestByResponse(t *testing.T) {
	for _, steps := range []int{1, 3} {
		path := filepath.Join(t.TempDir(), "r.json")
		settled := func(formula, path string) *custody.Settled {
			o := grouped(t, "a,0,1,1")
			o.Design, o.ByLevel, o.Steps, o.Path = groupedDesign(t, formula), "t", steps, path
			o.Entropy = mechanisms.Simulated(rand.New(rand.NewPCG(9, 7)))
			return must.Get(custody.Settle(o))(t)
		}
		published := func(formula, path string) *release.Release {
			return must.Get(settled(formula, path).Publish(t.Context()))(t)
		}
		response, covariate := published("t ~ x + y", path), published("y ~ t + x", "")
		if !response.LevelsAreOfResponse() || covariate.LevelsAreOfResponse() {
			t.Fatal("another response")
		}
		if read, err := release.ReadFile(path); err != nil || read.Schema.Formula().String() != "t ~ x + y" {
			t.Errorf("the file has %v, %v", read, err)
		}
		same := func(a, b *release.Release) {
			t.Helper()
			u, v, sd, want := a.Scaled(), b.Scaled(), a.ScaledSD(), b.ScaledSD()
			for i := range u {
				if math.Abs(u[i]-v[i]) > 1e-9 || math.Abs(sd[i]-want[i]) > 1e-9 {
					t.Errorf("%d looks, sum %d: %v with noise of sd %v, and %v with %v", steps, i, u[i], sd[i], v[i], want[i])
				}
			}
		}
		line := must.Get(response.Select("y ~ t + x"))(t)
		same(line, covariate)
		back := must.Get(covariate.Select("t ~ x + y"))(t)
		same(back, response)
		if err := settled("t ~ x + y", "").Differs(covariate); err == nil || steps > 1 != (response.Frame != nil) {
			t.Error("a release of another response is taken for the one that is ordered")
		}
		response.Simulated, covariate.Simulated = false, false
		must.Do(t, settled("t ~ x + y", "").Differs(response))
		if formula := settled("t ~ x + y", "").Selects(covariate); formula != "t ~ x + y" {
			t.Errorf("it is answered by %q", formula)
		}
	}
}

// crossedOrder is that of sums by the cells of g and t.
func crossedOrder(t *testing.T, formula string, last ...string) custody.Order {
	t.Helper()
	o := grouped(t, last...)
	o.Design, o.ByLevel, o.Steps, o.Entropy = groupedDesign(t, formula), "g:t", 1, mechanisms.Simulated(rand.New(rand.NewPCG(1, 9)))
	return o
}

// TestByCells: sums by the cells of two factors tell of a model of these, and of one with their products, what sums of its
// columns are, from the file that is written.
func TestByCells(t *testing.T) {
	for _, formula := range []string{"y ~ x + g + t", "y ~ g * t + x", "x ~ t + g"} {
		for _, nb := range []release.Neighbours{release.ReplaceOne, release.AddRemove} {
			o := crossedOrder(t, formula, "d,1,1,1")
			o.Privacy.Epsilon, o.Privacy.Neighbours, o.Path = 1e9, nb, filepath.Join(t.TempDir(), "r.json")
			must.Get(custody.Publish(context.Background(), o))(t)
			r := must.Get(release.ReadFile(o.Path))(t)
			if n, k := len(r.Levels.Sums), len(r.Schema.Covariates); n != 8 || k < 7 || r.LevelNames()[5] != "b:true" {
				t.Errorf("%s: %d levels, %d covariates, %q", formula, n, k, r.LevelNames())
			}
			got := must.Get(r.Select(formula))(t)
			must.Do(t, got.Validate())
			o.ByLevel, o.Path = "", ""
			want := must.Get(custody.Publish(context.Background(), o))(t)
			want = want.Arrange(&got.Schema)
			v := want.Statistics.Vector()
			for i, s := range got.Statistics.Vector() {
				if math.Abs(s-v[i]) > 1e-4 {
					t.Errorf("%s %s: statistic %d of %v is %v, and of rows %v", nb, formula, i, got.Schema.Formula(), s, v[i])
				}
			}
		}
	}
}

// TestByCellsModelRefused: what a model of some of the factors lacks is said of the release's own, and not of those that it names.
func TestByCellsModelRefused(t *testing.T) {
	r := must.Get(custody.Publish(context.Background(), crossedOrder(t, "y ~ x + g + t", "d,1,1,1")))(t)
	for _, formula := range []string{"y ~ gb + x", "y ~ gb", "y ~ t - 1"} {
		if _, err := r.Select(formula); err == nil || !strings.Contains(err.Error(), `by the levels of g:t: `) || !strings.Contains(err.Error(), `some of "g", "t" or none`) {
			t.Errorf("%s: %v", formula, err)
		}
	}
}

// TestByCellsLosesEpsilon: rows in other cells differ as those in other levels of one factor do.
func TestByCellsLosesEpsilon(t *testing.T) {
	of := func(last string) custody.Order { return crossedOrder(t, "y ~ x + g + t", last) }
	losesEpsilon(t, release.ReplaceOne, of, "a,0,1,1", "d,1,1,-1")
	losesEpsilon(t, release.AddRemove, of, "a,0,1,1", "")
}

// TestByCellsInSteps: of several looks the last is by cells.
func TestByCellsInSteps(t *testing.T) {
	o := crossedOrder(t, "y ~ x + g + t")
	o.Steps, o.Privacy.Epsilon = 3, 100
	r, err := custody.Publish(context.Background(), o)
	must.Do(t, err)
	if r, err = r.Select("y ~ t + g + x"); err != nil || len(r.Levels.Coding) != 8 || len(r.Looks()) != 3 {
		t.Fatalf("%v, %+v", err, r)
	}
	must.Do(t, r.Validate())
}

func TestByCellsRefuses(t *testing.T) {
	for _, c := range []struct {
		formula, by, want string
		change            func(*custody.Order)
	}{
		{"y ~ x + g", "g:t", `"t" is no column of categories`, nil},
		{"y ~ x + g + t", "g:x", `"x" is no column of categories`, nil},
		{"y ~ x + g + t", "g:g", "stands twice", nil},
		{"t ~ x + g", "g:t", `"t" is the response`, nil},
		{"y ~ x + g + t", "g,t", `several columns have ":" between them`, nil},
		{"y ~ x + g + t", "g:t", "--per-level is of one factor", func(o *custody.Order) { o.PerLevel = true }},
		{"y ~ x + g + t", "g:t", "--with-moments", func(o *custody.Order) { o.WithMoments = true }},
	} {
		o := crossedOrder(t, c.formula)
		if o.ByLevel = c.by; c.change != nil {
			c.change(&o)
		}
		if _, err := custody.Publish(context.Background(), o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s by %s: %v, not %q", c.formula, c.by, err, c.want)
		}
	}
}

// TestByCellsInParts: parts of the rows have sums by cells, which add up to those of all.
func TestByCellsInParts(t *testing.T) {
	o := crossedOrder(t, "y ~ t + g")
	o.Split, o.Privacy.Epsilon, o.Path = 2, 1e9, filepath.Join(t.TempDir(), "r.parts")
	settled := must.Get(custody.Settle(o))(t)
	parts := must.Get(settled.PublishParts(context.Background()))(t)
	rows := 0.0
	for _, r := range parts {
		r := must.Get(settled.Answer(r))(t)
		for _, count := range r.Levels.Counts {
			rows += count
		}
	}
	if len(parts) != 2 || math.Abs(rows-60) > 1e-6 {
		t.Errorf("%d parts of %v rows", len(parts), rows)
	}
}
