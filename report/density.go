package report

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
	"gonum.org/v1/plot/plotter"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
)

// The points of a curve of density, the part of the draws that lie beyond either side
// of its core, and its reach beyond that, in lengths of the core; the kernel's reach, in
// bandwidths; the bins of a bandwidth, and the least bandwidth's part of an sd.
const (
	densityPoints = 160
	beyondCore    = 0.01
	coreReach     = 0.25
	kernelReach   = 5
	densityBins   = 8
	leastSpread   = 0.01
)

// density estimates the density that a parameter's draws come from, on their range, with a normal kernel of Silverman's (1986, eq. 3.31) bandwidth
//
//	h = 0.9 min(sd, IQR/1.34) N^(-1/5),   N the effective number of draws.
//
// Draws are binned first, h/8 wide, which adds a part in 768 to the kernel's
// variance. Of a positive parameter the kernel is folded at 0.
func density(p *posterior.Parameter, chains [][]float64) plotter.XYs {
	h := bandwidth(p, chains)
	low, high := densityRange(p, chains)
	first, width := low-kernelReach*h, h/densityBins
	bins := make([]float64, int((high-low+2*kernelReach*h)/width)+1)
	total := 0.0
	for _, chain := range chains {
		total += float64(len(chain))
		for _, x := range chain {
			if i := math.Floor((x - first) / width); i >= 0 && i < float64(len(bins)) {
				bins[int(i)]++
			}
			if i := math.Floor((-x - first) / width); isPositive(p) && i >= 0 && i < float64(len(bins)) {
				bins[int(i)]++
			}
		}
	}
	points := make(plotter.XYs, densityPoints+1)
	for i := range points {
		x := low + (high-low)*float64(i)/densityPoints
		points[i].X = x
		at := int((x - first) / width)
		for k := max(0, at-kernelReach*densityBins); k < min(len(bins), at+kernelReach*densityBins); k++ {
			u := (x-first)/h - (float64(k)+0.5)/densityBins
			points[i].Y += bins[k] * math.Exp(-u*u/2)
		}
		points[i].Y /= total * h * math.Sqrt(2*math.Pi)
	}
	return points
}

// densityRange holds the bulk of draws, however heavy their tails: ± 3.5 sds of normal
// ones.
func densityRange(p *posterior.Parameter, chains [][]float64) (low, high float64) {
	all := together(chains, 1)
	slices.Sort(all)
	low, high = stat.Quantile(beyondCore, stat.Empirical, all, nil), stat.Quantile(1-beyondCore, stat.Empirical, all, nil)
	reach := coreReach * (high - low)
	low, high = min(low-reach, p.Mean-p.SD), max(high+reach, p.Mean+p.SD)
	if isPositive(p) {
		low = max(low, 0)
	}
	return low, high
}

func bandwidth(p *posterior.Parameter, chains [][]float64) float64 {
	spread := max(min(p.SD, (p.Q75-p.Q25)/1.34), leastSpread*p.SD)
	size := p.ESSBulk
	if !(size > 1) {
		size = float64(len(chains) * len(chains[0]))
	}
	return 0.9 * spread * math.Pow(size, -0.2)
}

// isPositive tells a parameter that cannot be negative.
func isPositive(p *posterior.Parameter) bool { return p.Name == "sigma" }

// The number of laws that a density of σ is averaged over, and of θ, whose laws are alike.
const priorDraws, thetaDraws = 10_000, 1000

// priorDensities returns the marginal prior densities of a fit's θ, σ² and σ, in the
// order of Draws, in the units: the means of those given free scales a, and for θ given σ², of
// draws a_i of the prior and σ_i² at quantiles of InvGamma(a₀, b₀(a_i)),
//
//	p(θ_k) = Σ_i N(θ_k; μ₀k, V_ikk)/I,   p(σ²) = Σ_i InvGamma(σ²; a₀, b₀(a_i))/I,   p(σ) = 2σ p(σ²).
//
// It is nil where the prior cannot be stated in the units in float64.
func priorDensities(f *dpreg.Fit, u dpreg.Units) []func(float64) float64 {
	prior := f.Prior
	if u == dpreg.Original {
		var err error
		if prior, err = f.Prior.Original(f.Frame()); err != nil {
			return nil
		}
	}
	mixture, rng := model.NewMixture(prior), mcmc.Stream(0, 0)
	shape := prior.Theta.Shape
	gamma := distuv.Gamma{Alpha: shape, Beta: 1}
	sds, scales := make([][]float64, thetaDraws), make([]float64, priorDraws)
	for i := range scales {
		mixture.DrawPrior(rng)
		scales[i] = mixture.Theta.Scale
		if i < thetaDraws {
			sds[i] = make([]float64, prior.Theta.Dim())
			mixture.ThetaSD(sds[i], scales[i]/gamma.Quantile((float64(i)+0.5)/thetaDraws))
		}
	}
	var densities []func(float64) float64
	for k, mean := range prior.Theta.Mean {
		densities = append(densities, func(x float64) (p float64) {
			for _, sd := range sds {
				p += distuv.Normal{Mu: mean, Sigma: sd[k]}.Prob(x) / thetaDraws
			}
			return p
		})
	}
	norm, _ := math.Lgamma(shape)
	sigma2 := func(v float64) (p float64) {
		for _, b := range scales {
			p += math.Exp(shape*math.Log(b/v)-b/v-norm) / v / priorDraws
		}
		return p
	}
	return append(densities, sigma2, func(s float64) float64 {
		if s <= 0 {
			return 0
		}
		return 2 * s * sigma2(s*s)
	})
}
