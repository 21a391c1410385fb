package pvi

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/vi"
)

// Thesis is an experiment of Sharma (Differentially Private Federated Variational
// Inference, MEng thesis, Cambridge 2019): linear regression with one coefficient,
//
//	y = θx + e,  x ~ N(0, 1),  θ ~ N(0, Prior²),  e ~ N(0, SD²),
//
// by clients that all move at once. Its data and its noise are simulated.
type Thesis struct {
	Clients, Records int     // M, and ρ for each client
	Prior, SD        float64 // of θ, and σ_e
	Damping          float64 // α
	Rounds           int
	// Guard protects clients as a whole; where it is nil, Clip and Multiplier protect
	// records. The stream is set by Run.
	Guard            *Guard
	Clip, Multiplier float64
	// Local is how a client without Guard finds its factor.
	Local Local
}

// Local is how Thesis's clients find their factors.
type Local int

const (
	// Closed is by Analytic.
	Closed Local = iota
	// Descent is by Gradient.
	Descent
	// Hybrid is by Gradient from where Analytic leads, which the thesis leaves as future
	// work (4.2.3).
	Hybrid
)

func (l Local) String() string { return [...]string{"analytic", "DP-SGD", "hybrid"}[l] }

// ThesisResult is what a run ends with.
type ThesisResult struct {
	// KL is of the global law to the exact posterior, averaged over the last ten rounds.
	KL         float64
	Rejections int
}

// Run does the experiment once. Errors: settings out of range, the context's.
func (t Thesis) Run(ctx context.Context, seed uint64) (*ThesisResult, error) {
	rng := rand.New(rand.NewPCG(seed, 0))
	theta := t.Prior * rng.NormFloat64()
	f := Family{Dim: 1, Full: t.Local == Closed}
	prior := f.Isotropic(t.Prior)
	exact := []float64{prior[0], prior[1]}
	clients := make([]*Client, t.Clients)
	for m := range clients {
		rows := t.simulate(theta, rng)
		for i, x := range rows.X {
			exact[0] += x * rows.Y[i] / (t.SD * t.SD)
			exact[1] += x * x / (t.SD * t.SD)
		}
		rule, err := t.rule(rows, mechanisms.NewStream(mechanisms.Simulated(rand.New(rand.NewPCG(seed, uint64(m)+1)))))
		if err != nil {
			return nil, fmt.Errorf("client %d: %w", m+1, err)
		}
		if clients[m], err = NewClient(rule, t.Damping, nil); err != nil {
			return nil, fmt.Errorf("client %d: %w", m+1, err)
		}
	}
	server, err := NewServer(f, prior, clients, t.guard(seed))
	if err != nil {
		return nil, err
	}
	return t.rounds(ctx, server, exact)
}

// simulate draws the records of a client.
func (t Thesis) simulate(theta float64, rng *rand.Rand) *vi.Rows {
	rows := &vi.Rows{P: 1, X: make([]float64, t.Records), Y: make([]float64, t.Records)}
	for i := range rows.X {
		rows.X[i] = rng.NormFloat64()
		rows.Y[i] = theta*rows.X[i] + t.SD*rng.NormFloat64()
	}
	return rows
}

// guard is a copy, with a stream: a Guard moves its C.
func (t Thesis) guard(seed uint64) *Guard {
	if t.Guard == nil {
		return nil
	}
	g := *t.Guard
	g.Stream = mechanisms.NewStream(mechanisms.Simulated(rand.New(rand.NewPCG(seed, math.MaxUint64))))
	return &g
}

// rule makes a client's, in the thesis's settings.
func (t Thesis) rule(rows *vi.Rows, stream *mechanisms.Stream) (Rule, error) {
	protect := Protection{Clip: t.Clip, Multiplier: t.Multiplier, Stream: stream}
	if t.Local == Closed {
		return NewAnalytic(rows, t.SD, protect)
	}
	model, err := NewNormal(rows, t.SD)
	if err != nil {
		return nil, err
	}
	o := GradientOptions{Steps: 50, Batch: 1, Scale: 1 / float64(t.Records), InVariance: true, Mean: &vi.SGD{Rate: 1e-5}, LogVar: &vi.SGD{Rate: 1e-2}, Protect: protect}
	if t.Local == Hybrid {
		if o.Warm, err = NewAnalytic(rows, t.SD, protect); err != nil {
			return nil, err
		}
	}
	return NewGradient(model, o)
}

func (t Thesis) rounds(ctx context.Context, server *Server, exact []float64) (*ThesisResult, error) {
	const last = 10
	result := new(ThesisResult)
	for round := range t.Rounds {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		server.Synchronous()
		if round < t.Rounds-last {
			continue
		}
		divergence, err := server.family.KL(server.Global(), exact)
		if err != nil {
			return nil, err
		}
		result.KL += divergence / float64(min(last, t.Rounds))
	}
	result.Rejections = server.Rejections()
	return result, nil
}

// Spent is the ε that a client's part in all rounds comes to at δ = 1e-5; 0 without noise.
// Of Published it is what is claimed. Errors: settings out of range.
func (t Thesis) Spent(a Accounting) (float64, error) {
	b := Budget{Delta: 1e-5, Accounting: a}
	if g := t.Guard; g != nil {
		if g.Multiplier == 0 {
			return 0, nil
		}
		return b.Spent(g.Spends(), t.Rounds)
	}
	rng := rand.New(rand.NewPCG(0, 0))
	rule, err := t.rule(t.simulate(0, rng), mechanisms.NewStream(mechanisms.Simulated(rng)))
	if err != nil {
		return 0, err
	}
	return b.Spent(rule.Spends(), t.Rounds)
}
