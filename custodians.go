package dpreg

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/dpreg/dpreg/internal/reference"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// Custodian is a release of which a regression is inferred, and the name that results give it
// where there are several, such as its file's.
type Custodian struct {
	Name    string
	Release *release.Release
}

// One is one release alone, without a name.
func One(r *release.Release) []Custodian { return []Custodian{{Release: r}} }

// Names are those of custodians.
func Names(custodians []Custodian) (names []string) {
	for _, c := range custodians {
		names = append(names, c.Name)
	}
	return names
}

// Releases are those of custodians.
func Releases(custodians []Custodian) (all []*release.Release) {
	for _, c := range custodians {
		all = append(all, c.Release)
	}
	return all
}

// How several releases share a regression, and how the covariates' law.
const (
	// CompletePooling is one θ for all.
	CompletePooling = "complete"
	// PartialPooling is a θ_j for each, from one normal law; see model.Spread.
	PartialPooling = "partial"
	// SeparateCovariates are a (μ_x, T) for each custodian, which draws leave out.
	SeparateCovariates = "separate"
	// SharedCovariates are one (μ_x, T) for all.
	SharedCovariates = "shared"
)

// fewCustodians is the number below which they tell little of the spread between them.
const fewCustodians = 5

// Join gives custodians' releases the same columns in the same order, those of the
// first, matched by name, and returns the design in common units: each column has the
// smallest box that holds all of theirs. Errors name both files; see schema.Hull.
func Join(custodians []Custodian) (arranged []Custodian, common *schema.Design, err error) {
	if len(custodians) == 0 {
		return nil, nil, errors.New("there is no release to infer from")
	}
	var designs []*schema.Design
	for j, c := range custodians {
		if err = c.Release.Validate(); err == nil {
			err = c.Release.SameFactor(custodians[0].Release)
		}
		if err != nil {
			return nil, nil, named(custodians, j, err)
		}
		designs = append(designs, &c.Release.Schema)
	}
	if common, err = schema.Hull(Names(custodians), designs); err != nil {
		return nil, nil, err
	}
	for _, c := range custodians {
		arranged = append(arranged, Custodian{c.Name, c.Release.Arrange(common)})
	}
	return arranged, common, nil
}

// problem is what the releases and options ask of a method, but for the prior. What several
// releases share, one has to itself; the same rows share everything.
func (o Options) problem(custodians []Custodian) (p model.Problem, err error) {
	several, partial := len(custodians) > 1, o.Pooling == PartialPooling
	switch {
	case !slices.Contains([]string{"", SeparateCovariates, SharedCovariates}, o.Covariates):
		return p, fmt.Errorf("covariates %q are neither %q nor %q", o.Covariates, SeparateCovariates, SharedCovariates)
	case !slices.Contains([]string{"", CompletePooling, PartialPooling}, o.Pooling):
		return p, fmt.Errorf("pooling %q is neither %q nor %q", o.Pooling, CompletePooling, PartialPooling)
	case partial && !several:
		return p, errors.New("partial pooling is of several releases, and there is one")
	case partial && o.SameRows:
		return p, errors.New("partial pooling is of several custodians, and these releases are of the same rows")
	}
	p.Family = o.Family
	p.Releases = Releases(custodians)
	p.PartialPooling, p.SameRows = partial, o.SameRows && several
	p.SharedCovariates = p.SameRows || several && o.Covariates == SharedCovariates
	return p, nil
}

// Sharing says what several releases share in the fit, as Options.Covariates and
// Options.Pooling do; of one release it is empty.
func (f *Fit) Sharing() (covariates, pooling string) {
	if len(f.Custodians) < 2 {
		return "", ""
	}
	covariates, pooling = SeparateCovariates, CompletePooling
	if f.problem.SharedCovariates {
		covariates = SharedCovariates
	}
	if f.problem.PartialPooling {
		pooling = PartialPooling
	}
	return covariates, pooling
}

// naming puts the custodian's name where a method speaks of its release.
func (f *Fit) naming(err error) error {
	var of *model.SiteError
	if errors.As(err, &of) {
		return named(f.Custodians, of.Site, of.Err)
	}
	return err
}

// named puts a custodian's name in front of what is wrong with its release, where there are several.
func named(custodians []Custodian, j int, err error) error {
	if len(custodians) > 1 {
		return fmt.Errorf("%s: %w", custodians[j].Name, err)
	}
	return err
}

