package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"sync"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/ask"
	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/report"
)

// state is how far a run is.
type state string

const (
	waiting  state = "waiting for another run"
	sampling state = "sampling"
	done     state = "done"
	failed   state = "failed"
	stopped  state = "stopped"
)

// run is a fit that was asked for.
type run struct {
	ID     int
	order  *order
	cancel context.CancelFunc

	mutex    sync.Mutex // holds all below
	state    state
	progress mcmc.Progress
	err      error
	result   *result // of one that is done
}

// result is what a run leaves.
type result struct {
	Body    template.HTML // the report, to stand on a page
	page    []byte        // the report as a file
	Answers template.HTML // a table; empty: nothing was asked
	Refused string        // why a question has no answer
	Prior   []string      // in words
}

// runs are all of a server. One samples at a time, with all cores.
type runs struct {
	context context.Context
	cancel  context.CancelFunc
	turn    chan struct{} // is full while one samples

	mutex sync.Mutex // holds all below
	all   []*run     // the latest last
	last  int
}

// most runs are kept, and mostWaiting may wait.
const (
	most        = 50
	mostWaiting = 10
)

func newRuns() *runs {
	ctx, cancel := context.WithCancel(context.Background())
	return &runs{context: ctx, cancel: cancel, turn: make(chan struct{}, 1)}
}

// start begins a run, and forgets the oldest that has ended where there are too many.
func (r *runs) start(o *order, version string) (*run, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	active := 0
	for _, other := range r.all {
		if other.now().active() {
			active++
		}
	}
	if active > mostWaiting {
		return nil, fmt.Errorf("%d runs wait already: stop one of them", active)
	}
	if len(r.all) >= most {
		oldest := slices.IndexFunc(r.all, func(other *run) bool { return !other.now().active() })
		r.all = slices.Delete(r.all, oldest, oldest+1)
	}
	r.last++
	ctx, cancel := context.WithCancel(r.context)
	next := &run{ID: r.last, order: o, cancel: cancel, state: waiting}
	r.all = append(r.all, next)
	go func() {
		defer cancel()
		select {
		case r.turn <- struct{}{}:
			defer func() { <-r.turn }()
			next.sample(ctx, version)
		case <-ctx.Done():
			next.end(nil, ctx.Err())
		}
	}()
	return next, nil
}

// find returns a run by its number, nil where there is none.
func (r *runs) find(id int) *run {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, one := range r.all {
		if one.ID == id {
			return one
		}
	}
	return nil
}

// list has the latest run first.
func (r *runs) list() []*run {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	all := slices.Clone(r.all)
	slices.Reverse(all)
	return all
}

func (s state) active() bool { return s == waiting || s == sampling }

func (r *run) now() state {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.state
}

// sample draws from the posterior, and makes of it what is shown.
func (r *run) sample(ctx context.Context, version string) {
	defer func() {
		if value := recover(); value != nil { // which would end the runs of other tabs, too
			r.end(nil, fmt.Errorf("a fault of dpreg: %v", value))
		}
	}()
	r.mutex.Lock()
	r.state = sampling
	r.mutex.Unlock()
	o := r.order.options
	o.Plan.Progress = func(p mcmc.Progress) {
		r.mutex.Lock()
		defer r.mutex.Unlock()
		r.progress = p
	}
	fit, err := dpreg.Infer(ctx, r.order.custodians, o)
	if err != nil {
		r.end(nil, err)
		return
	}
	r.end(r.order.result(ctx, fit, version))
}

// end is the end of a run, one way or the other.
func (r *run) end(result *result, err error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	switch r.result, r.err = result, err; {
	case errors.Is(err, context.Canceled):
		r.state = stopped
	case err != nil:
		r.state = failed
	default:
		r.state = done
	}
}

// result makes of a fit what is shown.
func (o *order) result(ctx context.Context, fit *dpreg.Fit, version string) (*result, error) {
	naive, err := fit.Naive(ctx)
	if err != nil {
		return nil, err
	}
	made := report.Run{Command: o.infer, Version: version, Release: strings.Join(dpreg.Names(fit.Custodians), ", "), Digest: strings.Join(o.digests, ", "), Method: o.options.Method}
	how := report.Options{Units: dpreg.Original}
	figures := report.FitPlots(fit, naive, how)
	var body, page, answers bytes.Buffer
	if err := report.FitBody(&body, fit, nil, figures, how, made); err != nil {
		return nil, err
	}
	if err := report.FitPage(&page, fit, nil, figures, how, made); err != nil {
		return nil, err
	}
	out := &result{Body: template.HTML(body.String()), page: page.Bytes(), Prior: fit.Prior.Words(fit.Family.Design(fit.Design))}
	if o.questions == nil {
		return out, nil
	}
	asked, err := ask.Of(fit, dpreg.Original).Ask(0, o.questions...)
	if err != nil {
		out.Refused = err.Error()
		return out, nil
	}
	how.Format = "html"
	if err := report.Answers(&answers, asked, how); err != nil {
		return nil, err
	}
	out.Answers = template.HTML(answers.String())
	return out, nil
}

// far tells how far a run is: of so much so much, and in words.
func (r *run) far() (now, whole int, words string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	p := r.progress
	switch {
	case r.state == waiting || p.Total == 0:
		return 0, 1, string(r.state)
	case p.Phase != mcmc.Sampling:
		return p.Done, p.Total, fmt.Sprintf("warming up: %d of %d steps", p.Done, p.Total)
	case p.Target > 0 && p.ESS > 0:
		return int(p.ESS), int(p.Target), fmt.Sprintf("sampling: effective sample size %.0f of %.0f", p.ESS, p.Target)
	}
	return p.Done, p.Total, fmt.Sprintf("sampling: %d of %d steps", p.Done, p.Total)
}
