package ssp

import (
	"context"
	"math/big"

	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// A release may leave Σy² out, for methods that do without it. The noise on what is
// left is smaller for it by a part of 1/(m+2)² at most: docs/rivals.md.

// WithoutYYL1 is SensitivityL1 of the statistics but Σy²: m(m+3)/2 for replace-one
// neighbours, m + m(m+1)/2 for add-remove ones. docs/sensitivity.md has the proof.
func WithoutYYL1(m int, nb release.Neighbours) *big.Rat {
	k := columns(m)
	switch nb {
	case release.ReplaceOne:
		return big.NewRat(k*(k+3), 2)
	case release.AddRemove:
		return big.NewRat(k+k*(k+1)/2, 1)
	}
	panic(unknownNeighbours(nb))
}

// WithoutYYL2Squared is SensitivityL2Squared of the statistics but Σy²: the same for
// replace-one neighbours, m + m(m+1)/2 for add-remove ones.
func WithoutYYL2Squared(m int, nb release.Neighbours) *big.Rat {
	if nb == release.AddRemove {
		return WithoutYYL1(m, nb)
	}
	return SensitivityL2Squared(m, nb)
}

// PublishWithoutYY is Publish, with the exact sensitivity, of the statistics but Σy².
// Errors: those of Publish.
func PublishWithoutYY(ctx context.Context, s *Statistics, d *schema.Design, pr release.Privacy, noise release.Kind, e *mechanisms.Entropy) (*release.Release, error) {
	if err := checkPublishable(s, d, pr.Neighbours); err != nil {
		return nil, err
	}
	pr, noise, err := resolve(pr, noise, func() (release.Kind, float64, error) { return ChooseWithoutYY(s.m, pr) })
	if err != nil {
		return nil, err
	}
	stated, err := CalibrateWithoutYY(s.m, pr, noise)
	if err != nil {
		return nil, err
	}
	z := s.BigInts()
	return publish(ctx, s, z[:len(z)-1], d, pr, stated, e, nil)
}

// CalibrateWithoutYY is Calibrate, with the exact sensitivity, for a release without
// Σy². Errors: those of Calibrate.
func CalibrateWithoutYY(m int, pr release.Privacy, noise release.Kind) (release.Noise, error) {
	if err := checkPrivacy(pr, noise); err != nil {
		return release.Noise{}, err
	}
	if noise == release.Gaussian {
		return gaussianNoise(WithoutYYL2Squared(m, pr.Neighbours), pr)
	}
	return laplaceNoise(WithoutYYL1(m, pr.Neighbours), number.Decimal(pr.Epsilon)), nil
}

// ChooseWithoutYY is Choose for a release without Σy². Errors: those of Choose.
func ChooseWithoutYY(m int, pr release.Privacy) (noise release.Kind, factor float64, err error) {
	return choose(pr, func(pr release.Privacy, kind release.Kind) (release.Noise, error) {
		return CalibrateWithoutYY(m, pr, kind)
	})
}
