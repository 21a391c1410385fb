package model

import (
	"fmt"
	"math"
	"slices"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// The spreads that coefficients share, τ = √a·s with a = 1/Z², Z ~ N(0, 1): the median of
// τ is 1.48 s, its upper tail that of a Cauchy law, and τ < s/3 has a probability of 0.003.
//
// Of a factor's levels τ is the sd of their effects in sds of y, with a median of 1.25: half
// of a slope's 2.5. Of --shrink it is the sd of the effects that one sd of each column has; s
// counts as one more slope, which explains s² = 6 % of y's variance. So few slopes are
// hardly shrunk, and of many that are small τ finds it.
const (
	freeSD      = math.Sqrt2         // A: a ~ InvGamma(½, ½), a = 1/Z²
	factorScale = 1.25 * 0.674489750 // s
	shrinkScale = 0.25
)

// DefaultPrior returns the default prior of a family for a design, in its scaled units. Of the normal
// family it is that of the function DefaultPrior in columns that are standardised by what releases
// tell, and besides has one free spread for the levels of each factor of two dummies or more:
//
//	θ_l = u_l − u_ref,  u_l ~ N(0, τ²), τ = √a·s   so that K = (I − 11ᵀ/L)/s² in a·K⁻¹
//
// of L levels, one of which is the reference: the law of differences does not depend on
// which one. Where every level has a dummy (no intercept), K = I/s².
//
// With m̂ and ŝ the mean and sd of a column by the noisy sums, and s_y/s_x the largest ratio that they can well be read
// to say, see standardised, in data units then
//
//	slope ~ N(0, (2.5 s_y/s_x)²)   α ~ N(m̂_y, (5 ŝ_y)²) at x = m̂   σ ~ half-t(3, ŝ_y)
//	sd(x) ~ half-t(2, ŝ_x)         mean(x) ~ N(m̂_x, (5 ŝ_x)²),
//
// whatever the box is in which the sums are read. A slope alone has |slope| ≤ s_y/s_x,
// as R² ≤ 1: 2.5 times that prices none out. There is no other floor: with growing noise
// all ŝ go to 1, and this prior to that without a release.
//
// The columns of the releases are those of the design, in its order; their boxes may differ. All this is
// computed from what is released, and costs no privacy. But the prior then depends on
// the data, through the release alone: a study by simulation from the prior states one.
//
// Of another family it is on the link's scale, d being the release's design: as with sd(y) = 1
// there, but for an intercept about 0 of sd 2.5 (as rstanarm has it), no σ, and
// k slopes, those of factors' levels apart, that are Student's t of 3 degrees of freedom and share one
// scale:
//
//	slope ~ t₃(1.75/(√k š_x))   of sd 3/(√k š_x), whatever k; two in three are within 2/(√k š_x).
//
// Σ(ŝ_x slope)² is the variance of η where columns are uncorrelated. With N(0, (2.5/ŝ_x)²) each it would
// be 2.5²χ²_k, which alone says that effects are strong; and sums tell little of how strong they are where
// g(η) is near its ends for most rows. Normal laws of 1/√k the sd would say as firmly that no slope has all of
// it, and intervals would not hold one that has. A line's slopes are bounded by R² ≤ 1 and need no such care.
func (f Family) DefaultPrior(d *schema.Design, releases ...*release.Release) (*Prior, error) {
	return f.defaultPrior(d, releases, (*Prior).spreadFactors)
}

// spreadSDs are those of the half-normal laws of how custodians' coefficients spread, see Spread; nil of the normal family.
func (f Family) spreadSDs(d *schema.Design, releases []*release.Release) (all []float64, err error) {
	if f == Normal {
		return nil, nil
	}
	of, err := standard(d, releases)
	if d.Intercept {
		all = append(all, linkSpread*linkInterceptSD)
	}
	for j := range d.Covariates {
		all = append(all, linkSpread*linkSlopeScale/(math.Sqrt(float64(len(d.Covariates)))*of.least[j]))
	}
	return all, err
}

// ShrinkingPrior is DefaultPrior with one free spread of all slopes, in standardised
// columns: ridge regression, whose penalty is learned.
func (f Family) ShrinkingPrior(d *schema.Design, releases ...*release.Release) (*Prior, error) {
	return f.defaultPrior(d, releases, (*Prior).shrink)
}

func (f Family) defaultPrior(d *schema.Design, releases []*release.Release, spread func(*Prior, *schema.Design, []float64)) (*Prior, error) {
	shape := DesignShape(d)
	prior, p := DefaultPrior(shape), shape.P
	of, err := standard(d, releases)
	if err != nil {
		return nil, err
	}
	centre, sd := of.centre, of.sd
	t := prior.apart()
	if f == Normal {
		prior.Kurtosis = boundedKurtosis(centre[p], sd[p])
	} else {
		d = f.Design(d)
		centre[p], sd[p], of.least[p], t.variance = 0, 1, 1, linkInterceptSD*linkInterceptSD
		prior.Linked = true
		prior.drop(func(s Scale) bool { return s.Sigma })
	}
	prior.Theta.Scale *= sd[p] * sd[p]
	for j := range p {
		prior.Covariates.Scale[j*p+j] *= sd[j] * sd[j]
		prior.MeanSD[j] *= sd[j]
	}
	copy(prior.Covariates.Mean, centre)
	t.variance *= sd[p] * sd[p]
	if shape.Intercept {
		t.alpha = centre[p]
		copy(t.centre, centre)
	}
	x := make([]float64, p)
	for j := range x {
		x[j] = of.ofSlope(j)
		t.precision[j*p+j] *= x[j] * x[j] / (sd[p] * sd[p])
	}
	prior.join(t)
	spread(prior, d, append(x, sd[p]))
	if err := prior.valid(); err != nil {
		return nil, fmt.Errorf("the default prior: %w", err)
	}
	return prior, nil
}

// spreadFactors gives each factor's levels a free spread, and a family's other slopes heavy tails; sd are
// š of covariates and ŝ_y.
func (p *Prior) spreadFactors(d *schema.Design, sd []float64) {
	all := groups(d)
	for _, g := range all {
		p.spread(d, g, factorScale*sd[len(sd)-1])
	}
	if !p.Linked {
		return
	}
	const r = defaultSlopeSD / linkSlopeScale
	t, slopes := p.apart(), ungrouped(len(d.Covariates), all)
	for _, j := range slopes {
		t.precision[j*len(t.beta)+j] *= float64(len(slopes)) * r * r
		p.Scales = append(p.Scales, t.student(j, linkDof))
	}
	p.join(t)
}

// spread gives a factor's dummies a free spread of scale s, in scaled units of y. Their
// law so far is replaced.
func (p *Prior) spread(d *schema.Design, g group, s float64) {
	t := p.apart()
	for _, j := range g.columns {
		t.leave(p, j)
		t.beta[j] = 0
	}
	p.Scales = append(p.Scales, t.free(g.columns, g.exchangeable(d, s)))
	p.join(t)
}

// shrink gives all slopes one free spread, and levels of a factor one exchangeable law.
func (p *Prior) shrink(d *schema.Design, sd []float64) {
	t, y := p.apart(), len(sd)-1
	all := make([]int, y)
	precision := make([]float64, y*y)
	for j := range y {
		v := sd[j] / (shrinkScale * sd[y])
		all[j], precision[j*y+j] = j, v*v
	}
	for _, g := range groups(d) {
		k := g.exchangeable(d, 2*shrinkScale*sd[y]) // half an effect is one of an sd of ½
		for r, i := range g.columns {
			for c, j := range g.columns {
				precision[i*y+j] = k[r*len(g.columns)+c]
			}
		}
	}
	clear(t.precision)
	p.Scales = append(p.Scales, t.free(all, precision))
	p.join(t)
}

// group are the dummies of a factor, two or more.
type group struct {
	factor    string
	columns   []int
	reference bool // a level has no dummy
}

func groups(d *schema.Design) (out []group) {
	for _, f := range d.Factors {
		g := group{factor: f.Name}
		for j, c := range d.Covariates {
			if c.Factor == f.Name {
				g.columns = append(g.columns, j)
			}
		}
		g.reference = len(g.columns) < len(f.Levels)
		if len(g.columns) > 1 {
			out = append(out, g)
		}
	}
	return out
}

// ungrouped are the columns, of p, of no group.
func ungrouped(p int, all []group) (columns []int) {
	for j := range p {
		if !slices.ContainsFunc(all, func(g group) bool { return slices.Contains(g.columns, j) }) {
			columns = append(columns, j)
		}
	}
	return columns
}

// exchangeable is K for a scale s in scaled units of y. The effect of a dummy, by one data
// unit, is its scaled coefficient over its half box.
func (g group) exchangeable(d *schema.Design, s float64) []float64 {
	n, half := len(g.columns), d.Frame().Half
	k, others := make([]float64, n*n), 0.0
	if g.reference {
		others = 1 / float64(n+1)
	}
	for r, i := range g.columns {
		for c, j := range g.columns {
			k[r*n+c] = -others
			if r == c {
				k[r*n+c]++
			}
			k[r*n+c] /= s * s * (half[i] * half[j])
		}
	}
	return k
}

// boxLinkSD is of coefficients of a family in studies.
const boxLinkSD = 1.5

// BoxPrior is a conjugate prior for data that fill their boxes: σ² ~ InvGamma(3, 0.15),
// θ's sd in proportion to σ, 0.7 of the intercept and 0.9/√p of a slope at E σ², μ_x of
// half a row, T ~ InvWishart(0.375 I, p + 4). Studies draw their truths from it: those of
// DefaultPrior lie many boxes apart. For columns that fill little of their boxes it is wrong.
// Of a family but the normal one θ ~ N(0, boxLinkSD² I), by which columns that fill their boxes
// give η an sd of about √p/2.
func (f Family) BoxPrior(s Shape) *Prior {
	p, q := s.P, s.Q()
	const a0, b0, kappa, variance = 3, 0.15, 0.5, 0.125
	precision, scale, dof := make([]float64, q*q), make([]float64, p*p), float64(p+4)
	for k := range q {
		sd := 0.9 / math.Sqrt(float64(p))
		if s.Intercept && k == 0 {
			sd = 0.7
		}
		precision[k*q+k] = b0 / (a0 - 1) / (sd * sd)
		if f != Normal {
			precision[k*q+k] = 1 / (boxLinkSD * boxLinkSD)
		}
	}
	for j := range p {
		scale[j*p+j] = variance * (dof - float64(p) - 1)
	}
	return &Prior{
		Unscaled: f != Normal, Linked: f != Normal,
		Theta:      &conjugate.NIG{Mean: make([]float64, q), Precision: precision, Shape: a0, Scale: b0},
		Covariates: &conjugate.NIW{Mean: make([]float64, p), Kappa: kappa, Scale: scale, Dof: dof},
	}
}

// Unscale gives coefficients the sds that they have in the mean, but not in proportion to σ, so that words
// can state one.
func (p *Prior) Unscale() *Prior {
	for i := range p.Theta.Precision {
		p.Theta.Precision[i] *= (p.Theta.Shape - 1) / p.Theta.Scale
	}
	p.Unscaled = true
	return p
}
