package pvi

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/vi"
)

// Workshop is an experiment of Sharma, Hutchinson, Swaroop, Honkela & Turner
// (Differentially Private Federated Variational Inference, 2019): logistic regression on
// the Adult data by clients that are drawn one after the other. Its noise is simulated.
type Workshop struct {
	Partition Partition
	Method    Method
	// Epsilon is each client's, δ being 10^⌊log₁₀(1/N)⌋ for N records; for DPPVI.
	Epsilon    float64
	Accounting Accounting
	Counts     *Counts // remembers from run to run; nil: within a run
}

// Method is how Workshop's clients learn.
type Method int

const (
	// PVI without privacy.
	PVI Method = iota
	// GlobalVI has no factors: the client that is drawn takes one step of its own records,
	// as if all were like them, on the global law.
	GlobalVI
	// DPPVI is private for each record.
	DPPVI
)

func (m Method) String() string { return [...]string{"PVI", "global VI", "DP-PVI"}[m] }

// WorkshopPartition returns the clients of distribution A, B, C or D.
func WorkshopPartition(name string) (Partition, error) {
	switch name {
	case "A":
		return Partition{Clients: 10}, nil
	case "B":
		return Partition{Clients: 10, Rho: 0.9, Kappa: 0.95}, nil
	case "C":
		return Partition{Clients: 10, Rho: 0.7, Kappa: -3}, nil
	case "D":
		return Partition{Clients: 10, Rho: 0.6, Kappa: -1.5}, nil
	}
	return Partition{}, fmt.Errorf("the paper has distributions A, B, C and D, not %q", name)
}

// WorkshopResult is what a run ends with.
type WorkshopResult struct {
	Score
	// Small and Large are the mean numbers of updates of small and large clients, and
	// SmallSpent and LargeSpent the largest ε of any of them, as Workshop.Accounting
	// counts; 0 without privacy.
	Small, Large           float64
	SmallSpent, LargeSpent float64
}

// Run does the experiment once. Errors: a partition or a budget that does not work, the
// context's.
func (w Workshop) Run(ctx context.Context, data *Adult, seed uint64) (*WorkshopResult, error) {
	rng := rand.New(rand.NewPCG(seed, 0))
	dealt, err := w.Partition.Split(data.Train.Y, rng)
	if err != nil {
		return nil, err
	}
	if w.Counts == nil {
		w.Counts = new(Counts)
	}
	run := &workshopRun{Workshop: w, draw: drawer(dealt, rng)}
	for m, records := range dealt {
		stream := mechanisms.NewStream(mechanisms.Simulated(rand.New(rand.NewPCG(seed, uint64(m)+1))))
		if err := run.add(subset(data.Train, records), len(data.Train.Y), stream); err != nil {
			return nil, fmt.Errorf("client %d of %d: %w", m+1, len(dealt), err)
		}
	}
	if w.Method == GlobalVI {
		return run.global(ctx, data.Test)
	}
	return run.partitioned(ctx, data.Test)
}

// drawer draws client m with probability proportional to 1/N_m.
func drawer(dealt [][]int, rng *rand.Rand) func() int {
	weights := make([]float64, len(dealt))
	for m, records := range dealt {
		weights[m] = 1 / float64(len(records))
	}
	law := distuv.NewCategorical(weights, rng)
	return func() int { return int(law.Rand()) }
}

// workshopRun is the state of a Run.
type workshopRun struct {
	Workshop
	draw    func() int
	rules   []*Gradient
	budgets []*Budget
}

// add makes the rule and the budget of a client, in the paper's settings.
func (r *workshopRun) add(rows *vi.Rows, all int, stream *mechanisms.Stream) error {
	n := float64(len(rows.Y))
	o := GradientOptions{Draws: 50, Fixed: true, Protect: Protection{Stream: stream}}
	var budget *Budget
	rate := 0.
	switch r.Method {
	case PVI:
		o.Steps, o.Batch, rate = 20, 100, 2
	case GlobalVI:
		o.Steps, o.Batch, o.Records, rate = 1, 100, float64(all), 0.05
	case DPPVI:
		o.Steps, o.Batch, rate = 25, math.Max(20, math.Ceil(0.02*n)), 0.5
		o.Fixed = r.Accounting == Paper
		o.Protect.Clip, o.Protect.Multiplier = 75, 5
		budget = &Budget{Epsilon: r.Epsilon, Delta: math.Pow(10, math.Floor(-math.Log10(n))), Accounting: r.Accounting, Counts: r.Counts}
	}
	o.Mean, o.LogVar = &vi.Adagrad{Rate: rate}, &vi.Adagrad{Rate: rate}
	model, err := NewLogistic(rows)
	if err != nil {
		return err
	}
	rule, err := NewGradient(model, o)
	r.rules, r.budgets = append(r.rules, rule), append(r.budgets, budget)
	return err
}

// partitioned runs rounds of as many draws as there are clients, until no budget is left.
func (r *workshopRun) partitioned(ctx context.Context, test *vi.Rows) (*WorkshopResult, error) {
	clients := make([]*Client, len(r.rules))
	for m, rule := range r.rules {
		var err error
		if clients[m], err = NewClient(rule, 0.1, r.budgets[m]); err != nil {
			return nil, fmt.Errorf("client %d: %w", m+1, err)
		}
	}
	f := r.rules[0].Family()
	server, err := NewServer(f, f.Isotropic(1), clients, nil)
	if err != nil {
		return nil, err
	}
	rounds := 1000
	if r.Method == PVI {
		rounds = 100
	}
	updates := make([]int, len(clients))
	for range rounds {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for range clients {
			if m := r.draw(); server.Asynchronous(m) {
				updates[m]++
			}
		}
		if !slices.ContainsFunc(clients, (*Client).Solvent) {
			break
		}
	}
	return r.result(Predict(server.Global(), test), updates)
}

// global is 10000 steps of single clients on q, with the divergence to the prior.
func (r *workshopRun) global(ctx context.Context, test *vi.Rows) (*WorkshopResult, error) {
	const steps = 10000
	f := r.rules[0].Family()
	prior := f.Isotropic(1)
	law, factor := slices.Clone(prior), make([]float64, f.Len())
	updates := make([]int, len(r.rules))
	for range steps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		m := r.draw()
		floats.SubTo(factor, law, prior) // so that the cavity is the prior
		r.rules[m].Aim(factor, law, factor)
		floats.AddTo(law, prior, factor)
		updates[m]++
	}
	return r.result(Predict(law, test), updates)
}

// result sums up small and large clients.
func (r *workshopRun) result(score Score, updates []int) (*WorkshopResult, error) {
	result := &WorkshopResult{Score: score}
	half := len(updates) / 2
	for m, n := range updates {
		count, most := &result.Small, &result.SmallSpent
		if m >= half {
			count, most = &result.Large, &result.LargeSpent
		}
		*count += float64(n) / float64(half)
		if r.budgets[m] == nil {
			continue
		}
		spent, err := r.budgets[m].Spent(r.rules[m].Spends(), n)
		if err != nil {
			return nil, err
		}
		*most = math.Max(*most, spent)
	}
	return result, nil
}

// subset copies rows.
func subset(rows *vi.Rows, records []int) *vi.Rows {
	part := &vi.Rows{P: rows.P}
	for _, i := range records {
		part.X = append(part.X, rows.X[i*rows.P:(i+1)*rows.P]...)
		part.Y = append(part.Y, rows.Y[i])
	}
	return part
}
