package modeltest

import (
	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/model"
)

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
