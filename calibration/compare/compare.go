// Package compare puts many methods to the same data at the same budget: the methods that
// infer from a release, variational inference on rows, by one custodian (DP-VI) and by
// clients (DP-PVI), AdaSSP, and, to compare with, the posterior without privacy.
//
// A Design is over simulated rows, whose true parameters are known, or over the rows of a
// table, of which each trial keeps a random part to predict. It becomes a calibration.Study:
// trials are journalled, sharded and merged as those of a calibration are. docs/compare.md
// says how each method is set, and why so.
//
// All of it is a study: noise is simulated, and what comes out of real rows is computed from
// them without any mechanism. It is for those who may see the rows.
package compare

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/calibration"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
)

// DesignFormat is the first member of a design's JSON.
const DesignFormat = "dpreg-compare/1"

// Design is a comparison. Every combination of sizes and budgets is tried with each method,
// Trials times. Neighbours are replace-one: the number of rows is public.
type Design struct {
	Format string `json:"format"`
	// Table, if not nil, has the rows; else they are simulated.
	Table *Table `json:"table,omitempty"`
	// Ns and Ps are numbers of simulated rows and covariates, and Data says what becomes of
	// simulated values outside the bounds.
	Ns       []int64          `json:"n,omitempty"`
	Ps       []int            `json:"p,omitempty"`
	Data     calibration.Data `json:"data,omitempty"`
	Epsilons []float64        `json:"epsilon"`
	Delta    float64          `json:"delta,omitempty"` // 0: Laplace noise
	Methods  []string         `json:"methods"`
	Clients  int              `json:"clients"` // of DP-PVI
	Trials   int              `json:"trials"`
	Seed     uint64           `json:"seed"`
}

// Table says which rows of which table are meant.
type Table struct {
	calibration.Table
	// Test is the share of the rows that is predicted.
	Test float64 `json:"test"`
}

// The limits of a design: beyond them a number is a slip of the keyboard.
const (
	maxN      = 10_000_000
	maxP      = 30
	maxTrials = 1_000_000
)

// Validate returns an error that names the first field that cannot stand.
func (d *Design) Validate() error {
	switch {
	case d.Format != DesignFormat:
		return fmt.Errorf("format %q: this version reads %q", d.Format, DesignFormat)
	case d.Trials < 1 || d.Trials > maxTrials:
		return fmt.Errorf("trials: %d, and it has to be from 1 to %d", d.Trials, maxTrials)
	case len(d.Epsilons) == 0:
		return errors.New("epsilon: a comparison needs a budget")
	case d.Delta != 0 && !(d.Delta >= ssp.MinDelta && d.Delta < 1):
		return fmt.Errorf("delta: %v, and it has to be 0, or from %v to below 1", d.Delta, ssp.MinDelta)
	}
	for i, e := range d.Epsilons {
		if !(e >= ssp.MinEpsilon && e <= ssp.MaxEpsilon) {
			return fmt.Errorf("epsilon: %v, and it has to be from %v to %v", e, ssp.MinEpsilon, ssp.MaxEpsilon)
		}
		if slices.Contains(d.Epsilons[:i], e) {
			return fmt.Errorf("epsilon: %v stands twice", e)
		}
	}
	if err := d.validateRows(); err != nil {
		return err
	}
	return d.validateMethods()
}

func (d *Design) validateRows() error {
	if t := d.Table; t != nil {
		if len(d.Ns) > 0 || len(d.Ps) > 0 || d.Data != "" {
			return errors.New("table: it has its rows and columns, and n, p and data are for simulated ones")
		}
		if err := t.Columns.Validate(); err != nil {
			return fmt.Errorf("columns: %w", err)
		}
		if !(t.Test > 0 && t.Test < 1) {
			return fmt.Errorf("test: %v, and a share of the rows between 0 and 1 has to be predicted", t.Test)
		}
		if t.train() < 1 || t.train() >= t.Rows {
			return fmt.Errorf("rows: %d cannot be divided into some to infer from and some, %v of all, to predict", t.Rows, t.Test)
		}
		return nil
	}
	if len(d.Ns) == 0 || len(d.Ps) == 0 {
		return errors.New("simulated rows need an n and a number of covariates")
	}
	if d.Data != calibration.Clamped && d.Data != calibration.Unclamped {
		return fmt.Errorf("data %q: choose %s or %s", d.Data, calibration.Unclamped, calibration.Clamped)
	}
	for _, n := range d.Ns {
		if n < 1 || n > maxN {
			return fmt.Errorf("n: %d rows, and it has to be from 1 to %d", n, maxN)
		}
	}
	for _, p := range d.Ps {
		if p < 1 || p > maxP {
			return fmt.Errorf("p: %d covariates, and it has to be from 1 to %d", p, maxP)
		}
	}
	return nil
}

func (d *Design) validateMethods() error {
	if len(d.Methods) == 0 {
		return errors.New("methods: there is none")
	}
	for i, name := range d.Methods {
		switch {
		case !slices.Contains(MethodNames(), name):
			return fmt.Errorf("method %q: there is none of this name; choose of %s", name, strings.Join(MethodNames(), ", "))
		case slices.Contains(d.Methods[:i], name):
			return fmt.Errorf("method %s stands twice", name)
		case NeedsDelta(name) && d.Delta == 0:
			return fmt.Errorf("method %s: its noise is Gaussian, which needs a delta above 0, such as 1e-6", name)
		}
	}
	if slices.Contains(d.Methods, DPPVI) {
		for _, size := range d.sizes() {
			if d.Clients < 1 || int64(d.Clients) > size.n {
				return fmt.Errorf("clients: %d, and it has to be from 1 to the number of rows to infer from, %d: each holds some", d.Clients, size.n)
			}
		}
	}
	return nil
}

// size is one of the data sets of a design.
type size struct {
	n       int64
	columns *schema.Design
}

func (d *Design) sizes() (sizes []size) {
	if t := d.Table; t != nil {
		return []size{{t.train(), &t.Columns}}
	}
	for _, p := range d.Ps {
		for _, n := range d.Ns {
			sizes = append(sizes, size{n, dpreg.UnitDesign(p)})
		}
	}
	return sizes
}

// train is how many rows are inferred from.
func (t *Table) train() int64 { return t.Rows - int64(float64(t.Rows)*t.Test+0.5) }

// Text is the design as study.json has it.
func (d *Design) Text() []byte { return calibration.EncodeDesign(d) }

// ReadDesign is the inverse of Text. Unknown fields and what Validate refuses are errors.
func ReadDesign(text []byte) (*Design, error) {
	d := new(Design)
	if err := calibration.DecodeDesign(text, d); err != nil {
		return nil, fmt.Errorf("not the design of a comparison: %w", err)
	}
	return d, d.Validate()
}
