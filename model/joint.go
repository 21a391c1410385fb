package model

import (
	"errors"
	"fmt"

	"github.com/dpreg/dpreg/schema"
)

// Joint is a problem of one release or more as the samplers read it: several
// custodians whose rows share a regression.
//
//	y ~ N(θ_jᵀ(1, x), σ_j²) at custodian j;  θ_j = θ and σ_j = σ, or where Partial
//	θ_j ~ N(θ, Ω), log σ_j ~ N(log σ, υ²)
//	x ~ N(μ_x, T) of each custodian's own (μ_x, T), or where Shared of one, as of one release
//	z_j = s_j + noise, for each j
//
// Parameters and prior are in common units: the scaled ones of the smallest boxes
// that hold all of the releases'. The noise of a release is independent from entry
// to entry in its own units alone, so that each s_j and z_j stays in those, and moments
// are mapped to them. Releases are never summed: unequal noise weighs them.
type Joint struct {
	Shape           Shape
	Prior           *Prior
	Frame           schema.Frame // of common units
	Sites           []*Site
	Shared, Partial bool
}

// Site is the release of one custodian.
type Site struct {
	*Observation
	Units *Units // from common to its own
}

// SiteError is what is wrong with one of several releases.
type SiteError struct {
	Site int // from 0
	Err  error
}

func (e *SiteError) Error() string { return fmt.Sprintf("release %d: %v", e.Site+1, e.Err) }
func (e *SiteError) Unwrap() error { return e.Err }

// Join reads a problem. Errors: no release or prior, a release that Observe
// refuses, releases of other columns or in another order, a prior of other sizes,
// partial pooling of one release.
func (p *Problem) Join() (*Joint, error) {
	if len(p.Releases) == 0 {
		return nil, errors.New("model: the problem has no release")
	}
	if p.Prior == nil {
		return nil, errors.New("model: the problem has no prior; model.DefaultPrior gives the documented one")
	}
	var names []string
	var designs []*schema.Design
	for j, r := range p.Releases {
		names, designs = append(names, fmt.Sprintf("release %d", j+1)), append(designs, &r.Schema)
	}
	hull, err := schema.Hull(names, designs)
	if err != nil {
		return nil, err
	}
	releases := p.Releases
	if p.SameRows {
		releases = releases[:1]
	}
	single := len(releases) == 1
	if single && p.PartialPooling {
		return nil, errors.New("partial pooling is of several releases of rows of their own, and there is one")
	}
	out := &Joint{Prior: p.Prior, Frame: hull.Frame(), Shared: p.SharedCovariates || single, Partial: p.PartialPooling}
	for j, r := range releases {
		obs, err := p.observe(j)
		if err != nil {
			return nil, err
		}
		own := r.Schema.Frame()
		for k, label := range own.Labels {
			if label != out.Frame.Labels[k] {
				return nil, &SiteError{j, fmt.Errorf("column %q stands where the first has %q: arrange the releases alike", label, out.Frame.Labels[k])}
			}
		}
		out.Shape = obs.Shape
		out.Sites = append(out.Sites, &Site{obs, UnitsBetween(out.Frame, own)})
	}
	return out, p.Prior.Check(out.Shape)
}

// observe reads release j, or all where they are of the same rows.
func (p *Problem) observe(j int) (*Observation, error) {
	if p.SameRows {
		return observeSame(p.Releases)
	}
	o, err := Observe(p.Releases[j])
	return o, siteError(j, len(p.Releases), err)
}

// Each returns the first error that a method finds with a release.
func (t *Joint) Each(of func(*Observation) error) error {
	for j, s := range t.Sites {
		if err := siteError(j, len(t.Sites), of(s.Observation)); err != nil {
			return err
		}
	}
	return nil
}

// siteError is an error of release j; of one release it needs no name.
func siteError(j, releases int, err error) error {
	if err == nil || releases == 1 {
		return err
	}
	return &SiteError{j, err}
}

// Rows is the number of rows in all, noisy counts as they were published.
func (t *Joint) Rows() (n float64) {
	for _, s := range t.Sites {
		n += s.N
	}
	return n
}

// Noise returns the law of a release's noise where the statistics of all are moved
// together.
func (t *Joint) Noise(j int) *Noise {
	obs := t.Sites[j].Observation
	return newNoise(obs, len(t.Sites)*len(obs.Z))
}
