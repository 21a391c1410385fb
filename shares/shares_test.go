package shares

import (
	"bytes"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
)

// members are a group with their keys.
func members(t *testing.T, n, threshold int) (*Group, []Key) {
	t.Helper()
	g := &Group{Threshold: threshold, Session: [32]byte{1, 2, 3}}
	var keys []Key
	for range n {
		k := must.Get(NewKey())(t)
		keys, g.Keys = append(keys, k), append(g.Keys, k.Public())
	}
	must.Do(t, g.Check())
	return g, keys
}

// run shares a vector of each of some members, of which others add up.
func run(t *testing.T, g *Group, keys []Key, z map[int][]*big.Int, adding []int) map[int][]byte {
	t.Helper()
	sealed, sums := map[int][][]byte{}, map[int][]byte{}
	for from, v := range z {
		sealed[from] = must.Get(g.Split(keys[from], from, v))(t)
	}
	for _, by := range adding {
		sums[by] = must.Get(g.Add(keys[by], by, addressed(sealed, by)))(t)
	}
	return sums
}

func addressed(sealed map[int][][]byte, to int) map[int][]byte {
	mine := map[int][]byte{}
	for from, all := range sealed {
		mine[from] = all[to]
	}
	return mine
}

func vector(values ...int64) (z []*big.Int) {
	for _, v := range values {
		z = append(z, big.NewInt(v))
	}
	return z
}

// The total is that of whoever split, exactly, by any members that are enough.
func TestTotal(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range testsize.Of(20, 100) {
		n := 2 + rng.IntN(7)
		threshold := 1 + rng.IntN(n)
		g, keys := members(t, n, threshold)
		length := 1 + rng.IntN(6)
		z, want := map[int][]*big.Int{}, make([]*big.Int, length)
		for l := range want {
			want[l] = new(big.Int)
		}
		for _, from := range rng.Perm(n)[:1+rng.IntN(n)] {
			for l := range length {
				v := new(big.Int).Lsh(big.NewInt(rng.Int64()-rng.Int64()), uint(rng.IntN(60)))
				z[from] = append(z[from], v)
				want[l].Add(want[l], v)
			}
		}
		total := must.Get(g.Total(run(t, g, keys, z, rng.Perm(n)[:threshold+rng.IntN(n-threshold+1)])))(t)
		if fmt.Sprint(total) != fmt.Sprint(want) {
			t.Errorf("%d of %d: %v, not %v", threshold, n, total, want)
		}
	}
}

// Whatever byte of whatever is changed, there is no total; nor by too few, nor of two sessions.
func TestChanged(t *testing.T) {
	g, keys := members(t, 4, 3)
	z := map[int][]*big.Int{0: vector(5, -7), 1: vector(1, 1), 3: vector(100, 0)}
	for _, adding := range [][]int{{0, 1, 2}, {0, 1, 2, 3}} {
		sums := run(t, g, keys, z, adding)
		for _, by := range adding {
			for at := range sums[by] {
				changed := maps.Clone(sums)
				changed[by] = slices.Clone(sums[by])
				changed[by][at] ^= 1 << (at % 8)
				if total, err := g.Total(changed); err == nil {
					t.Fatalf("byte %d of %d is changed: %v", at, by, total)
				}
			}
		}
	}
	sums, other := run(t, g, keys, z, []int{0, 1, 2}), run(t, g, keys, z, []int{0, 1, 2})
	if _, err := g.Total(map[int][]byte{0: sums[0], 1: sums[1], 2: other[2]}); err == nil {
		t.Error("sums of other shares of the same vectors make a total")
	}
	if _, err := g.Total(map[int][]byte{0: sums[0], 1: sums[1], 3: sums[2]}); err == nil {
		t.Error("the sum of another member makes a total")
	}
	must.Fail(t, must.Err(g.Total(map[int][]byte{0: sums[0], 2: sums[2]})), "needs 3")
	for _, damaged := range [][]byte{nil, {1}, sums[2][:width], sums[2][:2*width], bytes.Repeat([]byte{255}, 3*width)} {
		if _, err := g.Total(map[int][]byte{0: sums[0], 1: sums[1], 2: damaged}); err == nil {
			t.Errorf("%d bytes make a total", len(damaged))
		}
	}
}

