// Package adassp is AdaSSP (Wang, Revisiting Differentially Private Linear Regression:
// Optimal and Adaptive Prediction & Estimation in Unbounded Domain, UAI 2018, algorithm 2):
// ridge regression on noisy XᵀX and Xᵀy, with a penalty that is as large as the noise on XᵀX
// calls for, and smaller the larger the least eigenvalue of XᵀX is, of which a third noisy
// release tells. It is a point estimate, without intervals, to compare with.
//
// docs/adassp.md has the proof of its (ε, δ), and what differs from the paper.
package adassp

import (
	"fmt"
	"math"
	"math/big"

	"gonum.org/v1/gonum/mat"

	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/ssp"
)

// risk is ρ of the paper: with probability 1 − ρ the penalty outweighs the noise on XᵀX.
const risk = 0.05

// latticeBits are those of the statistics: all that gets noise is a multiple of 2^-latticeBits.
const latticeBits = 2 * ssp.LatticeBits

// Estimate is what AdaSSP releases, in scaled units.
type Estimate struct {
	Theta     []float64 // intercept first, where there is one
	Penalty   float64   // λ
	Least     float64   // λ̃, the noisy lower bound of the least eigenvalue of XᵀX
	Noise     Noise
	Simulated bool
}

// Noise is the standard deviations of the three releases, in scaled units.
type Noise struct {
	Least, XX, XY float64
}

// Run spends (ε, δ) on an estimate of θ in y ≈ θᵀx from the sums s of p covariates and the
// response; x begins with 1 where there is an intercept. e is mechanisms.OS() for rows of
// one's own.
//
// Errors: δ = 0, another budget out of range, unknown neighbours, fewer than two columns,
// replace-one neighbours of no row, a noisy matrix that is singular. No error tells
// anything about a row.
func Run(s *ssp.Statistics, intercept bool, budget release.Privacy, e *mechanisms.Entropy) (*Estimate, error) {
	p := s.Dim() - 1
	switch {
	case p < 1:
		return nil, fmt.Errorf("a regression needs at least two columns, a covariate and the response")
	case s.N < 1 && budget.Neighbours != release.AddRemove:
		return nil, fmt.Errorf("there are no rows")
	}
	noise, err := calibrate(p, intercept, budget)
	if err != nil {
		return nil, err
	}
	x := newSums(s, intercept)
	least := []*big.Int{leastEigenvalue(x.xx)}
	secret := x.secret(intercept && budget.Neighbours == release.ReplaceOne)
	for _, part := range []struct {
		z     []*big.Int
		sigma float64
	}{{least, noise.Least}, {secret, noise.XX}, {x.xy, noise.XY}} {
		if err := addNoise(part.z, part.sigma, e); err != nil {
			return nil, err
		}
	}
	noisy, q := &Estimate{Noise: noise, Simulated: e.IsSimulated()}, len(x.xy)
	log := math.Log(6 / budget.Delta)
	noisy.Least = max(0, scaled(least[0])-noise.Least*math.Sqrt(log))
	noisy.Penalty = max(0, noise.XX*math.Sqrt(float64(q)*math.Log(2*float64(q*q)/risk))-noisy.Least)
	noisy.Theta, err = ridge(x, noisy.Penalty)
	return noisy, err
}

// calibrate returns the noise of each part, a third of the budget for each.
func calibrate(p int, intercept bool, budget release.Privacy) (noise Noise, err error) {
	s, err := sensitivities(p, intercept, budget.Neighbours)
	if err != nil {
		return noise, err
	}
	if !(budget.Delta > 0) {
		return noise, fmt.Errorf("AdaSSP adds Gaussian noise, which needs a delta above 0, such as 1e-6")
	}
	for _, part := range []struct {
		sigma   *float64
		squared int64
	}{{&noise.Least, s.least}, {&noise.XX, s.xx}, {&noise.XY, s.xy}} {
		if *part.sigma, err = accounting.Sigma(third(budget.Epsilon), third(budget.Delta), rootUp(part.squared)); err != nil {
			return noise, err
		}
	}
	return noise, nil
}

// third is a third of a decimal number, rounded down: reading the number, dividing and
// multiplying here are wrong by 2⁻⁵³ of the value each.
func third(x float64) float64 { return x / 3 * (1 - 0x1p-50) }

// rootUp is at least the square root.
func rootUp(squared int64) float64 {
	return math.Nextafter(math.Sqrt(float64(squared)), math.Inf(1))
}

// addNoise adds normal noise of a standard deviation in scaled units to integers of the lattice.
func addNoise(z []*big.Int, sigma float64, e *mechanisms.Entropy) error {
	unit := new(big.Int).Lsh(big.NewInt(1), latticeBits)
	steps := new(big.Rat).SetFloat64(sigma)
	mechanism, err := mechanisms.Gaussian(steps.Mul(steps, new(big.Rat).SetInt(unit)))
	if err != nil {
		return err
	}
	mechanism.AddNoise(z, e)
	return nil
}

