package ssp

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// Below MinEpsilon noise is larger than any statistic of MaxRows rows, so a
// release would say nothing; above MaxEpsilon it promises nothing.
const (
	MinEpsilon = 1e-12
	MaxEpsilon = 1e12
)

// Publish returns a release of s with ε-differential privacy: every statistic
// plus independent discrete Laplace noise on the lattice 2^-40, of scale
// sensitivity/ε, both rounded up. It neither keeps nor changes s; each call draws
// new noise and spends ε again.
//
// d names the columns that were summed and their public bounds, in the order of
// the rows. s.N is published as it is: replace-one neighbours hold it fixed.
// e is mechanisms.OS() for a release; with a simulated source the release says
// that it is simulated.
//
// Errors: a design that is not valid or has not s.Dim() columns, fewer than two
// columns or one row, ε not in [MinEpsilon, MaxEpsilon], δ not 0, neighbours
// other than replace-one, a context that is done. No error tells anything about
// a row, and none comes from the noise. Publish panics if e was not made by
// mechanisms.OS or mechanisms.Simulated.
func Publish(ctx context.Context, s *Statistics, d *schema.Design, pr release.Privacy, kind Sensitivity, e *mechanisms.Entropy) (*release.Release, error) {
	simulated := e.IsSimulated()
	if err := checkPublishable(s, d); err != nil {
		return nil, err
	}
	if err := checkPrivacy(pr); err != nil {
		return nil, err
	}
	c, err := calibrateLaplace(s.m, pr.Epsilon, pr.Neighbours, kind)
	if err != nil {
		return nil, err
	}
	noise, err := mechanisms.Laplace(c.lattice)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	z := s.BigInts()
	noise.AddNoise(z, e)
	r := &release.Release{
		Format:    release.Format,
		Simulated: simulated,
		Schema:    copyDesign(d),
		Privacy:   &pr,
		N:         s.N,
		Noise: release.Noise{
			Kind:        release.Laplace,
			Scale:       c.scale,
			Sensitivity: c.sensitivity,
			Lattice:     math.Ldexp(1, -2*LatticeBits),
		},
		Statistics: release.StatisticsFromVector(s.m, toScaled(z)),
	}
	if err := r.Validate(); err != nil {
		return nil, fmt.Errorf("the release is not valid: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return r, nil
}

func checkPublishable(s *Statistics, d *schema.Design) error {
	if err := d.Validate(); err != nil {
		return err
	}
	switch columns := len(d.Columns()); {
	case s.m < 2:
		return errors.New("a regression needs at least two columns, a covariate and the response")
	case s.m != columns:
		return fmt.Errorf("the sums are over %d columns, the design has %d", s.m, columns)
	case s.N < 1:
		return errors.New("there are no rows: nothing can be published")
	}
	return nil
}

func checkPrivacy(pr release.Privacy) error {
	switch {
	case !(pr.Epsilon > 0) || math.IsInf(pr.Epsilon, 1):
		return fmt.Errorf("epsilon must be a positive finite number, not %v", pr.Epsilon)
	case pr.Epsilon < MinEpsilon:
		return fmt.Errorf("epsilon %v is too small: below %v nothing is left but noise", pr.Epsilon, MinEpsilon)
	case pr.Epsilon > MaxEpsilon:
		return fmt.Errorf("epsilon %v is too large: above %v there is no privacy to speak of", pr.Epsilon, MaxEpsilon)
	case pr.Delta != 0:
		return fmt.Errorf("delta must be 0 with Laplace noise, which needs none, not %v", pr.Delta)
	case pr.Neighbours == release.AddRemove:
		return errors.New("add-remove neighbours are not supported yet: use replace-one, with n public")
	case pr.Neighbours != release.ReplaceOne:
		return fmt.Errorf("neighbours must be %q, not %q", release.ReplaceOne, pr.Neighbours)
	}
	return nil
}

// copyDesign keeps a release from sharing its schema with the caller.
func copyDesign(d *schema.Design) schema.Design {
	c := *d
	c.Covariates = append([]schema.Column{}, d.Covariates...)
	return c
}
