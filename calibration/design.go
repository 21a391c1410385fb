package calibration

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
)

// The formats are the first member of a design's JSON: of a study that asks whether posteriors
// are right, and of one that compares methods.
const (
	DesignFormat     = "dpreg-study/1"
	ComparisonFormat = "dpreg-compare/2"
)

// NonPrivate is the name of the method that is given the exact statistics.
const NonPrivate = "non-private"

// Data says where the rows of a trial come from, and with them what is true.
type Data string

const (
	// Unclamped rows follow the model, and may lie outside the bounds that noise
	// is calibrated to: ranks have to be uniform, and there is no privacy. The truth is drawn
	// from the prior.
	Unclamped Data = "unclamped"
	// Clamped rows are what a release is made of.
	Clamped Data = "clamped"
	// Cirrhosis is the wine and cirrhosis columns of testdata/cirrhosis.csv, split at
	// random into rows to infer from and rows to predict: see Fig4.
	Cirrhosis Data = "cirrhosis"
	// Resampled rows are drawn with replacement from those of a table, coded and clamped as
	// a release's are. The truth is least squares on all of its rows.
	Resampled Data = "resampled"
	// Split rows are a random part of those of a table; the true responses of the others are
	// to be predicted. Of comparisons alone.
	Split Data = "split"
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
	ExactSensitivity = "exact" // release.Vector.Sensitivity
	PaperSensitivity = "paper" // ssp.PaperSensitivity
)

// Design is a study of the regression. Every combination of Ns, Epsilons and Ps is
// tried with each arm, Trials times. Rows and parameters are in scaled units. Neighbours are
// replace-one: the number of rows is public.
//
// One of ComparisonFormat puts its arms, which are ComparisonArms, to the same data: a trial is
// measured by how far it is from the posterior without privacy.
type Design struct {
	Format   string    `json:"format"`
	Preset   string    `json:"preset,omitempty"` // the name of what it was made from
	Data     Data      `json:"data"`
	X        XLaw      `json:"x,omitempty"` // of simulated rows
	Ns       []int64   `json:"n,omitempty"` // none of Split data
	Epsilons []float64 `json:"epsilon"`
	Delta    float64   `json:"delta,omitempty"` // 0: Laplace noise; above: ssp.Auto
	Steps    int       `json:"steps,omitempty"` // of a release; 0: one; custody.AutoSteps
	Parts    int       `json:"parts,omitempty"` // that rows are dealt to, of Resampled data; 0: there is one release
	Ps       []int     `json:"p,omitempty"`
	// Columns, if not nil, takes the place of Ps.
	Columns *schema.Design `json:"columns,omitempty"`
	// Population has the rows of Resampled and Split data, and columns in the place of Ps.
	Population *Table    `json:"population,omitempty"`
	Prior      PriorSpec `json:"prior"`
	Arms       []Arm     `json:"arms"`
	Trials     int       `json:"trials"`
	Seed       uint64    `json:"seed"`
	// Family is the law of the response, and Clients are those of DPPVI; of comparisons alone.
	Family  model.Family `json:"family,omitempty"`
	Clients int          `json:"clients,omitempty"`
}

// Compares tells a comparison of methods.
func (d *Design) Compares() bool { return d.Format == ComparisonFormat }

// Text is the design as study.json has it.
func (d *Design) Text() []byte {
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		panic(err)
	}
	return append(text, '\n')
}

// ReadDesign is the inverse of Text. Unknown fields and what Validate refuses are
// errors.
func ReadDesign(text []byte) (*Design, error) {
	d, decoder := new(Design), json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(d); err != nil {
		return nil, fmt.Errorf("not the design of a study of this version: %w", err)
	}
	return d, d.Validate()
}

// The limits of a design: beyond them a number is a slip of the keyboard.
const (
	maxN      = 10_000_000
	maxP      = 30
	maxTrials = 1_000_000
)

