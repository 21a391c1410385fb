package dpreg

import (
	"math"
	"slices"

	"github.com/dpreg/dpreg/internal/reference"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
)

// priceDraws is the number of draws that PriceOfPrivacy averages over. The
// expected variance varies little from draw to draw: at a coefficient of
// variation of 1 its root is known to 2.5 %.
const priceDraws = 400

// PriceOfPrivacy returns, for each θ in the data's units and in the order of
// Draws, the posterior sd over the sd expected without noise: 1 where noise cost
// nothing. It is nil where the method has no part for it: non-private has no
// noise, naive no law of the statistics; draws of several releases have one only
// where covariates are shared; and pooled partially, θ has no conjugate posterior.
//
// The law of total variance divides the posterior's,
//
//	Var(θ | z) = E[Var(θ | s) | z] + Var(E[θ | s] | z),
//
// and the ratio is √(Var(θ | z) / E[Var(θ | s) | z]), 1 or more: where estimates leave it below, it is 1. For Var(θ | s) see
// reference.WithoutNoise.Given, and FamilyWithoutNoise; s is put at its expectation nμ_t given a draw of the
// parameters, n the rows of all releases, and the mean is taken over draws. Draws have the population's σ², which
// is that of rows, σ²w, times 1/w: of that the mean is 1 + Var(w) where z tells the rows', see model.Kurtosis.
func (f *Fit) PriceOfPrivacy() []float64 { return slices.Clone(f.price()) }

func (f *Fit) findPrice() []float64 {
	if f.problem.PartialPooling {
		return nil
	}
	without := f.varianceWithoutNoise()
	if without == nil {
		return nil
	}
	draws := f.Draws(Original)
	price := make([]float64, len(without))
	for i, v := range without {
		price[i] = max(1, math.Sqrt(reference.Variance(draws.Column(i))/v))
	}
	return price
}

// varianceWithoutNoise is E[Var(θ | s) | z] in the data's units; nil where there is no law of
// s, or it cannot be computed in float64.
func (f *Fit) varianceWithoutNoise() []float64 {
	shape, x, given := f.shape(), model.NewParams(f.shape()), f.givenSums()
	if given == nil {
		return nil
	}
	if !f.hasCovariates() {
		x = model.NewRegressionParams(shape)
	}
	mean, v := make([]float64, shape.Q()), make([]float64, shape.Q())
	rows := f.apparent.Thin(priceDraws)
	for _, row := range rows {
		f.read(x, row)
		if !given(v, x, f.count(row)) {
			return nil
		}
		for i := range v {
			mean[i] += v[i] / float64(len(rows))
		}
	}
	return mean
}

// givenSums writes Var(θ | s) of the sums that are expected of n rows at x; nil where there is no law
// of s.
func (f *Fit) givenSums() func(dst []float64, x *model.Params, n float64) bool {
	shape := f.shape()
	if f.Family != model.Normal {
		if !f.hasCovariates() {
			return nil
		}
		return reference.NewFamilyWithoutNoise(f.Family, f.Design.Response.Upper, shape, f.Custodians[0].Release.OwnLaw(), f.doubts, f.Prior, f.frame).Variance
	}
	law, err := f.Law()
	if law == nil || err != nil {
		return nil
	}
	s, without, ofW := make([]float64, shape.Statistics()), reference.NewWithoutNoise(shape, f.Prior, f.frame, 0), 1+f.Kurtosis().Variance()
	return func(dst []float64, x *model.Params, n float64) bool {
		law.Set(x)
		law.Expect(s, n)
		x.Sigma2 /= ofW
		return without.Given(dst, x, s, n)
	}
}

// read takes the parameters of a draw, and leaves what it has not.
func (f *Fit) read(x *model.Params, row []float64) {
	switch {
	case f.Family == model.Normal:
		x.Read(row)
	case f.hasCovariates():
		x.ReadLinked(row)
		x.Sigma2 = f.layout().Dispersion(row)
	default:
		if copy(x.Theta, row); !f.problem.PartialPooling { // where θ is no line of any rows: it is no anchor (model.Doubt)
			x.Sigma2 = f.layout().Dispersion(row)
		}
	}
}

