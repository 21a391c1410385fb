// Package plan foretells what a release would tell, before there are data: it simulates
// releases over a grid of ε and n, and their posteriors. No row is read, and no ε is spent.
package plan

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts/exact"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
)

// DefaultReleases is the number of releases that Foresee simulates at each point
// of the grid where its options say none.
const DefaultReleases = 40

// Options say of what Foresee makes a forecast. Design, Epsilons and Ns
// have to be given; for all else the zero value serves.
type Options struct {
	Design *schema.Design
	// Family is the law of the response, on whose link's scale slopes are; empty is the normal one.
	Family model.Family
	// Pool reports one slope in place of each covariate's: the mean over the
	// slopes in every release, which has less Monte Carlo error. It is for
	// columns that are alike, as those of dpreg.UnitDesign.
	Pool bool
	// Prior is in scaled units; nil is the default one for each release.
	Prior *model.Prior
	// Means, SDs and R2 say what the rows are taken to be like, see Assume.
	Means, SDs map[string]float64
	R2         float64
	// Epsilons and Ns span the grid.
	Epsilons []float64
	Ns       []int64
	// Delta is 0 for Laplace noise; above 0, noise is what ssp.Auto chooses.
	Delta float64
	// Neighbours are release.ReplaceOne where it is empty.
	Neighbours release.Neighbours
	// Steps is the number of looks of each release; 0 is custody.AutoSteps.
	Steps int
	// ByLevel is a factor by whose levels sums are, or several with ":" between them, or the response of a Family; empty
	// is none, or what TakeLevels takes. Columns of factors come first in the forecast.
	ByLevel  string
	dummies  int         // columns of factors in the model
	coding   [][]float64 // theirs, as release.Levels has it, of several factors
	responds bool        // ByLevel is the response
	// Width, where it is not 0, is the widest that the interval of slope Slope may be, in the
	// data's units: Epsilons or Ns are left out, and the least of them for that are sought.
	Width float64
	Slope int
	// Truth holds the slopes behind the simulated data, in the data's units;
	// NaN, and nil for all, is a slope of Assumption.
	Truth []float64
	// Releases is the number of simulated releases at each point; 0 is
	// DefaultReleases.
	Releases int
	// Level is that of the intervals; 0 is posterior.DefaultLevel.
	Level float64
	Seed  uint64
	// Workers is the number of releases that are worked on at once, 0 for
	// GOMAXPROCS. Results do not depend on it.
	Workers int
	// Progress, if not nil, is called after each release, by one goroutine
	// at a time.
	Progress func(done, total int)
}

// Format is the first member of a forecast's JSON.
const Format = "dpreg-plan/2"

// Forecast says what releases of a design would tell, from simulated ones: no
// row was read, and no ε is spent.
type Forecast struct {
	Format     string             `json:"format"`
	Simulated  bool               `json:"simulated"` // true
	Family     model.Family       `json:"family,omitzero"`
	Design     *schema.Design     `json:"schema"`
	Method     string             `json:"method"`
	Neighbours release.Neighbours `json:"neighbours"`
	Delta      float64            `json:"delta"`
	ByLevel    string             `json:"by_level,omitzero"`
	factors    int                // columns of factors that have a law of their own
	coding     [][]float64        // theirs, of several
	Level      float64            `json:"level"`
	Releases   int                `json:"releases"` // at each point
	Seed       uint64             `json:"seed"`
	Assumed    *Assumption        `json:"assumed"`
	Alone      []PriorSlope       `json:"prior"`           // in the order of each point's Slopes
	Points     []Point            `json:"points"`          // ordered by n, then ε
	Wanted     *Wanted            `json:"wanted,omitzero"` // what the points answer, if Options.Width did
	Warnings   []string           `json:"warnings"`
	Prior      *model.Prior       `json:"-"` // scaled units, before there is a release
}

// PriorSlope is what the prior alone says of a slope, in the data's units.
type PriorSlope struct {
	Name  string  `json:"name"`
	Width float64 `json:"width"` // of the equal-tailed interval
	Truth float64 `json:"truth"` // behind the simulated data; NaN: as assumed
}

