package persons

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/table"
)

const columns = 3

var key = [32]byte{7}

// panel is rows of so many persons, of whom some have one row, some many, some the same again and again.
func panel(rng *rand.Rand, persons int) (rows [][]float64) {
	for i := range persons {
		id := table.NewPersonHash([32]byte{1}).Of(fmt.Sprint(i))
		for range 1 + rng.IntN(1+i%7) {
			row := make([]float64, columns)
			for j := range row {
				row[j] = float64(rng.IntN(5)-2) / 2
				if i%2 == 0 {
					row[j] = math.Floor(unit*(2*rng.Float64()-1)+0.5) / unit
				}
			}
			row[0] = math.Floor(unit*max(-1, min(1, row[0]*1.5))+0.5) / unit
			rows = append(rows, append(row, id[:]...))
		}
	}
	return rows
}

// grouped are the rows, or the sums, that come of them, as texts, and how often each.
func grouped(t *testing.T, rule Rule, key [32]byte, workers int, rows [][]float64) (map[string]int, Told) {
	t.Helper()
	g := NewGroup(Grouping{rule, key}, columns, workers)
	defer g.Close()
	for i, row := range rows {
		must.Do(t, g.Adds()[i%workers](row))
	}
	return became(t, g, workers)
}

func became(t *testing.T, g *Group, workers int) (map[string]int, Told) {
	t.Helper()
	var mutex sync.Mutex
	all := map[string]int{}
	note := func(x any) error {
		mutex.Lock()
		defer mutex.Unlock()
		all[fmt.Sprint(x)]++
		return nil
	}
	var told Told
	var err error
	if g.rule.Kind == Weight {
		told, err = g.Sums(context.Background(), slices.Repeat([]func([]int64) error{func(s []int64) error { return note(s) }}, workers)...)
	} else {
		told, err = g.Each(context.Background(), slices.Repeat([]func([]float64) error{func(rows []float64) error {
			for some := range slices.Chunk(rows, columns) {
				note(some)
			}
			return nil
		}}, workers)...)
	}
	must.Do(t, err)
	return all, told
}

// remember lets groups keep so many bytes.
func remember(t *testing.T, bytes int) {
	old := Memory
	t.Cleanup(func() { Memory = old })
	Memory = bytes
}

var rules = []Rule{{Kind: Mean}, {Kind: Weight}, {Rows, 1}, {Rows, 3}}

