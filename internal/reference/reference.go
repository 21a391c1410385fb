// Package reference has the laws that a posterior is compared with: that of the same rows
// without noise, and that of the prior without a release.
package reference

import (
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/variate"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/schema"
)

// WithoutNoise has Var(θ | s), of statistics s without noise, in the data's units. For a
// conjugate prior it is in closed form. Else given σ² and the free scales a
//
//	θ | s, σ², a ~ N(m, P⁻¹),   P = Λ₀(a) + XX/σ² or (Λ₀(a) + XX)/σ²,
//	Var(θ | s) = E[P⁻¹ | s] + Var(m | s),
//
// and neither expectation is: with n not far above q, P⁻¹ at the mean of σ² is too narrow, and
// where the prior holds a direction, m moves with σ². It is the variance within a run of Gibbs
// sweeps of (a, θ, σ²) given s (model.Conditionals), which starts at parameters φ that s is
// expected of: these lie in the bulk of p(φ | s), and the first sweeps are left out. A sweep
// knows of the last one by σ² and a alone, on which m depends where prior and rows disagree;
// so sweeps are nearly independent. The variance of k sweeps has k − 1 degrees of freedom.
type WithoutNoise struct {
	prior *model.Prior
	frame schema.Frame
	runs  *model.Conditionals
	at    *model.Params
	rng   *rand.Rand
	kept  int // sweeps

	mixture *model.Mixture
	sums    *model.Sums
	sampler *conjugate.NIGSampler
	given   *conjugate.NIG
}

// idleSweeps are left out of a run.
const idleSweeps = 3

// NewWithoutNoise prepares it; of a prior that is not conjugate by so many sweeps.
func NewWithoutNoise(shape model.Shape, prior *model.Prior, frame schema.Frame, sweeps int) *WithoutNoise {
	return &WithoutNoise{prior: prior, frame: frame, kept: sweeps, rng: mcmc.Stream(0, 0), mixture: model.NewMixture(prior),
		runs: model.NewConditionals(shape, prior, false), at: model.NewRegressionParams(shape),
		sums: model.NewSums(shape), sampler: conjugate.NewNIGSampler(shape.Q()), given: prior.Theta.Clone()}
}

// Variance writes the diagonal of Var(θ | s), s of n rows and expected at x, into dst. It
// reports false where rounding leaves a matrix indefinite.
func (g *WithoutNoise) Variance(dst []float64, x *model.Params, s []float64, n float64) bool {
	if !g.prior.Conjugate() {
		return g.sampled(dst, x, s, n)
	}
	g.sums.Set(s, n)
	if !g.sampler.Update(g.given, g.prior.Theta, g.sums.XX, g.sums.XY, g.sums.YY, n) {
		return false
	}
	a, c := g.frame.ThetaMatrix()
	original, err := g.given.Affine(a, c, g.frame.Half[len(g.frame.Half)-1])
	if err != nil {
		return false
	}
	original.VarTheta(dst)
	return true
}

func (g *WithoutNoise) sampled(dst []float64, x *model.Params, s []float64, n float64) bool {
	q := len(x.Theta)
	copy(g.at.Theta, x.Theta)
	g.at.Sigma2 = x.Sigma2
	theta, chains := make([]float64, q), make([][]float64, q)
	for i := range idleSweeps + g.kept {
		if !g.runs.Draw(g.at, s, n, g.rng) {
			return false
		}
		if g.frame.ThetaToOriginal(theta, g.at.Theta); i >= idleSweeps {
			for k, v := range theta {
				chains[k] = append(chains[k], v)
			}
		}
	}
	for k, chain := range chains {
		dst[k] = Variance([][]float64{chain})
	}
	return true
}

// Given writes the diagonal of P⁻¹ into dst: σ² is that of x, and a is drawn given x. Where x are draws given noisy sums,
// its mean over these is that of Var(θ | s), but for Var(m | s) of its own. The mean of Variance at the sums that are expected
// of each x would count twice what s leaves open of σ²: x was drawn of it, and sweeps draw it again.
func (g *WithoutNoise) Given(dst []float64, x *model.Params, s []float64, n float64) bool {
	g.sums.Set(s, n)
	g.mixture.DrawRegression(x.Theta, x.Sigma2, false, g.rng)
	c := g.prior.Factor(x.Sigma2)
	told := make([]float64, len(g.sums.XX))
	for i, v := range g.mixture.Theta.Precision {
		told[i] = v/c + g.sums.XX[i]/x.Sigma2
	}
	linear, _ := g.frame.ThetaMatrix()
	return variances(dst, told, linear)
}

