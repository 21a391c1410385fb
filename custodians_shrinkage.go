package dpreg

import "github.com/dpreg/dpreg/model"
import "github.com/dpreg/dpreg/internal/reference"

// Shrinkage returns, for each coefficient and of partial pooling, the share of the
// difference between custodians that their posterior means have lost (Gelman & Pardoe
// 2006, Technometrics 48, the pooling factor of a batch):
//
//	λ_k = 1 − Var_j(E[θ_jk − θ_k]) / E[Var_j(θ_jk − θ_k)],
//
// near 0 where each has its own, near 1 where all have one. It is nil without partial
// pooling.
func (f *Fit) Shrinkage(u Units) []float64 {
	if !f.partial {
		return nil
	}
	draws, q, sites := f.Draws(u), f.shape().Q(), len(f.Custodians)
	width, at := len(draws.Names), draws.Index(model.Parameter{Kind: model.ThetaAt, Custodian: 1, K: f.shape().First()}.Name())
	shrinkage := make([]float64, q)
	means, diff := make([]float64, sites), make([]float64, sites)
	for k := range q {
		clear(means)
		within, count := 0.0, 0.0
		for _, chain := range draws.Chains {
			for row := 0; row < len(chain); row += width {
				for j := range diff {
					diff[j] = chain[row+at+j*(q+1)+k] - chain[row+k]
					means[j] += diff[j]
				}
				within += reference.Variance([][]float64{diff})
				count++
			}
		}
		for j := range means {
			means[j] /= count
		}
		shrinkage[k] = 1 - reference.Variance([][]float64{means})/(within/count)
	}
	return shrinkage
}
