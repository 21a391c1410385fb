package adassp

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/release"
)

// moved is by how much one row in place of another moves the unique entries of XᵀX and Xᵀy;
// a nil row is none.
func moved(v, w []float64, intercept bool) (xx, xy float64) {
	entry := func(row []float64, i, j int) float64 {
		if row == nil {
			return 0
		}
		if intercept {
			row = append([]float64{1}, row...)
		}
		return row[i] * row[j]
	}
	q := max(len(v), len(w)) - 1
	if intercept {
		q++
	}
	for i := range q {
		for j := i; j < q; j++ {
			xx += math.Pow(entry(v, i, j)-entry(w, i, j), 2)
		}
		xy += math.Pow(entry(v, i, q)-entry(w, i, q), 2)
	}
	return xx, xy
}

// No pair of rows passes the sensitivities, and a search that starts from many pairs comes to them: but for
// XᵀX of replace-one neighbours without an intercept, where one is a bound only.
func TestSensitivities(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 0))
	for _, intercept := range []bool{true, false} {
		for _, nb := range []release.Neighbours{release.ReplaceOne, release.AddRemove} {
			for p := 1; p <= 4; p++ {
				s := must.Get(sensitivities(p, intercept, nb))(t)
				xx, xy := search(p, intercept, nb, rng)
				boundXX, boundXY := float64(s.xx), float64(s.xy)
				if xx > boundXX*(1+1e-12) || xy > boundXY*(1+1e-12) {
					t.Errorf("p = %d, %s: rows move XᵀX by √%v and Xᵀy by √%v, above √%v and √%v", p, nb, xx, xy, boundXX, boundXY)
				}
				tight := intercept || nb == release.AddRemove
				if tight && xx < 0.999*boundXX || xy < 0.999*boundXY {
					t.Errorf("p = %d, %s: the search finds √%v and √%v only, of √%v and √%v", p, nb, xx, xy, boundXX, boundXY)
				}
			}
		}
	}
}

// search changes one value at a time, to an end of the box or anywhere, as long as that helps.
func search(p int, intercept bool, nb release.Neighbours, rng *rand.Rand) (xx, xy float64) {
	random := func() []float64 {
		row := make([]float64, p+1)
		for j := range row {
			row[j] = 2*rng.Float64() - 1
		}
		return row
	}
	for range 40 {
		for part := range 2 {
			v, w := random(), []float64(nil)
			if nb == release.ReplaceOne {
				w = random()
			}
			value := func() float64 {
				a, b := moved(v, w, intercept)
				return [2]float64{a, b}[part]
			}
			best := value()
			for range 200 {
				row := v
				if w != nil && rng.IntN(2) == 0 {
					row = w
				}
				j := rng.IntN(p + 1)
				was := row[j]
				row[j] = [3]float64{-1, 1, 2*rng.Float64() - 1}[rng.IntN(3)]
				if now := value(); now > best {
					best = now
				} else {
					row[j] = was
				}
			}
			a, b := moved(v, w, intercept)
			xx, xy = max(xx, a), max(xy, b)
		}
	}
	return xx, xy
}

// One row moves the least eigenvalue by q at most, and (1, 1) among many (1, −1) by q = 2.
func TestLeastEigenvalueSensitivity(t *testing.T) {
	least := func(rows [][]float64) *big.Int { return leastEigenvalue(newSums(sum(t, rows), true).xx) }
	rows := make([][]float64, 50)
	for i := range rows {
		rows[i] = []float64{-1, 0}
	}
	without := least(rows)
	rows[0] = []float64{1, 0}
	bound := new(big.Int).Lsh(big.NewInt(2), latticeBits)
	moved := new(big.Int).Sub(least(rows), without)
	if moved.Cmp(bound) > 0 || scaled(moved) < 1.9 {
		t.Errorf("the row moves it by %v, of 2", scaled(moved))
	}
	rng := rand.New(rand.NewPCG(6, 0))
	for range 200 {
		rows, _ := line(3+rng.IntN(20), 2, rng)
		before := least(rows)
		rows[0] = []float64{2*rng.Float64() - 1, float64(2*rng.IntN(2) - 1), 0}
		if moved := math.Abs(scaled(before.Sub(before, least(rows)))); moved > 3 {
			t.Fatalf("a row moves the least eigenvalue by %v", moved)
		}
	}
}

// It is the least eigenvalue, rounded down to the lattice: the eigensolver's relative error is
// below 1e-10 of the largest.
func TestLeastEigenvalue(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 0))
	for _, p := range []int{1, 2, 5, 9} {
		rows, _ := line(40, p, rng)
		x := newSums(sum(t, rows), true)
		q := p + 1
		a := mat.NewSymDense(q, nil)
		for i := range q {
			for j := i; j < q; j++ {
				a.SetSym(i, j, scaled(x.xx[i][j]))
			}
		}
		var eigen mat.EigenSym
		if !eigen.Factorize(a, false) {
			t.Fatal("no eigenvalues")
		}
		values := eigen.Values(nil)
		if got := scaled(leastEigenvalue(x.xx)); math.Abs(got-values[0]) > 1e-10*values[q-1] {
			t.Errorf("q = %d: %v, by the eigensolver %v", q, got, values[0])
		}
	}
	diagonal := [][]*big.Int{{big.NewInt(7), big.NewInt(0)}, {nil, big.NewInt(5)}}
	if got := leastEigenvalue(diagonal); got.Int64() != 4 {
		t.Errorf("of diag(7, 5) max(0, ⌈5⌉ − 1) = 4, not %v", got)
	}
	singular := [][]*big.Int{{big.NewInt(4), big.NewInt(2)}, {nil, big.NewInt(1)}}
	if got := leastEigenvalue(singular); got.Sign() != 0 {
		t.Errorf("of a singular matrix 0, not %v", got)
	}
}
