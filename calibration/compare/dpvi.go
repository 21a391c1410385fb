package compare

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"

	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/vi"
)

// dpVI is variational inference on rows: dpreg vi with a guide that has correlations, and
// gradients clipped to half of that command's norm. docs/compare.md has the reasons.
type dpVI struct {
	n      int64
	budget release.Privacy
	rate   float64
	plan   func() plan // searched for once, which takes seconds
}

const (
	viSteps   = 2000
	viRate    = 0.02
	viBatch   = 100 // rows that a batch has at least, on average
	viAverage = 0.5
	viClip    = 1.5 // lengths of the longest row
)

func newDPVI(s size, budget release.Privacy) *dpVI {
	m := &dpVI{n: s.n, budget: budget, rate: min(1, max(viRate, viBatch/float64(s.n)))}
	m.plan = sync.OnceValue(m.find)
	return m
}

func (m *dpVI) run() string { return fmt.Sprintf("%d steps", viSteps) }

func (m *dpVI) options() vi.Options {
	return vi.Options{
		Privacy: &vi.Privacy{Epsilon: m.budget.Epsilon, Delta: m.budget.Delta},
		Scheme:  accounting.PoissonReplaceOne, Rate: m.rate, Steps: viSteps,
		Optimiser: &vi.Adam{Rate: 0.02}, Average: viAverage, Guide: vi.FullCovariance,
	}
}

// plan is the noise, and what it spends.
type plan struct {
	training accounting.Training
	spent    float64
	err      error
}

func (m *dpVI) find() (p plan) {
	o := m.options()
	o.Privacy.Entropy = mechanisms.Simulated(rand.New(rand.NewPCG(0, 0))) // nothing is drawn
	if p.training, p.err = o.Plan(float64(m.n)); p.err == nil {
		p.spent, p.err = p.training.Epsilon(accounting.PLD, m.budget.Delta)
	}
	return p
}

func (m *dpVI) ready() error { return m.plan().err }

func (m *dpVI) fit(ctx context.Context, e *example, noise *mechanisms.Entropy, rng *rand.Rand) (*fitted, error) {
	p, o := m.plan(), m.options()
	o.Clip = viClip * math.Sqrt(float64(e.shape.Q()))
	o.Privacy.Entropy, o.Privacy.Multiplier = noise, p.training.Multiplier
	o.Seed = rng.Uint64()
	fit, err := vi.Run(ctx, newRegression(e), o)
	if err != nil {
		return nil, err
	}
	draws := fit.Draws(independent/4, rng.Uint64()) // of each of four chains
	return &fitted{theta: means(draws, e.shape.Q()), draws: draws, epsilon: p.spent}, nil
}

// regression is vi.LinearRegression, whose parameters are β = θ/σ and w = log σ², under the
// prior of all other methods: θ | σ² ~ N(0, σ² diag(λ)⁻¹), σ² ~ InvGamma(a, b), so that
//
//	log p(β, w) = −½ Σ λ_j β_j² − a w − b e^{−w}
//
// up to a constant.
type regression struct {
	vi.Model
	precision []float64 // λ
	a, b      float64
}

func newRegression(e *example) *regression {
	prior := e.prior.Theta
	return &regression{vi.LinearRegression(e.regression(e.rows), 1, prior.Shape, prior.Scale), diagonal(e.prior, e.shape), prior.Shape, prior.Scale}
}

// LogPrior implements vi.Model.
func (r *regression) LogPrior(grad, theta []float64) float64 {
	p, sum := len(r.precision), 0.
	for j, l := range r.precision {
		grad[j] = -l * theta[j]
		sum += l * theta[j] * theta[j]
	}
	w := theta[p]
	b := r.b * math.Exp(-w)
	grad[p] = -r.a + b
	return -sum/2 - r.a*w - b
}

// diagonal is that of the default prior's precision of θ, whose mean is 0 and which has no
// other entries.
func diagonal(prior *model.Prior, s model.Shape) []float64 {
	q := s.Q()
	d := make([]float64, q)
	for j := range d {
		d[j] = prior.Theta.Precision[j*q+j]
	}
	return d
}
