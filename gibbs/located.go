package gibbs

import "github.com/dpreg/dpreg/model"

// located is hierarchical for a release whose units are not those of the parameters:
// the moments of rows, in common units, are mapped to the release's, in which its
// noise is independent from entry to entry.
type located struct {
	*hierarchical
	units *model.Units
}

func newLocated(s model.Shape, prior *model.Prior, units *model.Units) *located {
	return &located{newHierarchical(s, prior), units}
}

// Set takes the parameters that the other methods speak of.
func (l *located) Set(x *model.Params) {
	l.Moments.Set(x)
	l.units.Moments(l.Mean, l.Cov)
}

// Pullback goes by way of the moments in the release's units, then in common ones.
func (l *located) Pullback(grad []float64, x *model.Params, alpha, w []float64, n float64) {
	clear(l.gMean)
	clear(l.gCov)
	l.Adjoint(l.gMean, l.gCov, alpha, w, n)
	l.units.PullMoments(l.gMean, l.gCov)
	l.Coordinates.Pullback(grad, x, l.gMean, l.gCov)
}
