package custody_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
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
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/mechanisms/ledger"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/ssp"
)

// pool is a session in a folder: custodian i has the key i.key and writes i.shares and i.masked.
type pool struct {
	*custody.Session
	dir  string
	keys []custody.MemberKey
}

var sharedPrivacy = release.Privacy{Epsilon: 1, Delta: 1e-6, Neighbours: release.ReplaceOne}

func newPool(t *testing.T, custodians, colluding, absent int, p release.Privacy) *pool {
	t.Helper()
	return agreed(t, custodians, custody.Session{Colluding: colluding, Absent: absent, Privacy: p, Schema: *twoColumns})
}

func agreed(t *testing.T, custodians int, terms custody.Session) *pool {
	t.Helper()
	s := &pool{dir: t.TempDir()}
	var members []custody.Member
	for i := range custodians {
		must.Do(t, custody.NewMember(fmt.Sprint("c", i), s.at(i, "key"), s.at(i, "member")))
		m := must.Get(custody.ReadMember(s.at(i, "member")))(t)
		k := must.Get(custody.ReadMemberKey(s.at(i, "key")))(t)
		members, s.keys = append(members, m), append(s.keys, k)
	}
	s.Session = must.Get(custody.NewSession(members, terms))(t)
	return s
}

func (s *pool) at(i int, suffix string) string {
	return filepath.Join(s.dir, fmt.Sprintf("%d.%s", i, suffix))
}

func (s *pool) files(suffix string, of ...int) (paths []string) {
	for _, i := range of {
		paths = append(paths, s.at(i, suffix))
	}
	return paths
}

// noiseOf is the same each time.
func noiseOf(i int) *mechanisms.Entropy {
	return mechanisms.Simulated(rand.New(rand.NewPCG(uint64(i), 77)))
}

// linesOf are custodian i's rows.
func linesOf(i int) (lines []string) {
	rng := rand.New(rand.NewPCG(uint64(i), 5))
	for range 20 + 10*i {
		lines = append(lines, fmt.Sprintf("%.4f,%.4f", 3*rng.Float64()-1.5, 2*rng.Float64()-1))
	}
	return lines
}

func (s *pool) share(t *testing.T, i int, lines []string) {
	t.Helper()
	must.Do(t, s.Share(t.Context(), custody.Order{Rows: rows(t, lines...), Path: s.at(i, "shares"), Entropy: noiseOf(i)}, s.keys[i]))
}

