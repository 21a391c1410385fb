package model

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// Family is the law of the response given η = θᵀ(1, x), of a generalized linear model; empty is
// the normal one, of a line. It says how the response and its sums must be, and on which scale
// θ is.
type Family string

const (
	Normal   Family = ""
	Binomial Family = "binomial" // P(y = 1) = 1/(1 + e^{−η})
	Probit   Family = "probit"   // P(y = 1) = Φ(η)
	Poisson  Family = "poisson"  // y of the mean of min(N, its upper bound), N ~ Poisson(e^η), and its variance times a dispersion
)

// Families are those of which θ is on a link's scale.
func Families() []Family { return []Family{Binomial, Probit, Poisson} }

// families are their names.
func families() string {
	var names []string
	for _, f := range Families() {
		names = append(names, string(f))
	}
	return strings.Join(names, ", ")
}

// words are what the methods of their names return.
var words = map[Family]struct {
	link, ratio, expected string
}{
	Normal:   {"identity", "", "mean"},
	Binomial: {"logit", "Odds", "probability"},
	Probit:   {"probit", "", "probability"},
	Poisson:  {"log", "Rate", "rate"},
}

// LogDispersion and its SD are of the normal prior of log φ, the dispersion of counts: the variance of y given η is φ times that
// of min(N, K) (quasi-Poisson: McCullagh & Nelder 1989, Generalized Linear Models, §6.2).
const LogDispersion, LogDispersionSD = 0.5, 1.0

// Link names the scale of η.
func (f Family) Link() string { return words[f].link }

// Ratio says what exp(θ_j) is a ratio of; empty where of nothing.
func (f Family) Ratio() string { return words[f].ratio }

// Expected says what Mean is.
func (f Family) Expected() string { return words[f].expected }

// Mean is E[y | η], of counts before they are clamped.
func (f Family) Mean(eta float64) float64 {
	switch f {
	case Binomial:
		g, _ := logistic(eta, math.Exp(eta))
		return g
	case Probit:
		g, _ := phi(eta, 0)
		return g
	case Poisson:
		return math.Exp(eta)
	}
	return eta
}

// Draw draws y given η, of counts clamped at most.
func (f Family) Draw(eta, most float64, rng *rand.Rand) float64 {
	switch mean := f.Mean(eta); {
	case f == Poisson && mean > 2*most+100: // it is below K once in e^40
		return most
	case f == Poisson:
		return min(distuv.Poisson{Lambda: mean, Src: rng}.Rand(), most)
	case rng.Float64() < mean:
		return 1
	}
	return 0
}

// LogProb is log P(y | η), of counts clamped at most.
func (f Family) LogProb(y, eta, most float64) float64 {
	switch n := (distuv.Poisson{Lambda: f.Mean(eta)}); {
	case f == Poisson && y == most:
		return math.Log(n.Survival(most - 1))
	case f == Poisson:
		return n.LogProb(y)
	case y == 0: // 1 − g(η) = g(−η)
		eta = -eta
	}
	return math.Log(f.Mean(eta))
}

// Check returns why a design's response cannot be of the family.
func (f Family) Check(d *schema.Design) error {
	switch y := d.Response; {
	case f == Normal:
		return nil
	case !slices.Contains(Families(), f):
		return fmt.Errorf("no family %q; there are %s, and without one the response is normal about a line", f, families())
	case !d.Intercept:
		return fmt.Errorf("family %s needs an intercept: without one bounds lie about 0, and the response would not be whole numbers from 0 on; leave -1 out of the formula", f)
	case f == Poisson && (y.Lower != 0 || y.Upper < 2 || y.Upper != math.Trunc(y.Upper)):
		return fmt.Errorf("family %s is of a response that counts, and %q has the bounds %v:%v: state 0 and the largest count to tell from larger ones, such as 0:20 (of 0 and 1 alone --family binomial is the law)", f, y.Name, y.Lower, y.Upper)
	case f != Poisson && (y.Lower != 0 || y.Upper != 1):
		return fmt.Errorf("family %s is of a response that is 0 or 1, and %q has the bounds %v:%v: code it as a boolean or as 0 and 1 with the bounds 0:1, or leave the family out", f, y.Name, y.Lower, y.Upper)
	}
	return nil
}

// farFromWhole is how many sds of its noise the sum of squares of a response of whole numbers lies below
// its sum at most.
const farFromWhole = 7

