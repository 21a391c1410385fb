package custody_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mechanisms/ledger"
	"github.com/dpreg/dpreg/persons"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/ssp"
)

// total lets all custodians add up these rows, which rows of i gives, and gives the release.
func (s *pool) total(t *testing.T, order func(i int) custody.Order) *release.Release {
	t.Helper()
	all := upTo(len(s.keys))
	for _, i := range all {
		o := order(i)
		o.Path = s.at(i, "shares")
		must.Do(t, s.Share(t.Context(), o, s.keys[i]))
	}
	for _, i := range all {
		must.Do(t, custody.Mask(s.keys[i], s.at(i, "masked"), s.files("shares", all...)))
	}
	return must.Get(custody.Total(s.files("masked", all...)))(t)
}

// clustered are rows that fill a thousandth of the box.
func clustered(i int) (lines []string) {
	rng := rand.New(rand.NewPCG(uint64(i), 6))
	for range 20000 {
		x := 0.3 + 0.05*rng.NormFloat64()
		lines = append(lines, fmt.Sprintf("%.5f,%.5f", x, 0.2+0.5*x+0.03*rng.NormFloat64()))
	}
	return lines
}

// Looks that are pooled one after another are those of all rows, to the bit, in the frames that their sums
// have found; all together cost each ledger the whole, charge by charge, and no look comes after the last.
func TestPoolLooks(t *testing.T) {
	testsize.Full(t, "TestPoolTotals and TestPoolCharges pool, and TestSteps looks")
	const looks = 3
	for _, nb := range []release.Neighbours{release.ReplaceOne, release.AddRemove} {
		p := release.Privacy{Epsilon: 1, Delta: 1e-6, Neighbours: nb}
		terms := custody.Session{Colluding: 1, Privacy: p, Schema: *twoColumns, Steps: looks, Rows: 60000}
		path := filepath.Join(t.TempDir(), "l.db")
		must.Do(t, ledger.Create(t.Context(), path, ledger.Budget{Data: "d", Neighbours: string(nb), Epsilon: big.NewRat(1, 1), Delta: big.NewRat(1, 1000000), Filter: ledger.Auto}))
		mine := rows(t, clustered(0)...)
		order := func(i int) custody.Order {
			if i == 0 {
				return custody.Order{Rows: mine, Ledger: path, Entropy: noiseOf(i)}
			}
			return custody.Order{Rows: rows(t, clustered(i)...), Entropy: noiseOf(i)}
		}
		var r *release.Release
		var s *pool
		for k := range looks {
			s = agreed(t, 3, terms)
			r = s.total(t, order)
			if len(r.Looks()) != k+1 || r.Pooled.Rounds != looks || *r.Privacy != p {
				t.Fatalf("%d looks, %+v", len(r.Looks()), r.Pooled)
			}
			terms = custody.Session{Colluding: 1, Former: r}
		}
		sums, radii, noise := exactLook(t, r.Frame, slices.Concat(clustered(0), clustered(1), clustered(2))), 0., make([]float64, 5)
		q := ssp.Shared{Columns: 2, Neighbours: nb, Frame: s.Frame, Noise: s.Noise}
		for i := range 3 {
			empty := gathered(t, r.Frame, nil)
			z := must.Get(q.ShareLook(empty.sums, empty.radii, 0, noiseOf(i)))(t)
			for l := range noise {
				v, _ := new(big.Float).SetInt(z[l]).Float64()
				noise[l] += v
			}
		}
		for l, v := range r.Statistics.Vector() {
			if want := sums[l] + noise[l]*r.Noise.Lattice; math.Abs(v-want) > 1e-9*max(1, math.Abs(want)) {
				t.Errorf("%s: sum %d is %v, not %v", nb, l, v, want)
			}
		}
		for _, n := range r.Radii.Counts {
			radii += float64(n)
		}
		if math.Abs(radii-60000) > 6*r.Radii.Scale*math.Sqrt(float64(len(r.Radii.Counts))) {
			t.Errorf("%s: %v radii", nb, radii)
		}
		box := must.Get(ssp.Calibrate(2, p, release.Gaussian, ssp.Exact))(t)
		if sd := r.Frame.Inverse()[0]; sd*sd*r.Noise.SD() > box.Scale/8 {
			t.Errorf("%s: squares about the centre have noise of sd %v, and %v in the box", nb, sd*sd*r.Noise.SD(), box.Scale)
		}
		c := must.Get(r.Composable())(t)
		if most := box.Sensitivity / box.Scale; c.Mu > most*(1+1e-9) || c.Mu < most*0.99 {
			t.Errorf("%s: μ = %v of %v", nb, c.Mu, most)
		}
		for _, c := range map[string]struct {
			change func(s *custody.Session)
			says   string
		}{
			"a look more": {func(s *custody.Session) { s.Former = r }, "has a look left"},
			"of one custodian": {func(s *custody.Session) {
				other := *r
				other.Pooled, other.Steps = nil, nil
				s.Former = &other
			}, "has a look left"},
		} {
			terms := custody.Session{Colluding: 1}
			c.change(&terms)
			must.Fail(t, must.Err(custody.NewSession(s.Custodians, terms)), c.says)
		}
		// Another frame than the one that follows is refused by all who read the session.
		frame := *s.Frame
		frame.Radius *= 2
		s.Session.Frame = &frame
		forged := filepath.Join(s.dir, "forged")
		must.Do(t, s.Session.Write(forged))
		must.Fail(t, must.Err(custody.ReadSession(forged)), "follows from the former look")
		again := agreed(t, 3, custody.Session{Colluding: 1, Privacy: p, Schema: *twoColumns})
		o := order(0)
		o.Path = again.at(0, "shares")
		if err := again.Share(t.Context(), o, again.keys[0]); err == nil || !strings.Contains(err.Error(), "no room") {
			t.Errorf("%s: after all looks: %v", nb, err)
		}
	}
}

