package plan

import (
	"math"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/variate"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/ssp"
)

// levelCrowd is a crowd of the columns behind a factor's, of which row i is in level l by the weight w_il. With π_l
// the share of a level, and c_l the covariance of being in it with the columns, of mean v̄ and covariance S,
//
//	w_il = π_l + c_lᵀ S⁻¹(v_i − v̄),   Σ_l w_il = 1,
//
// which gives each level the rows and the sums that it has.
type levelCrowd struct {
	*crowd
	weights [][]float64 // a row a level
}

// newLevelCrowd is of n rows with sums, in canonical order, of m columns of which the first k are the factor's, or
// none: there is one level then.
func newLevelCrowd(sums []float64, m, k int, n float64, standard []float64) (*levelCrowd, error) {
	d := m - k
	others := make([]float64, release.Length(d))
	for j := range d {
		others[j] = sums[k+j]
		for h := j; h < d; h++ {
			others[release.Index(d, j, h)] = sums[release.Index(m, k+j, k+h)]
		}
	}
	c, err := newCrowd(others, d, n, standard)
	if err != nil {
		return nil, err
	}
	_, chol := meanChol(others, d, n)
	out := &levelCrowd{c, make([][]float64, k+1)}
	rows := len(standard) / d
	for l := range out.weights {
		out.weights[l] = make([]float64, rows)
	}
	for i := range rows {
		out.weights[0][i] = 1
	}
	along := make([]float64, d)
	for l := range k {
		mean := sums[l] / n
		for j := range d {
			along[j] = 0.5 * (sums[release.Index(m, l, k+j)]/n - mean*others[j]/n)
		}
		dense.SolveLower(chol, d, along) // L⁻¹c_l, and v_i − v̄ is L by the standard row
		for i := range rows {
			w := 0.5 * (1 + mean)
			for j, z := range standard[i*d : (i+1)*d] {
				w += along[j] * z
			}
			out.weights[l+1][i] = w
			out.weights[0][i] -= w
		}
	}
	return out, nil
}

// levelLook takes the look of step t by levels: counts, sums within them and products, as release.TakeLevels takes them.
func (l *looker) levelLook(t int, f *release.Frame, weights [][]float64) (look release.Look, own *release.LevelNoise, measured []float64, err error) {
	noise := func(f *release.Frame) (noise release.Noise, err error) {
		noise, own, err = l.budget.LevelNoise(l.m, f, l.plan.Looks[t])
		return noise, err
	}
	u, err := l.within(&look, t, f, noise)
	if err != nil {
		return look, nil, nil, err
	}
	look.Frame.Weight = look.Frame.Radius * l.budget.LevelWeight()
	look.Frame = ssp.RoundFrame(look.Frame)
	if look.Noise, err = noise(look.Frame); err != nil {
		return look, nil, nil, err
	}
	products, _ := l.noise(look.Noise)
	for i, x := range sumsOf(u, l.m, look.Frame.Radius) {
		products[i] += x * l.each
	}
	var sums []float64
	for _, w := range weights {
		wide := 1.
		if look.Noise.Kind == release.Ball {
			wide = math.Sqrt(variate.Chi2(own.Freedom, l.rng))
		}
		level := make([]float64, l.m)
		for j := range level {
			level[j] = own.Scale * wide * l.rng.NormFloat64()
		}
		count := own.Count * wide * l.rng.NormFloat64()
		for i, share := range w {
			row := u[i*l.m : (i+1)*l.m]
			count += share * l.each
			shrunk := share * l.each * min(1, look.Frame.Radius/math.Sqrt(square(row)))
			for j, x := range row {
				level[j] += shrunk * x
			}
		}
		measured, sums = append(measured, count), append(sums, level...)
	}
	return look, own, append(append(measured, sums...), products[l.m:]...), nil
}
