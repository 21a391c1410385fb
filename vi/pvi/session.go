package pvi

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"

	"github.com/go-json-experiment/json"

	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/vi"
)

// Session is what the clients of a run agree upon first: one regression by gradients, of clients
// that update their factors one after the other. It is public.
type Session struct {
	Format  string          `json:"format"`
	ID      []byte          `json:"id"` // random: no two sessions are the same
	Clients []string        `json:"clients"`
	Model   string          `json:"model"` // vi.LinearKind or vi.LogisticKind
	Schema  schema.Design   `json:"schema"`
	ErrorSD float64         `json:"error_sd"` // of the response about its mean, in scaled units; 0 of logistic regression
	PriorSD float64         `json:"prior_sd"` // of coefficients, in scaled units
	Privacy release.Privacy `json:"privacy"`  // of each client, for the whole run

	Rounds       int     `json:"rounds"` // in each of which every client updates its factor once
	Steps        int     `json:"steps"`  // of an update
	Rate         float64 `json:"rate"`   // of Poisson batches
	Clip         float64 `json:"clip"`   // of a record's gradient
	LearningRate float64 `json:"learning_rate"`
	Damping      float64 `json:"damping"`
}

const (
	sessionFormat = "dpreg-pvi-session/1"
	sessionDraws  = 20  // of z, for each batch
	most          = 1e6 // rounds, and steps of an update
)

// Open gives the session its format and an identity of its own. Errors: as of Check.
func (s *Session) Open(id []byte) error {
	s.Format, s.ID = sessionFormat, id
	return s.Check()
}

// Check refuses a session that cannot be, or whose promise would not hold.
func (s *Session) Check() error {
	positive := func(x float64) bool { return x > 0 && x <= math.MaxFloat64 }
	count := func(n int) bool { return n >= 1 && n <= most }
	switch {
	case s.Format != sessionFormat:
		return fmt.Errorf("%q is wanted, not %q", sessionFormat, s.Format)
	case s.Model != vi.LinearKind && s.Model != vi.LogisticKind:
		return fmt.Errorf("no model %q: %s or %s", s.Model, vi.LinearKind, vi.LogisticKind)
	case (s.Model == vi.LinearKind) != (s.ErrorSD != 0) || s.ErrorSD != 0 && !positive(s.ErrorSD):
		return errors.New("a linear model has a public standard deviation of the response about its mean, which is positive, and a logistic model has none")
	case s.Privacy.Neighbours != release.ReplaceOne:
		return fmt.Errorf("neighbours are %s, since numbers of rows are public, not %q", release.ReplaceOne, s.Privacy.Neighbours)
	case !count(s.Rounds) || !count(s.Steps) || s.Rounds*s.Steps > accounting.MaxCount:
		return fmt.Errorf("%d rounds of %d steps", s.Rounds, s.Steps)
	case !(s.Rate > 0 && s.Rate <= 1 && s.Damping > 0 && s.Damping <= 1):
		return fmt.Errorf("a rate of %v and a damping of %v: both are above 0, and at most 1", s.Rate, s.Damping)
	case !positive(s.PriorSD) || !positive(s.LearningRate) || !positive(s.Clip):
		return fmt.Errorf("a prior sd of %v, a learning rate of %v and a clip of %v: they must be positive", s.PriorSD, s.LearningRate, s.Clip)
	}
	for _, name := range s.Clients {
		if err := schema.CheckName(name); err != nil {
			return fmt.Errorf("client %q: %w", name, err)
		}
	}
	return s.Schema.Validate()
}

// Digest tells sessions apart.
func (s *Session) Digest() string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // Check saw to it that there are no NaN
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))
}

// Design is the regression. Errors: as of vi.DesignOf.
func (s *Session) Design() (*vi.Design, error) { return vi.DesignOf(&s.Schema, s.Model) }

// Training is what each client releases in all, with the least noise for its privacy. Errors: none
// serves.
func (s *Session) Training() (t accounting.Training, err error) {
	t = accounting.Training{Rate: s.Rate, Steps: s.Rounds * s.Steps, Scheme: accounting.PoissonReplaceOne}
	t.Multiplier, err = t.FindMultiplier(accounting.PLD, s.Privacy.Epsilon, s.Privacy.Delta)
	if err != nil {
		err = fmt.Errorf("(ε = %v, δ = %v) for %d updates of %d steps: %w", s.Privacy.Epsilon, s.Privacy.Delta, s.Rounds, s.Steps, err)
	}
	return t, err
}

// Local is the client of these rows, with Training's multiplier. Errors: rows that are none of the
// model's, a batch of less than a row.
func (s *Session) Local(rows *vi.Rows, multiplier float64, stream *mechanisms.Stream) (*Local, error) {
	n := float64(len(rows.Y))
	if s.Rate*n < 1 {
		return nil, fmt.Errorf("--rate %v of %v rows is less than one row; take a larger rate, or leave this client out", s.Rate, n)
	}
	likelihood, err := Normal(rows, s.ErrorSD)
	if s.Model == vi.LogisticKind {
		likelihood, err = Logistic(rows)
	}
	if err != nil {
		return nil, err
	}
	rule, err := NewGradient(likelihood, GradientOptions{
		Steps: s.Steps, Rate: s.Rate, Draws: sessionDraws, LearningRate: s.LearningRate,
		Protect: Protection{Clip: s.Clip, Multiplier: multiplier, Stream: stream},
	})
	if err != nil {
		return nil, err
	}
	return NewLocal(rule, s.Damping, s.Rounds)
}

// Family is that of the laws. Errors: as of vi.DesignOf.
func (s *Session) Family() (Family, error) {
	design, err := s.Design()
	if err != nil {
		return Family{}, err
	}
	return Family{Dim: design.Coefficients()}, nil
}

// Server drives clients, in the session's order. Errors: as of NewServer.
func (s *Session) Server(clients []Client) (*Server, error) {
	f, err := s.Family()
	if err != nil {
		return nil, err
	}
	return NewServer(f, f.Isotropic(s.PriorSD), clients)
}

// Run drives clients, in the session's order: one after another updates its factor, once a round.
// progress is told of every update done. Errors: as of NewServer, those of clients.
func (s *Session) Run(ctx context.Context, clients []Client, progress func(updates int)) (law []float64, err error) {
	server, err := s.Server(clients)
	if err != nil {
		return nil, err
	}
	for i := range s.Rounds * len(clients) {
		if _, err := server.Ask(ctx, i%len(clients)); err != nil {
			return nil, err
		}
		progress(i + 1)
	}
	return server.Global(), nil
}

// Fit is of a law of coefficients, which of either regression have the names and the prior that
// logistic regression's have.
func (s *Session) Fit(law []float64) *vi.Fit {
	p := len(law) / 2
	mean, sd := make([]float64, p), make([]float64, p)
	for j := range p {
		mean[j], sd[j] = law[j]/law[p+j], 1/math.Sqrt(law[p+j])
	}
	return vi.NewFit(vi.Logistic(&vi.Rows{P: p}, s.PriorSD), mean, sd)
}