// variances writes the diagonal of AP⁻¹Aᵀ into dst, and P's Cholesky factor over P. It reports false where P is indefinite.
func variances(dst, p, a []float64) bool {
	q := len(dst)
	if !dense.Cholesky(p, q) {
		return false
	}
	row := make([]float64, q)
	for k := range dst { // |L⁻¹a|², a row k of A
		copy(row, a[k*q:(k+1)*q])
		dense.SolveLower(p, q, row)
		dst[k] = floats.Dot(row, row)
	}
	return true
}

// Variance is that of all chains' draws together.
func Variance(chains [][]float64) float64 {
	mean, squares, n := 0.0, 0.0, 0.0
	for _, chain := range chains {
		for _, v := range chain { // Welford
			n++
			d := v - mean
			mean += d / n
			squares += d * (v - mean)
		}
	}
	return squares / (n - 1)
}

// ScaleDraws is the number of draws that a coefficient's prior is averaged over. Its scales come
// from a fixed seed, and from a stream that no chain has.
const (
	ScaleDraws       = 400
	Seed             = 1
	scaleStream      = 1
	quantileAccuracy = 1e-6
)

// SDs returns √V_ikk, sds of θ under a prior given σ² and its free scales: a row for each draw of
// the posterior, of θ and, where there is one, σ² in the prior's units, the scales drawn given these. One row where
// neither tells of θ.
func SDs(prior *model.Prior, draws [][]float64) (sds [][]float64) {
	q := prior.Theta.Dim()
	return manySDs(prior, len(draws), func(i int, m *model.Mixture, rng *rand.Rand) (sigma2 float64) {
		sigma2 = 1
		if !prior.Linked {
			sigma2 = draws[i][q]
		}
		m.DrawRegression(draws[i][:q], sigma2, false, rng)
		return sigma2
	})
}

// PriorSDs is SDs where there is no release: of so many draws of σ² and the free scales from
// their prior.
func PriorSDs(prior *model.Prior, draws int) (sds [][]float64) {
	return manySDs(prior, draws, func(_ int, m *model.Mixture, rng *rand.Rand) (sigma2 float64) {
		m.DrawPrior(rng)
		return variate.InverseGamma(m.Theta.Shape, m.Theta.Scale, rng)
	})
}

// manySDs draws scales and σ² n times, once where θ is normal whatever they are.
func manySDs(prior *model.Prior, n int, draw func(i int, m *model.Mixture, rng *rand.Rand) (sigma2 float64)) (sds [][]float64) {
	if prior.Unscaled && !slices.ContainsFunc(prior.Scales, func(s model.Scale) bool { return len(s.Coefficients) > 0 }) {
		n = min(n, 1)
	}
	mixture, rng := model.NewMixture(prior), mcmc.Stream(Seed, scaleStream)
	for i := range n {
		sd := make([]float64, prior.Theta.Dim())
		mixture.ThetaSD(sd, draw(i, mixture, rng))
		sds = append(sds, sd)
	}
	return sds
}

// Column is column k of a matrix.
func Column(rows [][]float64, k int) []float64 {
	x := make([]float64, len(rows))
	for i, row := range rows {
		x[i] = row[k]
	}
	return x
}

// Quantile returns the quantile at p ≥ ½ of the mean of normal laws about 0, by
// bisection between those of the narrowest and the widest.
func Quantile(p float64, sds []float64) float64 {
	z := distuv.UnitNormal.Quantile(p)
	low, high := z*slices.Min(sds), z*slices.Max(sds)
	for high-low > quantileAccuracy*high {
		x, below := 0.5*(low+high), 0.0
		for _, sd := range sds {
			below += distuv.UnitNormal.CDF(x/sd) / float64(len(sds))
		}
		if below < p {
			low = x
		} else {
			high = x
		}
	}
	return high
}
