package individual

import (
	"errors"
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts"
	"github.com/dpreg/dpreg/release"
)

// density is the posterior p(φ, rows | z) in the coordinates of frame, by the law
// of the rows alone:
//
//	log p = log p(φ) + log|∂φ/∂(v̄, P)| − ½‖U‖² + log p(z | s),  s = Σ t(v_i).
//
// Beside the sums over rows everything is of size m×m.
type density struct {
	*frame
	likelihood
	obs   *model.Observation
	signs []int
}

// likelihood is p(z | s) of the rows of a frame.
type likelihood struct {
	noise *model.Noise
	sums  sums
	s     []float64 // canonical order
	slope []float64 // the noise's, in s
	line  []float64 // ∂ log p(z | s) in the linear sums, m
	quad  []float64 // E, m×m symmetric: Σ_ij E_ij dB_ij, B the quadratic sums
}

// sums are the statistics of the rows of a frame.
type sums interface {
	// write writes s, canonical order, at the frame's point.
	write(s []float64)
	// pull adds to the frame's gMean, gL and gS the gradient of a function of s,
	// given line and quad as likelihood has them, at the point of the last write.
	pull(line, quad []float64)
	// pullRows adds to the gradient in the columns of U, after pull, what comes to
	// them otherwise than through v̄, L and S.
	pullRows(grad []float64)
}

func newDensity(obs *model.Observation, prior *model.Prior, clamping bool) *density {
	r := math.Sqrt(obs.Variance(0)) / obs.N
	f := newFrame(obs.Shape, prior, int(obs.N), r/math.Sqrt(1+r*r))
	return &density{f, newLikelihood(f, model.NewNoise(obs), clamping, 0), obs, f.signs()}
}

// newLikelihood models clamping to the box, or clipping to a radius other than 0, where clamping is set.
func newLikelihood(f *frame, noise *model.Noise, clamping bool, radius float64) likelihood {
	var of sums = newGram(f)
	if clamping {
		of = newClamped(f, radius)
	}
	q := f.shape.Statistics()
	return likelihood{noise, of, make([]float64, q), make([]float64, q), make([]float64, f.m), make([]float64, f.m*f.m)}
}

// LogDensity returns log p(φ, rows | z) up to a constant, and its gradient.
func (f *density) LogDensity(grad, x []float64) (float64, error) {
	if !f.set(x) {
		return 0, nuts.ErrReject
	}
	logp := f.prior() + f.logLikelihood()
	f.pull(grad, x)
	f.sums.pullRows(grad[f.lead():])
	return logp, nil
}

// logLikelihood returns log p(z | s) at the frame's point, and adds its gradient to the frame's.
func (l *likelihood) logLikelihood() float64 {
	l.sums.write(l.s)
	m := len(l.line)
	logp, at := l.noise.LogDensity(l.slope, l.s), m
	for j := range m {
		l.line[j] = l.slope[j]
		for k := j; k < m; k++ {
			g := l.slope[at]
			if k > j {
				g *= 0.5
			}
			l.quad[j*m+k], l.quad[k*m+j] = g, g
			at++
		}
	}
	l.sums.pull(l.line, l.quad)
	return logp
}

// diagonal is the position, in a lower triangle row by row, of entry (i, i).
func diagonal(i int) int { return i*(i+1)/2 + i }

var errStart = errors.New("mcmc-ind: the prior and the statistics differ too much in scale to be computed with in floating point; state a prior closer to scaled units")

// steepAccept is the acceptance to adapt to where the noise is normal: at 0.8 one step in
// two thousand of gau1_n30_sd0.5 lands so far out that it counts as divergent. It costs no
// leapfrog steps there.
const steepAccept = 0.9

// newKernel starts a chain of density, whose moves are a flip and w.
func newKernel(obs *model.Observation, prior *model.Prior, clamping bool, rng *rand.Rand) (*nuts.Sampler, error) {
	f := newDensity(obs, prior, clamping)
	o := nuts.Options{Dense: f.lead()}
	if obs.Kind == release.Gaussian {
		o.TargetAccept = steepAccept
	}
	return begin(f, o, func(x []float64) bool { return f.start(x, prior, rng) })
}

