package calibration

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/vi"
)

// comparison is a trial that is measured by its distance from the posterior without privacy.
type comparison struct {
	fitter
	method method
	n      int64
	data   Data
	rows   *Rows // of Split data
	// known is maximum likelihood on all rows of Split data, of a family.
	known []float64
}

// method is one of the methods, set for a data set and a budget. What follows from budget and
// number of rows alone, such as why the method cannot serve, is found once, and may take seconds.
type method func() (inference, error)

// inference infers from the rows of a trial. Where it refuses, the error says why.
type inference func(ctx context.Context, e *example, noise *mechanisms.Entropy, rng *rand.Rand) (*fitted, error)

// fitted is what a method gives, in scaled units.
type fitted struct {
	theta   []float64        // posterior mean, or the estimate
	draws   *posterior.Draws // of θ and σ²; nil of a point estimate
	epsilon float64          // that was spent; 0 where the method is not private
	capped  bool             // the sampler met its limit
}

// newMethod is that of the fitter's arm.
func newMethod(f fitter, n int64, clients int) method {
	linked := f.family != model.Normal
	return sync.OnceValues(func() (inference, error) {
		switch {
		case f.arm.Method == DPVI:
			return dpVI(f, n)
		case f.arm.Method == DPPVI && linked:
			return logisticPVI(f.family, f.session(clients))
		case f.arm.Method == DPPVI:
			return dpPVI(f.privacy, clients)
		case f.arm.Method == AdaSSP && linked:
			return nil, errors.New("it fits lines alone, and no family")
		case f.arm.Method == AdaSSP:
			return adaSSP, nil
		case f.arm.Method == NonPrivate && linked:
			return atMode, nil
		}
		return released, nil
	})
}

// atMode is the posterior of a family given the rows, of which no sums tell all.
func atMode(_ context.Context, e *example, _ *mechanisms.Entropy, rng *rand.Rand) (*fitted, error) {
	draws, err := e.exact.draw(rng)
	return &fitted{theta: e.exact.mean, draws: draws}, err
}

// released infers from a release, or is the posterior without privacy.
func released(ctx context.Context, e *example, noise *mechanisms.Entropy, rng *rand.Rand) (*fitted, error) {
	fit, err := e.fit(ctx, e.summed, noise, rng)
	if err != nil {
		return nil, err
	}
	f := &fitted{draws: regressionDraws(fit), capped: e.capped(fit)}
	f.theta = e.means(f.draws)
	if e.arm.Method != NonPrivate {
		f.epsilon = e.privacy.Epsilon
	}
	return f, nil
}

// Trial implements Subject. Noise comes from data, after the rows: methods that
// infer from a release infer from the same one.
func (s *comparison) Trial(ctx context.Context, data, sampler *rand.Rand) (*Sample, error) {
	e, err := s.example(data)
	if err != nil {
		return nil, err
	}
	infer, err := s.method()
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	f, err := infer(ctx, e, mechanisms.Simulated(data), sampler)
	if err != nil {
		return nil, err
	}
	seconds := time.Since(begin).Seconds()
	measures, err := e.judge(ctx, f, sampler)
	return &Sample{Measures: measures, Capped: f.capped, Clamped: e.outside, Seconds: seconds}, err
}

// example is the data of one trial: what methods infer from, and what they are judged by.
// Rows are m values each, in scaled units.
type example struct {
	*fitter
	shape model.Shape
	*summed

	truth []float64 // θ of simulated rows; of a family and a table comparison.known
	test  []float64 // rows to predict, of a table
	exact *given    // the posterior of (θ, σ²), of a family of θ, given the rows
}

