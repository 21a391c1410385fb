package calibration

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
)

const (
	noisyMoments = "gibbs-ss-noisy" // its releases hold moments of the covariates
	individuals  = "mcmc-ind"       // it can model clamping
)

// Study lists the cells of a valid design: each n, ε, p and arm. rows are those of the
// design's population, nil where there is none; nil also serves to put shards together, of
// which no trial is run. Errors: those of Validate, rows that are not the design's or leave a
// coefficient open.
func (d *Design) Study(rows *Rows) (*Study, error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
	s := &Study{Trials: d.Trials, Seed: d.Seed, Description: d.Text(), Uniform: d.uniform(), Note: d.note()}
	truth, err := d.truth(rows)
	if err != nil {
		return nil, err
	}
	if d.Population != nil {
		s.Population = d.Population.Name
	}
	for _, columns := range d.designs() {
		prior, err := d.Prior.of(columns)
		if err != nil {
			return nil, err
		}
		for _, arm := range d.Arms {
			f := fitter{arm: arm, columns: columns, prior: prior, privacy: d.privacy(rehearsalEpsilon)}
			if err := f.rehearse(slices.Min(d.Ns), d.Seed); err != nil {
				return nil, err
			}
		}
		for _, n := range d.Ns {
			for _, epsilon := range d.Epsilons {
				for _, arm := range d.Arms {
					setting := arm.setting()
					setting.N, setting.Epsilon, setting.P = n, epsilon, len(columns.Covariates)
					fit := fitter{arm: arm, columns: columns, prior: prior, privacy: d.privacy(epsilon)}
					s.Cells = append(s.Cells, Cell{setting, d.subject(fit, n, rows, truth)})
				}
			}
		}
	}
	return s, nil
}

// uniform tells whether a right sampler's ranks are: the arms infer with the law that the
// rows have.
func (d *Design) uniform() bool {
	unaware := slices.ContainsFunc(d.Arms, func(a Arm) bool { return !a.ModelClamping })
	return d.X == NormalX && (d.Data == Unclamped || d.Data == Clamped && !unaware)
}

// note says what the data are.
func (d *Design) note() string {
	switch {
	case d.Data == Resampled:
		return "Rows are drawn with replacement from " + d.Population.Name + ", coded and clamped as those of a release are, and the truth is least squares on all rows of it. " +
			"The noise is simulated: no privacy guarantee."
	case d.Data == Cirrhosis:
		return "Real rows, with bounds at their extremes: no privacy guarantee. The noise is simulated."
	case d.Data == Clamped && d.X == NormalX:
		return "Rows follow the model and are clamped to [-1, 1], as those of a release are. The noise is simulated: no privacy guarantee."
	case d.Data == Clamped:
		return "Rows have " + string(d.X) + " covariates, which the model takes for normal, and are clamped to [-1, 1]. The noise is simulated: no privacy guarantee."
	case d.X != NormalX:
		return "Rows have " + string(d.X) + " covariates, which the model takes for normal, and are not clamped: no privacy guarantee. The noise is simulated."
	}
	return "Rows follow the model and are not clamped: no privacy guarantee. The noise is simulated."
}

func (d *Design) privacy(epsilon float64) release.Privacy {
	return release.Privacy{Epsilon: epsilon, Delta: d.Delta, Neighbours: release.ReplaceOne}
}

func (d *Design) subject(fit fitter, n int64, rows *Rows, truth []float64) Subject {
	if d.Data == Resampled {
		if d.Prior.Name == DefaultPrior {
			fit.prior = nil
		}
		return &population{fit, n, rows, truth}
	}
	if d.Data == Cirrhosis {
		return &prediction{fit, cirrhosisOnUnit()}
	}
	return &regression{fitter: fit, n: n, clamp: d.Data == Clamped, x: d.X}
}

// regression is a trial of simulated rows.
type regression struct {
	fitter
	n     int64
	clamp bool
	x     XLaw
}

// Trial implements Subject.
func (r *regression) Trial(ctx context.Context, data, sampler *rand.Rand) (*Sample, error) {
	shape := shapeOf(r.columns)
	truth, err := drawPrior(r.prior, shape, data)
	if err != nil {
		return nil, err
	}
	rows, err := newRows(truth, shape, r.x, data)
	if err != nil {
		return nil, err
	}
	sums, err := rows.sum(r.n, r.clamp, r.arm.Method == noisyMoments)
	if err != nil {
		return nil, err
	}
	fit, err := r.fit(ctx, sums, data, sampler)
	if err != nil {
		return nil, err
	}
	s := &Sample{Capped: r.capped(fit), Clamped: sums.clamped}
	if s.Reference, err = r.reference(ctx, sums.statistics, sampler); err != nil {
		return nil, err
	}
	likelihood, err := newLogLikelihood(fit, sums.statistics)
	if err != nil {
		return nil, err
	}
	s.quantities(fit, truth, likelihood)
	return s, nil
}

// LogLikelihood names the quantity that is ranked beside the parameters of a Design.
const LogLikelihood = "log_lik"

// quantities fills in what is ranked: the parameters that the fit has, sigma aside,
// whose ranks are those of sigma2, and the log-likelihood.
func (s *Sample) quantities(fit *dpreg.Fit, truth *model.Params, l *logLikelihood) {
	draws, shape := fit.Draws(dpreg.Scaled), shapeOf(fit.Design)
	q, width := shape.Q(), len(draws.Names)
	s.Names = append(append(append([]string{}, draws.Names[:q+1]...), draws.Names[q+2:]...), LogLikelihood)
	s.Truth = make([]float64, len(shape.Names()))
	truth.Write(s.Truth)
	s.Truth = append(s.Truth[:width-1], l.at(truth))
	at := model.NewParams(shape)
	s.Draws = draws.Map(s.Names, func(dst, src []float64) {
		copy(dst, src[:q+1])
		copy(dst[q+1:], src[q+2:])
		at.Read(dst[:width-1])
		dst[width-1] = l.at(at)
	})
}
