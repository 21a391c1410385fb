package dpreg_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
)

// interceptPosterior gives mean and sd of θ and of log σ² given z = (nȳ, S + nȳ²) with Laplace
// noise of scale b, by quadrature alone: θ ~ N(0, 1/λ), σ² ~ InvGamma(a, c), ȳ | θ, σ² ~ N(θ, σ²/n),
// S | σ² ~ σ²χ²(n−1), each of which is summed over the midpoints of quantiles.
func interceptPosterior(z [2]float64, n, b, lambda, a, c float64) (mean, sd [2]float64) {
	const nodes, grid = 31, 61
	chi := distuv.ChiSquared{K: n - 1}
	var u, w []float64
	for i := range nodes {
		at := (float64(i) + 0.5) / nodes
		u, w = append(u, distuv.UnitNormal.Quantile(at)), append(w, chi.Quantile(at))
	}
	middle := [2]float64{z[0] / n, math.Log(z[1]/n - z[0]*z[0]/(n*n))}
	reach := [2]float64{0.06, 3}
	var total float64
	var first, second [2]float64
	for i := range grid {
		for j := range grid {
			at := [2]float64{middle[0] + reach[0]*(2*float64(i)/(grid-1)-1), middle[1] + reach[1]*(2*float64(j)/(grid-1)-1)}
			theta, sigma2 := at[0], math.Exp(at[1])
			likelihood := 0.0
			for _, u := range u {
				y := theta + math.Sqrt(sigma2/n)*u
				for _, w := range w {
					likelihood += math.Exp(-(math.Abs(z[0]-n*y) + math.Abs(z[1]-sigma2*w-n*y*y)) / b)
				}
			}
			// of log σ²: the density of σ² times σ²
			weight := likelihood * math.Exp(-lambda*theta*theta/2-a*at[1]-c/sigma2)
			total += weight
			for k, v := range at {
				first[k] += weight * v
				second[k] += weight * v * v
			}
		}
	}
	for k := range mean {
		mean[k] = first[k] / total
		sd[k] = math.Sqrt(second[k]/total - mean[k]*mean[k])
	}
	return mean, sd
}

// The posterior of y ~ 1 is the one that quadrature finds, by every method that is exact.
func TestInterceptAlone(t *testing.T) {
	r := must.Get(readRelease(t, sharp).Select("income ~ 1"))(t)
	const lambda, a, c = 4, 2, 0.05
	prior := &model.Prior{Unscaled: true, Theta: &conjugate.NIG{Mean: []float64{0}, Precision: []float64{lambda}, Shape: a, Scale: c}, Covariates: &conjugate.NIW{Kappa: 1, Dof: 1}}
	n, z := float64(r.N), [2]float64{r.Statistics.SumY, *r.Statistics.SumYY}
	mean, sd := interceptPosterior(z, n, r.Noise.Scale, lambda, a, c)
	methods := []string{"mcmc-exact", "gibbs-ss-update", "mcmc-ind"}
	if testing.Short() {
		methods = methods[:2]
	}
	for _, method := range methods {
		fit := must.Get(dpreg.Infer(t.Context(), dpreg.One(r), dpreg.Options{Method: method, Prior: prior, Plan: mcmc.Plan{Draws: 4000}}))(t)
		draws := fit.StanDraws(dpreg.Scaled)
		at := []int{draws.Index("theta[0]"), draws.Index("sigma2")}
		both := draws.Map([]string{"theta", "log sigma2"}, func(dst, src []float64) { dst[0], dst[1] = src[at[0]], math.Log(src[at[1]]) })
		for k, p := range posterior.Summarise(both, 0.9).Parameters {
			must.Near(t, method+": mean of "+p.Name, p.Mean, mean[k], 4.5*p.MCSEMean) // a false alarm in 150,000
			must.Near(t, method+": sd of "+p.Name, p.SD, sd[k], 0.06*sd[k])
		}
	}
}