func (s *comparison) example(rng *rand.Rand) (*example, error) {
	e := &example{fitter: &s.fitter, shape: model.DesignShape(s.columns), truth: s.known}
	var next func([]float64)
	var order []int // of a table
	if s.data == Split {
		if s.rows == nil {
			panic("calibration: a trial without the rows of its table")
		}
		order = rng.Perm(int(s.rows.Len()))
		next = func(v []float64) {
			copy(v, s.rows.At(order[0]))
			order = order[1:]
		}
	} else {
		simulated, err := simulate(&s.fitter, NormalX, s.n, rng)
		if err != nil {
			return nil, err
		}
		next, e.truth = simulated.next, simulated.params.Theta
	}
	var err error
	if e.summed, err = s.sum(next, s.n, s.data != Unclamped, true); err != nil {
		return nil, err
	}
	for _, at := range order {
		e.test = append(e.test, s.rows.At(at)...)
	}
	return e, e.solve()
}

// solve finds the posterior given the rows.
func (e *example) solve() error {
	if e.family != model.Normal {
		mode, err := FindMode(e.family, e.columns.Response.Upper, e.regression(e.rows), e.prior.Theta.Precision[0])
		if err == nil {
			e.exact = e.normalGiven(mode)
		}
		return err
	}
	sums, n := model.NewSums(e.shape), float64(e.statistics.N)
	sums.Set(e.statistics.Vector(), n)
	law := e.prior.Theta.Clone()
	if !conjugate.NewNIGSampler(e.shape.Q()).Update(law, e.prior.Theta, sums.XX, sums.XY, sums.YY, n) {
		return errors.New("the posterior without privacy is not proper in float64: columns are collinear")
	}
	e.exact = &given{law.Mean, func(rng *rand.Rand) (*posterior.Draws, error) { return e.sample(law, rng) }}
	return nil
}

// regression is rows of the design matrix and responses.
func (e *example) regression(rows []float64) *vi.Rows { return regressionOf(rows, e.columns, e.family) }

// regressionOf is rows of the design matrix, and responses: scaled ones, or those of a family.
func regressionOf(rows []float64, columns *schema.Design, family model.Family) *vi.Rows {
	shape := model.DesignShape(columns)
	r := &vi.Rows{P: shape.Q()}
	for row := range slices.Chunk(rows, shape.M()) {
		if shape.Intercept {
			r.X = append(r.X, 1)
		}
		r.X = append(r.X, row[:shape.P]...)
		y := row[shape.P]
		if family != model.Normal {
			y = math.Round((1 + y) / 2 * columns.Response.Upper)
		}
		r.Y = append(r.Y, y)
	}
	return r
}

// The names of measures. All are in scaled units.
const (
	// MeasureError is the root mean squared difference, over coefficients, of the posterior mean
	// or estimate of θ from the posterior mean without privacy.
	MeasureError = "error"
	// MeasureTruthError is the same from the true θ of simulated rows.
	MeasureTruthError = "truth_error"
	// MeasurePredictionError is the root mean squared error of predictions of a table's rows.
	MeasurePredictionError = "prediction_error"
	// MeasureWidth is the mean width of the intervals of θ.
	MeasureWidth = "width"
	// MeasureCoverage is the share of what intervals are to hold that they hold: true coefficients,
	// or responses of rows that are predicted.
	MeasureCoverage = "coverage"
	// MeasureLogScore is the mean log predictive density of responses of rows that are predicted.
	MeasureLogScore = "log_score"
	// MeasureMMD2 is Distance, of (θ, σ²) to the posterior without privacy.
	MeasureMMD2 = "mmd2"
	// MeasureSpent is the ε that was.
	MeasureSpent = "spent"
)

// measureNames are all of them, in the order of tables.
var measureNames = []string{MeasureError, MeasureTruthError, MeasurePredictionError, MeasureWidth, MeasureCoverage, MeasureLogScore, MeasureMMD2, MeasureSpent}

// ComparisonLevel is that of all intervals of a comparison, which are equal-tailed.
const ComparisonLevel = 0.90

