package release

import (
	"strings"
	"testing"
)

// Sums may be those of n rows and noise, or lie a little outside; those of a mistyped n, or of a typing error, are refused.
func TestReach(t *testing.T) {
	made := func(change func(*Release)) *Release {
		r := example()
		r.N = 1000
		change(r)
		return r
	}
	for want, r := range map[string]*Release{
		"":                                 made(func(r *Release) { r.Statistics.SumX[0] = 10*1000 + 199*r.Noise.SD() }),
		`statistics: the sum of "y" is -1`: made(func(r *Release) { r.Statistics.SumY = -1e7 }),
		`"y" × "y" is -`:                   made(func(r *Release) { *r.Statistics.SumYY = -201 * r.Noise.SD() }),
		"which n = 1 rows":                 made(func(r *Release) { r.N, r.Statistics.SumX[0] = 1, 11+200*r.Noise.SD() }),
		"levels.counts[1]: the sum of rows is -": made(func(r *Release) {
			r.Levels = &Levels{Factor: r.Schema.Covariates[0].Name, Counts: []float64{1000, -201 * r.Noise.SD()}, Sums: [][]float64{{0}, {0}}}
		}),
	} {
		if err := r.CheckReach(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q wanted, %v", want, err)
		}
	}
}