type inFrame struct {
	sums  *ssp.BallAccumulator
	radii *ssp.RadiusCount
}

// gathered are sums and radii of rows in a frame.
func gathered(t *testing.T, f *release.Frame, lines []string) inFrame {
	t.Helper()
	ball := must.Get(ssp.NewBall(f, 2))(t)
	g := inFrame{ball.NewAccumulator(), ball.Radii()}
	for _, line := range lines {
		var x, y float64
		must.Get(fmt.Sscanf(line, "%f,%f", &x, &y))(t)
		row := []float64{min(max(x, -1), 1), min(max(y, -1), 1)}
		must.Do(t, g.sums.AddRows(row))
	}
	return g
}

// exactLook are the sums of rows in a frame, by rows of one at a time.
func exactLook(t *testing.T, f *release.Frame, lines []string) []float64 {
	t.Helper()
	g := gathered(t, f, lines)
	tiny := ssp.Shared{Columns: 2, Neighbours: release.ReplaceOne, Frame: f, Noise: release.Noise{Scale: 1e-12, Cross: 1e-12, Linear: 1e-12}, Radii: 1}
	z := must.Get(tiny.ShareLook(g.sums, g.radii, 0, noiseOf(0)))(t)
	digits := math.Ldexp(1, -2*(20-int(math.Ceil(math.Log2(f.Radius)))))
	sums := make([]float64, 5)
	for l := range sums {
		v, _ := new(big.Float).SetInt(z[l]).Float64()
		sums[l] = v * digits
	}
	return sums
}