func (e *example) judge(ctx context.Context, f *fitted, rng *rand.Rand) (all []Measure, err error) {
	add := func(name string, value float64) { all = append(all, Measure{Name: name, Value: value}) }
	q := e.shape.Q()
	add(MeasureError, rms(f.theta, e.exact.mean))
	if e.truth != nil {
		add(MeasureTruthError, rms(f.theta, e.truth))
	}
	if e.test != nil {
		add(MeasurePredictionError, e.predictionError(f.theta))
	}
	if f.draws != nil {
		width, held := intervals(f.draws, q, e.truth)
		add(MeasureWidth, width)
		if e.truth != nil {
			add(MeasureCoverage, held)
		}
		if e.test != nil {
			held, score := e.predict(f.draws)
			if e.truth == nil {
				add(MeasureCoverage, held)
			}
			add(MeasureLogScore, score)
		}
		reference, err := e.exact.draw(rng)
		if err != nil {
			return nil, err
		}
		add(MeasureMMD2, Distance(f.draws, reference, len(reference.Names)))
	}
	if f.epsilon > 0 {
		add(MeasureSpent, f.epsilon)
	}
	return all, ctx.Err()
}

// rms is the root mean square of a − b.
func rms(a, b []float64) float64 { return floats.Distance(a, b, 2) / math.Sqrt(float64(len(a))) }

// intervals returns the mean width of the intervals of the first q columns, and the share of
// them that holds the truth, where there is one.
func intervals(d *posterior.Draws, q int, truth []float64) (width, held float64) {
	for j := range q {
		column := slices.Concat(d.Column(j)...)
		slices.Sort(column)
		low, high := posterior.Quantile(column, (1-ComparisonLevel)/2), posterior.Quantile(column, (1+ComparisonLevel)/2)
		width += (high - low) / float64(q)
		if truth != nil && low <= truth[j] && truth[j] <= high {
			held++
		}
	}
	return width, held / float64(q)
}

// predictionError is that of θᵀx, of a family of E[y | θᵀx], for the rows to predict.
func (e *example) predictionError(theta []float64) float64 {
	rows := e.regression(e.test)
	predicted := make([]float64, len(rows.Y))
	for i := range predicted {
		predicted[i] = e.family.Mean(floats.Dot(rows.X[i*rows.P:(i+1)*rows.P], theta))
	}
	return rms(predicted, rows.Y)
}

// predictive is how many draws, evenly spaced, a predictive law is made of.
const predictive = 400

// predict returns how large a share of the responses lies in its predictive interval, and
// their mean log predictive density. A predictive law is the mixture of N(θ_kᵀx, σ_k²) over
// draws k; with its distribution function F, y lies in the equal-tailed interval where
// (1 − level)/2 ≤ F(y) ≤ (1 + level)/2. Of a family there is a score alone.
func (e *example) predict(d *posterior.Draws) (held, score float64) {
	rows, draws := e.regression(e.test), points(d, min(d.NumChains()*d.NumDraws(), predictive), len(d.Names))
	for i, y := range rows.Y {
		below, density := e.mixture(draws, rows.X[i*rows.P:(i+1)*rows.P], y)
		if below >= (1-ComparisonLevel)/2 && below <= (1+ComparisonLevel)/2 {
			held++
		}
		score += density
	}
	n := float64(len(rows.Y))
	return held / n, score / n
}

// mixture returns the distribution function, of a family 0, and the log density of y given x, by
// draws of (θ, σ²), of a family of θ.
func (e *example) mixture(draws [][]float64, x []float64, y float64) (below, density float64) {
	q, n, logs := len(x), float64(len(draws)), make([]float64, len(draws))
	for i, draw := range draws {
		eta := floats.Dot(x, draw[:q])
		if e.family != model.Normal {
			logs[i] = e.family.LogProb(y, eta, e.columns.Response.Upper)
			continue
		}
		sigma := math.Sqrt(draw[q])
		z := (y - eta) / sigma
		below += distuv.UnitNormal.CDF(z)
		logs[i] = -z*z/2 - math.Log(sigma) - math.Log(2*math.Pi)/2
	}
	return below / n, floats.LogSumExp(logs) - math.Log(n)
}

