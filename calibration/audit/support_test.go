package audit

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/ssp"
)

// Outputs on neighbouring inputs have the same support. At the largest ε the noise is a
// few units of the lattice, and rows (0, 0) and (2⁻²⁰, 0) differ by one unit in Σx²: every
// sum from −20 to 20 comes from both. P(|Y| = 21) is 0.0023 at a scale of 5.86 units: in
// 10000 releases one is missing with a probability below 1e-8.
func TestSameSupport(t *testing.T) {
	testsize.Full(t, "TestReleased and TestSoundPlantPasses attack sound releases")
	const most, releases = 20, 10000
	a := &Audit{Columns: 2, Privacy: release.Privacy{Epsilon: ssp.MaxEpsilon, Neighbours: release.ReplaceOne}, Noise: release.Laplace}
	for side, x := range []float64{0, 1. / lattice} {
		publish := must.Get(a.released(seeded(uint64(side)))(t.Context(), fmt.Sprintf("x1,y\n%v,-1\n", 2*x-1)))(t)
		seen := make(map[float64]bool)
		for trial := range releases {
			r := must.Get(publish(t.Context(), trial))(t)
			seen[r.Statistics.SumXX[0][0]/r.Noise.Lattice] = true
		}
		for k := -most; k <= most; k++ {
			if !seen[float64(k)] {
				t.Errorf("data set %d: the sum of squares is never %d units", side+1, k)
			}
		}
	}
}

// The order of rows does not change a bit of a release, under the same noise.
func TestAnyOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	a := &Audit{Columns: 3, Privacy: release.Privacy{Epsilon: 1, Neighbours: release.ReplaceOne}, Noise: release.Laplace}
	rows := make([]string, 2000)
	for i := range rows {
		rows[i] = fmt.Sprintf("%v,%v,%v", 5*rng.Float64()-4, 5*rng.Float64()-4, 5*rng.Float64()-4)
	}
	var want []byte
	for range 5 {
		publish := must.Get(a.released(seeded(4))(t.Context(), "x1,x2,y\n"+strings.Join(rows, "\n")+"\n"))(t)
		r := must.Get(publish(t.Context(), 0))(t)
		var file bytes.Buffer
		must.Get(r.WriteTo(&file))(t)
		if want == nil {
			want = file.Bytes()
		}
		if !bytes.Equal(file.Bytes(), want) {
			t.Fatalf("rows in another order make another release:\n%s\n%s", want, file.Bytes())
		}
		rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	}
}
