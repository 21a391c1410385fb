package compare

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/dpreg/dpreg/calibration"
	"github.com/dpreg/dpreg/posterior"
)

// The names of measures. All are in scaled units.
const (
	// Error is the root mean squared difference, over coefficients, of the posterior mean
	// or estimate of θ from the posterior mean without privacy.
	Error = "error"
	// TruthError is the same from the true θ of simulated rows.
	TruthError = "truth_error"
	// PredictionError is the root mean squared error of predictions of a table's rows.
	PredictionError = "prediction_error"
	// Width is the mean width of the intervals of θ.
	Width = "width"
	// Coverage is the share of what intervals are to hold that they hold: true coefficients,
	// or responses of rows that are predicted.
	Coverage = "coverage"
	// LogScore is the mean log predictive density of responses of rows that are predicted.
	LogScore = "log_score"
	// MMD2 is calibration.Distance, of (θ, σ²) to the posterior without privacy.
	MMD2 = "mmd2"
	// Spent is the ε that was.
	Spent = "spent"
)

// measureNames are all of them, in the order of tables.
var measureNames = []string{Error, TruthError, PredictionError, Width, Coverage, LogScore, MMD2, Spent}

// Level is that of all intervals, which are equal-tailed.
const Level = 0.90

// judge measures a fit.
func (e *example) judge(ctx context.Context, f *fitted, rng *rand.Rand) (all []calibration.Measure, err error) {
	add := func(name string, value float64) { all = append(all, calibration.Measure{Name: name, Value: value}) }
	q := e.shape.Q()
	add(Error, rms(f.theta, e.exact.Mean))
	if e.truth != nil {
		add(TruthError, rms(f.theta, e.truth))
	}
	if e.test != nil {
		add(PredictionError, e.predictionError(f.theta))
	}
	if f.draws != nil {
		width, held := intervals(f.draws, q, e.truth)
		add(Width, width)
		if e.truth != nil {
			add(Coverage, held)
		}
		if e.test != nil {
			held, score := e.predict(f.draws)
			add(Coverage, held)
			add(LogScore, score)
		}
		reference, err := e.sample(e.exact, rng)
		if err != nil {
			return nil, err
		}
		add(MMD2, calibration.Distance(f.draws, reference, q+1))
	}
	if f.epsilon > 0 {
		add(Spent, f.epsilon)
	}
	return all, ctx.Err()
}

// rms is the root mean square of a − b.
func rms(a, b []float64) float64 {
	sum := 0.
	for j, v := range a {
		sum += float64((v - b[j]) * (v - b[j]))
	}
	return math.Sqrt(sum / float64(len(a)))
}

// intervals returns the mean width of the intervals of the first q columns, and the share of
// them that holds the truth, where there is one.
func intervals(d *posterior.Draws, q int, truth []float64) (width, held float64) {
	for j := range q {
		column := slices.Concat(d.Column(j)...)
		slices.Sort(column)
		low, high := posterior.Quantile(column, (1-Level)/2), posterior.Quantile(column, (1+Level)/2)
		width += (high - low) / float64(q)
		if truth != nil && low <= truth[j] && truth[j] <= high {
			held++
		}
	}
	return width, held / float64(q)
}

// predictionError is that of θᵀx for the rows to predict.
func (e *example) predictionError(theta []float64) float64 {
	rows := e.regression(e.test)
	predicted := make([]float64, len(rows.Y))
	for i := range predicted {
		predicted[i] = dot(rows.X[i*rows.P:(i+1)*rows.P], theta)
	}
	return rms(predicted, rows.Y)
}

// predictive is how many draws, evenly spaced, a predictive law is made of.
const predictive = 400

// predict returns how large a share of the responses lies in its predictive interval, and
// their mean log predictive density. A predictive law is the mixture of N(θ_kᵀx, σ_k²) over
// draws k; with its distribution function F, y lies in the equal-tailed interval where
// (1 − level)/2 ≤ F(y) ≤ (1 + level)/2.
func (e *example) predict(d *posterior.Draws) (held, score float64) {
	rows, law := e.regression(e.test), newMixture(d, e.shape.Q())
	for i, y := range rows.Y {
		below, density := law.at(rows.X[i*rows.P:(i+1)*rows.P], y)
		if below >= (1-Level)/2 && below <= (1+Level)/2 {
			held++
		}
		score += density
	}
	n := float64(len(rows.Y))
	return held / n, score / n
}

// mixture is draws of (θ, σ), q and 1 wide.
type mixture struct {
	q     int
	draws []float64
	log   []float64 // scratch
}

func newMixture(d *posterior.Draws, q int) *mixture {
	n, width := d.NumChains()*d.NumDraws(), len(d.Names)
	k := min(n, predictive)
	m := &mixture{q: q, log: make([]float64, k)}
	for i := range k {
		at := (2*i + 1) * n / (2 * k)
		row := d.Chains[at/d.NumDraws()][at%d.NumDraws()*width:]
		m.draws = append(append(m.draws, row[:q]...), math.Sqrt(row[q]))
	}
	return m
}

// at returns the distribution function and the log density of y given x.
func (m *mixture) at(x []float64, y float64) (below, density float64) {
	for i := range m.log {
		draw := m.draws[i*(m.q+1) : (i+1)*(m.q+1)]
		sigma := draw[m.q]
		z := (y - dot(x, draw[:m.q])) / sigma
		below += math.Erfc(-z/math.Sqrt2) / 2
		m.log[i] = -z*z/2 - math.Log(sigma)
	}
	n := float64(len(m.log))
	largest, sum := slices.Max(m.log), 0.
	for _, l := range m.log {
		sum += math.Exp(l - largest)
	}
	return below / n, largest + math.Log(sum/n) - math.Log(2*math.Pi)/2
}

func dot(a, b []float64) (sum float64) {
	for j, v := range a {
		sum += float64(v * b[j])
	}
	return sum
}
