package exact

import (
	"math"

	"github.com/dpreg/dpreg/model"
)

// view is what a part of the density sees: the statistics in its units, and its gradient there.
type view struct {
	*statistics
	units        *model.Units // from those of the coordinates; nil where they are the same
	gMean, gD, e []float64    // in v̄, in D, and in W as addNoise has it
}

func newView(own *statistics, units *model.Units) *view {
	m := own.m
	v := &view{own, units, vec(m), vec(m * m), vec(m * m)}
	if units != nil {
		v.statistics = newStatistics(m)
	}
	return v
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

// clear makes the gradient 0.
func (v *view) clear() {
	clear(v.gMean)
	clear(v.gD)
	clear(v.e)
}

// toOwn takes the gradient in v̄ and D to own units.
func (v *view) toOwn() {
	if v.units != nil {
		v.units.PullMean(v.gMean)
		v.units.PullFactor(v.gD)
	}
}

// addNoise returns log p(z | s), adds its gradient in v̄ to gMean and that in W, with
// d log p = Σ_ij E_ij dW_ij, to the lower triangle of e, and returns its derivative in n at
// fixed v̄ and D.
func (v *view) addNoise(noise *model.Noise) (logp, byN float64) {
	v.vector()
	return noise.LogDensity(v.slope, v.s), v.pullNoise()
}

// pullNoise is addNoise but for the density, of the slope in s that stands there.
func (v *view) pullNoise() (byN float64) {
	m, at, gMean := v.m, v.m, v.gMean
	for j, u := range v.mean {
		g := v.slope[j]
		gMean[j] += v.n * g
		byN += g * u
		for l := j; l < m; l++ {
			g := v.slope[at]
			byN += g * v.s[at] / v.n
			g *= v.n
			gMean[j] += g * v.mean[l]
			gMean[l] += g * u
			if l > j {
				g *= 0.5
			}
			v.e[l*m+j] += g
			at++
		}
	}
	return byN
}

// knowSquare takes off what addNoise has of Σy² beside n, which it is.
func (v *view) knowSquare() {
	p, g := v.m-1, v.n*v.slope[len(v.slope)-1]
	v.gMean[p] -= 2 * g * v.mean[p]
	v.e[p*v.m+p] -= g
}

// add adds to a gradient in own units that of another view, in v̄ and D.
func (v *view) add(other *view) {
	other.toOwn()
	addScaled(v.gD, 1, other.gD)
	addScaled(v.gMean, 1, other.gMean)
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
