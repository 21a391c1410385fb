package calibration

import (
	"errors"
	"fmt"
	"slices"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
)

// DesignFormat is the first member of a design's JSON.
const DesignFormat = "dpreg-study/1"

// NonPrivate is the name of the method that is given the exact statistics.
const NonPrivate = "non-private"

// Data says where the rows of a trial come from.
type Data string

const (
	// Unclamped rows follow the model, and may lie outside the bounds that noise
	// is calibrated to: ranks have to be uniform, and there is no privacy.
	Unclamped Data = "unclamped"
	// Clamped rows are what a release is made of.
	Clamped Data = "clamped"
	// Cirrhosis is the wine and cirrhosis columns of testdata/cirrhosis.csv, split at
	// random into rows to infer from and rows to predict: see Fig4.
	Cirrhosis Data = "cirrhosis"
	// Resampled rows are drawn with replacement from those of a table, coded and clamped as
	// a release's are. The truth is least squares on all of its rows.
	Resampled Data = "resampled"
)

// XLaw is the law of the covariates of simulated rows. All have the mean μ_x and the
// covariance T of the trial's parameters; the model believes NormalX.
type XLaw string

const (
	NormalX XLaw = "normal"
	BinaryX XLaw = "binary" // μ_x + L e, e_j = ±1, T = LLᵀ
	SkewedX XLaw = "skewed" // μ_x + L e, e_j exponential of mean 1, less 1
)

// The sensitivities that noise is calibrated to.
const (
	ExactSensitivity = "exact" // ssp.SensitivityL1 or ssp.SensitivityL2Squared
	PaperSensitivity = "paper" // ssp.PaperSensitivity
)

// Design is a study of the regression. Every combination of Ns, Epsilons and Ps is
// tried with each arm, Trials times. Rows and parameters are in scaled units.
type Design struct {
	Format   string    `json:"format"`
	Preset   string    `json:"preset,omitempty"` // the name of what it was made from
	Data     Data      `json:"data"`
	X        XLaw      `json:"x,omitempty"` // of simulated rows
	Ns       []int64   `json:"n"`
	Epsilons []float64 `json:"epsilon"`
	Delta    float64   `json:"delta,omitempty"` // 0: Laplace noise; above: ssp.Auto
	Ps       []int     `json:"p,omitempty"`
	// Columns, if not nil, takes the place of Ps.
	Columns *schema.Design `json:"columns,omitempty"`
	// Population has the rows of Resampled data, and columns in the place of Ps.
	Population *Table    `json:"population,omitempty"`
	Prior      PriorSpec `json:"prior"`
	Arms       []Arm     `json:"arms"`
	Trials     int       `json:"trials"`
	Seed       uint64    `json:"seed"`
}

// The limits of a design: beyond them a number is a slip of the keyboard.
const (
	maxN      = 10_000_000
	maxP      = 30
	maxTrials = 1_000_000
)

// Validate returns an error that names the first field that cannot stand.
func (d *Design) Validate() error {
	if d.Format != DesignFormat {
		return fmt.Errorf("format %q: this version reads %q", d.Format, DesignFormat)
	}
	if d.Trials < 1 || d.Trials > maxTrials {
		return fmt.Errorf("trials: %d, and it has to be from 1 to %d", d.Trials, maxTrials)
	}
	if err := d.validateData(); err != nil {
		return err
	}
	if err := d.validateGrid(); err != nil {
		return err
	}
	if len(d.Arms) == 0 {
		return errors.New("arms: there is no method")
	}
	for i, a := range d.Arms {
		if err := a.validate(d); err != nil {
			return fmt.Errorf("method %s: %w", a.Method, err)
		}
		if slices.Contains(d.Arms[:i], a) {
			return fmt.Errorf("method %s stands twice", a.Method)
		}
	}
	if d.Prior.Name == DefaultPrior && d.Data != Resampled {
		return fmt.Errorf("prior %s: it depends on the release, and truths cannot be drawn from it: choose %s, or state one", DefaultPrior, BoxPrior)
	}
	for _, columns := range d.designs() {
		if _, err := d.Prior.of(columns); err != nil {
			return fmt.Errorf("prior: %w", err)
		}
	}
	return nil
}