// What comes of rows hangs neither on their order, nor on workers, nor on what memory there is;
// and nothing is left on the disk.
func TestOrderAndMemoryDoNotMatter(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	t.Setenv("TMPDIR", t.TempDir())
	rows, old := panel(rng, 300), Memory
	for _, rule := range rules {
		remember(t, old)
		want, told := grouped(t, rule, key, 1, rows)
		if told.Persons != 300 || (told.More > 0) != (rule.Kind == Rows) {
			t.Errorf("%v: %+v", rule, told)
		}
		for workers := 1; workers < 4; workers++ {
			for _, memory := range []int{old, 40_000, 1} {
				remember(t, memory)
				rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
				if got, again := grouped(t, rule, key, workers, rows); !maps.Equal(got, want) || again != told {
					t.Errorf("%v, %d workers, memory %d: something else", rule, workers, memory)
				}
			}
		}
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// Means and weighted sums are those of rational arithmetic.
func TestMeansAndWeights(t *testing.T) {
	rows := panel(rand.New(rand.NewPCG(3, 4)), 100)
	persons := map[[2]float64][][]float64{}
	for _, row := range rows {
		id := [2]float64(row[columns:])
		persons[id] = append(persons[id], row[:columns])
	}
	means, sums := map[string]int{}, map[string]int{}
	for _, own := range persons {
		var mean []float64
		var weighted []int64
		n := big.NewInt(int64(len(own)))
		add := func(value func(row []float64) float64, lattice float64) *big.Int {
			sum := new(big.Int)
			for _, row := range own {
				sum.Add(sum, big.NewInt(int64(value(row)*lattice)))
			}
			return sum
		}
		shrink := func(sum *big.Int) int64 {
			sum.Mul(sum, big.NewInt(1<<40-1))
			q := new(big.Int).Div(sum, new(big.Int).Lsh(n, 40)) // towards -∞, as n > 0
			return q.Int64()
		}
		for j := range columns {
			sum := add(func(row []float64) float64 { return row[j] }, unit)
			x, _ := new(big.Rat).SetFrac(sum, n).Float64()
			mean = append(mean, math.Floor(x+0.5)/unit)
			weighted = append(weighted, shrink(add(func(row []float64) float64 { return row[j] }, unit*unit)))
		}
		for j := range columns {
			for k := j; k < columns; k++ {
				weighted = append(weighted, shrink(add(func(row []float64) float64 { return row[j] * row[k] }, unit*unit)))
			}
		}
		means[fmt.Sprint(mean)]++
		sums[fmt.Sprint(weighted)]++
	}
	if got, _ := grouped(t, Rule{Kind: Mean}, key, 2, rows); !maps.Equal(got, means) {
		t.Error("other means")
	}
	if got, _ := grouped(t, Rule{Kind: Weight}, key, 2, rows); !maps.Equal(got, sums) {
		t.Error("other weighted sums")
	}
}

// Each row of a person has the same chance to be taken, the copies of one as well; another key
// takes others.
func TestChosenRows(t *testing.T) {
	id := table.NewPersonHash(key).Of("a")
	var rows [][]float64
	for i := range 10 {
		v := []float64{0, 0.25, 0.5}[min(i/4, 2)] // 4, 4 and 2 of the rows
		rows = append(rows, append([]float64{v, -v, 1}, id[:]...))
	}
	const trials = 2000
	remember(t, 1<<18)
	for _, k := range []int{1, 3} {
		counts := map[float64]float64{}
		for trial := range trials {
			all, _ := grouped(t, Rule{Rows, k}, [32]byte{byte(trial), byte(trial >> 8), 3}, 1, rows)
			for text, n := range all {
				var v, rest float64
				fmt.Sscanf(text, "[%g %g", &v, &rest)
				counts[v] += float64(n)
			}
		}
		square := 0.
		for v, share := range map[float64]float64{0: 0.4, 0.25: 0.4, 0.5: 0.2} {
			want := trials * float64(k) * share
			square += (counts[v] - want) * (counts[v] - want) / want
		}
		if square > 27.6 { // χ² of 2 degrees: 1e-6
			t.Errorf("%d of 10 rows: %v", k, counts)
		}
	}
}

// Each set of rows has the same chance.
func TestChosenSets(t *testing.T) {
	id := table.NewPersonHash(key).Of("a")
	var rows [][]float64
	for i := range 5 {
		rows = append(rows, []float64{float64(i) / 4, 1, 1, id[0], id[1]})
	}
	const trials, sets = 3000, 10
	remember(t, 1<<18)
	counts := map[string]float64{}
	for trial := range trials {
		all, _ := grouped(t, Rule{Rows, 2}, [32]byte{byte(trial), byte(trial >> 8), 5}, 1, rows)
		counts[fmt.Sprint(slices.Sorted(maps.Keys(all)))]++
	}
	square := 0.
	for _, n := range counts {
		square += (n - trials/sets) * (n - trials/sets) / (trials / sets)
	}
	if len(counts) != sets || square > 44.8 { // χ² of 9 degrees: 1e-6
		t.Errorf("2 of 5 rows: %v", counts)
	}
}

// Rows that several groups took, and one puts together, become what they become in one.
func TestShards(t *testing.T) {
	rows := panel(rand.New(rand.NewPCG(9, 10)), 200)
	for _, rule := range rules {
		var pieces [][]byte
		var parts []int
		for half := range slices.Chunk(rows, (len(rows)+1)/2) {
			g := NewGroup(Grouping{rule, key}, columns, 1)
			for _, row := range half {
				must.Do(t, g.Adds()[0](row))
			}
			err := g.Encode(func(part int, piece []byte, last bool) error {
				pieces, parts = append(pieces, piece), append(parts, part)
				return nil
			})
			must.Do(t, err)
		}
		g := NewGroup(Grouping{rule, key}, columns, 1)
		for i, piece := range pieces {
			must.Do(t, g.Decode(parts[i], piece))
			if len(piece) > 0 && (g.Decode(parts[i]^1, piece) == nil || g.Decode(parts[i], piece[1:]) == nil) {
				t.Errorf("%v: a piece of another part, or half of one, was taken", rule)
			}
		}
		want, told := grouped(t, rule, key, 2, rows)
		if got, again := became(t, g, 1); !maps.Equal(got, want) || again != told {
			t.Errorf("%v: something else", rule)
		}
	}
}

// Data sets that differ in one person, however many rows that has, differ in what its rows
// became: in at most as many rows as are taken.
func TestNeighbours(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	rows := panel(rng, 60)
	many := table.NewPersonHash(key).Of("of many rows")
	for range 20_000 {
		rows = append(rows, append([]float64{rng.Float64(), 1, -1}, many[:]...))
	}
	without := func(id [2]float64) (others [][]float64) {
		for _, row := range rows {
			if [2]float64(row[columns:]) != id {
				others = append(others, row)
			}
		}
		return others
	}
	for _, rule := range rules {
		all, _ := grouped(t, rule, key, 2, rows)
		for _, id := range [][2]float64{many, table.NewPersonHash([32]byte{1}).Of("6"), table.NewPersonHash([32]byte{1}).Of("13"), table.NewPersonHash(key).Of("nobody")} {
			fewer, _ := grouped(t, rule, key, 2, without(id))
			lost := 0
			for text, n := range all {
				if more := n - fewer[text]; more < 0 {
					t.Errorf("%v: a row came of one person less", rule)
				} else {
					lost += more
				}
			}
			for text := range fewer {
				if all[text] == 0 {
					t.Errorf("%v: %s came of one person less", rule, text)
				}
			}
			if lost > rule.PerPerson() {
				t.Errorf("%v: a person has %d rows", rule, lost)
			}
		}
	}
}

// The division of 128 bits is that of integers of any size.
func TestShrunk(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	check := func(s *big.Int, n int64) {
		t.Helper()
		a := new(big.Int).Rsh(s, 32).Int64()
		b := new(big.Int).Sub(s, new(big.Int).Lsh(big.NewInt(a), 32)).Int64()
		want := new(big.Int).Mul(s, big.NewInt(1<<40-1))
		want.Div(want, new(big.Int).Lsh(big.NewInt(n), 40))
		for lift := range int64(3) { // words that overflow
			if got := shrunk(a-lift, b+lift<<32, n); got != want.Int64() {
				t.Errorf("%v/%d: %d, want %v", s, n, got, want)
			}
		}
	}
	for range 20_000 {
		n := 1 + rng.Int64N(1<<rng.IntN(31))
		s := new(big.Int).Mul(big.NewInt(rng.Int64N(1<<41)-1<<40), big.NewInt(n))
		check(s.Sub(s, big.NewInt(rng.Int64N(n)*int64(s.Sign()))), n)
	}
	for _, n := range []int64{1, 2, 3, mostRows} {
		for _, x := range []int64{-1 << 40, 1 - 1<<40, -1, 0, 1, 1<<40 - 1, 1 << 40} {
			check(new(big.Int).Mul(big.NewInt(x), big.NewInt(n)), n)
		}
	}
}

// TestMemoryGrowsWithRows: few rows have room for few, whatever the workers.
func TestMemoryGrowsWithRows(t *testing.T) {
	const rows, workers = 2000, 4
	g := NewGroup(Grouping{Rule{Kind: Mean}, key}, 1, workers)
	defer g.Close()
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range rows {
		must.Do(t, g.Adds()[i%workers]([]float64{0, float64(rng.Int64N(1 << 52)), 1}))
	}
	words := g.words.Load()
	for _, w := range g.workers {
		for _, waiting := range w.waiting {
			words += int64(cap(waiting))
		}
	}
	if most := int64(4 * g.width() * (rows + first*Parts*workers)); words > most {
		t.Errorf("%d words for %d rows, at most %d", words, rows, most)
	}
}

func TestBadValues(t *testing.T) {
	g := NewGroup(Grouping{Rule{Kind: Mean}, key}, 1, 1)
	defer g.Close()
	for _, v := range []float64{1.001, -2, math.NaN(), math.Inf(1)} {
		if err := g.Adds()[0]([]float64{v, 1, 2}); err == nil {
			t.Errorf("%v was added", v)
		}
	}
	for _, text := range []string{"", "0", "-1", "1001", "1.5", "median"} {
		if _, err := ParseRule(text); err == nil {
			t.Errorf("%q is a rule", text)
		}
	}
}
