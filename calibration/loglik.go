package calibration

import (
	"math"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/ssp"
)

// logLikelihood is a function of the parameters and of what the method has seen, so
// that the rank of its true value is uniform as a parameter's is. It finds what no
// parameter's rank does, a posterior that does not look at the data among them
// (Modrák et al. 2023, Simulation-Based Calibration Checking for Bayesian
// Computation: The Choice of Test Quantities Shapes Sensitivity, Bayesian Analysis).
//
// With a law of the statistics z it is their log density, by the normal law with
// their mean and variance,
//
//	log N(z; nμ_t, nΣ_t + V),   V the variance of the noise,
//
// and for a method without one, non-private and naive, that of y given x,
//
//	−(n/2) log σ² − RSS(θ)/(2σ²),   RSS(θ) = yᵀy − 2θᵀXᵀy + θᵀXᵀXθ.
type logLikelihood struct {
	n    float64
	z    []float64
	law  model.Law // nil: the second form
	v    float64
	mean []float64
	cov  []float64
	sums *model.Sums
	fit  []float64
}

// newLogLikelihood is that of a fit: given its release or, where it has none, s.
func newLogLikelihood(fit *dpreg.Fit, s *ssp.Statistics) (*logLikelihood, error) {
	shape := shapeOf(fit.Design)
	l := &logLikelihood{n: float64(fit.N)}
	if fit.FromRows() {
		l.z = s.Vector()
	} else {
		r := fit.Custodians[0].Release
		noise := r.Noise
		l.z, l.v = r.Statistics.Vector(), noise.Scale*noise.Scale
		if noise.Kind == release.Laplace {
			l.v *= 2
		}
		var err error
		if l.law, err = lawOf(fit); err != nil {
			return nil, err
		}
	}
	if l.law == nil {
		l.sums, l.fit = model.NewSums(shape), make([]float64, shape.Q())
		l.sums.Set(l.z, l.n)
		return l, nil
	}
	l.mean, l.cov = make([]float64, len(l.z)), make([]float64, len(l.z)*len(l.z))
	return l, nil
}

// lawOf is the law that the fit's method states; else that of normal rows, where it
// has a model of the covariates; else none.
func lawOf(fit *dpreg.Fit) (model.Law, error) {
	for _, m := range dpreg.Methods() {
		if named, ok := m.(model.Lawful); ok && m.Name() == fit.Method {
			return named.Law(&model.Problem{Releases: []*release.Release{fit.Custodians[0].Release}, Prior: fit.Prior})
		}
	}
	if fit.Draws(dpreg.Scaled).Index("mu_x[1]") >= 0 {
		return model.NewMoments(shapeOf(fit.Design)), nil
	}
	return nil, nil
}

// at returns the log-likelihood at parameters; −Inf where rounding leaves a
// covariance indefinite.
func (l *logLikelihood) at(x *model.Params) float64 {
	if l.law == nil {
		return l.regression(x)
	}
	q := len(l.z)
	l.law.Set(x)
	l.law.Expect(l.mean, l.n)
	l.law.Covariance(l.cov, l.n)
	for i, z := range l.z {
		l.mean[i] = z - l.mean[i]
		l.cov[i*q+i] += l.v
	}
	if !dense.Cholesky(l.cov, q) {
		return math.Inf(-1)
	}
	dense.SolveLower(l.cov, q, l.mean)
	distance := 0.0
	for _, e := range l.mean {
		distance += float64(e * e)
	}
	return -(distance + dense.LogDet(l.cov, q)) / 2
}

func (l *logLikelihood) regression(x *model.Params) float64 {
	q := len(x.Theta)
	dense.SymMulVec(l.fit, l.sums.XX, q, x.Theta)
	rss := l.sums.YY
	for k, t := range x.Theta {
		rss += float64(t * (l.fit[k] - 2*l.sums.XY[k]))
	}
	return -l.n/2*math.Log(x.Sigma2) - rss/(2*x.Sigma2)
}
