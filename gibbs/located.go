package gibbs

import "github.com/dpreg/dpreg/model"

// located takes the moments of x from normal covariates whose mean and covariance are parameters
// themselves. They are mapped from common units to those of the release, in which its noise is
// independent from entry to entry.
type located struct {
	*model.Moments
	*model.Coordinates
	shape model.Shape
	units *model.Units
}

func newLocated(s model.Shape, prior *model.Prior, units *model.Units) *located {
	return &located{model.NewMoments(s), model.NewCoordinates(s, prior), s, units}
}

func (l *located) params() *model.Params { return model.NewParams(l.shape) }

// Set takes the parameters that the other methods speak of.
func (l *located) Set(x *model.Params) {
	l.Moments.Set(x)
	l.units.Moments(l.Mean, l.Cov)
}
