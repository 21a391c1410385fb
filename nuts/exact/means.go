package exact

import (
	"math"
	"slices"

	"github.com/dpreg/dpreg/model"
)

// means are coordinates c_j of means μ_j of columns whose covariance has the root D,
//
//	μ_j = m_j + c_j u_j,   1/u_j² = 1/e_j² + κ₀/D_jj²,   or 1/e_j² + 1/A_j²:
//
// noise tells μ_j to ± e_j, and the prior, given D, to about D_jj/√κ₀, which is a funnel where
// noise hides D; or whatever that is to A_j.
type means struct {
	known  []float64 // 1/e_j², or 1/e_j² + 1/A_j²
	centre []float64 // m_j
	kappa  float64   // κ₀, or 0

	scale []float64 // u_j at the last set
}

// newMeans allocates for noise 1/e², of the first columns that the prior knows.
func newMeans(noise []float64, prior *model.Prior) *means {
	x := prior.Covariates
	f := &means{known: slices.Clone(noise), centre: x.Mean, kappa: x.Kappa, scale: make([]float64, len(noise))}
	for j, sd := range prior.MeanSD {
		f.known[j] += 1 / (sd * sd)
		f.kappa = 0
	}
	return f
}

// set writes means, given D of so many columns.
func (f *means) set(mean, x, d []float64, columns int) {
	for j, e := range f.known {
		djj := d[j*(columns+1)]
		f.scale[j] = 1 / math.Sqrt(e+f.kappa/(djj*djj))
		mean[j] = f.centre[j] + x[j]*f.scale[j]
	}
}

// coordinates writes those of means.
func (f *means) coordinates(x, mean, d []float64, columns int) {
	for j, e := range f.known {
		djj := d[j*(columns+1)]
		x[j] = (mean[j] - f.centre[j]) * math.Sqrt(e+f.kappa/(djj*djj))
	}
}

// pull writes the gradient of a function of the means and D, given that there, at the x of
// the last set, adds to that in D, and with both that of log|∂μ/∂c|, which it returns.
func (f *means) pull(grad, x, gMean, d, gD []float64, columns int) (logJ float64) {
	for j, u := range f.scale {
		djj := d[j*(columns+1)]
		grad[j] = gMean[j] * u
		gD[j*(columns+1)] += (grad[j]*x[j] + 1) * u * u * f.kappa / (djj * djj * djj)
		logJ += math.Log(u)
	}
	return logJ
}
