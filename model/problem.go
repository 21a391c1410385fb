// Package model holds the noise-aware regression itself: the prior, the law of
// the statistics given the parameters, the map to unconstrained coordinates,
// and what every method of inference shares.
//
//	σ² ~ InvGamma(a₀, b₀)       θ | σ² ~ N(μ₀, σ² Λ₀⁻¹)
//	T  ~ InvWishart(Ψ₀, ν₀)     μ_x | T ~ N(m₀, T/κ₀)
//	x  ~ N(μ_x, T)              y | x ~ N(θᵀ(1, x), σ²)
//	s = Σ t(x, y)               z = s + noise
//
// Everything here is in scaled units unless a name says otherwise.
package model

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// Problem is what a method infers from: the releases, which share θ and σ²,
// and the prior in scaled units. Several releases have the same columns in the same
// order (release.Release.Arrange); the prior is in their common units then, see Join.
type Problem struct {
	Releases []*release.Release
	Prior    *Prior

	// Family is the law of the response; the prior is on its link's scale, see Family.Design.
	Family Family
	// SharedCovariates: one law of the covariates, (μ_x, T), for all releases; else
	// each has its own, from the same prior.
	SharedCovariates bool
	// PartialPooling: each release has its own θ_j and σ_j; see Spread.
	PartialPooling bool
	// SameRows: all releases are of one population of rows, and measure the same sums.
	SameRows bool
}

// Method draws from the posterior of a problem. The draws are in scaled units
// and named by Joint.Names, or by Shape.RegressionNames where the method has
// no model of the covariates.
type Method interface {
	Name() string
	// Traits are what holds of the method whatever the problem.
	Traits() Traits
	// Can returns why the method cannot infer from a problem, before anything is drawn;
	// nil where it can.
	Can(p *Problem) error
	// Sample draws. Its errors are those of Can, Traits.Check and mcmc.Run.
	Sample(ctx context.Context, p *Problem, plan mcmc.Plan) (*posterior.Draws, error)
}

// Lawful methods infer with a law of the statistics.
type Lawful interface {
	Law(*Problem) (Law, error)
}

// Traits are what a method needs, what it can do beside, and what it takes for known.
type Traits struct {
	Warmup     int // the shortest in which its chains adapt; 0 where nothing does
	Kernels    bool
	Clamping   bool // it can model clamping
	Covariates Covariates
}

// Covariates says what a method makes of the covariates' law.
type Covariates int

const (
	NoCovariates       Covariates = iota // it has none
	ReleasedCovariates                   // moments that the release holds are taken for it
	StatedCovariates                     // the one that the prior states
	HiddenCovariates                     // normal, with parameters that draws leave out
	LearntCovariates                     // normal, with parameters beside those of the regression
)

// Known tells whether it is fixed before the sums are looked at.
func (c Covariates) Known() bool { return c == ReleasedCovariates || c == StatedCovariates }

// AdaptiveWarmup is the shortest warm-up whose metric and step size are worth having.
const AdaptiveWarmup = 100

// Check returns an error where a plan cannot stand, or its warm-up is too short for the
// chains of the named method to adapt, which would then run on at the mercy of their start.
func (t Traits) Check(method string, plan mcmc.Plan) error {
	if plan.Warmup < t.Warmup {
		return fmt.Errorf("%s: a warm-up of %d steps is too short to adapt; at least %d", method, plan.Warmup, t.Warmup)
	}
	return plan.Validate()
}

// NormalLaw is the law of the statistics of one release whose rows are normal.
func (p *Problem) NormalLaw() (Law, error) {
	joint, err := p.JoinLevels()
	if err != nil {
		return nil, err
	}
	if joint.Sites[0].PerLevel() {
		return nil, errors.New("products per level (--per-level) have no law over all levels")
	}
	return NewMoments(joint.Shape), joint.single()
}

// Single is Join for methods that infer from one release, in its box.
func (p *Problem) Single() (*Observation, error) {
	joint, err := p.Join()
	if err != nil {
		return nil, err
	}
	if err := joint.single(); err != nil {
		return nil, err
	}
	if joint.Sites[0].Frame != nil {
		return nil, errors.New("this method infers from sums in the box (--steps 1), and these are in a frame; mcmc-exact, mcmc-ind, gibbs-ss-update and naive take them")
	}
	return joint.Sites[0].Observation, nil
}

func (t *Joint) single() error {
	if n := len(t.Sites); n > 1 {
		return fmt.Errorf("this method infers from one release, and there are %d; mcmc-exact, mcmc-ind, gibbs-ss-update and naive take several", n)
	}
	return nil
}

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
	Family          Family
	SpreadSD        []float64 // of the half-normal laws of τ of Spread, of a family
}

// Site is the release of one custodian.
type Site struct {
	*Observation
	Units *Units  // from common to its own
	Upper float64 // bound of the response, in the data's units

	Columns []release.InLevel // what columns of the regression are, of rows of one level; nil: they are its own
}

// Noisy is the map from common units to those of the statistics that noise is on, or that what has noise is made of.
func (s *Site) Noisy() *Units {
	if s.Told != nil && s.Told.Response != nil {
		return s.Units.In(s.Told.Response.Frame)
	}
	return s.Units
}