// Validate returns an error that names the first field that cannot stand.
func (d *Design) Validate() error {
	if d.Format != DesignFormat && d.Format != ComparisonFormat {
		return fmt.Errorf("format %q: this version reads %q and %q", d.Format, DesignFormat, ComparisonFormat)
	}
	for _, validate := range []func() error{d.validateKind, d.validateData, d.validateGrid, d.validateArms} {
		if err := validate(); err != nil {
			return err
		}
	}
	if d.Prior.Name == DefaultPrior && d.Data != Resampled {
		return fmt.Errorf("prior %s: it depends on the release, and truths cannot be drawn from it: choose %s, or state one", DefaultPrior, BoxPrior)
	}
	for _, columns := range d.designs() {
		if _, err := d.Prior.of(columns, d.Family); err != nil {
			return fmt.Errorf("prior: %w", err)
		}
		if err := d.Family.Check(columns); err != nil {
			return err
		}
	}
	return nil
}

// validateKind refuses what the other kind of study alone can vary.
func (d *Design) validateKind() error {
	switch {
	case !d.Compares() && (d.Family != model.Normal || d.Clients != 0):
		return errors.New("family, clients: those are of comparisons alone")
	case d.Compares() && (d.Prior.Name != BoxPrior || d.Preset != "" || d.Columns != nil || d.Population == nil && d.X != NormalX):
		return fmt.Errorf("a comparison has %s covariates, prior %s, and no preset and no columns of its own", NormalX, BoxPrior)
	}
	return nil
}

func (d *Design) validateData() error {
	kinds := []Data{Unclamped, Clamped, Cirrhosis, Resampled}
	if d.Compares() {
		kinds = []Data{Unclamped, Clamped, Split}
	}
	t := d.Population
	switch {
	case (d.Data == Resampled || d.Data == Split) != (t != nil):
		return fmt.Errorf("data %s: rows of a table, and no others, are %s or %s", d.Data, Resampled, Split)
	case !slices.Contains(kinds, d.Data):
		return fmt.Errorf("data %q: choose %s or %s", d.Data, Unclamped, Clamped)
	case t != nil && (d.X != "" || d.Columns != nil || d.Data == Split && len(d.Ns) > 0):
		return errors.New("table: it has its rows and columns, and n, x and columns are for simulated ones")
	case t != nil && (d.Data == Split) != (t.Test > 0 && t.Test < 1):
		return fmt.Errorf("test: %v, and a share between 0 and 1 of rows that are %s, and none of others, has to be predicted", t.Test, Split)
	case d.Data == Split && (t.train() < 1 || t.train() >= t.Rows):
		return fmt.Errorf("rows: %d cannot be divided into some to infer from and some, %v of all, to predict", t.Rows, t.Test)
	case d.Data == Cirrhosis && (d.X != NormalX || d.Columns != nil || !slices.Equal(d.Ps, []int{1}) || !slices.Equal(d.Ns, []int64{cirrhosisTrain})):
		return fmt.Errorf("data %s: it has n = %d, p = 1 and its own covariate", d.Data, cirrhosisTrain)
	case t == nil && !slices.Contains([]XLaw{NormalX, BinaryX, SkewedX}, d.X):
		return fmt.Errorf("x %q: choose %s, %s or %s", d.X, NormalX, BinaryX, SkewedX)
	case d.columns() != nil && len(d.Ps) > 0:
		return errors.New("p: the columns say how many covariates there are")
	}
	if columns := d.columns(); columns != nil {
		if err := columns.Validate(); err != nil {
			return fmt.Errorf("columns: %w", err)
		}
	}
	return nil
}

// steps are those of a release: rows that are not clamped have no box, and are looked at once.
func (d *Design) steps() int {
	if d.Data == Unclamped {
		return 1
	}
	return cmp.Or(d.Steps, 1)
}