func (d *Design) validateData() error {
	if (d.Data == Resampled) != (d.Population != nil) {
		return fmt.Errorf("data %s: rows of a population, and no others, are %s", d.Data, Resampled)
	}
	switch d.Data {
	case Resampled:
		if d.X != "" || d.Columns != nil {
			return errors.New("population: it has its rows and columns, and x and columns are for simulated ones")
		}
		return nil
	case Unclamped, Clamped:
	case Cirrhosis:
		if d.X != NormalX || d.Columns != nil || !slices.Equal(d.Ps, []int{1}) || !slices.Equal(d.Ns, []int64{cirrhosisTrain}) {
			return fmt.Errorf("data %s: it has n = %d, p = 1 and its own covariate", d.Data, cirrhosisTrain)
		}
	default:
		return fmt.Errorf("data %q: choose %s or %s", d.Data, Unclamped, Clamped)
	}
	if !slices.Contains([]XLaw{NormalX, BinaryX, SkewedX}, d.X) {
		return fmt.Errorf("x %q: choose %s, %s or %s", d.X, NormalX, BinaryX, SkewedX)
	}
	return nil
}

func (d *Design) validateGrid() error {
	if columns := d.columns(); columns != nil {
		if len(d.Ps) > 0 {
			return errors.New("p: the columns say how many covariates there are")
		}
		if err := columns.Validate(); err != nil {
			return fmt.Errorf("columns: %w", err)
		}
		if p := len(columns.Covariates); p > maxP {
			return fmt.Errorf("columns: %d covariates, and at most %d are possible", p, maxP)
		}
	}
	for _, p := range d.Ps {
		if p < 1 || p > maxP {
			return fmt.Errorf("p: %d covariates, and it has to be from 1 to %d", p, maxP)
		}
	}
	for _, n := range d.Ns {
		if n < 1 || n > maxN {
			return fmt.Errorf("n: %d rows, and it has to be from 1 to %d", n, maxN)
		}
	}
	for _, e := range d.Epsilons {
		if !(e >= ssp.MinEpsilon && e <= ssp.MaxEpsilon) {
			return fmt.Errorf("epsilon: %v, and it has to be from %v to %v", e, ssp.MinEpsilon, ssp.MaxEpsilon)
		}
	}
	if d.Delta != 0 && !(d.Delta >= ssp.MinDelta && d.Delta < 1) {
		return fmt.Errorf("delta: %v, and it has to be 0, or from %v to below 1", d.Delta, ssp.MinDelta)
	}
	if len(d.Ns) == 0 || len(d.Epsilons) == 0 || len(d.designs()) == 0 {
		return errors.New("a study needs an n, an epsilon and a number of covariates")
	}
	return nil
}

// columns are those that the design names; nil: there are Ps.
func (d *Design) columns() *schema.Design {
	if d.Population != nil {
		return &d.Population.Columns
	}
	return d.Columns
}

// designs are the columns of each number of covariates.
func (d *Design) designs() []*schema.Design {
	switch {
	case d.Data == Cirrhosis:
		return []*schema.Design{cirrhosisColumns()}
	case d.columns() != nil:
		return []*schema.Design{d.columns()}
	}
	var designs []*schema.Design
	for _, p := range d.Ps {
		designs = append(designs, dpreg.UnitDesign(p))
	}
	return designs
}

// Text is the design as study.json has it.
func (d *Design) Text() []byte { return EncodeDesign(d) }

// ReadDesign is the inverse of Text. Unknown fields and what Validate refuses are
// errors.
func ReadDesign(text []byte) (*Design, error) {
	d := new(Design)
	if err := DecodeDesign(text, d); err != nil {
		return nil, fmt.Errorf("not the design of a study: %w", err)
	}
	return d, d.Validate()
}
