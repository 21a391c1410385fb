package calibration

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/ssp/adassp"
	"github.com/dpreg/dpreg/vi"
	"github.com/dpreg/dpreg/vi/pvi"
)

// adaSSP is a point estimate.
func adaSSP(_ context.Context, e *example, noise *mechanisms.Entropy, _ *rand.Rand) (*fitted, error) {
	estimate, err := adassp.Run(e.statistics, e.shape.Intercept, e.privacy, noise)
	if err != nil {
		return nil, err
	}
	return &fitted{theta: estimate.Theta, epsilon: e.privacy.Epsilon}, nil
}

const (
	viSteps   = 2000
	viRate    = 0.02
	viBatch   = 100 // rows that a batch has at least, on average
	viAverage = 0.5
	viClip    = 1.5 // lengths of the longest row, of a line
)

// dpVI is variational inference on rows: dpreg vi with a guide that has correlations, and
// gradients of a line clipped to half of that command's norm. docs/compare.md has the reasons.
func dpVI(f fitter, n int64) (inference, error) {
	if err := onRows(f.family); err != nil {
		return nil, err
	}
	options := vi.Options{
		Scheme: accounting.PoissonReplaceOne, Rate: min(1, max(viRate, viBatch/float64(n))), Steps: viSteps,
		LearningRate: 0.02, Average: viAverage, Full: true,
	}
	unused := mechanisms.Simulated(rand.New(rand.NewPCG(0, 0))) // a plan draws nothing
	options.Privacy = &vi.Privacy{Epsilon: f.privacy.Epsilon, Delta: f.privacy.Delta, Entropy: unused}
	training, err := options.Plan(float64(n))
	if err != nil {
		return nil, err
	}
	spent, err := training.Epsilon(accounting.PLD, f.privacy.Delta)
	return func(ctx context.Context, e *example, noise *mechanisms.Entropy, rng *rand.Rand) (*fitted, error) {
		o := options
		o.Privacy = &vi.Privacy{Epsilon: f.privacy.Epsilon, Delta: f.privacy.Delta, Entropy: noise, Multiplier: training.Multiplier}
		o.Clip = math.Sqrt(float64(e.shape.Q()))
		var regression *vi.Model
		if e.family == model.Normal {
			regression = boxRegression(e)
			o.Clip *= viClip
		} else {
			regression = vi.Logistic(e.regression(e.rows), linkSD(e.prior))
		}
		o.Seed = rng.Uint64()
		fit, err := vi.Run(ctx, regression, o)
		if err != nil {
			return nil, err
		}
		draws := fit.Draws(independent/4, rng.Uint64()) // of each of four chains
		return &fitted{theta: e.means(draws), draws: draws, epsilon: spent}, nil
	}, err
}

// boxRegression is vi.LinearRegression, whose parameters are β = θ/σ and w = log σ², under the
// prior of all other methods: θ | σ² ~ N(0, σ² diag(λ)⁻¹), σ² ~ InvGamma(a, b), so that
//
//	log p(β, w) = −½ Σ λ_j β_j² − a w − b e^{−w}
//
// up to a constant: that of β_j √λ_j with sd 1.
func boxRegression(e *example) *vi.Model {
	prior, roots := e.prior.Theta, precisions(e.prior, e.shape)
	for j, l := range roots {
		roots[j] = math.Sqrt(l)
	}
	m := vi.LinearRegression(e.regression(e.rows), 1, prior.Shape, prior.Scale)
	m.LogPrior = func(t *vi.Tape) {
		t.LogNormal(t.Param(0).Times(t.Constant(roots, len(roots))), 1)
		t.LogInvGamma(t.Param(1), prior.Shape, prior.Scale)
	}
	return m
}

// precisions are those of the default prior of θ, whose mean is 0 and which has no
// other entries.
func precisions(prior *model.Prior, s model.Shape) []float64 {
	q := s.Q()
	d := make([]float64, q)
	for j := range d {
		d[j] = prior.Theta.Precision[j*q+j]
	}
	return d
}

// pviClip is the clipping norm over the norm of the longest factor of a row in the box.
const pviClip = 0.5

// independent is how many draws are taken where they are.
const independent = 1000

// dpPVI is partitioned variational inference by clients that protect their rows one by one:
// Sharma's analytic update (thesis, equations 4.21 and 4.22), once, undamped. A row's factor
// for unknown σ² has the natural parameters xxᵀ, xy and y²: the outer product of v = (x, y),
// which is what the rule's precision is for covariates v. A client's update is one release of
// all its rows. docs/compare.md has the reasons.
func dpPVI(privacy release.Privacy, clients int) (inference, error) {
	once := accounting.Training{Rate: 1, Steps: 1, Scheme: accounting.PoissonReplaceOne}
	multiplier, err := once.FindMultiplier(accounting.PLD, privacy.Epsilon, privacy.Delta)
	return func(ctx context.Context, e *example, noise *mechanisms.Entropy, rng *rand.Rand) (*fitted, error) {
		server, err := e.server(clients, multiplier, noise)
		if err != nil {
			return nil, err
		}
		law := e.prior.Theta // which stands where the noise leaves no law
		if _, err := server.Ask(ctx); err != nil {
			return nil, err
		}
		if server.Rejections() == 0 {
			if law, err = e.normalInverseGamma(server.Global()); err != nil {
				return nil, err
			}
		}
		draws, err := e.sample(law, rng)
		return &fitted{theta: law.Mean, draws: draws, epsilon: privacy.Epsilon}, err
	}, err
}

