package main

import (
	"context"
	"io"
	"runtime"

	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/ssp"
)

// checkMoments refuses moments that cannot be had.
func (o *order) checkMoments() error {
	switch p := len(o.design.Covariates); {
	case !o.moments:
		return nil
	case p > release.MaxMomentCovariates:
		return usagef("--with-moments is for at most %d covariates, and there are %d: choose among them with --formula", release.MaxMomentCovariates, p)
	case o.kind != ssp.Exact:
		return usagef("--with-moments needs --sensitivity exact")
	}
	return nil
}

// noteMoments says how the noise is shared between the statistics and the moments.
func (o *order) noteMoments(stderr io.Writer) error {
	if !o.moments {
		return nil
	}
	p := len(o.design.Covariates)
	c, err := ssp.CalibrateMoments(p, o.left(), o.noise)
	if err != nil {
		return usage(err)
	}
	without, err := ssp.Calibrate(p+1, o.left(), o.noise, ssp.Exact)
	if err != nil {
		return usage(err)
	}
	scales := "the statistics get noise of scale %.4g, against %.4g without moments"
	if c.Together {
		note(stderr, "--with-moments: %d moments of degree 3 and 4, as one vector with the statistics; "+scales,
			len(release.MomentExponents(p, 3)), c.Statistics.Scale, without.Scale)
		return nil
	}
	note(stderr, "--with-moments: %d moments of degree 1 to 4 with half of ε, and the statistics with the other half, which leaves these less noise than one vector would; "+scales,
		len(release.MomentExponents(p, 1)), c.Statistics.Scale, without.Scale)
	return nil
}

// choose compares Laplace and Gaussian noise.
func (o *order) choose() (release.Kind, float64, error) {
	if o.moments {
		return ssp.ChooseMoments(len(o.design.Covariates), o.left())
	}
	return ssp.Choose(len(o.design.Columns()), o.left())
}

// calibrate is the noise on the statistics.
func (o *order) calibrate() (release.Noise, error) {
	if o.moments {
		c, err := ssp.CalibrateMoments(len(o.design.Covariates), o.left(), o.noise)
		return c.Statistics, err
	}
	return ssp.Calibrate(len(o.design.Columns()), o.left(), o.noise, o.kind)
}

// sums are what is known of the rows before noise; moments are nil where none are
// asked for.
type sums struct {
	*ssp.Statistics
	moments *ssp.Moments
}

// accumulate reads the rows on all processors.
func (o *order) accumulate(ctx context.Context) (s sums, err error) {
	workers := runtime.GOMAXPROCS(0)
	if o.moments {
		s.Statistics, s.moments, err = ssp.SumMoments(ctx, o.source, o.cells, o.design, workers)
		return s, err
	}
	s.Statistics, err = ssp.Sum(ctx, o.source, o.cells, o.design, workers)
	return s, err
}

// noised draws the noise.
func (o *order) noised(ctx context.Context, s sums) (*release.Release, error) {
	if s.moments != nil {
		return ssp.PublishMoments(ctx, s.Statistics, s.moments, o.design, o.left(), o.noise, mechanisms.OS())
	}
	return ssp.Publish(ctx, s.Statistics, o.design, o.left(), o.noise, o.kind, mechanisms.OS())
}

// selectModel takes a model from a release.
func selectModel(stderr io.Writer, r *release.Release, formula string) (*release.Release, error) {
	out, err := r.Select(formula)
	if err != nil {
		return nil, formulaError(err)
	}
	if r.Moments != nil && out.Moments == nil {
		note(stderr, "the moments of this release are left out: there are none of %q, which was the response and is a covariate now", r.Schema.Response.Name)
	}
	return out, nil
}

// standInMoments are those of rows uniform on the box, as good as without noise:
// nothing is to be refused for it.
func standInMoments(n int64, p int, noise release.Kind) *release.Moments {
	x := &release.Moments{Noise: release.Noise{Kind: noise, Scale: 1e-9}, Exponents: release.MomentExponents(p, 1)}
	for _, e := range x.Exponents {
		sum := float64(n)
		for _, k := range e {
			if k%2 == 1 {
				sum = 0
			}
			sum /= float64(k + 1)
		}
		x.Sums = append(x.Sums, sum)
	}
	return x
}