// Point is a point of the grid.
type Point struct {
	N       int64           `json:"n"`
	Epsilon float64         `json:"epsilon"`
	Steps   int             `json:"steps,omitzero"` // looks of a release, where there are several
	Noise   release.Noise   `json:"noise"`          // of the last of several looks, if the first frame were the last
	Slopes  []SlopeForecast `json:"slopes"`
	order   *custody.Settled
}

// SlopeForecast averages over simulated releases, in the data's units. An error
// is the Monte Carlo standard error of that average; it is NaN for one release.
type SlopeForecast struct {
	Name       string  `json:"name"`
	Width      float64 `json:"width"` // of the equal-tailed interval
	WidthError float64 `json:"width_mcse"`
	// Median is that of the widths, where releases have several looks: a frame that was not
	// found makes the mean much larger.
	Median float64 `json:"width_median,omitzero"`
	median float64
	// Contraction is the mean of posterior contractions, see posterior.Parameter.
	Contraction      float64 `json:"contraction"`
	ContractionError float64 `json:"contraction_mcse"`
	// Price is the mean posterior sd over the mean sd without noise.
	Price       float64 `json:"price"`
	PriceError  float64 `json:"price_mcse"`
	SD          float64 `json:"sd"`           // mean posterior sd
	NoiselessSD float64 `json:"noiseless_sd"` // mean posterior sd given the same rows without noise
	// Detected is the share of releases whose interval lies on the true
	// slope's side of 0.
	Detected      float64 `json:"detected"`
	DetectedError float64 `json:"detected_mcse"`
}

// Foresee simulates releases before there are data, over a grid of ε and n:
// parameters as assumed, the exact statistics of n normal rows, the noise of
// a release with ε, and the posterior by mcmc-exact under the prior. Of a family the sums of y are
// those of model.FamilyLaw. All points share their
// random numbers, so that they differ by n and ε more than by chance. The noise
// comes from the seed, and the releases are marked simulated; none leaves here.
//
// Rows are normal and not clamped; what they are like beside that is in Forecast.Assumed.
//
// Where the options have a Width the grid is of what is found for it: for each of the Ns the
// smallest ε, or for each of the Epsilons the smallest n.
//
// Errors: options that cannot stand, those of ssp.Publish on privacy, a context
// that is done.
func Foresee(ctx context.Context, o Options) (*Forecast, error) {
	if err := o.TakeLevels(); err != nil {
		return nil, err
	}
	if o.Width != 0 {
		return o.seek(ctx)
	}
	f, err := o.forecast()
	if err != nil {
		return nil, err
	}
	s := newSimulation(f, o)
	if f.InSteps() {
		s.standard = standardRows(len(f.Design.Covariates) + 1 - o.dummies)
	}
	f.Alone = s.alone()
	if err := s.run(ctx); err != nil {
		return nil, err
	}
	for i := range f.Points {
		f.Points[i].Slopes = s.average(i)
	}
	f.Warnings = s.warnings()
	return f, nil
}

// Validate returns what Foresee refuses before it simulates anything.
func (o Options) Validate() error {
	if err := o.TakeLevels(); err != nil {
		return err
	}
	check := o.forecast
	if o.Width != 0 {
		check = o.sought
	}
	_, err := check()
	return err
}

// forecast checks the options, and returns a forecast that lacks its numbers.
func (o Options) forecast() (*Forecast, error) {
	if o.Design == nil {
		return nil, errors.New("a forecast needs a design: the columns and their public bounds")
	}
	if err := errors.Join(o.Design.Validate(), o.Family.Check(o.Design)); err != nil {
		return nil, err
	}
	f := &Forecast{Format: Format, Simulated: true, Family: o.Family, Neighbours: cmp.Or(o.Neighbours, release.ReplaceOne), Design: o.Design, Method: exact.Method{}.Name(), Delta: o.Delta, ByLevel: o.ByLevel, coding: o.coding, Level: cmp.Or(o.Level, posterior.DefaultLevel), Releases: cmp.Or(o.Releases, DefaultReleases), Seed: o.Seed}
	if !o.responds {
		f.factors = o.dummies
	}
	p := len(o.Design.Covariates)
	switch {
	case p == 0:
		return nil, fmt.Errorf("%s has no slope to forecast: name a covariate", o.Design.Formula())
	case !(f.Level > 0 && f.Level < 1):
		return nil, fmt.Errorf("level %v is not between 0 and 1", f.Level)
	case f.Releases < 1:
		return nil, fmt.Errorf("%d releases: at least 1 is needed at each point", f.Releases)
	case o.Truth != nil && len(o.Truth) != p:
		return nil, fmt.Errorf("%d true slopes for %d covariates", len(o.Truth), p)
	case len(o.Epsilons) == 0 || len(o.Ns) == 0:
		return nil, errors.New("a forecast needs an ε and an n")
	}
	for _, v := range o.Truth {
		if math.IsInf(v, 0) {
			return nil, errors.New("a true slope is infinite")
		}
	}
	var err error
	if f.Prior = o.Prior; f.Prior == nil {
		f.Prior, err = o.Family.DefaultPrior(o.Design)
	} else {
		err = f.Prior.Check(model.DesignShape(o.Design))
	}
	if err != nil {
		return nil, err
	}
	if f.Assumed, err = Assume(o.Family, o.Design, o.Means, o.SDs, o.R2); err != nil {
		return nil, err
	}
	f.Points, err = o.points()
	return f, err
}

