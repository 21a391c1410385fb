package plan

import (
	"fmt"
	"math"
)

// average averages over the releases of a point.
func (s *simulation) average(point int) []SlopeForecast {
	slopes := make([]SlopeForecast, len(s.forecast.Alone))
	for j := range slopes {
		pick := func(of func(told) float64) []float64 {
			x := make([]float64, len(s.results[point]))
			for k, r := range s.results[point] {
				x[k] = of(r[j])
			}
			return x
		}
		a := &slopes[j]
		a.Width, a.WidthError = meanError(pick(func(t told) float64 { return t.width }))
		a.Detected, a.DetectedError = meanError(pick(func(t told) float64 { return t.detected }))
		a.Contraction, a.ContractionError = meanError(pick(func(t told) float64 { return t.contraction }))
		sd, without := pick(func(t told) float64 { return t.sd }), pick(func(t told) float64 { return t.noiseless })
		a.SD, _ = meanError(sd)
		a.NoiselessSD, _ = meanError(without)
		a.Price, a.PriceError = ratioError(sd, without)
	}
	return slopes
}

// meanError returns the mean and its standard error, NaN for one number.
func meanError(x []float64) (mean, err float64) {
	n := float64(len(x))
	for _, v := range x {
		mean += v / n
	}
	for _, v := range x {
		err += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(err / (n - 1) / n)
}

// ratioError returns mean(x)/mean(y) for pairs, and its standard error by the
// delta method: that of the mean of x − ratio·y, over mean(y).
func ratioError(x, y []float64) (ratio, err float64) {
	mx, _ := meanError(x)
	my, _ := meanError(y)
	ratio = mx / my
	rest := make([]float64, len(x))
	for i := range x {
		rest[i] = x[i] - ratio*y[i]
	}
	_, err = meanError(rest)
	return ratio, err / my
}

func (s *simulation) warnings() []string {
	total := len(s.forecast.Points) * s.forecast.Releases
	if n := s.uneasy.Load(); float64(n) > uneasyShare*float64(total) {
		return []string{fmt.Sprintf("%d of %d short chains mixed slowly (R-hat above %v): widths may be off by more than their Monte Carlo error", n, total, uneasyRHat)}
	}
	return nil
}
