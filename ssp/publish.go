package ssp

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// Below MinEpsilon noise is larger than any statistic of MaxRows rows, so a
// release would say nothing; above MaxEpsilon it promises nothing. MinDelta is
// the smallest δ other than 0.
const (
	MinEpsilon = 1e-12
	MaxEpsilon = 1e12
	MinDelta   = 1e-200
)

// Publish returns a release of s with (ε, δ)-differential privacy: every statistic
// plus independent noise on the lattice 2^-40, calibrated to the sensitivity (see
// Calibrate) and rounded up. It neither keeps nor changes s; each call draws new
// noise and spends ε again.
//
// Laplace noise goes with δ = 0, Gaussian noise with δ > 0. Auto takes any δ and
// the noise that Choose finds smaller; where that is Laplace noise, the release
// states δ = 0, which is more than was asked for.
//
// d names the columns that were summed and their public bounds, in the order of
// the rows. s.N is published as it is to replace-one neighbours, which hold it
// fixed. Add-remove neighbours differ in it by 1: it gets noise of the same law
// and scale as the statistics, on the integers, and its share of the sensitivity
// is in theirs.
// e is mechanisms.OS() for a release; with a simulated source the release says
// that it is simulated.
//
// Errors: a design that is not valid or has not s.Dim() columns, fewer than two
// columns or one row, ε not in [MinEpsilon, MaxEpsilon], δ not in [MinDelta, 1)
// where it is not 0 or one that does not go with the noise, unknown neighbours, a
// sensitivity that does not go with the noise, a context that is
// done. No error tells anything about a row, and none comes from the noise. Publish
// panics if e was not made by mechanisms.OS or mechanisms.Simulated.
func Publish(ctx context.Context, s *Statistics, d *schema.Design, pr release.Privacy, noise release.Kind, kind Sensitivity, e *mechanisms.Entropy) (*release.Release, error) {
	return publish(ctx, s, nil, d, pr, noise, kind, e)
}

// PublishMoments is Publish, with the exact sensitivity, of the statistics s and of
// the moments x of the covariates of the same rows; (ε, δ) is that of both together.
// Calibrate says what noise they get. Errors: those of Publish, more than
// release.MaxMomentCovariates covariates, moments of other rows.
func PublishMoments(ctx context.Context, s *Statistics, x *MomentAccumulator, d *schema.Design, pr release.Privacy, noise release.Kind, e *mechanisms.Entropy) (*release.Release, error) {
	if s.m != x.p+1 || s.N != x.n {
		return nil, errors.New("the moments are not of the rows and covariates of the statistics")
	}
	return publish(ctx, s, x, d, pr, noise, Exact, e)
}

