package pvi

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/vi"
)

// Likelihood is records whose log likelihoods f_i depend on θ through η = x_iᵀθ.
type Likelihood struct {
	Rows *vi.Rows
	// Slope is f′_i(η), a function of y_i and η.
	Slope func(y, eta float64) float64
}

// Normal is the likelihood of linear regression with noise of known standard deviation,
// y ~ N(xᵀθ, sd²), f′(η) = (y − η)/sd². Errors: rows that do not fit or are not finite, sd
// not positive and finite.
func Normal(rows *vi.Rows, sd float64) (Likelihood, error) {
	if !(sd > 0) || math.IsInf(sd, 0) {
		return Likelihood{}, fmt.Errorf("the noise of y must have a positive standard deviation, not %v", sd)
	}
	precision := 1 / (sd * sd)
	return Likelihood{rows, func(y, eta float64) float64 { return precision * (y - eta) }}, check(rows)
}

// Logistic is the likelihood of logistic regression: y = 1 with probability σ(xᵀθ),
// σ(η) = 1/(1 + e^{−η}); a y between 0 and 1 counts as that share of a 1 and the rest of a
// 0. Errors: rows that do not fit or are not finite, a response outside [0, 1].
func Logistic(rows *vi.Rows) (Likelihood, error) {
	for i, y := range rows.Y {
		if !(y >= 0 && y <= 1) {
			return Likelihood{}, fmt.Errorf("row %d: a response of logistic regression lies between 0 and 1", i+1)
		}
	}
	return Likelihood{rows, vi.BernoulliSlope}, check(rows)
}

// errEmpty is of a client that would only add noise.
var errEmpty = errors.New("a client without data: leave it out, or give it records")

// check tells whether there are rows, which fit together and are finite.
func check(rows *vi.Rows) error {
	if len(rows.Y) == 0 {
		return errEmpty
	}
	if rows.P < 1 || len(rows.X) != rows.P*len(rows.Y) {
		return fmt.Errorf("%d entries of X for %d responses and %d covariates", len(rows.X), len(rows.Y), rows.P)
	}
	for _, values := range [][]float64{rows.X, rows.Y} {
		for i, v := range values {
			if v-v != 0 {
				return fmt.Errorf("row %d is not finite", i*len(rows.Y)/len(values)+1)
			}
		}
	}
	return nil
}

// Gradient is the rule that minimises the local free energy
//
//	−Σ_i E_q f_i(x_iᵀθ) + KL(q ‖ c),  q = Π_d N(μ_d, v_d),  c = q_old/t,
//
// from q_old on, by stochastic gradients in (μ, log v), and aims at q/c. c is the cavity;
// f_i is the log likelihood of a record whose predictor is normal under q: with standard normal
// z_1, …, z_J, the same for all records of a batch, E_q f_i is taken to be
//
//	mean_j f_i(m_i + s_i z_j),  m_i = x_iᵀμ,  s_i² = Σ_d x_id² v_d.
//
// Records leave through a vi.Door: of Poisson batches of a rate the sum of their gradients, each
// clipped jointly over all coordinates, is divided by the rate. That of the divergence is public,
// and is added afterwards. Steps are Adagrad's (Duchi, Hazan & Singer, JMLR 12, 2011), which
// remembers from Aim to Aim.
type Gradient struct {
	model   Likelihood
	options GradientOptions
	family  Family
	batches vi.Batches
	rng     *rand.Rand
	door    *vi.Door

	lambda, squares  []float64 // (μ, log v) of q, and what Adagrad remembers
	cavity, gradient []float64
	at               []float64 // μ, and 1 for each entry of v
	variance, z      []float64
}

// GradientOptions are those of NewGradient.
type GradientOptions struct {
	Steps int     // of an Aim, each of which releases a sum
	Rate  float64 // with which a record is in a batch
	// Batches draws them, nil for Poisson's.
	Batches vi.Batches
	// Draws is J. At 0, z = ±1, which is exact where f is quadratic.
	Draws        int
	LearningRate float64
	// Protect needs its Stream for batches, even where it does nothing else.
	Protect Protection
}

