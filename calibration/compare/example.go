package compare

import (
	"errors"
	"slices"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
	"github.com/dpreg/dpreg/vi"
)

// example is the data of one trial: what methods infer from, and what they are judged by.
// Rows are m values each, in scaled units.
type example struct {
	columns    *schema.Design
	shape      model.Shape
	prior      *model.Prior
	rows       []float64
	statistics *ssp.Statistics
	clamped    float64

	truth []float64      // θ of simulated rows
	test  []float64      // rows to predict, of a table
	exact *conjugate.NIG // the posterior of (θ, σ²) given the rows
}

// infer finds the posterior given the rows.
func (e *example) infer() error {
	sums, n := model.NewSums(e.shape), float64(e.statistics.N)
	sums.Set(e.statistics.Vector(), n)
	e.exact = e.prior.Theta.Clone()
	if !conjugate.NewNIGSampler(e.shape.Q()).Update(e.exact, e.prior.Theta, sums.XX, sums.XY, sums.YY, n) {
		return errors.New("the posterior without privacy is not proper in float64: columns are collinear")
	}
	return nil
}

// moments are those that a release for gibbs-ss-noisy holds besides, of clamped rows.
func (e *example) moments() (*ssp.Moments, error) {
	a, inside := ssp.NewMomentAccumulator(e.shape.P), make([]float64, e.shape.M())
	for row := range slices.Chunk(e.rows, e.shape.M()) {
		for j, v := range row {
			inside[j] = min(1, max(-1, v))
		}
		if err := a.Add(inside); err != nil {
			return nil, err
		}
	}
	return a.Moments(), nil
}

// regression is rows of the design matrix and responses.
func (e *example) regression(rows []float64) *vi.Rows {
	r := &vi.Rows{P: e.shape.Q()}
	for row := range slices.Chunk(rows, e.shape.M()) {
		if e.shape.Intercept {
			r.X = append(r.X, 1)
		}
		r.X = append(r.X, row[:e.shape.P]...)
		r.Y = append(r.Y, row[e.shape.P])
	}
	return r
}