// Accepts returns why a release's sums cannot be those of the family.
func (f Family) Accepts(r *release.Release) error {
	if f == Normal {
		return nil
	}
	if err := f.Check(&r.Schema); err != nil {
		return err
	}
	if p := r.Persons; p != nil && p.Rows == release.PersonMean {
		return fmt.Errorf("family %s is of whole numbers, and a row of this release is the mean of a person's rows: --person-rows 1 takes one of them (and a new ε), or infer the normal line, without a family", f)
	}
	if r.LevelsAreOfResponse() {
		return nil
	}
	if r.Frame != nil {
		return fmt.Errorf("family %s needs sums of rows as they are, and the rows of this release, the response among them, were moved to the surface of an ellipsoid from the second look on: dpreg release --steps 1 takes one look, and --by-level %[2]s, where that has two levels, leaves it out of that (either with a new ε), or infer the normal line, without a family", f, cmp.Or(r.Schema.Response.FactorName(), r.Schema.Response.Name))
	}
	if r.WithoutYY() {
		return nil
	}
	obs, err := Observe(r)
	if err != nil {
		return err
	}
	// Whole numbers N = K(1 + u)/2 have ΣN² ≥ ΣN; of 0 and 1 both are the same.
	last, at, k := len(obs.Z)-1, obs.Shape.P, r.Schema.Response.Upper
	below := 0.5*k*(obs.N+obs.Z[at]) - 0.25*k*k*(obs.N+2*obs.Z[at]+obs.Z[last])
	sd := math.Hypot(0.5*k*(k-1)*math.Sqrt(obs.Variance(at)), 0.25*k*k*math.Sqrt(obs.Variance(last))) + 0.25*k*k*obs.Count.Scale
	if below > farFromWhole*sd+1e-6*obs.N {
		return fmt.Errorf("family %s is of whole numbers, and the sum of squares of %q tells of values between 0 and 1: infer the normal line, without a family", f, r.Schema.Response.Name)
	}
	return nil
}

// Looks01 tells whether the sums say of a response of bounds 0 and 1 that it has no values between:
// of evenly spread ones their squares would have summed to a third of what they may.
func Looks01(r *release.Release) bool {
	if r.WithoutYY() || Binomial.Accepts(r) != nil {
		return false
	}
	m := r.Dim()
	return 2*float64(r.N) > 3*farFromWhole*r.Noise.SD() && r.Statistics.Vector()[release.Index(m, m-1, m-1)] > 2./3*float64(r.N)
}

// Dummies are the covariates that are 0 or 1, and not made of others: by their type; or by one look at the rows, of a number of bounds 0 and 1, as its square falls short of the most by so little, as no noise hides.
func Dummies(r *release.Release) (columns []int) {
	z, m, n := r.Statistics.Vector(), r.Dim(), float64(r.N)
	plain := r.Frame == nil && farFromWhole*r.Noise.SD() < between01*n
	for j, c := range r.Schema.Covariates {
		if c.Term == nil && (c.Binary() || plain && c.Lower == 0 && c.Upper == 1 && z[release.Index(m, j, j)] > (1-between01)*n) {
			columns = append(columns, j)
		}
	}
	return columns
}

// between01 is the mean of 4x(1 − x) from which on x between 0 and 1 is taken for more than two values: of evenly spread
// ones it is ⅔.
const between01 = 0.1

// Design is the design with the response on the link's scale: what priors and parameters are in
// the units of. Of the normal family it is the design itself.
func (f Family) Design(d *schema.Design) *schema.Design {
	if f == Normal {
		return d
	}
	link := *d
	link.Response = schema.Column{Name: d.Response.Name, Lower: -1, Upper: 1}
	return &link
}

// linked is an error where a problem is not one that its family takes: counts have one bound, above which they are
// clamped.
func (p *Problem) linked() error {
	f := p.Family
	for j, r := range p.Releases {
		if err := f.Accepts(r); err != nil {
			return siteError(j, len(p.Releases), err)
		}
		if own, first := r.Schema.Response.Upper, p.Releases[0].Schema.Response.Upper; own != first {
			return siteError(j, len(p.Releases), fmt.Errorf("family %s takes counts that are clamped at one bound, and %q has %v here and %v in the first: publish with the same, or infer each by itself", f, r.Schema.Response.Name, own, first))
		}
	}
	return nil
}