// upTo are the numbers below n.
func upTo(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

// The release is that of the rows of all who shared with the sum of their noises, bit for bit, whoever
// drops out: in shares and in sums as many as the session says.
func TestPoolTotals(t *testing.T) {
	for name, c := range map[string]struct {
		custodians, colluding, absent int
		shared, masked                []int
		neighbours                    release.Neighbours
	}{
		"two":           {2, 1, 0, upTo(2), upTo(2), release.ReplaceOne},
		"all":           {5, 1, 1, upTo(5), upTo(5), release.ReplaceOne},
		"one drops out": {6, 2, 1, []int{0, 1, 3, 4, 5}, []int{4, 0, 2, 5, 1}, release.ReplaceOne},
		"one of three":  {3, 0, 1, []int{2, 0}, []int{0, 2}, release.ReplaceOne},
		"n has noise":   {5, 1, 1, []int{0, 2, 3, 4}, []int{1, 2, 3, 0}, release.AddRemove},
	} {
		t.Run(name, func(t *testing.T) {
			p := sharedPrivacy
			p.Neighbours = c.neighbours
			s := newPool(t, c.custodians, c.colluding, c.absent, p)
			var all []string
			want := make([]*big.Int, release.Length(2)+1)
			for l := range want {
				want[l] = new(big.Int)
			}
			for _, i := range c.shared {
				s.share(t, i, linesOf(i))
				all = append(all, linesOf(i)...)
				empty := ssp.NewAccumulator(2).Statistics()
				noise := must.Get(ssp.Shared{Columns: 2, Neighbours: p.Neighbours, Noise: s.Noise}.Share(empty, 0, noiseOf(i)))(t)
				for l, v := range noise {
					want[l].Add(want[l], v)
				}
			}
			exact := must.Get(custody.Exact(t.Context(), custody.Order{Rows: rows(t, all...), Design: twoColumns}))(t)
			for l, v := range append(exact.BigInts(), new(big.Int).Lsh(big.NewInt(exact.N), 40)) {
				want[l].Add(want[l], v)
			}
			for _, i := range c.masked {
				must.Do(t, custody.Mask(s.keys[i], s.at(i, "masked"), s.files("shares", c.shared...)))
			}
			r := must.Get(custody.Total(s.files("masked", c.masked...)))(t)
			for l, v := range r.Statistics.Vector() {
				if f, _ := want[l].Float64(); v != math.Ldexp(f, -40) {
					t.Errorf("sum %d is %v, not %v", l, v, math.Ldexp(f, -40))
				}
			}
			count, _ := want[len(want)-1].Float64()
			if r.N != int64(math.Floor(math.Ldexp(count, -40)+0.5)) || c.neighbours == release.ReplaceOne && r.N != exact.N {
				t.Errorf("n = %d of %d", r.N, exact.N)
			}
			if !r.Simulated || r.Noise.Scale != s.Noise.Scale*math.Sqrt(float64(len(c.shared))) || *r.Pooled != (release.Pooled{Custodians: int64(len(c.shared)), Colluding: int64(c.colluding)}) {
				t.Errorf("%+v, %+v", r.Noise, r.Pooled)
			}
		})
	}
}

// A row of one custodian moves the total by what the noise is calibrated to at most, whoever colludes:
// who knows all but the honest shares sees the difference under their noise.
func TestPoolNeighbours(t *testing.T) {
	s := newPool(t, 3, 1, 0, sharedPrivacy)
	largest := 0.0
	var before []float64
	for _, row := range []string{"1,1", "-0.3333,-0.3333", "-1,1", "0,0", "1e9,-1e9", "-1,-1"} {
		for i := range s.keys {
			os.Remove(s.at(i, "shares"))
			lines := linesOf(i)
			if i == 1 {
				lines[7] = row
			}
			s.share(t, i, lines)
		}
		for i := range s.keys {
			os.Remove(s.at(i, "masked"))
			key := copyKey(t, s, i)
			must.Do(t, custody.Mask(key, s.at(i, "masked"), s.files("shares", 2, 0, 1)))
		}
		r := must.Get(custody.Total(s.files("masked", upTo(3)...)))(t)
		z, square := r.Statistics.Vector(), 0.0
		for l := range before {
			square += (z[l] - before[l]) * (z[l] - before[l])
		}
		before, largest = z, max(largest, math.Sqrt(square))
	}
	if largest > s.Noise.Sensitivity || largest < 0.9*s.Noise.Sensitivity {
		t.Errorf("a row moves the total by %v, and noise is calibrated to %v", largest, s.Noise.Sensitivity)
	}
}

// copyKey is custodian i's key in another file, which a test may use up.
func copyKey(t *testing.T, s *pool, i int) custody.MemberKey {
	t.Helper()
	text := must.Get(os.ReadFile(s.at(i, "key")))(t)
	path := filepath.Join(t.TempDir(), "copy.key")
	must.Do(t, os.WriteFile(path, text, 0o600))
	return must.Get(custody.ReadMemberKey(path))(t)
}

// Attacks on the second round and the total: each is refused, and leaves no file and the key where it was.
func TestPoolRefuses(t *testing.T) {
	s, other := newPool(t, 4, 0, 1, sharedPrivacy), newPool(t, 4, 0, 1, sharedPrivacy)
	for i := range s.keys {
		s.share(t, i, linesOf(i))
		other.share(t, i, linesOf(i))
	}
	again := s.at(9, "shares")
	must.Do(t, s.Share(t.Context(), custody.Order{Rows: rows(t, linesOf(3)...), Path: again, Entropy: noiseOf(30)}, s.keys[3]))
	changed := func(path string, change func(f map[string]any)) string {
		text := must.Get(os.ReadFile(path))(t)
		var f map[string]any
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		must.Do(t, d.Decode(&f))
		change(f)
		text = must.Get(json.Marshal(f))(t)
		out := filepath.Join(t.TempDir(), "changed")
		must.Do(t, os.WriteFile(out, text, 0o600))
		return out
	}
	flip := func(text string, at int) string {
		b := must.Get(base64.StdEncoding.DecodeString(text))(t)
		b[at] ^= 1
		return base64.StdEncoding.EncodeToString(b)
	}
	garbage := filepath.Join(s.dir, "garbage")
	must.Do(t, os.WriteFile(garbage, []byte("{"), 0o600))
	shares := s.files("shares", upTo(3)...)
	with := func(last string) []string { return append(shares[:2:2], last) }
	for name, c := range map[string]struct {
		from []string
		says string
	}{
		"too few":           {shares[:2], "needs those of 3"},
		"none":              {nil, "no shares"},
		"one twice":         {with(shares[1]), "there already"},
		"two of one":        {[]string{shares[0], shares[1], s.at(3, "shares"), again}, "there already"},
		"another session":   {with(other.at(2, "shares")), "another session"},
		"a replayed share":  {with(changed(shares[2], func(f map[string]any) { f["sealed"] = sealed(t, other.at(2, "shares")) })), "cannot be opened"},
		"another custodian": {with(changed(shares[2], func(f map[string]any) { f["custodian"] = "c3" })), "of c3: the share cannot be opened"},
		"an unknown one":    {with(changed(shares[2], func(f map[string]any) { f["custodian"] = "c7" })), "no custodian"},
		"a changed share": {with(changed(shares[2], func(f map[string]any) {
			all := f["sealed"].([]any)
			all[0] = flip(all[0].(string), 40)
		})), "of c2: the share cannot be opened"},
		"fewer shares":     {with(changed(shares[2], func(f map[string]any) { f["sealed"] = f["sealed"].([]any)[:2] })), "not for all"},
		"a release":        {with("../testdata/pums-eps1.release.json"), "is wanted here"},
		"garbage":          {with(garbage), "whole"},
		"no file":          {with("none"), "none"},
		"a masked file":    {with(s.at(0, "member")), "dpreg-shares/1"},
		"too many collude": {[]string{changed(shares[0], func(f map[string]any) { f["session"].(map[string]any)["colluding"] = 2 })}, "must be above 5 times"},
		"smaller noise":    {[]string{changed(shares[0], func(f map[string]any) { f["session"].(map[string]any)["noise"].(map[string]any)["scale"] = 0.1 })}, "scale must be"},
		"other bounds":     {with(changed(shares[2], func(f map[string]any) { f["session"].(map[string]any)["privacy"].(map[string]any)["epsilon"] = 0.99 })), "noise"},
	} {
		out := filepath.Join(s.dir, "out")
		err := custody.Mask(s.keys[0], out, c.from)
		var refused *custody.Error
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
		for path, there := range map[string]bool{out: false, s.at(0, "key"): true} {
			if _, err := os.Stat(path); (err == nil) != there {
				t.Errorf("%s: %s: %v", name, path, err)
			}
		}
	}
	must.Fail(t, custody.Mask(other.keys[0], filepath.Join(s.dir, "out"), shares), "no custodian of the session")

	// A custodian adds up once: then its key is gone, by whatever name the sum goes.
	for i := range 3 {
		must.Do(t, custody.Mask(s.keys[i], s.at(i, "masked"), shares))
		if err := custody.Mask(s.keys[i], s.at(i, "again"), shares); err == nil {
			t.Error("a custodian added up twice")
		}
		if _, err := os.Stat(s.at(i, "again")); err == nil {
			t.Error("and wrote it")
		}
	}
	must.Do(t, custody.Mask(s.keys[3], s.at(3, "masked"), []string{shares[0], shares[1], shares[2], again}))
	masked := s.files("masked", upTo(3)...)
	for i := range 3 {
		must.Do(t, custody.Mask(other.keys[i], other.at(i, "masked"), other.files("shares", upTo(3)...)))
	}
	last := func(path string) []string { return append(masked[:2:2], path) }
	for name, c := range map[string]struct {
		from []string
		says string
	}{
		"none":            {nil, "no sums"},
		"too few":         {masked[:2], "needs 3"},
		"one twice":       {last(masked[1]), "there already"},
		"other shares":    {last(s.at(3, "masked")), "other shares"},
		"another session": {last(other.at(2, "masked")), "another session"},
		"a changed digit": {last(changed(masked[2], func(f map[string]any) { f["sums"] = flip(f["sums"].(string), 5) })), "was changed"},
		"a replayed sum":  {last(changed(masked[2], func(f map[string]any) { f["sums"] = field(t, other.at(2, "masked"), "sums") })), "was changed"},
		"by another":      {last(changed(masked[2], func(f map[string]any) { f["custodian"] = "c3" })), "was changed"},
		"cut off":         {last(changed(masked[2], func(f map[string]any) { f["sums"] = f["sums"].(string)[:16] })), "damaged"},
		"of fewer": {[]string{changed(masked[0], func(f map[string]any) { f["of"] = f["of"].([]any)[:2] }), masked[1], masked[2]},
			"not of enough"},
		"shares": {last(shares[2]), "dpreg-masked/1"},
	} {
		r, err := custody.Total(c.from)
		if r != nil || err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	must.Get(custody.Total(masked))(t)
}

func sealed(t *testing.T, path string) any { return field(t, path, "sealed") }

func field(t *testing.T, path, name string) any {
	t.Helper()
	text := must.Get(os.ReadFile(path))(t)
	var f map[string]any
	must.Do(t, json.Unmarshal(text, &f))
	return f[name]
}

// Shares are charged before noise is drawn, to each custodian's own ledger; one without room refuses them.
func TestPoolCharges(t *testing.T) {
	s := newPool(t, 3, 1, 0, sharedPrivacy)
	path := filepath.Join(s.dir, "l.db")
	must.Do(t, ledger.Create(t.Context(), path, ledger.Budget{Data: "d", Neighbours: "replace-one", Epsilon: big.NewRat(3, 2), Delta: big.NewRat(1, 1000), Filter: ledger.Sum}))
	o := custody.Order{Rows: rows(t, linesOf(0)...), Path: s.at(0, "shares"), Ledger: path}
	must.Do(t, s.Share(t.Context(), o, s.keys[0]))
	must.Fail(t, s.Share(t.Context(), o, s.keys[0]), "spend ε again")
	o.Path = s.at(1, "shares")
	err := s.Share(t.Context(), o, s.keys[0])
	var refused *custody.Error
	if !errors.As(err, &refused) || !refused.Private {
		t.Errorf("without room: %v", err)
	}
	if _, err := os.Stat(o.Path); err == nil {
		t.Error("shares were written without room")
	}
	l := must.Get(ledger.Open(t.Context(), path))(t)
	defer l.Close()
	h := must.Get(l.History(t.Context()))(t)
	one := must.Get(ssp.Calibrate(2, sharedPrivacy, release.Gaussian, ssp.Exact))(t)
	if len(h.Entries) != 1 || h.Entries[0].Noise != ledger.Gaussian || h.Entries[0].Scale != one.Scale || h.Entries[0].Epsilon.Cmp(big.NewRat(1, 1)) != 0 {
		t.Errorf("%+v", h.Entries)
	}
	must.Fail(t, s.Share(t.Context(), custody.Order{Rows: rows(t, linesOf(0)...), Path: s.at(2, "shares")}, s.keys[0]), "--no-ledger")
}

// Sessions in which a custodian could be told from the others, or noise would not do, are refused.
func TestSessionRefuses(t *testing.T) {
	s := newPool(t, 3, 1, 0, sharedPrivacy)
	m := s.Custodians
	twice := []custody.Member{m[0], m[1], {Name: "c2", Key: m[1].Key}}
	for name, c := range map[string]struct {
		members           []custody.Member
		colluding, absent int
		privacy           release.Privacy
	}{
		"alone":         {m[:1], 0, 0, sharedPrivacy},
		"all collude":   {m, 3, 0, sharedPrivacy},
		"two totals":    {m, 1, 1, sharedPrivacy},
		"unproved":      {newPool(t, 5, 0, 1, sharedPrivacy).Custodians, 0, 2, sharedPrivacy},
		"below 0":       {m, -1, 0, sharedPrivacy},
		"absent":        {m, 0, -1, sharedPrivacy},
		"same name":     {[]custody.Member{m[0], m[1], {Name: "c0", Key: m[2].Key}}, 1, 0, sharedPrivacy},
		"same key":      {twice, 1, 0, sharedPrivacy},
		"no name":       {[]custody.Member{m[0], m[1], {Key: m[2].Key}}, 1, 0, sharedPrivacy},
		"no δ":          {m, 1, 0, release.Privacy{Epsilon: 1, Neighbours: release.ReplaceOne}},
		"a large ε":     {m, 1, 0, release.Privacy{Epsilon: 1e7, Delta: 1e-6, Neighbours: release.ReplaceOne}},
		"no neighbours": {m, 1, 0, release.Privacy{Epsilon: 1, Delta: 1e-6}},
	} {
		if _, err := custody.NewSession(c.members, custody.Session{Colluding: c.colluding, Absent: c.absent, Privacy: c.privacy, Schema: *twoColumns}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	path := filepath.Join(s.dir, "session")
	must.Do(t, s.Write(path))
	read := must.Get(custody.ReadSession(path))(t)
	if read.Digest() != s.Digest() {
		t.Error("a session reads as another")
	}
	if err := s.Write(path); err == nil {
		t.Error("a session is written over")
	}
}