// server deals the rows, which are in random order, to so many clients.
func (e *example) server(number int, multiplier float64, noise *mechanisms.Entropy) (*pvi.Server, error) {
	all := e.regression(e.rows)
	q := all.P
	family := pvi.Family{Dim: q + 1, Full: true}
	prior := make([]float64, family.Len())
	for j, v := range append(precisions(e.prior, e.shape), 2*e.prior.Theta.Scale) { // b is half of a sum of squares
		prior[family.Dim+j*(j+1)/2+j] = v
	}
	clip := pviClip * math.Sqrt(float64(family.Dim*(family.Dim+1))/2)
	clients := make([]pvi.Client, number)
	n := len(all.Y)
	for k := range clients {
		rows := &vi.Rows{P: q + 1}
		for i := k * n / number; i < (k+1)*n/number; i++ {
			rows.X = append(append(rows.X, all.X[i*q:(i+1)*q]...), all.Y[i])
			rows.Y = append(rows.Y, 0)
		}
		protect := pvi.Protection{Clip: clip, Multiplier: multiplier, Stream: mechanisms.NewStream(noise)}
		rule, err := pvi.NewAnalytic(rows, 1, protect)
		if err != nil {
			return nil, fmt.Errorf("client %d: %w", k+1, err)
		}
		if clients[k], err = pvi.NewLocal(rule, 1, 1); err != nil {
			return nil, fmt.Errorf("client %d: %w", k+1, err)
		}
	}
	return pvi.NewServer(family, prior, clients)
}

// normalInverseGamma reads G, the precision of a law of v: with its blocks G_xx, g_xy, g_yy,
//
//	θ | σ² ~ N(μ, σ² G_xx⁻¹),  μ = G_xx⁻¹ g_xy,  σ² ~ InvGamma(a + w/2, (g_yy − g_xyᵀμ)/2),
//
// where w is the number of rows, of which a clipped one counts as the part that is left of
// it. With an intercept that is among the sums: the entry of 1·1.
func (e *example) normalInverseGamma(law []float64) (*conjugate.NIG, error) {
	q := e.shape.Q()
	g, mean := make([]float64, q*q), make([]float64, q)
	at := q + 1
	for j := range q {
		for k := 0; k <= j; k, at = k+1, at+1 {
			g[j*q+k], g[k*q+j] = law[at], law[at]
		}
	}
	copy(mean, law[at:at+q])
	squares, chol := law[at+q], append([]float64(nil), g...)
	if !dense.Cholesky(chol, q) {
		return nil, errors.New("the server's law is not proper in float64")
	}
	dense.SolveLower(chol, q, mean)
	for _, v := range mean {
		squares -= float64(v * v)
	}
	dense.SolveLowerT(chol, q, mean)
	weight := float64(e.statistics.N)
	if e.shape.Intercept {
		weight = max(0, g[0]-e.prior.Theta.Precision[0])
	}
	return conjugate.NewNIG(mean, g, e.prior.Theta.Shape+weight/2, squares/2)
}

// sample draws (θ, σ²).
func (e *example) sample(law *conjugate.NIG, rng *rand.Rand) (*posterior.Draws, error) {
	sampler, q := conjugate.NewNIGSampler(law.Dim()), law.Dim()
	if !sampler.Set(law) {
		return nil, errors.New("a law of the coefficients is not proper in float64")
	}
	chain := make([]float64, independent*(q+1))
	for at := 0; at < len(chain); at += q + 1 {
		chain[at+q] = sampler.Rand(chain[at:at+q], rng)
	}
	return &posterior.Draws{Names: e.shape.RegressionNames(), Chains: [][]float64{chain}}, nil
}

// session is that of dpreg pvi with its defaults for logistic regression.
func (f *fitter) session(clients int) pvi.Session {
	return pvi.Session{
		Clients: make([]string, clients), Model: vi.LogisticKind, Schema: *f.columns, PriorSD: linkSD(f.prior), Privacy: f.privacy,
		Rounds: 20, Steps: 25, Rate: 0.05, LearningRate: 0.2, Damping: 0.25, Clip: math.Sqrt(float64(model.DesignShape(f.columns).Q())),
	}
}

// logisticPVI deals the rows to the clients of a session.
func logisticPVI(family model.Family, session pvi.Session) (inference, error) {
	if err := onRows(family); err != nil {
		return nil, err
	}
	training, err := session.Training()
	return func(ctx context.Context, e *example, noise *mechanisms.Entropy, rng *rand.Rand) (_ *fitted, err error) {
		all, clients := e.regression(e.rows), make([]pvi.Client, len(session.Clients))
		n, p := len(all.Y), all.P
		for k := range clients {
			from, to := k*n/len(clients), (k+1)*n/len(clients)
			rows := &vi.Rows{P: p, X: all.X[from*p : to*p], Y: all.Y[from:to]}
			if clients[k], err = session.Local(rows, training.Multiplier, mechanisms.NewStream(noise)); err != nil {
				return nil, fmt.Errorf("client %d: %w", k+1, err)
			}
		}
		law, err := session.Run(ctx, clients, func(int) {})
		if err != nil {
			return nil, err
		}
		fit := session.Fit(law)
		mean, _ := fit.Moments()
		return &fitted{theta: mean, draws: fit.Draws(independent/4, rng.Uint64()), epsilon: session.Privacy.Epsilon}, nil
	}, err
}

// linkSD is the sd of coefficients of a family, which all have one.
func linkSD(prior *model.Prior) float64 { return 1 / math.Sqrt(prior.Theta.Precision[0]) }

// onRows is an error where variational inference has no model of a family.
func onRows(family model.Family) error {
	if family == model.Normal || family == model.Binomial {
		return nil
	}
	return fmt.Errorf("of families it has logistic regression alone, and not %s", family)
}
