package main

import (
	"cmp"

	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/table"
	"github.com/dpreg/dpreg/vi"
)

// viFlags are those of vi and pvi.
const viFlags = columnFlags + fileFlags + " ledger no-ledger " + runFlags + resultFlags

// Flags of a run, and of what becomes of it.
const (
	runFlags    = " eps delta model prior-sd rate steps clip learning-rate "
	roundFlags  = " error-sd rounds damping "
	resultFlags = " seed draws format level units save "
)

// viFit is a fit to rows by variational inference, and what it is of.
type viFit struct {
	*dataset
	design *vi.Design
	method string
	fit    *vi.Fit
	n      int64 // 0 where it is not public
}

func runVI(f *flags, args []string) (err error) {
	if err := f.checkVI(); err != nil {
		return err
	}
	r := &viFit{dataset: &dataset{flags: f}, method: "vi-" + f.model}
	o, err := r.viOptions()
	if err != nil {
		return err
	}
	cells, err := f.cells(!f.nonPrivate)
	if err != nil {
		return err
	}
	data := args[0]
	if r.design, err = r.viDesign(data); err != nil {
		return err
	}
	if err := r.checkOutputs(data); err != nil {
		return err
	}
	if o.Privacy != nil {
		o.Clip = cmp.Or(r.clip, r.design.Norm())
		f.note("gradients are clipped to a norm of %.4g", o.Clip)
	}
	var paid *custody.Payment
	if o.Privacy != nil {
		if paid, err = r.payment(data); err != nil {
			return err
		}
		r.source.Marks = paid.Marks()
	}
	defer func() { paid.Finish(f.ctx(), err == nil) }()
	rows, group, err := r.read(cells)
	if err != nil {
		return err
	}
	marks := r.source.Marks
	r.n = f.rows
	if f.neighbours == string(release.ReplaceOne) {
		if r.n = int64(len(rows.Y)); r.n == 0 {
			return usagef("%s has no rows to fit", r.source.Name)
		}
	}
	if err := r.plan(&o, paid, data); err != nil {
		return err
	}
	if err := paid.Pay(f.ctx(), marks); err != nil {
		return err
	}
	if r.fit, err = r.climb(rows, group, o); err != nil {
		return err
	}
	return r.conclude()
}

// checkVI checks what needs no file.
func (f *flags) checkVI() error {
	switch {
	case f.given("rate") && f.batch > 0:
		return usagef("--rate and --batch exclude each other: both say how large batches are")
	case f.rows < 0:
		return usagef("--rows %d: at least 1", f.rows)
	case f.neighbours == string(release.AddRemove) && f.rows == 0 && f.batch > 0:
		return usagef("with --neighbours add-remove the number of rows is secret: use --rate, or say with --rows about how many there are by public knowledge")
	case f.model == vi.HierarchicalKind && f.group == "":
		return usagef("--model %s needs --group, a column of categories", vi.HierarchicalKind)
	case f.model != vi.HierarchicalKind && f.group != "":
		return usagef("--group is for --model %s", vi.HierarchicalKind)
	case f.nonPrivate && (f.given("eps") || f.given("delta") || f.given("ledger") || f.noLedger):
		return usagef("--non-private spends nothing: leave out --eps, --delta, --ledger and --no-ledger")
	case f.noLedger && f.ledger != "":
		return usagef("--no-ledger and --ledger exclude each other")
	case f.nonPrivate && !f.holdsData:
		return refusef("--non-private prints what the rows say, without noise: nothing of it is private. If you may see the rows and keep the output to yourself, say --i-hold-the-data")
	case f.holdsData && !f.nonPrivate:
		return usagef("--i-hold-the-data is for --non-private, which was not asked for")
	}
	return f.checkPlot()
}

// averaged is the share of the steps, the last ones, over which the law is averaged.
const averaged = 0.5

// viOptions turns flags into those of vi.Run, but for the size of batches.
func (f *flags) viOptions() (o vi.Options, err error) {
	o = vi.Options{Steps: f.iterations, Average: averaged, Seed: f.seed, Rate: f.batchRate, LearningRate: f.learningRate}
	if f.neighbours == string(release.ReplaceOne) {
		o.Scheme = accounting.PoissonReplaceOne
	}
	if f.plot != "" {
		o.Trace = 400
	}
	if f.nonPrivate {
		return o, nil
	}
	p, err := f.viPrivacy()
	o.Privacy = &vi.Privacy{Epsilon: p.Epsilon, Delta: p.Delta, Entropy: mechanisms.OS()}
	return o, err
}

// viPrivacy is what is promised of a run.
func (f *flags) viPrivacy() (release.Privacy, error) {
	p, err := f.privacy()
	switch {
	case err != nil:
	case p.Delta == 0:
		err = usagef("--delta is missing: noise on gradients is Gaussian, which needs a δ far below 1/n, as in --delta 1e-6")
	case p.Delta < accounting.MinSampledDelta:
		err = usagef("--delta %s: it must be at least %v", f.delta, accounting.MinSampledDelta)
	}
	return p, err
}

// plan completes options by the public number of records, and says what the run is to be
// charged.
func (r *viFit) plan(o *vi.Options, paid *custody.Payment, data string) error {
	if r.batch > 0 {
		if o.Rate = float64(r.batch) / float64(r.n); o.Rate > 1 {
			return usagef("--batch %d: there are %d rows", r.batch, r.n)
		}
	}
	training, err := o.Plan(float64(r.n))
	if err != nil || o.Privacy == nil {
		return usage(err)
	}
	o.Privacy.Multiplier = training.Multiplier
	return r.orderRun(paid, cmp.Or(r.save, data), training)
}

// read reads the rows, which must not change meanwhile.
func (r *viFit) read(cells table.Options) (rows *vi.Rows, group []int, err error) {
	r.noteMissing(cells)
	err = filesOf(r.stderr(), r.source).Read(r.say, func() error {
		rows, group, err = r.design.Read(r.source, cells)
		return err
	})
	return rows, group, err
}

func (r *viFit) climb(rows *vi.Rows, group []int, o vi.Options) (*vi.Fit, error) {
	bar := countingBar(r.stderr(), "climbing ")
	o.Progress = func(done int) {
		if done%64 == 0 {
			bar.update(done, o.Steps)
		}
	}
	fit, err := vi.Run(r.ctx(), r.design.Of(rows, group, r.priorSD), o)
	bar.finish()
	switch {
	case err == nil:
		return fit, nil
	case fit == nil:
		return nil, usage(err)
	case fit.Privacy != nil:
		if spent, e := fit.Spent(); e == nil {
			r.note("interrupted after %d of %d steps, and nothing is shown or kept of them; had anybody seen them, they would have spent ε = %.3g", fit.Training.Steps, o.Steps, spent)
		}
	}
	return nil, err
}

// viDesign resolves the formula among the columns of data.
func (f *dataset) viDesign(data string) (*vi.Design, error) {
	if err := f.refuseAuto(isForRelease); err != nil {
		return nil, err
	}
	columns, used, err := f.usedColumns(data)
	if err != nil {
		return nil, err
	}
	if err := f.checkBounded(used, data, ""); err != nil {
		return nil, err
	}
	d, err := vi.NewDesign(columns, f.formula, f.model, f.group)
	return d, formulaError(err)
}