// count is the number of rows in a draw, of all releases, latent where it was released
// with noise.
func (f *Fit) count(row []float64) float64 {
	n := float64(f.N)
	if i := f.at(model.Parameter{Kind: model.Rows}); i >= 0 {
		n = row[i]
	}
	for j, c := range f.Custodians {
		if i := f.at(model.Parameter{Kind: model.Rows, Custodian: j + 1}); i >= 0 {
			n += row[i] - float64(c.Release.N)
		}
	}
	return n
}

// The draws of parameters that are not coefficients from their prior, fewer where p³ is large,
// and their stream of random numbers.
const (
	priorDraws      = 10_000
	leastPriorDraws = 400
	priorDrawsWork  = 100_000_000
	priorStream     = 2
)

// findPriorWidths returns the interquartile range w₀ of each parameter's prior, for
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
func (f *Fit) findPriorWidths(u Units) []float64 {
	draws := f.simulatedPrior().Map(f.names(false), f.converter(u, false))
	widths := make([]float64, len(draws.Names))
	for i := f.shape().Q(); i < len(widths); i++ {
		x := draws.Column(i)[0]
		slices.Sort(x)
		widths[i] = posterior.Quantile(x, 0.75) - posterior.Quantile(x, 0.25)
	}
	given := f.coefficientSDs(u)
	for k := range f.shape().Q() {
		widths[k] = 2 * reference.Quantile(0.75, reference.Column(given, k))
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
			widths[at] = 2 * reference.Quantile(0.75, own)
		}
	}
	return widths
}

// coefficientSDs returns √V_ikk in the units: see reference.SDs.
func (f *Fit) coefficientSDs(u Units) [][]float64 {
	convert, width := f.converter(u, false), len(f.names(false))
	rows := f.draws.Thin(reference.ScaleDraws)
	for i, row := range rows {
		rows[i] = make([]float64, width)
		convert(rows[i], row)
	}
	prior := f.Prior
	if u == Original {
		prior = f.original
	}
	return reference.SDs(prior, rows)
}

// drawPrior draws all parameters but θ and its like from their prior, in the order of the
// method's draws.
func (f *Fit) drawPrior() *posterior.Draws {
	shape, rng := f.shape(), mcmc.Stream(reference.Seed, priorStream)
	conditionals, x := model.NewConditionals(shape, f.Prior, f.hasCovariates()), model.NewParams(shape)
	spread, err := f.problem.NewSpread(f.Design)
	width, all, covariates := len(f.draws.Names), make([]float64, len(shape.Names())), f.hasCovariates()
	first := f.at(model.Parameter{Kind: model.Omega, K: shape.First(), L: shape.First()})
	many := min(priorDraws, max(leastPriorDraws, priorDrawsWork/max(1, shape.P*shape.P*shape.P)))
	drawn := make([]float64, many*width)
	for row := range slices.Chunk(drawn, width) {
		conditionals.DrawPrior(x, rng)
		if x.Write(all); f.Family != model.Normal {
			x.WriteLinked(row)
		} else if copy(row, all[:shape.Q()+1]); covariates {
			copy(row, all)
		}
		if err != nil || !f.problem.PartialPooling {
			continue
		}
		spread.DrawPrior(make([]float64, spread.Dim()), rng)
		at := first + spread.Write(row[first:])
		if f.Family == model.Normal {
			sigma := math.Sqrt(x.Sigma2) * math.Exp(row[at-1]*rng.NormFloat64())
			for range f.Custodians {
				at += shape.Q() + 1
				row[at-1] = sigma
			}
		}
	}
	return &posterior.Draws{Names: f.draws.Names, Chains: [][]float64{drawn}}
}
