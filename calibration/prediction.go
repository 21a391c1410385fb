package calibration

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/ssp"
)

// cirrhosisTrain of the 46 rows are inferred from, the others predicted.
const cirrhosisTrain = 36

// prediction is a trial of real rows: which are predicted is random, and what is
// ranked is each one's response among draws from its predictive law.
type prediction struct {
	fitter
	rows [][2]float64 // (x, y)
}

// Trial implements Subject.
func (r *prediction) Trial(ctx context.Context, data, sampler *rand.Rand) (*Sample, error) {
	order := data.Perm(len(r.rows))
	sums := ssp.NewAccumulator(2)
	frame, row := r.columns.Frame(), make([]float64, 2)
	for _, i := range order[:cirrhosisTrain] {
		frame.Scale(row, r.rows[i][:])
		if err := sums.Add(row); err != nil {
			return nil, err
		}
	}
	fit, err := r.fit(ctx, &summed{statistics: sums.Statistics()}, data, sampler)
	if err != nil {
		return nil, err
	}
	s := &Sample{Capped: r.capped(fit)}
	test := order[cirrhosisTrain:]
	for _, i := range test {
		s.Names, s.Truth = append(s.Names, "prediction"), append(s.Truth, r.rows[i][1])
	}
	s.Draws = fit.Draws(dpreg.Original).Map(s.Names, func(dst, src []float64) {
		for j, i := range test {
			dst[j] = src[0] + src[1]*r.rows[i][0] + math.Sqrt(src[2])*sampler.NormFloat64()
		}
	})
	return s, nil
}