// means are those of θ.
func (e *example) means(d *posterior.Draws) []float64 {
	all, _ := d.Moments()
	return all[:e.shape.Q()]
}

// ComparisonSummaryFormat is the first member of a comparison's summary's JSON.
const ComparisonSummaryFormat = "dpreg-comparison/1"

// Comparison says what the trials of a comparison tell. It does not depend on how long they
// took, and so is the same whenever the study is run again.
type Comparison struct {
	Format string `json:"format"`
	// Table is the name of the file of real rows; empty where rows were simulated.
	Table  string         `json:"table,omitempty"`
	Family model.Family   `json:"family,omitempty"` // of the response; empty is normal about a line
	Note   string         `json:"note"`
	Trials int            `json:"trials"` // of each cell
	Seed   uint64         `json:"seed"`
	Delta  float64        `json:"delta"`
	Level  float64        `json:"level"` // of intervals
	Cells  []ComparedCell `json:"cells"`
}

// ComparedCell is a method on one of the data sets at one budget.
type ComparedCell struct {
	Setting
	Failed int    `json:"failed"` // trials that ended with an error
	Capped int    `json:"capped"` // trials that met the sampler's limit
	Error  string `json:"error,omitempty"`
	// Refused: all trials failed, so that Error says why the method has no results.
	Refused  bool             `json:"refused"`
	Measures []MeasureSummary `json:"measures"` // those that the method has
}

// MeasureSummary is of one measure over the trials that have it.
type MeasureSummary struct {
	Name string   `json:"name"`
	Mean float64  `json:"mean"`
	SD   *float64 `json:"sd,omitempty"` // nil of one trial
	Of   int      `json:"of"`
}

// Get returns the summary of a measure, nil where the method has none.
func (c *ComparedCell) Get(name string) *MeasureSummary {
	i := slices.IndexFunc(c.Measures, func(m MeasureSummary) bool { return m.Name == name })
	if i < 0 {
		return nil
	}
	return &c.Measures[i]
}

// Sound tells whether no more than 1 % of the trials failed or were capped. That a method
// refuses is a result.
func (c *ComparedCell) Sound(trials int) bool { return c.Refused || sound(c.Failed, c.Capped, trials) }

// Unsound implements Results.
func (s *Comparison) Unsound() (n int) {
	for i := range s.Cells {
		n += number.Indicator[int](!s.Cells[i].Sound(s.Trials))
	}
	return n
}

// Compare summarises the trials of a comparison that Run or Merge returned.
func (s *Study) Compare(trials []*Trial) *Comparison {
	sum := &Comparison{Format: ComparisonSummaryFormat, Table: s.Population, Family: s.Family, Note: s.Note, Trials: s.Trials, Seed: s.Seed, Delta: s.Delta, Level: ComparisonLevel}
	for i, trials := range s.byCell(trials) {
		c := ComparedCell{Setting: s.Cells[i].Setting}
		for _, t := range trials {
			c.Failed, c.Error = c.Failed+number.Indicator[int](t.Error != ""), cmp.Or(c.Error, t.Error)
			c.Capped += number.Indicator[int](t.Capped)
		}
		c.Refused = c.Failed == s.Trials
		for _, name := range measureNames {
			if v := values(trials, func(t *Trial) *float64 { return t.measure(name) }); v != nil {
				c.Measures = append(c.Measures, MeasureSummary{name, *mean(v), deviation(v), len(v)})
			}
		}
		sum.Cells = append(sum.Cells, c)
	}
	return sum
}

// Has tells which measures any cell has, in the order of tables.
func (s *Comparison) Has() []string {
	return slices.DeleteFunc(slices.Clone(measureNames), func(name string) bool {
		return !slices.ContainsFunc(s.Cells, func(c ComparedCell) bool { return c.Get(name) != nil })
	})
}