func (d *Design) validateGrid() error {
	err := within("trials: %d", 1, maxTrials, d.Trials)
	err = cmp.Or(err, within("p: %d covariates", 1, maxP, d.Ps...), within("n: %d rows", 1, maxN, d.Ns...))
	err = cmp.Or(err, within("epsilon: %v", ssp.MinEpsilon, ssp.MaxEpsilon, d.Epsilons...))
	switch {
	case err != nil:
		return err
	case d.Delta != 0 && !(d.Delta >= ssp.MinDelta && d.Delta < 1):
		return fmt.Errorf("delta: %v, and it has to be 0, or from %v to below 1", d.Delta, ssp.MinDelta)
	case d.Steps < custody.AutoSteps || d.Steps > custody.MaxSteps:
		return fmt.Errorf("steps: %d, and it has to be from 1 to %d", d.Steps, custody.MaxSteps)
	case d.Parts != 0 && (d.Parts < 2 || d.Parts > release.MaxParts || d.Data != Resampled):
		return fmt.Errorf("parts: %d, and it has to be from 2 to %d, of a population", d.Parts, release.MaxParts)
	case d.Family != model.Normal && d.Steps != 0:
		return fmt.Errorf("steps: rows are moved from the second look on, and family %s needs its response as it is: take one look", d.Family)
	case d.Steps > 1 && d.Data == Unclamped:
		return errors.New("steps: rows that are not clamped have no box, and are looked at once")
	case len(d.ns()) == 0 || len(d.Epsilons) == 0 || len(d.designs()) == 0:
		return errors.New("a study needs an n, an epsilon and a number of covariates")
	}
	for i, e := range d.Epsilons {
		if slices.Contains(d.Epsilons[:i], e) {
			return fmt.Errorf("epsilon: %v stands twice", e)
		}
	}
	return nil
}

// within returns an error that names the first value that is not from low to high.
func within[T int | int64 | float64](what string, low, high T, values ...T) error {
	for _, v := range values {
		if !(v >= low && v <= high) {
			return fmt.Errorf(what+", and it has to be from %v to %v", v, low, high)
		}
	}
	return nil
}

func (d *Design) validateArms() error {
	if len(d.Arms) == 0 {
		return errors.New("methods: there is no method")
	}
	for i, a := range d.Arms {
		err := a.validate(d)
		if err == nil && slices.Contains(d.Arms[:i], a) {
			err = errors.New("it stands twice")
		}
		if err != nil {
			return fmt.Errorf("method %s: %w", a.Method, err)
		}
	}
	return nil
}

// ns are the numbers of rows to infer from.
func (d *Design) ns() []int64 {
	if d.Data == Split {
		return []int64{d.Population.train()}
	}
	return d.Ns
}

// columns are those that the design names; nil: there are Ps.
func (d *Design) columns() *schema.Design {
	if d.Population != nil {
		return &d.Population.Columns
	}
	return d.Columns
}

// mostCounted is the bound of simulated counts.
const mostCounted = 20

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
		columns := dpreg.UnitDesign(p)
		switch d.Family {
		case model.Normal:
		case model.Poisson:
			columns.Response.Lower, columns.Response.Upper = 0, mostCounted
		default:
			columns.Response.Lower = 0
		}
		designs = append(designs, columns)
	}
	return designs
}