// ridge solves (XᵀX~ + λI)θ = Xᵀy~, all of it after the noise.
func ridge(x *sums, penalty float64) ([]float64, error) {
	q := len(x.xy)
	a, b := mat.NewDense(q, q, nil), mat.NewVecDense(q, nil)
	for i := range q {
		b.SetVec(i, scaled(x.xy[i]))
		for j := range q {
			a.Set(i, j, scaled(x.xx[min(i, j)][max(i, j)]))
		}
		a.Set(i, i, a.At(i, i)+penalty)
	}
	theta := make([]float64, q)
	if err := mat.NewVecDense(q, theta).SolveVec(a, b); err != nil {
		return nil, fmt.Errorf("the noisy matrix of the covariates is singular: %w", err)
	}
	return theta, nil
}

// scaled is an integer of the lattice in scaled units.
func scaled(z *big.Int) float64 {
	f, _ := z.Float64()
	return math.Ldexp(f, -latticeBits)
}

// squares are the squared L2 sensitivities of λ_min(XᵀX), of the unique entries of XᵀX and of
// Xᵀy, in scaled units.
type squares struct{ least, xx, xy int64 }

// sensitivities are those of q columns x, which lie in [-1, 1] as y does, so that B² = q
// bounds |x|². With the sums of x alone, as ssp has them, docs/adassp.md derives
//
//	              λ_min   XᵀX, squared                        Xᵀy
//	add-remove    q       q(q+1)/2                            √q
//	replace-one   q       4⌊q²/4⌋ with an intercept, else     2√q
//	                      the smaller of 2q², 4⌊(q+1)²/4⌋
//
// It is an error if there are other neighbours.
func sensitivities(p int, intercept bool, nb release.Neighbours) (squares, error) {
	q := int64(p + number.Indicator[int](intercept))
	switch nb {
	case release.AddRemove:
		return squares{q * q, q * (q + 1) / 2, q}, nil
	case release.ReplaceOne:
		_, squared := release.Sums.Sensitivity(p, nb)
		xx := squared.Num().Int64()
		if !intercept {
			xx = min(xx, 2*q*q)
		}
		return squares{q * q, xx, 4 * q}, nil
	}
	return squares{}, fmt.Errorf("neighbours must be %q or %q, not %q", release.ReplaceOne, release.AddRemove, nb)
}

// sums are XᵀX, of which the upper triangle counts, and Xᵀy, in units of the lattice.
type sums struct {
	xx [][]*big.Int
	xy []*big.Int
}

// newSums arranges the exact sums of m = p + 1 columns.
func newSums(s *ssp.Statistics, intercept bool) *sums {
	m, first := s.Dim(), number.Indicator[int](!intercept)
	x := new(sums)
	for _, row := range s.Gram()[first:m] {
		x.xx, x.xy = append(x.xx, row[first:m]), append(x.xy, row[m])
	}
	return x
}

// secret is the unique entries of XᵀX, without the first where it is a public number of rows.
func (x *sums) secret(public bool) (z []*big.Int) {
	for i := range x.xx {
		z = append(z, x.xx[i][i:]...)
	}
	if public {
		z = z[1:]
	}
	return z
}

// leastEigenvalue returns max(0, ⌈λ⌉ − 1) for the least eigenvalue λ ≥ 0 of an integer matrix,
// of which it reads the upper triangle, exactly: the largest integer t > 0 for which A − tI
// is positive definite, or 0. Where λ moves by an integer at most, so does this.
func leastEigenvalue(a [][]*big.Int) *big.Int {
	low, high := new(big.Int), new(big.Int).Set(a[0][0]) // low ≤ t ≤ high, as λ ≤ a_ii
	for i := range a {
		if a[i][i].Cmp(high) < 0 {
			high.Set(a[i][i])
		}
	}
	one := big.NewInt(1)
	for low.Cmp(high) < 0 {
		middle := new(big.Int).Add(low, high)
		middle.Add(middle, one).Rsh(middle, 1)
		if definite(a, middle) {
			low = middle
		} else {
			high = middle.Sub(middle, one)
		}
	}
	return low
}

// definite tells whether A − tI is positive definite: whether all pivots are positive in
// elimination without fractions (Bareiss 1968, Sylvester's Identity and Multistep
// Integer-Preserving Gaussian Elimination), with pivot π and the one before it π′,
//
//	a_ij ← (a_ij π − a_ki a_kj) / π′.
func definite(a [][]*big.Int, t *big.Int) bool {
	work := make([][]*big.Int, len(a))
	for i := range a {
		work[i] = make([]*big.Int, len(a))
		for j := i; j < len(a); j++ {
			work[i][j] = new(big.Int).Set(a[i][j])
		}
		work[i][i].Sub(work[i][i], t)
	}
	var product big.Int
	before := big.NewInt(1)
	for k, row := range work {
		pivot := row[k]
		if pivot.Sign() <= 0 {
			return false
		}
		for i := k + 1; i < len(work); i++ {
			for j := i; j < len(work); j++ {
				v := work[i][j]
				v.Mul(v, pivot).Sub(v, product.Mul(row[i], row[j])).Quo(v, before)
			}
		}
		before = pivot
	}
	return true
}
