package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"reflect"
	"time"

	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/vi"
	"github.com/dpreg/dpreg/vi/pvi"
)

const pviHelp = `Fit one regression to the rows of several clients, a file each, by partitioned
variational inference: clients keep their rows, and a server keeps a normal law made of
a factor of each client. In every round each client updates its factor by some noisy
steps. Each client's rows are protected by (ε, δ)-differential privacy, against the
server and the other clients, and exchanging any one row of a client is what is hidden.
How many rows each has is public. Columns need public bounds, or levels, the same for all
(--schema). The files are on this machine: to run over a network, Go programs use the
package vi/pvi. Every run spends ε anew; --ledger charges it before the first step.

docs/pvi.md has the guarantees.`

func newPVI() *cobra.Command {
	var f pviFlags
	cmd := &cobra.Command{
		Use:     "pvi --eps NUMBER --delta NUMBER CLIENT.csv CLIENT.csv...",
		Short:   "Variational inference over clients that keep their rows",
		Long:    pviHelp,
		Example: `  dpreg pvi --eps 1 --delta 1e-5 --schema all.schema.json --formula 'income ~ .' north.csv south.csv`,
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, files []string) error {
			if err := f.checkClients(cmd, files); err != nil {
				return err
			}
			return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), files)
		},
	}
	f.register(cmd)
	return cmd
}

// pviFlags are the flags of pvi.
type pviFlags struct {
	viFlags
	rounds, local    int
	damping, errorSD float64
}

const pviDraws = 20 // of z, for each batch

func (f *pviFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	f.registerShared(cmd)
	fs.StringVar(&f.model, "model", viLogistic, "`NAME`, logistic, or linear with a known --error-sd")
	fs.StringVar(&f.epsilon, "eps", "", "privacy budget ε of each client, a `NUMBER` above 0")
	fs.Float64Var(&f.priorSD, "prior-sd", 2.5, "prior standard deviation of coefficients in scaled units, a `NUMBER`")
	fs.Float64Var(&f.errorSD, "error-sd", 0, "of --model linear, standard deviation of the response about its mean, a `NUMBER` in its units")
	fs.IntVar(&f.rounds, "rounds", 20, "`NUMBER` of rounds, in each of which every client updates its factor once")
	fs.IntVar(&f.local, "steps", 25, "`NUMBER` of steps in an update")
	fs.Float64Var(&f.damping, "damping", 0.25, "share of the way that a factor moves in an update, a `NUMBER` up to 1")
	fs.Float64Var(&f.rate, "rate", 0.05, "share of a client's rows in a batch, a `NUMBER` up to 1")
	fs.Float64Var(&f.clip, "clip", 0, "largest norm of a row's gradient, a `NUMBER` (default: the length of the longest row that bounds allow; of linear regression three times it, over --error-sd)")
	fs.Float64Var(&f.learningRate, "learning-rate", 0.2, "size of Adagrad's steps, a `NUMBER`")
	oneOf(cmd, "model", viLinear, viLogistic)
	oneOf(cmd, "units", "original", "scaled")
	oneOf(cmd, "format", "table", "json", "csv")
	f.neighbours = string(release.ReplaceOne)
}

// checkClients checks what vi's check does not.
func (f *pviFlags) checkClients(cmd *cobra.Command, files []string) error {
	linear := f.model == viLinear
	switch {
	case len(files) == 0:
		return usagef("the files of two clients or more are missing")
	case len(files) == 1:
		return usagef("%s is one client: dpreg vi is for that; give a file for each client", files[0])
	case f.model == viHierarchical:
		return usagef("--model %q: choose one of %s, %s", f.model, viLinear, viLogistic)
	case f.rounds < 1 || f.local < 1 || f.rounds > 1e6 || f.local > 1e6:
		return usagef("--rounds %d --steps %d: at least 1, and at most a million", f.rounds, f.local)
	case !(f.damping > 0 && f.damping <= 1):
		return usagef("--damping %v: above 0, and at most 1", f.damping)
	case linear && !(f.errorSD > 0 && f.errorSD <= math.MaxFloat64):
		return usagef("--model linear needs --error-sd, which is public: the standard deviation of the response about its mean")
	case !linear && cmd.Flags().Changed("error-sd"):
		return usagef("--error-sd is for --model linear")
	}
	f.viFlags.steps = f.rounds * f.local
	return f.viFlags.check(cmd)
}

// clientRows is a client's file and its rows.
type clientRows struct {
	file string
	rows *vi.Rows
}

func (f *pviFlags) run(ctx context.Context, stdout, stderr io.Writer, files []string) (err error) {
	o, err := f.options()
	if err != nil {
		return err
	}
	design, clients, err := f.clients(stderr, files)
	if err != nil {
		return err
	}
	training := accounting.Training{Rate: f.drawn(clients), Steps: f.viFlags.steps, Scheme: accounting.PoissonReplaceOne}
	if training.Multiplier, err = training.FindMultiplier(accounting.PLD, o.Privacy.Epsilon, o.Privacy.Delta); err != nil {
		return usage(fmt.Errorf("(ε = %v, δ = %v) for %d updates of %d steps: %w", o.Privacy.Epsilon, o.Privacy.Delta, f.rounds, f.local, err))
	}
	server, err := f.server(design, clients, training.Multiplier)
	if err != nil {
		return usage(err)
	}
	paid, err := f.payment(ctx, stderr, files[0], training)
	if err != nil {
		return err
	}
	defer func() { paid.Finish(ctx, err == nil) }()
	if err := paid.Pay(ctx); err != nil {
		return err
	}
	began := time.Now()
	if err := f.iterate(ctx, stderr, server, len(clients)); err != nil {
		return err
	}
	fit := f.fitted(server.Global(), design)
	fit.Training, fit.Seconds = training, time.Since(began).Seconds()
	fit.Privacy = &vi.Privacy{Epsilon: o.Privacy.Epsilon, Delta: o.Privacy.Delta, Multiplier: training.Multiplier}
	result := &viResult{fit: fit, design: design, flags: &f.viFlags, method: "pvi-" + f.model}
	for _, c := range clients {
		result.n += int64(len(c.rows.Y))
	}
	note(stderr, "%d clients, each of which spent what is stated on its own rows", len(clients))
	return f.conclude(stdout, stderr, result)
}

