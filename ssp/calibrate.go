package ssp

import (
	"fmt"
	"math"
	"math/big"

	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/release"
)

// Sensitivity chooses the sensitivity that noise is calibrated to.
type Sensitivity int

const (
	// Exact is release.Vector.Sensitivity, the smallest that serves.
	Exact Sensitivity = iota
	// Paper is PaperSensitivity, for reproducing the figures of the paper; it is
	// for Laplace noise only.
	Paper
)

// The spacing of the statistics and of the noise, and that of moments and theirs.
const (
	lattice       = 1. / (unit * unit)
	momentLattice = lattice * lattice
)

// Calibration is the noise on the statistics and on the moments of one release.
type Calibration struct {
	Statistics, Moments release.Noise // Moments is zero where there are none

	// Together: both are one vector, with moments of degree 3 and 4. Else the moments
	// are of degree 1 to 4, and each of the two vectors has half of ε.
	Together bool
}

// Calibrate is CalibrateAll of a release without moments.
func Calibrate(m int, pr release.Privacy, noise release.Kind, kind Sensitivity) (release.Noise, error) {
	c, err := CalibrateAll(m, false, pr, noise, kind)
	return c.Statistics, err
}

// CalibrateAll returns what a release of m columns states of its noise, with the moments of
// their covariates or without. With ε and δ the decimals they are written as and Δ the
// proven sensitivity of the vector, which is rounded up to a float64 (in L1 for Laplace
// noise, in L2 for Gaussian),
//
//   - the Laplace scale is the smallest float64 b with b·ε ≥ Δ, decided in rational
//     arithmetic;
//   - the Gaussian scale is a float64 σ with δ(ε, σ, Δ) ≤ δ, accounting.Sigma of ε
//     and δ rounded down.
//
// Gaussian noise is on statistics and moments together, since an L2 sensitivity hardly
// grows; with Laplace noise, they are together or apart, whichever puts less noise on the
// statistics.
//
// The noise that Publish draws has exactly that scale. Errors: those of Publish on
// privacy, noise other than Laplace and Gaussian, moments of more than
// release.MaxMomentCovariates covariates or with the paper's sensitivity. It panics if m < 1.
func CalibrateAll(m int, moments bool, pr release.Privacy, noise release.Kind, kind Sensitivity) (c Calibration, err error) {
	if err := checkCalibration(m, moments, pr, noise, kind); err != nil {
		return c, err
	}
	vector := release.Sums
	if moments {
		vector = release.SumsAndMoments
	}
	l1, squared := vector.Sensitivity(m, pr.Neighbours)
	if kind == Paper {
		l1 = PaperSensitivity(m)
	}
	if noise == release.Gaussian {
		c.Statistics, err = gaussianNoise(squared, pr)
	} else {
		c.Statistics = laplaceNoise(l1, number.Decimal(pr.Epsilon))
	}
	if err != nil || !moments {
		return c, err
	}
	c.Moments, c.Together = c.Statistics, true
	if noise == release.Laplace {
		half := new(big.Rat).Quo(number.Decimal(pr.Epsilon), big.NewRat(2, 1))
		sums, _ := release.Sums.Sensitivity(m, pr.Neighbours)
		alone, _ := release.MomentsAlone.Sensitivity(m, pr.Neighbours)
		if apart := laplaceNoise(sums, half); apart.Scale < c.Statistics.Scale {
			c = Calibration{Statistics: apart, Moments: laplaceNoise(alone, half)}
		}
	}
	c.Moments.Lattice = momentLattice
	return c, nil
}

func checkCalibration(m int, moments bool, pr release.Privacy, noise release.Kind, kind Sensitivity) error {
	switch {
	case moments && (m < 2 || m-1 > release.MaxMomentCovariates):
		return fmt.Errorf("%d covariates: moments are released of 1 to %d", m-1, release.MaxMomentCovariates)
	case kind == Exact:
	case kind != Paper:
		return fmt.Errorf("unknown sensitivity %d: choose ssp.Exact or ssp.Paper", int(kind))
	case moments || noise == release.Gaussian || pr.Neighbours != release.ReplaceOne:
		return fmt.Errorf("the paper's sensitivity is for %s noise and %s neighbours, without moments: all else needs ssp.Exact", release.Laplace, release.ReplaceOne)
	}
	return checkPrivacy(pr, noise)
}

