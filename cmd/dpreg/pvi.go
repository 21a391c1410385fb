package main

import (
	"cmp"
	"path/filepath"
	"reflect"
	"time"

	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/vi"
	"github.com/dpreg/dpreg/vi/pvi"
)

// checkClients checks what needs no file.
func (f *flags) checkClients(files []string) error {
	switch {
	case len(files) == 0:
		return usagef("the files of two clients or more are missing")
	case len(files) == 1:
		return usagef("%s is one client: dpreg vi is for that; give a file for each client", files[0])
	case (f.ledger == "") != f.noLedger:
		return usagef("the files of clients have no ledger in common: name one that the run is charged to, by --ledger FILE (dpreg ledger init), or say --no-ledger")
	}
	return f.checkErrorSD()
}

func (f *flags) checkErrorSD() error {
	switch linear := f.model == vi.LinearKind; {
	case linear && f.errorSD == 0:
		return usagef("--model linear needs --error-sd, which is public: the standard deviation of the response about its mean")
	case !linear && f.errorSD != 0:
		return usagef("--error-sd is for --model linear")
	}
	return nil
}

func runPVI(f *flags, files []string) (err error) {
	if err := f.checkClients(files); err != nil {
		return err
	}
	r := &viFit{dataset: &dataset{flags: f}}
	privacy, err := r.pviPrivacy()
	if err != nil {
		return err
	}
	rows, err := r.clients(files)
	if err != nil {
		return err
	}
	session := r.newSession(files, privacy)
	training, err := session.Training()
	if err != nil {
		return usage(err)
	}
	var clients []pvi.Client
	for i, own := range rows {
		client, err := session.Local(own, training.Multiplier, mechanisms.NewStream(mechanisms.OS()))
		if err != nil {
			return usage(within(files[i], err))
		}
		clients = append(clients, client)
	}
	paid, err := f.payment("")
	if err != nil {
		return err
	}
	defer func() { paid.Finish(f.ctx(), err == nil) }()
	if err := f.orderRun(paid, cmp.Or(f.save, filepath.Dir(files[0])), training); err != nil {
		return err
	}
	if err := paid.Pay(f.ctx(), nil); err != nil {
		return err
	}
	if _, err := r.partitioned(session, training, clients); err != nil {
		return err
	}
	f.note("%d clients, each of which spent what is stated on its own rows", len(clients))
	return r.conclude()
}

// pviPrivacy is what is promised to each client.
func (r *viFit) pviPrivacy() (release.Privacy, error) {
	r.neighbours, r.method = string(release.ReplaceOne), "pvi-"+r.model
	return r.viPrivacy()
}

// clients reads the rows of each file; all must be described alike.
func (r *viFit) clients(files []string) (clients []*vi.Rows, err error) {
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
		clients = append(clients, rows)
	}
	return clients, nil
}

// newSession is what the flags say of a run of these clients.
func (r *viFit) newSession(clients []string, privacy release.Privacy) *pvi.Session {
	s := &pvi.Session{
		Clients: clients, Model: r.model, Schema: *r.design.Design, PriorSD: r.priorSD, Privacy: privacy,
		Rounds: r.rounds, Steps: r.iterations, Rate: r.batchRate, LearningRate: r.learningRate, Damping: r.damping,
	}
	norm := r.design.Norm()
	if !r.design.Binary {
		s.ErrorSD = r.errorSD / r.design.Box.Half[len(r.design.Covariates)]
		norm /= s.ErrorSD
	}
	s.Clip = cmp.Or(r.clip, norm)
	return s
}

// partitioned fits by a session's clients, wherever they are.
func (r *viFit) partitioned(s *pvi.Session, training accounting.Training, clients []pvi.Client) (law []float64, err error) {
	began, bar := time.Now(), countingBar(r.stderr(), "updates ")
	defer bar.finish()
	if law, err = s.Run(r.ctx(), clients, func(done int) { bar.update(done, s.Rounds*len(clients)) }); err != nil {
		return nil, err
	}
	r.fitted(law, training, s)
	r.fit.Seconds = time.Since(began).Seconds()
	return law, nil
}

func (r *viFit) fitted(law []float64, training accounting.Training, s *pvi.Session) {
	r.fit = s.Fit(law)
	r.fit.Training = training
	r.fit.Privacy = &vi.Privacy{Epsilon: s.Privacy.Epsilon, Delta: s.Privacy.Delta, Multiplier: training.Multiplier}
}