// begin starts a chain at the point that start writes.
func begin(f nuts.Chain, o nuts.Options, start func(x []float64) bool) (*nuts.Sampler, error) {
	x := make([]float64, f.Dim())
	if start(x) {
		if k, err := nuts.New(f, x, o); err == nil {
			return k, nil
		}
	}
	return nil, errStart
}

// Move negates one coordinate of v̄ or one of P below its diagonal: the noisier
// linear statistics may leave a sign open that the quadratic ones tell nothing of,
// so that the posterior has mirrored modes which no trajectory joins. The residuals
// stay. The negation is an involution of Jacobian 1, so Metropolis' test leaves
// the posterior invariant.
func (f *density) Move(k *nuts.Sampler, rng *rand.Rand) {
	at := f.signs[rng.IntN(len(f.signs))]
	x, _ := k.Proposal()
	x[at] = -x[at]
	k.Try(x, rng)
	f.kurtosis.Renew(&f.params.LogW, k, rng)
}

// signs lists what Move negates.
func (f *frame) signs() (at []int) {
	for i := range f.means() {
		at = append(at, i)
	}
	for i := range f.m {
		for j := range i {
			at = append(at, f.means()+diagonal(i)-i+j)
		}
	}
	return at
}

// Reach makes the noise's slopes the derivative about x.
func (f *density) Reach(x []float64) {
	f.set(x)
	f.sums.write(f.s)
	f.noise.Reach(f.s)
}

// Write writes the parameters.
func (f *density) Write(dst, x []float64) {
	f.set(x)
	f.params.Write(dst)
}

// start writes a point for a chain to start from: parameters from their laws given z with
// noise drawn anew, projected; residuals from theirs; and a mean and scatter that z
// allows. They are those of s = w s_z + (1 − w) s₀, s₀ of these parameters and residuals, s_z
// that with z and its noise, each weighed by its precision, and w the first of 1, 0.7,
// 0.7², … of which the scatter is positive definite. It reports false where rounding
// forbids that.
func (f *density) start(x []float64, prior *model.Prior, rng *rand.Rand) bool {
	near, s := make([]float64, len(f.s)), make([]float64, len(f.s))
	for i, z := range f.obs.Z {
		near[i] = z + math.Sqrt(f.obs.Variance(i))*rng.NormFloat64()
	}
	copy(s, near)
	model.NewProjection(f.m).Apply(s, f.obs.N)
	params := model.NewParams(f.shape)
	if !model.NewConditionals(f.shape, prior, true).Draw(params, s, f.obs.N, rng) {
		return false
	}
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	if !f.coordinates(x, params) || !f.set(x) {
		return false
	}
	f.sums.write(f.s)
	for i, v := range f.s {
		ratio := f.obs.Variance(i) / (f.obs.N * f.obs.N)
		near[i] = (near[i] + ratio*v) / (1 + ratio)
	}
	for w := 1.0; w > leastStart; w *= 0.7 {
		for i, v := range f.s {
			s[i] = w*near[i] + (1-w)*v
		}
		if f.place(x, s) {
			break
		}
	}
	return true
}

// leastStart is the w below which a chain starts from s₀.
const leastStart = 1e-3

// place writes the v̄ and P of rows whose mean and scatter n DDᵀ have statistics s.
// It reports false, and writes nothing, where no rows have these.
func (f *density) place(x, s []float64) bool {
	m, n := f.m, float64(f.n)
	at := m
	for j := range m {
		for k := j; k < m; k++ {
			f.d[k*m+j] = s[at]/n - s[j]*s[k]/(n*n)
			at++
		}
	}
	if !dense.Cholesky(f.d, m) {
		return false
	}
	for j := range f.means() {
		x[j] = s[j] / (n * f.unit)
	}
	f.writeTriangle(x[f.means():])
	return true
}
