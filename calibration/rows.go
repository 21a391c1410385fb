package calibration

import (
	"errors"
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/ssp"
)

// Simulated is rows of a trial, in scaled units, their sums, and the parameters that they
// were drawn with.
type Simulated struct {
	Rows       []float64 // n rows of p covariates and the response, one after another
	Statistics *ssp.Statistics
	Truth      *model.Params
	Clamped    float64 // the share of values outside [-1, 1], clamped or not
}

// Simulate draws parameters from the prior, and from them n rows, which it clamps or not,
// as those of a Design's trials are. Errors: a prior that float64 cannot draw from.
func Simulate(prior *model.Prior, shape model.Shape, n int64, clamp bool, rng *rand.Rand) (*Simulated, error) {
	truth, err := drawPrior(prior, shape, rng)
	if err != nil {
		return nil, err
	}
	rows, err := newRows(truth, shape, NormalX, rng)
	if err != nil {
		return nil, err
	}
	m := shape.M()
	s, outside, sums := &Simulated{Rows: make([]float64, int(n)*m), Truth: truth}, 0, make([]float64, shape.Statistics())
	inside := make([]float64, m)
	for i := range int(n) {
		v := s.Rows[i*m : (i+1)*m]
		rows.next(v)
		copy(inside, v)
		outside += clampRow(inside)
		if clamp {
			copy(v, inside)
		}
		addTo(sums, v)
	}
	s.Clamped = float64(outside) / float64(len(s.Rows))
	if !clamp {
		s.Statistics, err = ssp.FromVector(m, n, sums)
		return s, err
	}
	exact := ssp.NewAccumulator(m)
	err = exact.AddRows(s.Rows)
	s.Statistics = exact.Statistics()
	return s, err
}

// drawPrior draws parameters from the prior.
func drawPrior(prior *model.Prior, shape model.Shape, rng *rand.Rand) (*model.Params, error) {
	theta, covariates := conjugate.NewNIGSampler(shape.Q()), conjugate.NewNIWSampler(shape.P)
	if !theta.Set(prior.Theta) || !covariates.Set(prior.Covariates) {
		return nil, errors.New("the prior is not proper in float64")
	}
	x := model.NewParams(shape)
	x.Sigma2 = theta.Rand(x.Theta, rng)
	covariates.Rand(x.MuX, x.Tau, rng)
	return x, nil
}

// rows draws rows v = (x, y), x with mean μ_x and covariance T = LLᵀ by one of the
// laws, y ~ N(θᵀ(1, x), σ²).
type rows struct {
	params *model.Params
	shape  model.Shape
	law    XLaw
	chol   []float64 // L
	sigma  float64
	e      []float64
	rng    *rand.Rand
}

func newRows(params *model.Params, shape model.Shape, law XLaw, rng *rand.Rand) (*rows, error) {
	r := &rows{params, shape, law, append([]float64(nil), params.Tau...), math.Sqrt(params.Sigma2), make([]float64, shape.P), rng}
	if !dense.Cholesky(r.chol, shape.P) {
		return nil, errors.New("the prior gives a covariance of the covariates that is singular in float64")
	}
	return r, nil
}

// next writes a row to v, of length m.
func (r *rows) next(v []float64) {
	p := r.shape.P
	for j := range r.e {
		r.e[j] = r.standard()
	}
	dense.MulLowerVec(v[:p], r.chol, p, r.e)
	slopes := r.params.Theta[r.shape.Q()-p:]
	y := r.sigma * r.rng.NormFloat64()
	if r.shape.Intercept {
		y += r.params.Theta[0]
	}
	for j := range p {
		v[j] += r.params.MuX[j]
		y += float64(slopes[j] * v[j])
	}
	v[p] = y
}

// standard has mean 0 and variance 1.
func (r *rows) standard() float64 {
	switch r.law {
	case BinaryX:
		return float64(2*r.rng.IntN(2) - 1)
	case SkewedX:
		return r.rng.ExpFloat64() - 1
	}
	return r.rng.NormFloat64()
}

// summed is what is summed over the rows of a trial.
type summed struct {
	statistics *ssp.Statistics
	moments    *ssp.Moments // of the covariates, clamped; nil unless asked for
	clamped    float64      // the share of values outside [-1, 1]
}

// sum draws n rows and sums them: clamped to [-1, 1], or as they are.
func (r *rows) sum(n int64, clamp, moments bool) (*summed, error) {
	m := r.shape.M()
	exact, plain := ssp.NewAccumulator(m), make([]float64, r.shape.Statistics())
	var high *ssp.MomentAccumulator
	if moments {
		high = ssp.NewMomentAccumulator(r.shape.P)
	}
	v, outside := make([]float64, m), 0
	for range n {
		r.next(v)
		addTo(plain, v)
		outside += clampRow(v)
		if clamp {
			if err := exact.Add(v); err != nil {
				return nil, err
			}
		}
		if moments {
			if err := high.Add(v); err != nil {
				return nil, err
			}
		}
	}
	s := &summed{}
	if moments {
		s.moments = high.Moments()
	}
	if clamp {
		s.statistics, s.clamped = exact.Statistics(), float64(outside)/float64(n*int64(m))
		return s, nil
	}
	var err error
	s.statistics, err = ssp.FromVector(m, n, plain)
	return s, err
}

// addTo adds v_j and v_j v_k, j ≤ k, in canonical order.
func addTo(sums, v []float64) {
	m := len(v)
	for j, a := range v {
		sums[j] += a
		first := release.Index(m, j, j)
		for k, b := range v[j:] {
			sums[first+k] += float64(a * b)
		}
	}
}

// clampRow clamps values to [-1, 1] and counts those outside.
func clampRow(v []float64) (outside int) {
	for j, a := range v {
		if a < -1 || a > 1 {
			v[j] = math.Copysign(1, a)
			outside++
		}
	}
	return outside
}
