package dpreg

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
)

// The draws that a coefficient's prior is averaged over; those of the other parameters'
// priors, fewer where p³ is large; and the streams of random numbers of both.
const (
	scaleDraws       = 400
	priorDraws       = 10_000
	leastPriorDraws  = 400
	priorDrawsWork   = 100_000_000
	scaleStream      = 1
	priorStream      = 2
	contractionSeed  = 1
	quantileAccuracy = 1e-12
)

// priorWidths returns the interquartile range w₀ of each parameter's prior, for
// posterior.Parameter.Contract: in the order of Draws, 0 of what has a flat prior.
//
// Contraction is to be high only where the release made the posterior narrow, and not σ or a
// free scale a, of which the prior of θ depends. So a coefficient's prior is the one given these,
// averaged over their posterior,
//
//	θ_k ~ Σ_i N(μ₀k, V_ikk)/I,   V_i = Λ₀(a_i)⁻¹, or σ_i²Λ₀(a_i)⁻¹;
//
// of a custodian's coefficient V_i + Ω, Ω from its prior. All other parameters have their
// marginal prior, by draws from a fixed seed: an interquartile range is known to 1 % of itself, to 3 % of a heavy tail.
func (f *Fit) priorWidths(u Units) []float64 {
	draws := f.simulatedPrior().Map(f.names(false), f.converter(u, false))
	widths := make([]float64, len(draws.Names))
	for i := range widths {
		x := draws.Column(i)[0]
		slices.Sort(x)
		widths[i] = posterior.Quantile(x, 0.75) - posterior.Quantile(x, 0.25)
	}
	given := f.coefficientSDs(u)
	for k := range f.shape().Q() {
		widths[k] = 2 * mixtureQuantile(0.75, column(given, k))
		for j := range f.Custodians {
			at := draws.Index(model.Parameter{Kind: model.ThetaAt, Custodian: j + 1, K: k + f.shape().First()}.Name())
			if at < 0 {
				break
			}
			spread := draws.Column(draws.Index(model.Parameter{Kind: model.RootOmega, K: k + f.shape().First()}.Name()))[0]
			own := make([]float64, len(spread))
			for i, tau := range spread {
				own[i] = math.Hypot(tau, given[i%len(given)][k])
			}
			widths[at] = 2 * mixtureQuantile(0.75, own)
		}
	}
	return widths
}

// coefficientSDs returns √V_ikk in the units: sds of θ, a row for each of some draws of σ² and
// the free scales given the posterior's φ. One row where neither tells of θ.
func (f *Fit) coefficientSDs(u Units) (sds [][]float64) {
	prior, q := f.priorIn(u), f.shape().Q()
	mixture, rng := model.NewMixture(prior), mcmc.Stream(contractionSeed, scaleStream)
	convert, theta := f.converter(u, false), make([]float64, len(f.names(false)))
	for _, row := range f.thinned(scaleDraws) {
		convert(theta, row)
		mixture.DrawRegression(theta[:q], theta[q], false, rng)
		sd := make([]float64, q)
		mixture.ThetaSD(sd, theta[q])
		if sds = append(sds, sd); fixedTheta(prior) {
			break
		}
	}
	return sds
}

// fixedTheta tells whether θ is normal, whatever σ and the free scales.
func fixedTheta(prior *model.Prior) bool {
	return prior.Unscaled && !slices.ContainsFunc(prior.Scales, func(s model.Scale) bool { return len(s.Coefficients) > 0 })
}

func column(rows [][]float64, k int) []float64 {
	x := make([]float64, len(rows))
	for i, row := range rows {
		x[i] = row[k]
	}
	return x
}

// mixtureQuantile returns the quantile at p ≥ ½ of the mean of normal laws about 0, by
// bisection between those of the narrowest and the widest.
func mixtureQuantile(p float64, sds []float64) float64 {
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

// drawPrior draws all parameters but θ and its like from their prior, in the order of the
// method's draws.
func (f *Fit) drawPrior() *posterior.Draws {
	shape, rng := f.shape(), mcmc.Stream(contractionSeed, priorStream)
	conditionals, x := model.NewConditionals(shape, f.Prior, f.hasCovariates()), model.NewParams(shape)
	spread := model.NewSpread(shape.Q())
	phi := make([]float64, spread.Dim())
	width, all := len(f.draws.Names), make([]float64, len(shape.Names()))
	draws := &posterior.Draws{Names: f.draws.Names, Chains: make([][]float64, 1)}
	for range min(priorDraws, max(leastPriorDraws, priorDrawsWork/(shape.P*shape.P*shape.P))) {
		row := make([]float64, width)
		conditionals.DrawPrior(x, rng)
		x.Write(all)
		if copy(row, all[:shape.Q()+1]); f.hasCovariates() {
			copy(row, all)
		}
		if f.partial {
			spread.DrawPrior(phi, rng)
			at := f.at(model.Parameter{Kind: model.Omega, K: shape.First(), L: shape.First()})
			at += spread.Write(row[at:])
			sigma := math.Sqrt(x.Sigma2) * math.Exp(row[at-1]*rng.NormFloat64())
			for range f.Custodians {
				at += shape.Q() + 1
				row[at-1] = sigma
			}
		}
		draws.Chains[0] = append(draws.Chains[0], row...)
	}
	return draws
}
