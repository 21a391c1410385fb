package rivals

import (
	"fmt"
	"slices"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
)

// party is what one release says, in common units. Without an intercept these differ
// from its own by factors alone, so that noise stays independent from entry to entry.
type party struct {
	p        int
	n        float64
	xx, sdXX []float64 // Ŝ, p×p symmetric, and the sds of its noise
	xy, sdXY []float64 // ẑ, p
}

// read takes the parties of a problem, or says why a method cannot.
func read(method string, p *model.Problem) (*model.Joint, []*party, error) {
	joint, err := complete(p).Join()
	if err != nil {
		return nil, nil, err
	}
	if joint.Shape.Intercept {
		return nil, nil, fmt.Errorf("%s: its model has no intercept: infer from a release without one (a formula that ends in \"- 1\"), or by another method", method)
	}
	if joint.Partial {
		return nil, nil, fmt.Errorf("%s: it has one regression for all releases; mcmc-exact, mcmc-ind, gibbs-ss-update and naive can pool them partially", method)
	}
	var parties []*party
	for j, site := range joint.Sites {
		if err := check(method, site); err != nil {
			if len(joint.Sites) > 1 {
				err = &model.SiteError{Site: j, Err: err}
			}
			return nil, nil, err
		}
		parties = append(parties, newParty(site))
	}
	return joint, parties, nil
}

// complete gives a value to Σy² where a release withholds it, for Join to read: no method
// here looks at it.
func complete(p *model.Problem) *model.Problem {
	whole := *p
	whole.Releases = slices.Clone(p.Releases)
	for j, r := range whole.Releases {
		if r.WithoutYY() {
			c := *r
			c.Withheld, c.Statistics.SumYY = nil, new(float64)
			whole.Releases[j] = &c
		}
	}
	return &whole
}

func check(method string, site *model.Site) error {
	switch p := site.Shape.P; {
	case site.Kind != release.Gaussian:
		return fmt.Errorf("%s: it is for Gaussian noise, and this release has %s noise: mcmc-exact and gibbs-ss-update are for either (dpreg release --delta 1e-6 --mechanism gaussian makes what %s needs)", method, site.Kind, method)
	case site.Count.Latent():
		return fmt.Errorf("%s: it takes n for exact, which is noisy here (add-remove neighbours): mcmc-exact and gibbs-ss-update infer it", method)
	case site.N < float64(p):
		return fmt.Errorf("%s: n = %g rows of %d covariates: their matrix of squares and products has no density", method, site.N, p)
	}
	return nil
}

// newParty takes Ŝ and ẑ to common units, where v_own = a v: s_jk / a_j a_k.
func newParty(site *model.Site) *party {
	p, m := site.Shape.P, site.Shape.M()
	t := &party{p: p, n: site.N, xx: make([]float64, p*p), sdXX: make([]float64, p*p), xy: make([]float64, p), sdXY: make([]float64, p)}
	a := site.Units.Scale
	for j := range p {
		for k := range p {
			i, unit := release.Index(m, j, k), a[j]*a[k]
			t.xx[j*p+k], t.sdXX[j*p+k] = site.Z[i]/unit, site.Scale[i]/unit
		}
		i, unit := release.Index(m, j, p), a[j]*a[p]
		t.xy[j], t.sdXY[j] = site.Z[i]/unit, site.Scale[i]/unit
	}
	return t
}

// raised writes the matrix nearest to a, in Frobenius norm, whose eigenvalues are not
// below least.
func raised(dst, a []float64, p int, least float64) {
	values, vectors := make([]float64, p), make([]float64, p*p)
	dense.SymEigen(values, vectors, a, p, make([]float64, p*p))
	for i, v := range values {
		values[i] = max(v, least)
	}
	for j := range p {
		for k := range p {
			sum := 0.0
			for i, v := range values {
				sum += v * vectors[j*p+i] * vectors[k*p+i]
			}
			dst[j*p+k] = sum
		}
	}
}