// clients reads the files, which must be described alike.
func (f *pviFlags) clients(stderr io.Writer, files []string) (*viDesign, []clientRows, error) {
	cells, err := f.cells(true)
	if err != nil {
		return nil, nil, err
	}
	var design *viDesign
	var clients []clientRows
	for _, file := range files {
		d, err := f.viDesign(stderr, file)
		if err != nil {
			return nil, nil, err
		}
		if design == nil {
			design = d
		}
		if !reflect.DeepEqual(d.Design, design.Design) {
			return nil, nil, usagef("%s and %s do not have the same columns, bounds and levels: give them all one --schema", files[0], file)
		}
		if err := f.checkOutputs(file); err != nil {
			return nil, nil, err
		}
		rows, _, err := f.read(stderr, file, d, cells)
		if err != nil {
			return nil, nil, err
		}
		if len(rows.Y) == 0 {
			return nil, nil, usagef("%s has no rows: leave this client out", file)
		}
		clients = append(clients, clientRows{file, rows})
	}
	return design, clients, nil
}

// batch is how many of so many rows a batch has on average.
func (f *pviFlags) batch(rows int) float64 { return f.rate * float64(rows) }

// drawn is the largest rate at which a client draws batches: --rate, up to rounding.
func (f *pviFlags) drawn(clients []clientRows) float64 {
	rate := 0.
	for _, c := range clients {
		n := len(c.rows.Y)
		rate = max(rate, f.batch(n)/float64(n))
	}
	return rate
}

// server has a client for each file. The sizes of batches are public, as is how many rows
// a client has; a gradient is scaled to that of one record, so that a clipping norm
// serves clients of all sizes.
func (f *pviFlags) server(d *viDesign, files []clientRows, multiplier float64) (*pvi.Server, error) {
	clients := make([]*pvi.Client, len(files))
	for m, h := range files {
		batch := f.batch(len(h.rows.Y))
		if batch < 1 {
			return nil, fmt.Errorf("%s: --rate %v of %d rows is less than one row; take a larger rate, or leave this client out", h.file, f.rate, len(h.rows.Y))
		}
		model, err := f.likelihood(d, h.rows)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", h.file, err)
		}
		rule, err := pvi.NewGradient(model, pvi.GradientOptions{
			Steps: f.local, Batch: batch, Scale: f.rate, Draws: pviDraws,
			LearningRate: f.learningRate,
			Protect:      pvi.Protection{Clip: f.norm(d), Multiplier: multiplier, Stream: mechanisms.NewStream(mechanisms.OS())},
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", h.file, err)
		}
		if clients[m], err = pvi.NewClient(rule, f.damping, nil); err != nil {
			return nil, fmt.Errorf("%s: %w", h.file, err)
		}
	}
	family := pvi.Family{Dim: d.coefficients()}
	return pvi.NewServer(family, family.Isotropic(f.priorSD), clients)
}

// scaledSD is --error-sd over the half range of the response.
func (f *pviFlags) scaledSD(d *viDesign) float64 { return f.errorSD / d.frame.Half[len(d.Covariates)] }

func (f *pviFlags) likelihood(d *viDesign, rows *vi.Rows) (pvi.Likelihood, error) {
	if d.binary {
		return pvi.Logistic(rows)
	}
	return pvi.Normal(rows, f.scaledSD(d))
}

func (f *pviFlags) norm(d *viDesign) float64 {
	norm := f.clippingNorm(d)
	if !d.binary && f.clip == 0 {
		norm /= f.scaledSD(d)
	}
	return norm
}

func (f *pviFlags) payment(ctx context.Context, stderr io.Writer, name string, training accounting.Training) (*custody.Payment, error) {
	if f.ledger == "" {
		return nil, nil
	}
	if f.save != "" {
		name = f.save
	} else {
		name = filepath.Dir(name)
	}
	cost, err := runCharge(&f.releaseFlags, name, training)
	if err != nil {
		return nil, err
	}
	return custody.NewPayment(ctx, sayTo(stderr), f.ledger, cost)
}

// iterate lets one client after another update its factor, --rounds times each.
func (f *pviFlags) iterate(ctx context.Context, stderr io.Writer, server *pvi.Server, clients int) error {
	bar := countingBar(stderr, "updates ", f.rounds*clients)
	defer bar.finish()
	for round := range f.rounds {
		for m := range clients {
			if err := ctx.Err(); err != nil {
				return err
			}
			server.Asynchronous(m)
			bar.update(round*clients+m+1, 0)
		}
	}
	return nil
}

// fitted is the server's law of coefficients, which of either regression have the names and
// the prior that logistic regression's have.
func (f *pviFlags) fitted(law []float64, d *viDesign) *vi.Fit {
	p := d.coefficients()
	mean, sd := make([]float64, p), make([]float64, p)
	for j := range p {
		mean[j], sd[j] = law[j]/law[p+j], 1/math.Sqrt(law[p+j])
	}
	return vi.NewFit(vi.Logistic(&vi.Rows{P: p}, f.priorSD), mean, sd)
}