// Study lists the cells of a valid design: each n, ε, p and arm. rows are those of the
// design's table, nil where there is none; nil also serves to put shards together, of
// which no trial is run. Errors: those of Validate, rows that are not the design's or leave a
// coefficient open.
func (d *Design) Study(rows *Rows) (*Study, error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
	s := &Study{Trials: d.Trials, Seed: d.Seed, Description: d.Text(), Uniform: d.uniform(), Note: d.note(), Compares: d.Compares(), Family: d.Family, Delta: d.Delta}
	truth, err := d.truth(rows)
	if err != nil {
		return nil, err
	}
	if d.Population != nil {
		s.Population = d.Population.Name
	}
	for _, columns := range d.designs() {
		prior, err := d.Prior.of(columns, d.Family)
		if err != nil {
			return nil, err
		}
		fit := func(arm Arm, epsilon float64) fitter {
			return fitter{arm: arm, family: d.Family, columns: columns, prior: prior, privacy: d.privacy(epsilon), steps: d.steps(), parts: d.Parts}
		}
		for _, arm := range d.Arms {
			if d.Compares() {
				break // that a method refuses is a result
			}
			f := fit(arm, rehearsalEpsilon)
			if err := f.rehearse(slices.Min(d.Ns), d.Seed); err != nil {
				return nil, err
			}
		}
		for _, n := range d.ns() {
			for _, epsilon := range d.Epsilons {
				for _, arm := range d.Arms {
					setting := arm.setting(d.Clients)
					setting.N, setting.Epsilon, setting.P = n, epsilon, len(columns.Covariates)
					s.Cells = append(s.Cells, Cell{setting, d.subject(fit(arm, epsilon), n, rows, truth)})
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

func (d *Design) note() string {
	const simulated = "The noise is simulated: no privacy guarantee."
	rows := "Rows follow the model"
	switch {
	case d.Data == Split:
		return "NO PRIVACY: all of this was computed from real rows, and its noise was simulated from the seed, which is in it. It is for those who may see the rows."
	case d.Data == Resampled:
		return "Rows are drawn with replacement from " + d.Population.Name + ", coded and clamped as those of a release are, and the truth is least squares on all rows of it. " + simulated
	case d.Data == Cirrhosis:
		return "Real rows, with bounds at their extremes. " + simulated
	case d.Compares():
		rows += ", with parameters from the box prior,"
	case d.X != NormalX:
		rows = "Rows have " + string(d.X) + " covariates, which the model takes for normal,"
	}
	if d.Data == Clamped {
		return rows + " and are clamped to [-1, 1], as those of a release are. " + simulated
	}
	return rows + " and are not clamped. " + simulated
}

func (d *Design) privacy(epsilon float64) release.Privacy {
	return release.Privacy{Epsilon: epsilon, Delta: d.Delta, Neighbours: release.ReplaceOne}
}

func (d *Design) subject(fit fitter, n int64, rows *Rows, truth []float64) Subject {
	switch {
	case d.Compares():
		return &comparison{fit, newMethod(fit, n, d.Clients), n, d.Data, rows, truth}
	case d.Data == Resampled:
		if d.Prior.Name == DefaultPrior {
			fit.prior = nil
		}
		return &population{fit, n, rows, truth}
	case d.Data == Cirrhosis:
		return &prediction{fit, cirrhosisOnUnit()}
	}
	return &regression{fitter: fit, n: n, clamp: d.Data == Clamped, x: d.X}
}

// Fig3 is the study of Bernstein & Sheldon's Figure 3: calibration, coverage, MMD and
// runtime at one covariate. Data are unclamped, as theirs are.
func Fig3() *Design {
	return &Design{
		Format: DesignFormat, Preset: "fig3", Data: Unclamped, X: NormalX,
		Ns: []int64{10, 100, 1000}, Epsilons: []float64{0.01, 0.1, 1}, Ps: []int{1},
		Prior: PriorSpec{Name: PaperPrior}, Trials: 300, Arms: Arms(PaperMethods(), nil, nil),
	}
}

// Fig4 is the study of Bernstein & Sheldon's Figure 4: how often predictive intervals
// hold the responses of rows that were not inferred from, over 100 splits of 46
// rows into 36 and 10. Both columns are mapped to [0, 1] by their extremes, as theirs
// are; bounds that come from the rows give a release no guarantee. The prior is
// theirs, in that scale, and for the covariates the default.
func Fig4() *Design {
	return &Design{
		Format: DesignFormat, Preset: "fig4", Data: Cirrhosis, X: NormalX,
		Ns: []int64{cirrhosisTrain}, Epsilons: []float64{0.1, 1}, Ps: []int{1},
		Prior: PriorSpec{File: json.RawMessage(fig4Prior)}, Trials: 100, Arms: Arms(PaperMethods(), nil, nil),
	}
}

// fig4Prior is a slope of 1 and an intercept of 0, with a precision of .25 each.
const fig4Prior = `{"units":"original","theta":{"mean":[0,1],"precision":[[0.25,0],[0,0.25]]},"sigma2":{"shape":20,"scale":0.5}}`