// NewGradient has diagonal laws. Errors: no records, options out of range.
func NewGradient(model Likelihood, o GradientOptions) (*Gradient, error) {
	d, n := model.Rows.P, len(model.Rows.Y)
	switch {
	case n < 1:
		return nil, errEmpty
	case o.Steps < 1 || !(o.Rate > 0 && o.Rate <= 1) || o.Draws < 0:
		return nil, fmt.Errorf("%d steps at a rate of %v with %d draws: at least 1 step and 0 draws, a rate above 0 and at most 1", o.Steps, o.Rate, o.Draws)
	case !(o.LearningRate > 0) || math.IsInf(o.LearningRate, 0):
		return nil, fmt.Errorf("a learning rate of %v: it must be positive and finite", o.LearningRate)
	case o.Protect.Stream == nil:
		return nil, errors.New("a stream is needed for batches")
	}
	if err := o.Protect.check(); err != nil {
		return nil, err
	}
	stream, batches := o.Protect.Stream, o.Batches
	if batches == nil {
		batches = vi.Poisson(n, o.Rate, stream)
	}
	vector := func() []float64 { return make([]float64, 2*d) }
	g := &Gradient{model: model, options: o, family: Family{Dim: d}, batches: batches, rng: rand.New(stream),
		lambda: vector(), squares: vector(), cavity: vector(), gradient: vector(), at: vector(), variance: make([]float64, d), z: []float64{-1, 1}}
	if o.Draws > 0 {
		g.z = make([]float64, o.Draws)
	}
	for j := range d {
		g.at[d+j] = 1
	}
	g.door = vi.NewDoor(g.records(), o.Protect.Clip, o.Protect.Multiplier, stream)
	return g, nil
}

// records are a model with the parameters μ and u: entries of v that are multiplied by u have at
// u = 1 the gradient in u that v has in log v.
func (g *Gradient) records() *vi.Model {
	rows, d := g.model.Rows, g.family.Dim
	squares := make([]float64, len(rows.X))
	floats.MulTo(squares, rows.X, rows.X)
	return &vi.Model{Records: len(rows.Y), Parameters: []vi.Parameter{{Name: "mu", Size: d}, {Name: "u", Size: d}}, LogLik: func(t *vi.Tape) {
		m := t.Dense(t.Rows(rows.X, d), 0)
		s := t.Dense(t.Rows(squares, d).Times(t.Constant(g.variance, d)), 1).Map(func(v float64) (float64, float64) {
			s := math.Sqrt(v)
			return s, 0.5 / s
		})
		t.Factor(m.Plus(s.Times(t.Constant(g.z, len(g.z)))).With(t.Rows(rows.Y, 1), func(eta, y float64) (float64, float64, float64) {
			return 0, g.model.Slope(y, eta) / float64(len(g.z)), 0
		}))
	}}
}

// Family implements Rule.
func (g *Gradient) Family() Family { return g.family }

// Memory implements Rule: it is Adagrad's.
func (g *Gradient) Memory() []float64 { return g.squares }

// Aim implements Rule. It panics where global is not a law.
func (g *Gradient) Aim(dst, global, factor []float64) {
	if !g.family.Proper(global) {
		panic("pvi: no law to start from")
	}
	d := g.family.Dim
	floats.SubTo(g.cavity, global, factor)
	for j := range d {
		g.lambda[j] = global[j] / global[d+j]
		g.lambda[d+j] = -math.Log(global[d+j])
	}
	for range g.options.Steps {
		g.step()
	}
	for j := range d {
		precision := math.Exp(-g.lambda[d+j])
		dst[j] = precision*g.lambda[j] - g.cavity[j]
		dst[d+j] = precision - g.cavity[d+j]
	}
}

// step moves (μ, log v) by one batch.
func (g *Gradient) step() {
	d, o := g.family.Dim, &g.options
	copy(g.at, g.lambda[:d])
	for j := range d {
		g.variance[j] = math.Exp(g.lambda[d+j])
	}
	if o.Draws > 0 {
		for j := range g.z {
			g.z[j] = g.rng.NormFloat64()
		}
	}
	g.door.Add(g.at, g.batches.Next())
	g.door.Release(g.gradient)
	floats.Scale(1/o.Rate, g.gradient)
	// −KL's gradient is h_c − Λ_c μ in μ, and ½(1 − Λ_c v) in log v.
	for j := range d {
		g.gradient[j] += g.cavity[j] - g.cavity[d+j]*g.lambda[j]
		g.gradient[d+j] += (1 - g.cavity[d+j]*g.variance[j]) / 2
	}
	for j, v := range g.gradient {
		g.squares[j] += v * v
		g.lambda[j] += o.LearningRate * v / (math.Sqrt(g.squares[j]) + 1e-10)
	}
}