// PaperSensitivity is the L1 sensitivity (replace-one) that Bernstein & Sheldon
// (Differentially Private Bayesian Linear Regression, NeurIPS 2019) calibrate to:
// with d = p+1 features, the unit feature among them, and widths w_X, w_Y,
//
//	Δ_s = w_X² d(d+1)/2 + w_X w_Y d + w_Y²,
//
// which is 2(m+1)(m+2) for w_X = w_Y = 2, d = m. It bounds entries one by one and
// counts the unit feature as one of width 2; on this box it is 4 to 4.5 times
// that of the sums, so it wastes noise and protects. On boxes away from zero a
// formula in widths is wrong; here it only ever meets [-1,1]. It panics if m < 1.
func PaperSensitivity(m int) *big.Rat {
	if m < 1 {
		panic(fmt.Sprintf("ssp: sensitivity for %d columns", m))
	}
	k := int64(m)
	return big.NewRat(2*(k+1)*(k+2), 1)
}

// laplaceNoise is calibrated to an L1 sensitivity.
func laplaceNoise(delta, epsilon *big.Rat) release.Noise {
	sensitivity := roundUp(delta)
	b := new(big.Rat).SetFloat64(sensitivity)
	scale := roundUp(b.Quo(b, epsilon))
	return release.Noise{Kind: release.Laplace, Scale: scale, Sensitivity: sensitivity, Lattice: lattice}
}

// gaussianNoise is calibrated to the square of an L2 sensitivity.
func gaussianNoise(squared *big.Rat, pr release.Privacy) (release.Noise, error) {
	sensitivity := rootUp(squared)
	sigma, err := accounting.Sigma(number.RoundDown(number.Decimal(pr.Epsilon)), number.RoundDown(number.Decimal(pr.Delta)), sensitivity)
	if err != nil {
		return release.Noise{}, err
	}
	return release.Noise{Kind: release.Gaussian, Scale: sigma, Sensitivity: sensitivity, Lattice: lattice}, nil
}

// roundUp returns the smallest float64 that is not below q.
func roundUp(q *big.Rat) float64 {
	f, _ := q.Float64() // the nearest
	if number.Exactly(f).Cmp(q) < 0 {
		return math.Nextafter(f, math.Inf(1))
	}
	return f
}

// rootUp returns the smallest float64 whose square is not below q > 0.
func rootUp(q *big.Rat) float64 {
	covers := func(f float64) bool { return new(big.Rat).Mul(number.Exactly(f), number.Exactly(f)).Cmp(q) >= 0 }
	nearest, _ := q.Float64()
	f := math.Sqrt(nearest) // an ulp away at most
	for !covers(f) {
		f = math.Nextafter(f, math.Inf(1))
	}
	for covers(math.Nextafter(f, 0)) {
		f = math.Nextafter(f, 0)
	}
	return f
}

// Auto asks for whichever noise has the smaller standard deviation: see Choose.
const Auto release.Kind = "auto"

// Choose returns the noise whose standard deviation, √2·b or σ, is the smaller
// for m columns, with the moments of their covariates or without, calibrated to the exact
// sensitivity, and how many times as large the other's is. With δ = 0 it is Laplace noise,
// and no Gaussian noise would do: the factor is +Inf. Roughly, Laplace noise wins for few
// columns and δ far below ε, Gaussian noise for many, since an L2 sensitivity grows as m and
// an L1 sensitivity as m². Errors: those of Calibrate.
func Choose(m int, moments bool, pr release.Privacy) (noise release.Kind, factor float64, err error) {
	return Smaller(pr, func(pr release.Privacy, noise release.Kind) (release.Noise, error) {
		c, err := CalibrateAll(m, moments, pr, noise, Exact)
		return c.Statistics, err
	})
}

// Smaller is Choose of noise that is calibrated so.
func Smaller(pr release.Privacy, calibrate func(release.Privacy, release.Kind) (release.Noise, error)) (noise release.Kind, factor float64, err error) {
	pure := pr
	pure.Delta = 0
	laplace, err := calibrate(pure, release.Laplace)
	if err != nil {
		return "", 0, err
	}
	if pr.Delta == 0 {
		return release.Laplace, math.Inf(1), nil
	}
	gaussian, err := calibrate(pr, release.Gaussian)
	if err != nil {
		return "", 0, err
	}
	factor = math.Sqrt2 * laplace.Scale / gaussian.Scale
	if factor > 1 {
		return release.Gaussian, factor, nil
	}
	return release.Laplace, 1 / factor, nil
}
