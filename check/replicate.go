package check

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
)

// checker draws replicated releases and compares z with them.
type checker struct {
	obs    *model.Observation
	z      []float64 // what has noise
	noise  noise     // on it
	blocks []checkBlock
	levels byLevels
	stray  float64 // variance of w of rows, see model.Kurtosis

	n        float64 // rows given φ: latent where they were released with noise
	params   *model.Params
	law      law
	residual *float64        // sd of normal residuals in the frame, in place in law; nil of others
	inBox    *model.LevelLaw // of the columns in the box
	cov      []float64       // nΣ_t + Ω given φ, lower triangle, q×q

	count        int
	rep          []float64      // z_rep, q
	mean, square []float64      // sums over φ of E z − z and of (E z − z)² + Var z
	columns      []normalColumn // m, or of a family p
	replicates   [][]float64    // of each entry
}

// noise is that on the sums.
type noise interface {
	Variance(entry int) float64
	AddNoise(z []float64, times float64, rng *rand.Rand)
}

// law is that of the sums of n rows given parameters in scaled units.
type law interface {
	Set(x *model.Params)
	Factor() bool
	Expect(dst []float64, n float64)
	Covariance(dst []float64, n float64)
	RandExact(dst []float64, n float64, rng *rand.Rand)
}

// framedLaw is that of normal rows, whose sums are in a frame.
type framedLaw struct {
	*model.Moments
	units *model.Units
}

func (l framedLaw) Factor() bool {
	l.units.Moments(l.Mean, l.Cov)
	return l.Moments.Factor()
}

// checkBlock is a set of entries, with the factor of their covariance given φ.
type checkBlock struct {
	name    string
	entries []int
	chol    []float64 // of their covariance
	scaled  []float64 // workspace
}

// normalColumn collects the marginal law of a column in scaled units: of each draw one, or one for each level.
type normalColumn struct{ laws []normal }

// normal is the law of a column in a share of the rows.
type normal struct{ share, mean, sd float64 }

func newChecker(obs *model.Observation, of model.Family, most float64) *checker {
	c := &checker{obs: obs, z: obs.Z, noise: obs, params: model.NewParams(obs.Shape), columns: make([]normalColumn, obs.Shape.M())}
	told, dummies, counts := obs.Told, 0, 0
	if told != nil && told.Response == nil {
		dummies, counts = told.Dummies, len(told.Counts)
	}
	levels := model.NewLevelLaw(obs.Shape, dummies, counts, obs.Frame)
	c.inBox = levels
	switch {
	case of != model.Normal:
		c.law, c.columns = model.NewFamilyLaw(of, levels, most), c.columns[:obs.Shape.P]
	case told != nil:
		c.law, c.residual = levels, levels.Residual()
	default:
		rows := model.NewMoments(obs.Shape)
		c.law, c.residual = framedLaw{rows, model.Identity(obs.Shape.M()).In(obs.Frame)}, &rows.Chol[len(rows.Chol)-1]
	}
	c.levels = byLevels{entries: levels.Entries, dummies: dummies, last: obs.Shape.M() - dummies - 1, known: -1, plain: told == nil}
	if told != nil {
		if told.Response != nil { // a factor's of two levels, before the covariates
			c.levels.entries, c.levels.last = model.NewLevelLaw(obs.Shape, 1, len(told.Counts), nil).Entries, -1
			c.law, c.residual = newResponseLaw(obs, c.law), nil
		}
		c.z, c.noise, c.levels.known = told.Z, told, told.Known
	}
	c.blocks = c.levels.blocks()
	q := len(c.z)
	vec := func() []float64 { return make([]float64, q) }
	c.cov, c.rep, c.mean, c.square, c.replicates = make([]float64, q*q), vec(), vec(), vec(), make([][]float64, q)
	return c
}

// given puts the parameters at a draw, a row in the order of model.Shape.Names, followed
// by n where it is latent; false where rounding leaves a matrix indefinite.
func (c *checker) given(row []float64) bool {
	q := len(c.z)
	c.params.Read(row)
	c.n = c.obs.N
	if own := len(c.obs.Shape.Names()); len(row) > own {
		c.n = row[own]
	}
	c.inBox.Set(c.params)
	c.law.Set(c.params)
	if !c.law.Factor() {
		return false
	}
	c.law.Covariance(c.cov, c.n)
	for e := range q {
		c.cov[e*q+e] += c.noise.Variance(e)
	}
	if c.residual != nil { // Σy² has nσ²w
		square := c.n * *c.residual * *c.residual
		c.cov[q*q-1] += c.stray * square * square
	}
	for _, b := range c.blocks {
		n := len(b.entries)
		for i, e := range b.entries {
			for k, g := range b.entries[:i+1] {
				b.chol[i*n+k] = c.cov[max(e, g)*q+min(e, g)]
			}
		}
		if !dense.Cholesky(b.chol, n) {
			return false
		}
	}
	return true
}

