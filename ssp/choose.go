package ssp

import (
	"math"

	"github.com/dpreg/dpreg/release"
)

// Auto asks for whichever noise has the smaller standard deviation: see Choose.
const Auto release.Kind = "auto"

// Choose returns the noise whose standard deviation, √2·b or σ, is the smaller
// for m columns, calibrated to the exact sensitivity, and how many times as large
// the other's is. With δ = 0 it is Laplace noise, and no Gaussian noise would do:
// the factor is +Inf. Roughly, Laplace noise wins for few columns and δ far below
// ε, Gaussian noise for many, since an L2 sensitivity grows as m and an L1
// sensitivity as m². Errors: those of Publish on privacy.
func Choose(m int, pr release.Privacy) (noise release.Kind, factor float64, err error) {
	return choose(pr, func(pr release.Privacy, kind release.Kind) (release.Noise, error) {
		return Calibrate(m, pr, kind, Exact)
	})
}

func choose(pr release.Privacy, calibrate func(release.Privacy, release.Kind) (release.Noise, error)) (noise release.Kind, factor float64, err error) {
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
