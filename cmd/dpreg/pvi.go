package main

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"time"

	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/vi"
	"github.com/dpreg/dpreg/vi/pvi"
)

const pviDraws = 20 // of z, for each batch

// checkClients checks what needs no file.
func (f *flags) checkClients(files []string) error {
	switch linear := f.model == vi.LinearKind; {
	case len(files) == 0:
		return usagef("the files of two clients or more are missing")
	case len(files) == 1:
		return usagef("%s is one client: dpreg vi is for that; give a file for each client", files[0])
	case linear && f.errorSD == 0:
		return usagef("--model linear needs --error-sd, which is public: the standard deviation of the response about its mean")
	case !linear && f.errorSD != 0:
		return usagef("--error-sd is for --model linear")
	case (f.ledger == "") != f.noLedger:
		return usagef("the files of clients have no ledger in common: name one that the run is charged to, by --ledger FILE (dpreg ledger init), or say --no-ledger")
	}
	return nil
}

// clientRows is a client's file and its rows.
type clientRows struct {
	file string
	rows *vi.Rows
}

func runPVI(f *flags, files []string) (err error) {
	if err := f.checkClients(files); err != nil {
		return err
	}
	f.neighbours = string(release.ReplaceOne)
	privacy, err := f.viPrivacy()
	if err != nil {
		return err
	}
	r := &viFit{dataset: &dataset{flags: f}, method: "pvi-" + f.model}
	clients, err := r.clients(files)
	if err != nil {
		return err
	}
	training := accounting.Training{Rate: f.drawnRate(clients), Steps: f.rounds * f.iterations, Scheme: accounting.PoissonReplaceOne}
	if training.Multiplier, err = training.FindMultiplier(accounting.PLD, privacy.Epsilon, privacy.Delta); err != nil {
		return usage(fmt.Errorf("(ε = %v, δ = %v) for %d updates of %d steps: %w", privacy.Epsilon, privacy.Delta, f.rounds, f.iterations, err))
	}
	privacy.Multiplier = training.Multiplier
	server, err := r.server(clients, training.Multiplier)
	if err != nil {
		return usage(err)
	}
	paid, err := f.payment("")
	if err != nil {
		return err
	}
	defer func() { paid.Finish(f.ctx(), err == nil) }()
	if err := f.orderRun(paid, filepath.Dir(files[0]), training); err != nil {
		return err
	}
	if err := paid.Pay(f.ctx(), nil); err != nil {
		return err
	}
	began := time.Now()
	if err := f.iterate(server, len(clients)); err != nil {
		return err
	}
	r.fit = r.fitted(server.Global())
	r.fit.Training, r.fit.Seconds, r.fit.Privacy = training, time.Since(began).Seconds(), privacy
	f.note("%d clients, each of which spent what is stated on its own rows", len(clients))
	return r.conclude()
}

// clients reads the files, which must be described alike.
func (r *viFit) clients(files []string) (clients []clientRows, err error) {
	cells, err := r.cells(true)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		d, err := r.viDesign(file)
		if err != nil {
			return nil, err
		}
		if r.design == nil {
			r.design = d
		}
		if !reflect.DeepEqual(d.Design, r.design.Design) {
			return nil, usagef("%s and %s do not have the same columns, bounds and levels: give them all one --schema", files[0], file)
		}
		if err := r.checkOutputs(file); err != nil {
			return nil, err
		}
		rows, _, err := r.read(cells)
		if err != nil {
			return nil, err
		}
		if len(rows.Y) == 0 {
			return nil, usagef("%s has no rows: leave this client out", file)
		}
		r.n += int64(len(rows.Y))
		clients = append(clients, clientRows{file, rows})
	}
	return clients, nil
}

// drawnRate is the largest rate at which a client draws batches: --rate, up to rounding.
func (f *flags) drawnRate(clients []clientRows) float64 {
	rate := 0.
	for _, c := range clients {
		n := float64(len(c.rows.Y))
		rate = max(rate, f.batchRate*n/n)
	}
	return rate
}

// server has a client for each file. The sizes of batches are public, as is how many rows
// a client has; a gradient is scaled to that of one record, so that a clipping norm
// serves clients of all sizes.
func (r *viFit) server(files []clientRows, multiplier float64) (*pvi.Server, error) {
	clients := make([]pvi.Client, len(files))
	for m, h := range files {
		batch := r.batchRate * float64(len(h.rows.Y))
		if batch < 1 {
			return nil, fmt.Errorf("%s: --rate %v of %d rows is less than one row; take a larger rate, or leave this client out", h.file, r.batchRate, len(h.rows.Y))
		}
		model, err := r.likelihood(h.rows)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", h.file, err)
		}
		rule, err := pvi.NewGradient(model, pvi.GradientOptions{
			Steps: r.iterations, Batch: batch, Scale: r.batchRate, Draws: pviDraws,
			LearningRate: r.learningRate,
			Protect:      pvi.Protection{Clip: r.norm(), Multiplier: multiplier, Stream: mechanisms.NewStream(mechanisms.OS())},
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", h.file, err)
		}
		if clients[m], err = pvi.NewLocal(rule, r.damping, nil); err != nil {
			return nil, fmt.Errorf("%s: %w", h.file, err)
		}
	}
	family := pvi.Family{Dim: r.design.Coefficients()}
	return pvi.NewServer(family, family.Isotropic(r.priorSD), clients)
}

// scaledSD is --error-sd over the half range of the response.
func (r *viFit) scaledSD() float64 {
	return r.errorSD / r.design.Box.Half[len(r.design.Covariates)]
}

func (r *viFit) likelihood(rows *vi.Rows) (pvi.Likelihood, error) {
	if r.design.Binary {
		return pvi.Logistic(rows)
	}
	return pvi.Normal(rows, r.scaledSD())
}

func (r *viFit) norm() float64 {
	norm := r.design.Norm()
	if !r.design.Binary {
		norm /= r.scaledSD()
	}
	return cmp.Or(r.clip, norm)
}

// iterate lets one client after another update its factor, --rounds times each.
func (r *flags) iterate(server *pvi.Server, clients int) error {
	bar := countingBar(r.stderr(), "updates ")
	defer bar.finish()
	for round := range r.rounds {
		for m := range clients {
			if _, err := server.Asynchronous(r.ctx(), m); err != nil {
				return err
			}
			bar.update(round*clients+m+1, r.rounds*clients)
		}
	}
	return nil
}

// fitted is the server's law of coefficients, which of either regression have the names and
// the prior that logistic regression's have.
func (r *viFit) fitted(law []float64) *vi.Fit {
	p := r.design.Coefficients()
	mean, sd := make([]float64, p), make([]float64, p)
	for j := range p {
		mean[j], sd[j] = law[j]/law[p+j], 1/math.Sqrt(law[p+j])
	}
	return vi.NewFit(vi.Logistic(&vi.Rows{P: p}, r.priorSD), mean, sd)
}
