package exact

import (
	"math"

	"github.com/dpreg/dpreg/model"
)

// view is what a part of the density sees: the statistics in its units.
type view struct {
	*statistics
	units *model.Units // from those of the coordinates; nil where they are the same, and so are the statistics
}

func newView(own *statistics, units *model.Units) *view {
	if units == nil {
		return &view{own, nil}
	}
	return &view{newStatistics(own.m), units}
}

// see takes v̄ and D in own units, those of the coordinates, and computes W.
func (v *view) see(own *statistics) {
	v.take(own)
	v.spread()
}

// take is see without W.
func (v *view) take(own *statistics) {
	if v.units != nil {
		v.n = own.n
		copy(v.mean, own.mean)
		copy(v.d, own.d)
		v.units.Mean(v.mean)
		v.units.Factor(v.d)
	}
}

// give adds the gradient in v̄ and D to that in own units, and spends it.
func (v *view) give(own *statistics) {
	if v.units != nil {
		v.units.PullMean(v.gMean)
		v.units.PullFactor(v.gD)
		addScaled(own.gD, 1, v.gD)
		addScaled(own.gMean, 1, v.gMean)
	}
}

// byColumns returns the site of a frame in units whose columns are those of data, and the map from
// these to the frame's. Of W = AD_x a variance of a column that noise hides is what rows of A⁻¹ leave
// of one another, and goes to 0 along a curve; here it is a coordinate. Noise of W_ij is about r
// everywhere in the frame, so that of the square of column i is r|A⁻¹_i|²: columns are divided by
// |A⁻¹_i|, and it is r.
func byColumns(site *model.Site) (*model.Site, *model.Units) {
	obs := *site.Observation
	m := obs.Shape.M()
	toCommon := site.Units.Inverse()
	fromCommon, shift, toFrame := vec(m*m), vec(m), vec(m*m)
	for j := range m {
		row, b := toCommon.Row(j)
		length := math.Sqrt(dot(row, row))
		fromCommon[j*m+j], shift[j] = 1/length, -b/length
		for i := j; i < m; i++ {
			row, _ := site.Units.Row(i)
			toFrame[i*m+j] = row[j] * length
		}
	}
	units := model.NewUnits(toFrame, vec(m))
	obs.Z = vec(len(obs.Z))
	units.Common(obs.Z, site.Observation.Z, rowsTold(&obs))
	return &model.Site{Observation: &obs, Units: model.NewUnits(fromCommon, shift)}, units
}
