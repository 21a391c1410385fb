package reference

import (
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg/internal/variate"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
)

// ScaleDraws is the number of draws that a coefficient's prior is averaged over. Its scales come
// from a fixed seed, and from a stream that no chain has.
const (
	ScaleDraws       = 400
	Seed             = 1
	scaleStream      = 1
	quantileAccuracy = 1e-12
)

// SDs returns √V_ikk, sds of θ under a prior given σ² and its free scales: a row for each draw of
// the posterior, of θ and σ² in the prior's units, the scales drawn given these. One row where
// neither tells of θ.
func SDs(prior *model.Prior, draws [][]float64) (sds [][]float64) {
	q := prior.Theta.Dim()
	mixture, rng := model.NewMixture(prior), mcmc.Stream(Seed, scaleStream)
	for _, row := range draws {
		mixture.DrawRegression(row[:q], row[q], false, rng)
		sd := make([]float64, q)
		mixture.ThetaSD(sd, row[q])
		if sds = append(sds, sd); fixedTheta(prior) {
			break
		}
	}
	return sds
}

// PriorSDs is SDs where there is no release: of so many draws of σ² and the free scales from
// their prior.
func PriorSDs(prior *model.Prior, draws int) (sds [][]float64) {
	mixture, rng := model.NewMixture(prior), mcmc.Stream(Seed, scaleStream)
	for range draws {
		mixture.DrawPrior(rng)
		sd := make([]float64, prior.Theta.Dim())
		mixture.ThetaSD(sd, variate.InverseGamma(mixture.Theta.Shape, mixture.Theta.Scale, rng))
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