// A pooled release is private for each person of a custodian, by what all agreed upon: a person who comes,
// goes or is exchanged, of whatever rows, moves what is noised by no more than the noise is for. The count
// of persons with more rows has its part, and the ledger counts persons.
func TestPoolPersons(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	others := crowd(rng)
	var many, alternating []string
	for i := range 300 {
		many = append(many, "v,1,1")
		alternating = append(alternating, fmt.Sprintf("v,%d,%d", 1-2*(i%2), 1-2*(i/2%2)))
	}
	victims := [][]string{{"v,1,1"}, {"v,-1,1"}, many, alternating}
	for _, c := range []struct {
		rule  string
		nb    release.Neighbours
		steps int
	}{
		{"mean", release.ReplaceOne, 1}, {"weight", release.AddRemove, 1}, {"1", release.ReplaceOne, 1}, {"4", release.AddRemove, 1}, {"4", release.AddRemove, 2}, {"mean", release.ReplaceOne, 2},
	} {
		p := release.Privacy{Epsilon: 1, Delta: 1e-6, Neighbours: c.nb}
		rule := must.Get(persons.ParseRule(c.rule))(t)
		made := func(victim []string) *release.Release {
			s := agreed(t, 2, custody.Session{Colluding: 1, Privacy: p, Schema: *twoColumns, Persons: c.rule, Steps: c.steps, Rows: 1000})
			return s.total(t, func(i int) custody.Order {
				lines := others
				if i == 0 {
					lines = append(slices.Clone(others), victim...)
				}
				return custody.Order{Rows: ofPersons(t, lines), Persons: custody.Persons{Column: "id"}, Entropy: noiseOf(i)}
			})
		}
		var all []*release.Release
		if c.nb == release.AddRemove {
			all = append(all, made(nil))
		}
		for _, v := range victims {
			all = append(all, made(v))
		}
		largest := 0.
		for i, a := range all {
			for _, b := range all[:i] {
				if c.nb == release.AddRemove && b != all[0] {
					break
				}
				la, lb := a.Looks()[0], b.Looks()[0]
				largest = max(largest, moved(&la, &lb)/float64(rule.PerPerson()))
				if math.Abs(float64(a.Persons.More-b.Persons.More)) > 1 {
					t.Errorf("%+v: the count of persons moves from %d to %d", c, b.Persons.More, a.Persons.More)
				}
			}
		}
		r := all[0]
		if largest > r.Noise.Sensitivity*(1+1e-9) || largest < r.Noise.Sensitivity/4 {
			t.Errorf("%+v: sums move by %v, and the noise is for %v", c, largest, r.Noise.Sensitivity)
		}
		budget := must.Get(ssp.NewBudget(p))(t)
		if with, err := r.Composable(); err != nil || with.Mu > 1/budget.Sigma()*(1+1e-8) {
			t.Errorf("%+v: μ = %v of %v, %v", c, with.Mu, 1/budget.Sigma(), err)
		}
		if c.steps == 2 {
			s := agreed(t, 2, custody.Session{Colluding: 1, Former: r})
			last := s.total(t, func(i int) custody.Order {
				return custody.Order{Rows: ofPersons(t, others), Persons: custody.Persons{Column: "id"}, Entropy: noiseOf(9 + i)}
			})
			if with, err := last.Composable(); err != nil || with.Mu > 1/budget.Sigma()*(1+1e-8) || *last.Persons != *r.Persons {
				t.Errorf("%+v: μ = %v of %v, %v; %+v", c, with.Mu, 1/budget.Sigma(), err, last.Persons)
			}
		}
	}
	s := agreed(t, 2, custody.Session{Colluding: 1, Privacy: release.Privacy{Epsilon: 1, Delta: 1e-6, Neighbours: release.ReplaceOne}, Schema: *twoColumns, Persons: "mean"})
	o := custody.Order{Rows: ofPersons(t, others), Path: s.at(0, "shares"), Entropy: noiseOf(0)}
	must.Fail(t, s.Share(t.Context(), o, s.keys[0]), "--person COLUMN")
	of := newPool(t, 2, 1, 0, sharedPrivacy)
	o.Persons.Column = "id"
	must.Fail(t, of.Share(t.Context(), o, of.keys[0]), "private for rows")
}