// releaseWarnings are those of the releases, each under its name where there are several, and
// of what they are together.
func (f *Fit) releaseWarnings() (warnings []string) {
	for _, c := range f.Custodians {
		for _, w := range c.Release.Warnings() {
			if len(f.Custodians) > 1 {
				w = c.Name + ": " + w
			}
			warnings = append(warnings, w)
		}
	}
	if f.problem.PartialPooling && len(f.Custodians) < fewCustodians {
		warnings = append(warnings, fmt.Sprintf("partial pooling of %d custodians: fewer than %d tell little of the spread between them, which the prior then decides", len(f.Custodians), fewCustodians))
	}
	if !f.SameRows() && !f.OneDealing() {
		warnings = append(warnings, f.sameRowsWarnings()...)
	}
	return append(warnings, f.normalityWarnings()...)
}

// FromRows tells whether the fit is of rows themselves, without noise: not private.
func (f *Fit) FromRows() bool { return len(f.Custodians) == 0 }

// jointConverter maps what only several releases have, which are the last columns of a draw.
func (f *Fit) jointConverter(u Units, whole bool) func(dst, src []float64) {
	q, own := f.shape().Q(), f.layout().Own()
	triangle := q * (q + 1) / 2
	columns, behind := several(f.layout().Shown(whole)), several(f.layout().Drawn())
	a, _ := f.frame.ThetaMatrix()
	omega := make([]float64, q*q)
	return func(dst, src []float64) {
		dst, src = dst[len(dst)-columns:], src[len(src)-behind:]
		if f.problem.PartialPooling {
			model.Expand(omega, src, q)
			if u == Original {
				affine(omega, a, q)
			}
			if whole {
				dst = dst[copy(dst, omega):]
			}
			for k := range q {
				dst[k] = math.Sqrt(omega[k*q+k])
			}
			dst, src = dst[q:], src[triangle:]
		}
		copy(dst, src)
		if f.problem.PartialPooling && u == Original {
			dst = dst[own-q:] // behind υ
			for at := range len(f.Custodians) {
				theta, sigma := dst[at*own:at*own+q], dst[at*own+q:(at+1)*own]
				f.frame.ThetaToOriginal(theta, theta)
				for k := range sigma {
					sigma[k] *= f.frame.Half[len(f.frame.Half)-1]
				}
			}
		}
	}
}

// several counts the parameters that only several releases have.
func several(all []model.Parameter) (n int) {
	for _, p := range all {
		if p.Several() {
			n++
		}
	}
	return n
}

// affine replaces Ω of θ, q×q, by aΩaᵀ, that of aθ + b.
func affine(omega, a []float64, q int) {
	var half mat.Dense
	linear, dst := mat.NewDense(q, q, a), mat.NewDense(q, q, omega)
	half.Mul(linear, dst)
	dst.Mul(&half, linear.T())
}

// Shrinkage returns, for each coefficient and of partial pooling, the share of the
// difference between custodians that their posterior means have lost (Gelman & Pardoe
// 2006, Technometrics 48, the pooling factor of a batch):
//
//	λ_k = 1 − Var_j(E[θ_jk − θ_k]) / E[Var_j(θ_jk − θ_k)],
//
// near 0 where each has its own, near 1 where all have one. It is nil without partial
// pooling.
func (f *Fit) Shrinkage(u Units) []float64 {
	if !f.problem.PartialPooling {
		return nil
	}
	draws, q, own, sites := f.Draws(u), f.shape().Q(), f.layout().Own(), len(f.Custodians)
	width, at := len(draws.Names), draws.Index(model.Parameter{Kind: model.ThetaAt, Custodian: 1, K: f.shape().First()}.Name())
	shrinkage := make([]float64, q)
	means, diff := make([]float64, sites), make([]float64, sites)
	for k := range q {
		clear(means)
		within, count := 0.0, 0.0
		for _, chain := range draws.Chains {
			for row := 0; row < len(chain); row += width {
				for j := range diff {
					diff[j] = chain[row+at+j*own+k] - chain[row+k]
					means[j] += diff[j]
				}
				within += reference.Variance([][]float64{diff})
				count++
			}
		}
		for j := range means {
			means[j] /= count
		}
		shrinkage[k] = 1 - reference.Variance([][]float64{means})/(within/count)
	}
	return shrinkage
}
