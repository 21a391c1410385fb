package dpreg

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
)

// JointCheckFormat is the version of a JointCheck's file.
const JointCheckFormat = "dpreg-joint-check/1"

// JointCheck is a check of each of several releases under their joint posterior, in
// each one's own scaled units.
type JointCheck struct {
	Format     string `json:"format"` // JointCheckFormat
	Method     string `json:"method"`
	N          int64  `json:"n"`
	Pooling    string `json:"pooling"`
	Covariates string `json:"covariates"`
	Draws      int    `json:"draws"`
	Refits     int    `json:"refits"`
	// All is of all sums of all releases.
	All      PValue   `json:"all"`
	Releases []*Check `json:"releases"`
	Warnings []string `json:"warnings"`
}

// CheckJointly is Check of each of several releases: whether the regression, which they
// share or which is pooled partially, makes it. Each draw replicates all of them, and
// each refit of the calibration is of all. The discrepancy of all releases is the sum of
// theirs.
//
// Where the covariates are shared, so is their law here, and a release whose covariates
// are others is found too. Where they are separate, draws leave out each custodian's law
// (μ_x, T)_j; it is then that of the release alone, whatever the others say of the
// regression: a cut of the joint posterior (Plummer 2015, Statistics and Computing 25),
//
//	p(θ_j, σ_j | z_1 … z_J) p(μ_x, T, n | z_j).
//
// Of one release it is Check. Errors: those of Check.
func (f *Fit) CheckJointly(ctx context.Context, o CheckOptions) (*JointCheck, error) {
	if f.FromRows() || !Checkable(f.Method) {
		return nil, fmt.Errorf("method %s does not learn the law of the covariates, so that there is no fitted one to check", f.Method)
	}
	if f.sameRows {
		return nil, errors.New("a check is of custodians, or of one release: check each release of the same rows by itself")
	}
	if f.ModelClamping {
		return nil, errors.New("a check simulates rows that nothing was clamped of: fit without modelling the clamping")
	}
	if o.Calibrate < 0 {
		return nil, fmt.Errorf("%d refits: the number cannot be negative", o.Calibrate)
	}
	custodians := f.custodians()
	c, err := newCheckers(custodians)
	if err != nil {
		return nil, f.naming(err)
	}
	draws, warnings, err := f.checkSites(ctx)
	if err != nil {
		return nil, err
	}
	values, err := c.run(ctx, draws, mcmc.Stream(o.Seed, 0))
	if err != nil {
		return nil, err
	}
	p := make([]PValue, len(values))
	for i, v := range values {
		p[i].P = v
	}
	if o.Calibrate > 0 {
		ranks, err := f.calibrate(ctx, o, draws)
		if err != nil {
			return nil, err
		}
		for i := range p {
			p[i].Calibrated = &ranks[i]
		}
	}
	out := &JointCheck{Format: JointCheckFormat, Method: f.Method, N: f.N, Draws: c.sites[0].count, Refits: o.Calibrate, All: p[len(p)-1]}
	out.Covariates, out.Pooling = f.Sharing()
	for j, site := range c.sites {
		check := site.describe(&custodians[j].Release.Schema, p[c.at[j]:c.at[j+1]])
		check.Name, check.Method, check.Refits = custodians[j].Name, f.Method, o.Calibrate
		out.Releases = append(out.Releases, check)
	}
	out.Warnings = append(append([]string{}, f.draws.Warnings...), warnings...)
	if c.skipped > 0 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%d draws were left out because rounding left a matrix indefinite", c.skipped))
	}
	return out, nil
}

// checkReplicates is the number of times that releases are replicated from each draw.
const checkReplicates = 4

// checkers replicate the releases of several custodians together.
type checkers struct {
	sites   []*checker
	at      []int // where the p-values of each begin, and that of all
	skipped int   // draws
}

func newCheckers(custodians []Custodian) (*checkers, error) {
	c := &checkers{at: []int{0}}
	for j, custodian := range custodians {
		obs, err := model.Observe(custodian.Release)
		if err != nil {
			return nil, &model.SiteError{Site: j, Err: err}
		}
		site := newChecker(obs)
		c.sites, c.at = append(c.sites, site), append(c.at, c.at[j]+len(obs.Z)+len(site.blocks))
	}
	return c, nil
}

// run returns the p-values over draws, draws[i][j] those of site j: of each site's
// entries and blocks, and of all sums of all sites.
func (c *checkers) run(ctx context.Context, draws [][][]float64, rng *rand.Rand) ([]float64, error) {
	p := make([]float64, c.at[len(c.sites)]+1)
	of, rep, count := make([]float64, len(p)), make([]float64, len(p)), 0
	for _, rows := range draws {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if !c.given(rows) {
			c.skipped++
			continue
		}
		count++
		for _, site := range c.sites {
			site.collect()
		}
		c.discrepancies(of, func(site *checker) []float64 { return site.obs.Z })
		for range checkReplicates {
			for _, site := range c.sites {
				site.replicate(rng)
			}
			c.discrepancies(rep, func(site *checker) []float64 { return site.rep })
			for i := range p {
				if rep[i] >= of[i] {
					p[i]++
				}
			}
		}
	}
	if count == 0 {
		return nil, errNoReplicate
	}
	for i := range p {
		p[i] /= float64(count * checkReplicates)
	}
	return p, nil
}

// given puts the parameters at a draw, a row for each site.
func (c *checkers) given(rows [][]float64) bool {
	for j, site := range c.sites {
		if !site.given(rows[j]) {
			return false
		}
	}
	return true
}

// discrepancies writes those of all sites' sums z, and last the sum of theirs.
func (c *checkers) discrepancies(dst []float64, z func(*checker) []float64) {
	last := len(dst) - 1
	dst[last] = 0
	for j, site := range c.sites {
		own := dst[c.at[j]:c.at[j+1]]
		site.discrepancies(own, z(site))
		dst[last] += own[len(own)-1]
	}
}