// Categories tells whether covariates are categories alone, by whose levels sums are.
func (f *Forecast) Categories() bool { return f.factors == len(f.Design.Covariates) }

func (f *Forecast) shape() model.Shape {
	shape := model.DesignShape(f.Design)
	shape.Coding = f.coding
	return shape
}

// points lays out the grid.
func (o Options) points() ([]Point, error) {
	m, steps := len(o.Design.Covariates)+1, o.Steps
	if o.Family != model.Normal && !o.responds {
		if steps > 1 {
			return nil, fmt.Errorf("%d steps: family %s takes one look at the rows, as a release for it does", steps, o.Family)
		}
		steps = 1
	}
	var points []Point
	for _, n := range o.Ns {
		if n <= int64(m) {
			return nil, fmt.Errorf("n = %d: %d columns need more than %d rows", n, m, m)
		}
		if n > ssp.MaxRows {
			return nil, fmt.Errorf("n = %d: at most %d rows are possible", n, int64(ssp.MaxRows))
		}
		for _, epsilon := range o.Epsilons {
			order, err := settle(o.Design, o.ByLevel, o.privacy(epsilon), steps, n)
			if err != nil {
				return nil, err
			}
			p := Point{N: n, Epsilon: epsilon, Noise: order.Noise, order: order}
			if order.Steps > 1 {
				p.Steps = order.Steps
			}
			points = append(points, p)
		}
	}
	return points, nil
}

func (o Options) privacy(epsilon float64) release.Privacy {
	return release.Privacy{Epsilon: epsilon, Delta: o.Delta, Neighbours: cmp.Or(o.Neighbours, release.ReplaceOne)}
}

// InSteps tells whether releases at some point have several looks.
func (f *Forecast) InSteps() bool {
	return slices.ContainsFunc(f.Points, func(p Point) bool { return p.Steps > 1 })
}

// WriteJSON writes the forecast as dpreg-plan/2, indented, numbers in full
// precision, null for what does not exist.
func (f *Forecast) WriteJSON(w io.Writer) error { return number.Lines(w, f) }

// WriteCSV writes a line for each slope at each point under the names of the
// JSON's members, numbers in full precision, NA for what does not exist. Steps and medians are
// there where InSteps.
func (f *Forecast) WriteCSV(w io.Writer) error {
	records := [][]string{{"n", "epsilon", "noise", "noise_scale", "name", "width", "width_mcse", "contraction", "contraction_mcse",
		"price", "price_mcse", "sd", "noiseless_sd", "detected", "detected_mcse"}}
	if f.InSteps() {
		records[0] = append(records[0], "steps", "width_median")
	}
	for _, p := range f.Points {
		for _, s := range p.Slopes {
			record := []string{strconv.FormatInt(p.N, 10), number.CSV(p.Epsilon), string(p.Noise.Kind), number.CSV(p.Noise.Scale), s.Name}
			record = append(record, number.CSVs(s.Width, s.WidthError, s.Contraction, s.ContractionError, s.Price, s.PriceError, s.SD, s.NoiselessSD, s.Detected, s.DetectedError)...)
			if f.InSteps() {
				record = append(record, strconv.Itoa(max(p.Steps, 1)), number.CSV(s.median))
			}
			records = append(records, record)
		}
	}
	return csv.NewWriter(w).WriteAll(records)
}
