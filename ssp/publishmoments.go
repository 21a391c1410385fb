package ssp

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// PublishMoments is Publish, with the exact sensitivity, of the statistics s and of
// the moments x of the covariates of the same rows; (ε, δ) is that of both together.
// CalibrateMoments says what noise they get. Errors: those of Publish, more than
// release.MaxMomentCovariates covariates, moments of other rows.
func PublishMoments(ctx context.Context, s *Statistics, x *Moments, d *schema.Design, pr release.Privacy, noise release.Kind, e *mechanisms.Entropy) (*release.Release, error) {
	if s.m != x.p+1 || s.N != x.N {
		return nil, errors.New("the moments are not of the rows and covariates of the statistics")
	}
	pr, noise, err := resolve(pr, noise, func() (release.Kind, float64, error) { return ChooseMoments(x.p, pr) })
	if err != nil {
		return nil, err
	}
	c, err := CalibrateMoments(x.p, pr, noise)
	if err != nil {
		return nil, err
	}
	return publish(ctx, s, d, pr, c.Statistics, e, func() (*release.Moments, error) { return x.noised(s, c, e) })
}

// noised are the moments with the noise of c: those of degree 3 and 4, or all.
func (x *Moments) noised(s *Statistics, c Calibration, e *mechanisms.Entropy) (*release.Moments, error) {
	drawn, err := mechanism(c.Moments, momentBits)
	if err != nil {
		return nil, err
	}
	z, least := x.BigInts(), leastSummed
	if !c.Together {
		z, least = slices.Concat(x.low(s), z), 1
	}
	drawn.AddNoise(z, e)
	return &release.Moments{
		Noise:     c.Moments,
		Exponents: release.MomentExponents(x.p, least),
		Sums:      toScaled(z, momentBits),
	}, nil
}

// low takes the moments of degree 1 and 2 from the statistics, in units of 2^-80.
// release.MomentExponents has them in canonical order.
func (x *Moments) low(s *Statistics) []*big.Int {
	all := s.BigInts()
	z := slices.Clone(all[:x.p])
	for j := range x.p {
		first := release.Index(s.m, j, j)
		z = append(z, all[first:first+x.p-j]...)
	}
	for _, v := range z {
		v.Lsh(v, momentBits-2*LatticeBits)
	}
	return z
}

// Calibration is the noise on the statistics and on the moments of one release.
type Calibration struct {
	Statistics, Moments release.Noise

	// Together: both are one vector, with moments of degree 3 and 4. Else the moments
	// are of degree 1 to 4, and each of the two vectors has half of ε.
	Together bool
}

// momentLattice is the spacing of moments and of the noise on them.
const momentLattice = lattice * lattice

// CalibrateMoments returns the noise of a release of p covariates with moments, as
// Calibrate does without. Gaussian noise is on both together, since an L2
// sensitivity hardly grows; with Laplace noise, they are together or apart, whichever
// puts less noise on the statistics. Errors: those of Calibrate, p above
// release.MaxMomentCovariates. It panics if p < 1.
func CalibrateMoments(p int, pr release.Privacy, noise release.Kind) (Calibration, error) {
	if p > release.MaxMomentCovariates {
		return Calibration{}, fmt.Errorf("%d covariates: moments are released of at most %d", p, release.MaxMomentCovariates)
	}
	if err := checkPrivacy(pr, noise); err != nil {
		return Calibration{}, err
	}
	l1, squared := release.SumsAndMoments.Sensitivity(p+1, pr.Neighbours)
	if noise == release.Gaussian {
		n, err := gaussianNoise(squared, pr)
		return asOne(n), err
	}
	epsilon := number.Decimal(pr.Epsilon)
	one := asOne(laplaceNoise(l1, epsilon))
	half := epsilon.Quo(epsilon, big.NewRat(2, 1))
	sums, _ := release.Sums.Sensitivity(p+1, pr.Neighbours)
	moments, _ := release.MomentsAlone.Sensitivity(p+1, pr.Neighbours)
	two := Calibration{Statistics: laplaceNoise(sums, half), Moments: laplaceNoise(moments, half)}
	if two.Statistics.Scale < one.Statistics.Scale {
		two.Moments.Lattice = momentLattice
		return two, nil
	}
	return one, nil
}

// asOne is the noise n on both.
func asOne(n release.Noise) Calibration {
	c := Calibration{n, n, true}
	c.Moments.Lattice = momentLattice
	return c
}

// ChooseMoments is Choose for a release of p covariates with moments: it compares
// the noise on the statistics. Errors: those of CalibrateMoments.
func ChooseMoments(p int, pr release.Privacy) (noise release.Kind, factor float64, err error) {
	return choose(pr, func(pr release.Privacy, kind release.Kind) (release.Noise, error) {
		c, err := CalibrateMoments(p, pr, kind)
		return c.Statistics, err
	})
}
