package modeltest

import (
	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/model"
)

// TamePrior is of the default prior's family, with tails that simulated truths can have: θ
// is not scaled by σ and has sds of 1; σ, and every sd of x, has a free scale and is half-t, of
// 12 degrees of freedom and scale 0.3 or 0.4; the mean of x weighs two rows. Truths from the
// default prior itself lie many boxes apart, as no columns do.
func TamePrior(s model.Shape) *model.Prior {
	prior := model.DefaultPrior(s)
	clear(prior.Theta.Precision)
	for k := range s.Q() {
		prior.Theta.Precision[k*s.Q()+k] = 1
	}
	prior.Theta.Shape, prior.Theta.Scale = 6, 12
	prior.Covariates.Dof = float64(s.P + 11)
	for j := range s.P {
		prior.Covariates.Scale[j*s.P+j], prior.MeanSD[j] = 24, 0.4
	}
	for i := range prior.Scales {
		prior.Scales[i].SD = 0.4
		if prior.Scales[i].Sigma {
			prior.Scales[i].SD = 0.3
		}
	}
	return prior
}

// SharedSpread is a prior of two slopes and an intercept whose slopes share a free scale.
func SharedSpread(s model.Shape) *model.Prior {
	p := model.DefaultPrior(s)
	p.Scales = append(p.Scales, model.Scale{SD: 1, Coefficients: []int{1, 2}, Precision: []float64{2, 0.5, 0.5, 1}})
	for r := range 2 {
		for c := range 2 {
			p.Theta.Precision[(r+1)*s.Q()+c+1] = p.Scales[len(p.Scales)-1].Precision[2*r+c]
		}
	}
	return p
}

// ScaledBySigma is a conjugate one.
func ScaledBySigma(s model.Shape) *model.Prior {
	p := model.DefaultPrior(s)
	p.Unscaled, p.Scales = false, nil
	p.Theta, _ = conjugate.NewNIG(make([]float64, 3), []float64{2, 0.3, 0, 0.3, 1, 0, 0, 0, 4}, 3, 0.1)
	return p
}