// publish draws the noise on the sums of s, and of x where it is not nil.
func publish(ctx context.Context, s *Statistics, x *MomentAccumulator, d *schema.Design, pr release.Privacy, noise release.Kind, kind Sensitivity, e *mechanisms.Entropy) (*release.Release, error) {
	simulated := e.IsSimulated()
	if err := checkPublishable(s, d, pr.Neighbours); err != nil {
		return nil, err
	}
	if noise == Auto {
		var err error
		if noise, _, err = Choose(s.m, x != nil, pr); err != nil {
			return nil, err
		}
		if noise == release.Laplace {
			pr.Delta = 0
		}
	}
	stated, err := CalibrateAll(s.m, x != nil, pr, noise, kind)
	if err != nil {
		return nil, err
	}
	r := &release.Release{Format: release.Format, Simulated: simulated, Schema: copyDesign(d), Privacy: &pr, N: s.N, Noise: stated.Statistics}
	if pr.Neighbours == release.AddRemove {
		r.NNoise = r.Noise.Scale
		if r.N, err = noisyCount(s.N, noise, r.NNoise, e); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	z := s.BigInts()
	if err := addNoise(noise, []part{{z, r.Noise.Scale, 2 * LatticeBits}}, e); err != nil {
		return nil, err
	}
	r.Statistics = release.StatisticsFromVector(s.m, toScaled(z, 2*LatticeBits))
	if x != nil {
		if r.Moments, err = x.noised(s, stated, e); err != nil {
			return nil, err
		}
	}
	return valid(ctx, r)
}

// valid is a release that was made, unless nobody waits for it any more.
func valid(ctx context.Context, r *release.Release) (*release.Release, error) {
	if err := r.Validate(); err != nil {
		return nil, fmt.Errorf("the release is not valid: %w", err)
	}
	return r, ctx.Err()
}

// noisyCount is a count with noise on the integers.
func noisyCount(n int64, kind release.Kind, scale float64, e *mechanisms.Entropy) (int64, error) {
	z := big.NewInt(n)
	err := addNoise(kind, []part{{[]*big.Int{z}, scale, 0}}, e)
	return saturated(z), err
}

// PublishCount returns a count with discrete Laplace noise of the scale that is the second result:
// epsilon-differentially private where neighbours differ by 1 in it. Each call spends epsilon again.
func PublishCount(n int64, epsilon float64, e *mechanisms.Entropy) (noisy int64, scale float64, err error) {
	if err := CheckEpsilon(epsilon); err != nil {
		return 0, 0, err
	}
	scale = laplaceNoise(big.NewRat(1, 1), number.Decimal(epsilon)).Scale
	noisy, err = noisyCount(n, release.Laplace, scale, e)
	return noisy, scale, err
}

// An error for want of rows would tell add-remove neighbours apart.
func checkPublishable(s *Statistics, d *schema.Design, nb release.Neighbours) error {
	if err := d.Validate(); err != nil {
		return err
	}
	switch columns := len(d.Columns()); {
	case s.m != columns:
		return fmt.Errorf("the sums are over %d columns, the design has %d", s.m, columns)
	case s.N < 1 && nb != release.AddRemove:
		return errors.New("there are no rows: nothing can be published")
	}
	return nil
}

// CheckEpsilon refuses an ε that is not in [MinEpsilon, MaxEpsilon].
func CheckEpsilon(epsilon float64) error {
	switch {
	case !(epsilon > 0):
		return errors.New("ε must be above 0")
	case epsilon < MinEpsilon:
		return fmt.Errorf("below %v nothing is left but noise", MinEpsilon)
	case epsilon > MaxEpsilon:
		return fmt.Errorf("above %v there is no privacy to speak of", MaxEpsilon)
	}
	return nil
}

// CheckDelta refuses a δ that is not in [MinDelta, 1).
func CheckDelta(delta float64) error {
	switch {
	case !(delta > 0):
		return errors.New("δ must be above 0")
	case delta >= 1:
		return errors.New("δ must be below 1, and far below 1/n to mean anything, as in 1e-6")
	case delta < MinDelta:
		return fmt.Errorf("below %v it is as good as none", MinDelta)
	}
	return nil
}

func checkPrivacy(pr release.Privacy, noise release.Kind) error {
	if err := CheckEpsilon(pr.Epsilon); err != nil {
		return fmt.Errorf("epsilon %v: %w", pr.Epsilon, err)
	}
	switch {
	case noise != release.Laplace && noise != release.Gaussian:
		return fmt.Errorf("noise must be %q or %q, not %q", release.Laplace, release.Gaussian, noise)
	case noise == release.Laplace && pr.Delta != 0:
		return fmt.Errorf("delta must be 0 with Laplace noise, which needs none, not %v", pr.Delta)
	case pr.Neighbours != release.ReplaceOne && pr.Neighbours != release.AddRemove:
		return fmt.Errorf("neighbours must be %q or %q, not %q", release.ReplaceOne, release.AddRemove, pr.Neighbours)
	case noise == release.Gaussian:
		if err := CheckDelta(pr.Delta); err != nil {
			return fmt.Errorf("delta %v with Gaussian noise: %w", pr.Delta, err)
		}
	}
	return nil
}

// copyDesign keeps a release from sharing its schema with the caller.
func copyDesign(d *schema.Design) schema.Design {
	c := *d
	c.Covariates = append([]schema.Column{}, d.Covariates...)
	c.Factors = append([]schema.Factor(nil), d.Factors...)
	c.Sources = append([]schema.Column(nil), d.Sources...)
	return c
}