// collect adds the law of z given φ to that of z_rep, and the laws of the columns.
func (c *checker) collect() {
	q := len(c.z)
	c.count++
	c.law.Expect(c.rep, c.n)
	for e, mean := range c.rep {
		d := mean - c.z[e]
		c.mean[e] += d
		c.square[e] += d*d + c.cov[e*q+e]
	}
	c.inBox.EachColumn(func(j int, share, mean, sd float64) {
		if j < len(c.columns) { // else it is a family's linear predictor
			c.columns[j].laws = append(c.columns[j].laws, normal{share, mean, sd})
		}
	})
}

// draw draws z given φ and w: statistics from their exact law, and noise.
func (c *checker) draw(z []float64, logW float64, rng *rand.Rand) {
	if c.residual != nil {
		sigma := *c.residual
		defer func() { *c.residual = sigma }()
		*c.residual *= math.Exp(0.5 * logW)
	}
	c.law.RandExact(z, c.n, rng)
	c.noise.AddNoise(z, 1, rng)
}

// discrepancies writes T(z, φ) of entries and then of blocks.
func (c *checker) discrepancies(dst, z []float64) {
	q := len(z)
	c.law.Expect(dst, c.n)
	for e, v := range z {
		dst[e] = v - dst[e]
	}
	for k, b := range c.blocks {
		for i, e := range b.entries {
			b.scaled[i] = dst[e]
		}
		dense.SolveLower(b.chol, len(b.entries), b.scaled)
		dst[q+k] = 0
		for _, u := range b.scaled {
			dst[q+k] += u * u
		}
	}
	for e := range q {
		dst[e] = math.Abs(dst[e]) / math.Sqrt(c.cov[e*q+e])
	}
}

// replicated is the law of an entry of z_rep; mean and sd are not of the replicates
// but by the laws of total expectation and variance.
func (c *checker) replicated(e int) Replicated {
	n, sorted := float64(c.count), c.replicates[e]
	slices.Sort(sorted)
	q := func(p float64) float64 { return posterior.Quantile(sorted, p) }
	d := c.mean[e] / n
	return Replicated{Mean: c.z[e] + d, SD: math.Sqrt(max(c.square[e]/n-d*d, 0)),
		Q2_5: q(0.025), Q25: q(0.25), Q50: q(0.5), Q75: q(0.75), Q97_5: q(0.975)}
}

// outside is the share of the law that lies outside the bounds, averaged over the
// draws.
func (c normalColumn) outside(lower, upper float64) float64 {
	sum, rows := 0.0, 0.0
	for _, of := range c.laws {
		s := math.Sqrt2 * of.sd
		sum += of.share * (math.Erfc((of.mean-lower)/s)/2 + math.Erfc((upper-of.mean)/s)/2)
		rows += of.share
	}
	return sum / rows
}

// checkReplicates is the number of times that releases are replicated from each draw.
const checkReplicates = 4

// checkers replicate the releases of several custodians together.
type checkers struct {
	sites   []*checker
	stray   model.Kurtosis
	at      []int // where the p-values of each begin, and that of all
	skipped int   // draws
}

func newCheckers(custodians []dpreg.Custodian, of model.Family, stray model.Kurtosis) (*checkers, error) {
	c := &checkers{at: []int{0}, stray: stray}
	for j, custodian := range custodians {
		obs, err := model.Observe(custodian.Release)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", custodian.Name, err)
		}
		site := newChecker(obs, of, custodian.Release.Schema.Response.Upper)
		site.stray = stray.Variance()
		c.sites, c.at = append(c.sites, site), append(c.at, c.at[j]+len(site.z)+len(site.blocks))
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
		c.discrepancies(of, func(site *checker) []float64 { return site.z })
		for range checkReplicates {
			c.draw(rng)
			for _, site := range c.sites {
				for e, z := range site.rep {
					site.replicates[e] = append(site.replicates[e], z)
				}
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

// draw draws z of each site, of whose rows w is the same.
func (c *checkers) draw(rng *rand.Rand) {
	logW := c.stray.Rand(rng)
	for _, site := range c.sites {
		site.draw(site.rep, logW, rng)
	}
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