// Linear is an error where the response has a law of its own, for methods that have the normal
// one alone.
func (p *Problem) Linear(method string) error {
	if p.Family == Normal {
		return nil
	}
	return fmt.Errorf("method %s has no law of the response but the normal one; mcmc-exact has the family %s", method, p.Family)
}

// SiteError is what is wrong with one of several releases.
type SiteError struct {
	Site int // from 0
	Err  error
}

func (e *SiteError) Error() string { return fmt.Sprintf("release %d: %v", e.Site+1, e.Err) }
func (e *SiteError) Unwrap() error { return e.Err }

// Join is JoinLevels for methods that have no law of a factor's levels.
func (p *Problem) Join() (*Joint, error) {
	t, err := p.JoinLevels()
	if err == nil {
		err = t.Each(func(o *Observation) error {
			if o.Told == nil || o.Told.Response != nil && p.Family != Normal {
				return nil
			}
			return errors.New("this release has its sums by the levels of a factor (--by-level), of which mcmc-exact alone has the law, and of a normal response")
		})
	}
	return t, err
}

// JoinLevels reads a problem. Errors: no release or prior, a release that Observe
// refuses, releases of other columns or in another order, a prior of other sizes,
// partial pooling of one release.
func (p *Problem) JoinLevels() (*Joint, error) {
	if len(p.Releases) == 0 {
		return nil, errors.New("model: the problem has no release")
	}
	if p.Prior == nil {
		return nil, errors.New("model: the problem has no prior; model.DefaultPrior gives the documented one")
	}
	if p.Family != Normal {
		if len(p.Releases[0].Schema.Covariates) == 0 {
			return nil, fmt.Errorf("family %s needs a covariate: without one the normal model has the mean of the response, which is the share or the rate, as its intercept", p.Family)
		}
		if err := p.linked(); err != nil {
			return nil, err
		}
	} else if j := slices.IndexFunc(p.Releases, (*release.Release).LevelsAreOfResponse); j >= 0 {
		return nil, siteError(j, len(p.Releases), fmt.Errorf("the sums of this release are by the levels of its response: say --family binomial or probit; a line of another column has %q among its covariates, by --formula", p.Releases[j].Schema.Response.Name))
	}
	if p.Prior.Linked != (p.Family != Normal) {
		return nil, errors.New("model: the prior of a family is on its link's scale, and that of a line is not: Family.DefaultPrior makes either")
	}
	var names []string
	var designs []*schema.Design
	var sites [][]*release.Release // those of the same rows together
	for j, r := range p.Releases {
		names, designs = append(names, fmt.Sprintf("release %d", j+1)), append(designs, &r.Schema)
		sites = append(sites, []*release.Release{r})
	}
	hull, err := schema.Hull(names, designs)
	if err != nil {
		return nil, err
	}
	if p.SameRows {
		sites = [][]*release.Release{p.Releases}
	}
	single := len(sites) == 1
	if single && p.PartialPooling {
		return nil, errors.New("partial pooling is of several releases of rows of their own, and there is one")
	}
	out := &Joint{Prior: p.Prior, Frame: hull.Frame(), Shared: p.SharedCovariates || single, Partial: p.PartialPooling, Family: p.Family}
	for j, measured := range sites {
		obs, err := observeAll(measured)
		if err != nil {
			return nil, siteError(j, len(sites), err)
		}
		own := measured[0].Schema.Frame()
		for k, label := range own.Labels {
			if label != out.Frame.Labels[k] {
				return nil, &SiteError{j, fmt.Errorf("column %q stands where the first has %q: arrange the releases alike", label, out.Frame.Labels[k])}
			}
		}
		out.Shape = obs.Shape
		out.Sites = append(out.Sites, &Site{Observation: obs, Units: UnitsBetween(out.Frame, own).In(obs.Frame), Upper: measured[0].Schema.Response.Upper})
	}
	if err := p.Prior.Check(out.Shape); err != nil {
		return nil, err
	}
	if err := out.perLevel(); err != nil {
		return nil, err
	}
	if out.Prior = p.Prior.OfRows(out.Rows()); p.PartialPooling {
		out.Prior.Kurtosis = Kurtosis{} // each custodian's rows have a σ_j of their own
		if out.SpreadSD, err = p.Family.spreadSDs(hull, p.Releases); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// perLevel refuses what there is no law of where products are per level. Levels have covariates' laws of their own.
func (t *Joint) perLevel() error {
	if !slices.ContainsFunc(t.Sites, (*Site).PerLevel) {
		return nil
	}
	t.Shared = false
	switch {
	case len(t.Sites) > 1:
		return errors.New("products per level (--per-level) are inferred from in one release, and there are several: publish all with --by-level alone, or infer from one")
	case t.Family != Normal:
		return fmt.Errorf("family %s has no law of products per level (--per-level): a release has it that the custodian makes with --by-level alone, for another ε", t.Family)
	}
	return nil
}

// PerLevel tells whether products are per level.
func (s *Site) PerLevel() bool { return s.Told != nil && s.Told.Levels != nil }

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