// A share is opened by whom it is for alone, as of whom it is from, in its session, unchanged.
func TestSealed(t *testing.T) {
	g, keys := members(t, 3, 2)
	sealed := must.Get(g.Split(keys[0], 0, vector(1, 2, 3)))(t)
	opens := func(g *Group, k Key, by, from int, text []byte) bool {
		_, err := g.Add(k, by, map[int][]byte{from: text})
		return err == nil
	}
	if !opens(g, keys[1], 1, 0, sealed[1]) {
		t.Fatal("it cannot be opened")
	}
	later := *g
	later.Session[31] ^= 1
	for name, opened := range map[string]bool{
		"another key": opens(g, keys[2], 1, 0, sealed[1]), "another's place": opens(g, keys[1], 2, 0, sealed[1]), "another's share": opens(g, keys[1], 1, 0, sealed[2]),
		"from another": opens(g, keys[1], 1, 2, sealed[1]), "back to its sender": opens(g, keys[0], 0, 1, sealed[1]), "another session": opens(&later, keys[1], 1, 0, sealed[1]),
		"nothing": opens(g, keys[1], 1, 0, nil),
	} {
		if opened {
			t.Errorf("%s opens it", name)
		}
	}
	for at := range sealed[1] {
		changed := slices.Clone(sealed[1])
		changed[at] ^= 0x10
		if opens(g, keys[1], 1, 0, changed) {
			t.Fatalf("byte %d is changed, and it opens", at)
		}
	}
	if shown := fmt.Sprintf("%v %+v %x %s", keys[0], keys[0], keys[0], keys[0]); strings.ContainsAny(shown, "0123456789[") {
		t.Errorf("a key prints as %s", shown)
	}
}

// A member's sum, and any that are fewer than the threshold, are uniform, whatever the vectors are: by 32
// bins of the field, the χ² of 4000 runs with 31 degrees of freedom exceeds 90 once in 10⁷.
func TestUniform(t *testing.T) {
	g, keys := members(t, 3, 3)
	largest := new(big.Int).Rsh(prime, 1)
	const bins, runs = 32, 4000
	for name, z := range map[string][]*big.Int{"zero": vector(0), "one": vector(1), "largest": {largest}} {
		elements, sum := [3][bins]int{}, [bins]int{}
		for range runs {
			values := split(z, g.Threshold, len(keys))
			for i := range values {
				elements[i][bin(values[i][0])]++
			}
			both := new(big.Int).Add(values[0][0], values[1][0]) // of two members together
			sum[bin(both.Mod(both, prime))]++
		}
		for what, counts := range map[string][bins]int{"first": elements[0], "second": elements[1], "third": elements[2], "both": sum} {
			chi2 := 0.0
			for _, c := range counts {
				d := float64(c) - runs/bins
				chi2 += d * d / (runs / bins)
			}
			if chi2 > 90 {
				t.Errorf("%s, %s: χ² = %.1f", name, what, chi2)
			}
		}
	}
}

func bin(v *big.Int) int { return int(new(big.Int).Rsh(v, 122).Int64()) }

func TestGroupCheck(t *testing.T) {
	good, _ := members(t, 3, 2)
	for name, g := range map[string]*Group{
		"one":       {Keys: good.Keys[:1], Threshold: 1},
		"none":      {Keys: good.Keys, Threshold: 0},
		"too many":  {Keys: good.Keys, Threshold: 4},
		"same keys": {Keys: [][]byte{good.Keys[0], good.Keys[1], good.Keys[0]}, Threshold: 2},
	} {
		if g.Check() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	low := &Group{Keys: [][]byte{make([]byte, 32), good.Keys[1]}, Threshold: 2} // a point of low order
	k := must.Get(NewKey())(t)
	if _, err := low.Split(k, 1, vector(1)); err == nil {
		t.Error("it seals for a key that has no secret")
	}
}
