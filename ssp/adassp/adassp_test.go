package adassp

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/ssp"
)

// sum sums rows (x, y).
func sum(t *testing.T, rows [][]float64) *ssp.Statistics {
	t.Helper()
	a := ssp.NewAccumulator(len(rows[0]))
	for _, row := range rows {
		must.Do(t, a.AddRows(row))
	}
	return a.Statistics()
}

// line is n rows of p covariates and y = 0.1 + 0.2 x₁ + 0.4 x₂ + ….
func line(n, p int, rng *rand.Rand) (rows [][]float64, theta []float64) {
	theta = []float64{0.1}
	for j := range p {
		theta = append(theta, 0.2*float64(j+1)/float64(p))
	}
	for range n {
		row := make([]float64, p+1)
		row[p] = theta[0]
		for j := range p {
			row[j] = 2*rng.Float64() - 1
			row[p] += theta[j+1] * row[j]
		}
		rows = append(rows, row)
	}
	return rows, theta
}

func simulated(seed uint64) *mechanisms.Entropy {
	return mechanisms.Simulated(rand.New(rand.NewPCG(seed, 0)))
}

// With next to no noise there is no penalty, and the estimate is least squares.
func TestLeastSquaresWithoutNoise(t *testing.T) {
	rows, theta := line(200, 3, rand.New(rand.NewPCG(1, 0)))
	for i := range rows {
		rows[i][3] += 0.1 * math.Sin(float64(i))
	}
	e := must.Get(Run(sum(t, rows), true, release.Privacy{Epsilon: 1e9, Delta: 0.5, Neighbours: release.ReplaceOne}, simulated(1)))(t)
	x, y := mat.NewDense(len(rows), 4, nil), mat.NewVecDense(len(rows), nil)
	for i, row := range rows {
		x.SetRow(i, []float64{1, row[0], row[1], row[2]})
		y.SetVec(i, row[3])
	}
	var squares mat.VecDense
	must.Do(t, squares.SolveVec(x, y))
	if e.Penalty != 0 {
		t.Errorf("penalty %v", e.Penalty)
	}
	// Values are rounded to 2⁻²⁰, and noise is about 10⁻⁴ of a sum of 200 rows.
	for j, v := range e.Theta {
		if math.Abs(v-squares.AtVec(j)) > 1e-4 {
			t.Errorf("theta[%d] = %v, least squares %v, truth %v", j, v, squares.AtVec(j), theta[j])
		}
	}
}

// Where noise hides all eigenvalues the penalty is what the noise calls for, and the
// estimate is shrunk.
func TestPenaltyWithNoise(t *testing.T) {
	rows, theta := line(30, 2, rand.New(rand.NewPCG(2, 0)))
	p := release.Privacy{Epsilon: 0.1, Delta: 1e-6, Neighbours: release.ReplaceOne}
	e := must.Get(Run(sum(t, rows), true, p, simulated(2)))(t)
	if want := e.Noise.XX * math.Sqrt(3*math.Log(18/risk)); e.Least != 0 || e.Penalty != want {
		t.Errorf("least %v, penalty %v, want 0 and %v", e.Least, e.Penalty, want)
	}
	if !e.Simulated {
		t.Error("the noise was simulated")
	}
	for j, v := range e.Theta {
		if math.Abs(v) > 1 {
			t.Errorf("theta[%d] = %v is not shrunk from %v", j, v, theta[j])
		}
	}
}

// The noise on XᵀX and Xᵀy has the standard deviation it is said to have: with the chi-square
// law of 600 squares, outside 5 of its standard deviations with probability 1e-6.
func TestNoiseIsDrawn(t *testing.T) {
	z := make([]*big.Int, 600)
	for i := range z {
		z[i] = new(big.Int)
	}
	must.Do(t, addNoise(z, 3, simulated(3)))
	squares := 0.
	for _, v := range z {
		squares += scaled(v) * scaled(v) / 9
	}
	if math.Abs(squares-600) > 5*math.Sqrt(2*600) {
		t.Errorf("600 squared draws add up to %v variances", squares)
	}
}

// Each part is within a third of the budget, and would not be with noise that is less by 1e-6.
func TestBudgetInThirds(t *testing.T) {
	for _, nb := range []release.Neighbours{release.ReplaceOne, release.AddRemove} {
		noise := must.Get(calibrate(3, true, release.Privacy{Epsilon: 1, Delta: 1e-6, Neighbours: nb}))(t)
		s := must.Get(sensitivities(3, true, nb))(t)
		for _, part := range []struct {
			sigma   float64
			squared int64
		}{{noise.Least, s.least}, {noise.XX, s.xx}, {noise.XY, s.xy}} {
			spent := func(sigma float64) float64 {
				return must.Get(accounting.Delta(1./3, sigma, rootUp(part.squared)))(t)
			}
			if spent(part.sigma) > 1e-6/3 || spent(part.sigma*(1-1e-6)) < 1e-6/3 {
				t.Errorf("%s: a sensitivity of √%v with noise %v spends δ = %v", nb, part.squared, part.sigma, spent(part.sigma))
			}
		}
	}
}

// The published noise, √log(6/δ)/(ε/3) sensitivities, does not keep the promise at ε = 1.
func TestPublishedNoiseIsTooSmall(t *testing.T) {
	delta, err := accounting.Delta(1./3, 3*math.Sqrt(math.Log(6e6)), 1)
	if err != nil || delta < 2.6*1e-6/3 || delta > 2.7*1e-6/3 {
		t.Errorf("δ = %v for each part, %v", delta, err)
	}
}

func TestRefusals(t *testing.T) {
	rows, _ := line(5, 1, rand.New(rand.NewPCG(4, 0)))
	s := sum(t, rows)
	for _, c := range []struct {
		s    *ssp.Statistics
		p    release.Privacy
		want string
	}{
		{s, release.Privacy{Epsilon: 1, Neighbours: release.ReplaceOne}, "delta above 0"},
		{s, release.Privacy{Epsilon: 1, Delta: 1e-6}, "neighbours"},
		{s, release.Privacy{Epsilon: -1, Delta: 1e-6, Neighbours: release.ReplaceOne}, "epsilon"},
		{ssp.NewAccumulator(2).Statistics(), release.Privacy{Epsilon: 1, Delta: 1e-6, Neighbours: release.ReplaceOne}, "no rows"},
		{ssp.NewAccumulator(1).Statistics(), release.Privacy{Epsilon: 1, Delta: 1e-6, Neighbours: release.ReplaceOne}, "two columns"},
	} {
		must.Fail(t, must.Err(Run(c.s, true, c.p, simulated(0))), c.want)
	}
	// Add-remove neighbours may have no row: that is no error, which would tell.
	if _, err := Run(ssp.NewAccumulator(2).Statistics(), true, release.Privacy{Epsilon: 1, Delta: 1e-6, Neighbours: release.AddRemove}, simulated(0)); err != nil {
		t.Error(err)
	}
}
