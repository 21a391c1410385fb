package individual

import (
	"math"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts"
)

// density is the posterior p(φ, rows | z) in the coordinates of frame, by the law
// of the rows alone:
//
//	log p = log p(φ) + log|∂φ/∂(v̄, P)| − ½‖U‖² + log p(z | s),  s = Σ t(v_i).
//
// Beside the sums over rows everything is of size m×m.
type density struct {
	*frame
	obs   *model.Observation
	noise *model.Noise
	sums  sums
	signs []int
	s     []float64 // canonical order
	line  []float64 // ∂ log p(z | s) in the linear sums, m
	quad  []float64 // E, m×m symmetric: Σ_ij E_ij dB_ij, B the quadratic sums
}

// sums are the statistics of the rows of a frame.
type sums interface {
	// write writes s, canonical order, at the frame's point.
	write(s []float64)
	// pull adds to the frame's gMean, gL and gS the gradient of a function of s,
	// given line and quad as density has them, at the point of the last write.
	pull(line, quad []float64)
	// pullRows adds to the gradient in the columns of U, after pull, what comes to
	// them otherwise than through v̄, L and S.
	pullRows(grad []float64)
}

func newDensity(obs *model.Observation, prior *model.Prior, clamping bool) *density {
	m := obs.Shape.M()
	r := obs.Scale[0] / obs.N
	f := &density{frame: newFrame(obs.Shape, prior, int(obs.N), r/math.Sqrt(1+r*r)), obs: obs, noise: model.NewNoise(obs), s: make([]float64, obs.Shape.Statistics()),
		line: make([]float64, m), quad: make([]float64, m*m)}
	f.signs = f.frame.signs()
	if clamping {
		f.sums = newClamped(f.frame)
	} else {
		f.sums = newGram(f.frame)
	}
	return f
}

// LogDensity returns log p(φ, rows | z) up to a constant, and its gradient.
func (f *density) LogDensity(grad, x []float64) (float64, error) {
	if !f.set(x) {
		return 0, nuts.ErrReject
	}
	f.sums.write(f.s)
	logp := f.prior() + addNoise(f.noise, f.line, f.quad, f.s)
	f.sums.pull(f.line, f.quad)
	f.pull(grad, x)
	f.sums.pullRows(grad[f.lead():])
	return logp, nil
}

// addNoise returns log p(z | s), and writes its gradient in the m linear statistics
// and, symmetric, in the m×m quadratic ones.
func addNoise(noise *model.Noise, line, quad, s []float64) float64 {
	m := len(line)
	logp, at := 0.0, m
	for j := range m {
		v, g := noise.LogDensity(j, s[j])
		logp += v
		line[j] = g
		for k := j; k < m; k++ {
			v, g := noise.LogDensity(at, s[at])
			logp += v
			if k > j {
				g *= 0.5
			}
			quad[j*m+k], quad[k*m+j] = g, g
			at++
		}
	}
	return logp
}

// diagonal is the position, in a lower triangle row by row, of entry (i, i).
func diagonal(i int) int { return i*(i+1)/2 + i }
