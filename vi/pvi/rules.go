package pvi

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/vi"
)

// Likelihood is records whose log likelihoods f_i depend on θ through η = x_iᵀθ.
type Likelihood struct {
	Rows *vi.Rows
	// Slope is f′_i(η).
	Slope func(i int, eta float64) float64
}

// Normal is the likelihood of linear regression with noise of known standard deviation,
// y ~ N(xᵀθ, sd²), f′(η) = (y − η)/sd². Errors: rows that do not fit or are not finite, sd
// not positive and finite.
func Normal(rows *vi.Rows, sd float64) (Likelihood, error) {
	if !(sd > 0) || math.IsInf(sd, 0) {
		return Likelihood{}, fmt.Errorf("the noise of y must have a positive standard deviation, not %v", sd)
	}
	precision := 1 / (sd * sd)
	return Likelihood{rows, func(i int, eta float64) float64 { return precision * (rows.Y[i] - eta) }}, check(rows)
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
	return Likelihood{rows, func(i int, eta float64) float64 { return vi.BernoulliSlope(rows.Y[i], eta) }}, check(rows)
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

// sparse is rows without their zeros.
type sparse struct {
	start []int // of each row, and the end of the last
	index []int
	value []float64
}

func newSparse(rows *vi.Rows) *sparse {
	s := &sparse{start: []int{0}}
	for i, v := range rows.X {
		if v != 0 {
			s.index, s.value = append(s.index, i%rows.P), append(s.value, v)
		}
		if (i+1)%rows.P == 0 {
			s.start = append(s.start, len(s.index))
		}
	}
	return s
}

func (s *sparse) row(i int) (index []int, value []float64) {
	return s.index[s.start[i]:s.start[i+1]], s.value[s.start[i]:s.start[i+1]]
}

// Protection is of single records: what each adds to a sum is clipped to norm Clip, and
// N(0, (Multiplier·Clip)² I) is added to the sum. Where both are 0 neither is done.
type Protection struct {
	Clip, Multiplier float64
	Stream           *mechanisms.Stream // the secret randomness of one client
}

func (p Protection) none() bool { return p.Clip == 0 && p.Multiplier == 0 }

func (p Protection) check() error {
	switch {
	case p.none():
		return nil
	case !(p.Clip >= 1e-30 && p.Clip <= 1e30) || !(p.Multiplier > 0 && p.Multiplier <= accounting.MaxMultiplier):
		return fmt.Errorf("records are protected by a positive clip and multiplier, not %v and %v", p.Clip, p.Multiplier)
	case p.Stream == nil:
		return fmt.Errorf("noise needs a stream: mechanisms.NewStream(mechanisms.OS())")
	}
	return nil
}

// sum is of vectors of length dim.
func (p Protection) sum(dim int) vi.Summer {
	if p.none() {
		return vi.Plain(dim, 0)
	}
	return vi.NewSum(dim, p.Clip, p.Multiplier, p.Stream)
}

// spends is what so many sums over samples of a rate release.
func (p Protection) spends(rate float64, sums int) accounting.Training {
	if p.none() {
		return accounting.Training{}
	}
	return accounting.Training{Multiplier: p.Multiplier, Rate: rate, Steps: sums}
}

// Analytic is the rule of linear regression with known noise, y ~ N(xᵀθ, s²): a record's
// factor has the natural parameters (xy, xxᵀ)/s², and a client's is their sum, whatever
// the global law is.
//
// Protected, each record's (xy, xxᵀ), the lower triangle of xxᵀ counting once, is clipped
// and the sum is noisy, anew at every Aim (Sharma's thesis, equations 4.21 and 4.22).
type Analytic struct {
	rows      *vi.Rows
	precision float64
	protect   Protection
	family    Family
	sum       vi.Summer
	of        []float64 // one record's
	total     []float64 // where not protected
}

// NewAnalytic has full laws. Errors: records that do not fit or are not finite, sd not positive and finite, a
// protection out of range.
func NewAnalytic(rows *vi.Rows, sd float64, protect Protection) (*Analytic, error) {
	if _, err := Normal(rows, sd); err != nil {
		return nil, err
	}
	if err := protect.check(); err != nil {
		return nil, err
	}
	f := Family{Dim: rows.P, Full: true}
	a := &Analytic{rows: rows, precision: 1 / (sd * sd), protect: protect, family: f, sum: protect.sum(f.Len()), of: make([]float64, f.Len())}
	if protect.none() {
		a.total = make([]float64, f.Len())
		a.release(a.total)
	}
	return a, nil
}

// Family implements Rule.
func (a *Analytic) Family() Family { return a.family }

// Len implements Rule.
func (a *Analytic) Len() int { return len(a.rows.Y) }

// Spends implements Rule.
func (a *Analytic) Spends() accounting.Training { return a.protect.spends(1, 1) }

// Memory implements Rule.
func (a *Analytic) Memory() []float64 { return nil }

// Aim implements Rule.
func (a *Analytic) Aim(dst, _, _ []float64) {
	if a.protect.none() {
		copy(dst, a.total)
		return
	}
	a.release(dst)
}

// release sums over all records.
func (a *Analytic) release(dst []float64) {
	p := a.rows.P
	for i, y := range a.rows.Y {
		x, at := a.rows.X[i*p:(i+1)*p], p
		for j, v := range x {
			a.of[j] = v * y
			for k := range j + 1 {
				a.of[at] = v * x[k]
				at++
			}
		}
		a.sum.Add(1, a.of, floats.Norm(a.of, 2))
	}
	a.sum.Release(dst)
	floats.Scale(a.precision, dst)
}

// Gradient is the rule that minimises the local free energy
//
//	−Σ_i E_q f_i(x_iᵀθ) + KL(q ‖ c),  q = Π_d N(μ_d, v_d),  c = q_old/t,
//
// from q_old on, by stochastic gradients in (μ, log v), and aims at q/c. c is the cavity;
// f_i is the log likelihood of a record whose predictor is normal under q, with mean
// m_i = x_iᵀμ and variance s_i² = Σ_d x_id² v_d. With standard normal z_1, …, z_J, the same
// for all records of a batch,
//
//	∂/∂m = mean_j f′(m + s z_j),  ∂/∂s² = mean_j z_j f′(m + s z_j)/(2s).
//
// A record in a batch of L adds N/L times its own gradient and 1/L of the divergence's: so
// much is clipped, jointly over all coordinates. Steps are Adagrad's (Duchi, Hazan & Singer,
// JMLR 12, 2011), which remembers from Aim to Aim.
type Gradient struct {
	model   Likelihood
	rows    *sparse
	options GradientOptions
	family  Family
	batches vi.Batches
	rng     *rand.Rand
	sum     vi.Summer

	lambda, squares          []float64 // (μ, log v) of q, and what Adagrad remembers
	variance                 []float64
	cavity, share, of, total []float64
	z                        []float64
}

// GradientOptions are those of NewGradient.
type GradientOptions struct {
	Steps int     // of an Aim
	Batch float64 // L, the expected size; from N on it is N
	// Batches draws them, nil for Poisson's. Others are for studies: Spends does not know what
	// they spend, and has no steps.
	Batches vi.Batches
	// Scale multiplies all gradients before they are clipped; 0 is 1. 1/N makes C a bound
	// for those of single records.
	Scale float64
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
	case !(o.Scale >= 0) || math.IsInf(o.Scale, 0) || !(o.LearningRate > 0) || math.IsInf(o.LearningRate, 0):
		return nil, fmt.Errorf("a scale of %v and a learning rate of %v: finite numbers, at least 0 and above 0", o.Scale, o.LearningRate)
	case o.Steps < 1 || !(o.Batch >= 1) || o.Draws < 0:
		return nil, fmt.Errorf("%d steps with batches of %v and %d draws: at least 1 step, 1 record, 0 draws", o.Steps, o.Batch, o.Draws)
	case o.Protect.Stream == nil:
		return nil, errors.New("a stream is needed for batches")
	}
	if err := o.Protect.check(); err != nil {
		return nil, err
	}
	o.Batch = math.Min(o.Batch, float64(n))
	if o.Scale == 0 {
		o.Scale = 1
	}
	batches := o.Batches
	if batches == nil {
		batches = vi.Poisson(n, o.Batch/float64(n), o.Protect.Stream)
	}
	vector := func() []float64 { return make([]float64, 2*d) }
	g := &Gradient{model: model, rows: newSparse(model.Rows), options: o, family: Family{Dim: d}, batches: batches, rng: rand.New(o.Protect.Stream), sum: o.Protect.sum(2 * d),
		lambda: vector(), squares: vector(), variance: make([]float64, d), cavity: vector(), share: vector(), of: vector(), total: vector(), z: []float64{-1, 1}}
	if o.Draws > 0 {
		g.z = make([]float64, o.Draws)
	}
	return g, nil
}

// Family implements Rule.
func (g *Gradient) Family() Family { return g.family }

// Len implements Rule.
func (g *Gradient) Len() int { return len(g.model.Rows.Y) }

// Spends implements Rule.
func (g *Gradient) Spends() (none accounting.Training) {
	if g.options.Batches != nil {
		return none
	}
	return g.options.Protect.spends(g.options.Batch/float64(g.Len()), g.options.Steps)
}

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
	// −KL's gradient is h_c − Λ_c μ in μ, and ½(1 − Λ_c v) in log v.
	for j := range d {
		g.variance[j] = math.Exp(g.lambda[d+j])
		g.share[j] = o.Scale / o.Batch * (g.cavity[j] - g.cavity[d+j]*g.lambda[j])
		g.share[d+j] = o.Scale / o.Batch * (1/g.variance[j] - g.cavity[d+j]) / 2
		g.share[d+j] *= g.variance[j]
	}
	if o.Draws > 0 {
		for j := range g.z {
			g.z[j] = g.rng.NormFloat64()
		}
	}
	for _, i := range g.batches.Next() {
		g.record(i)
		g.sum.Add(1, g.of, math.Sqrt(floats.Dot(g.of, g.of)))
	}
	g.sum.Release(g.total)
	for j, v := range g.total {
		g.squares[j] += v * v
		g.lambda[j] += o.LearningRate * v / (math.Sqrt(g.squares[j]) + 1e-10)
	}
}

// record writes what record i adds: 0 in coordinates where x is, but for the divergence.
func (g *Gradient) record(i int) {
	index, value := g.rows.row(i)
	d, scale := g.family.Dim, g.options.Scale*float64(g.Len())/g.options.Batch
	m, s := 0., 0.
	for k, v := range value {
		m += v * g.lambda[index[k]]
		s += v * v * g.variance[index[k]]
	}
	s = math.Sqrt(s)
	// In a fixed order: that of floats.Sum depends on where in memory its argument is.
	inMean, inVariance := 0., 0.
	for _, z := range g.z {
		slope := g.model.Slope(i, m+s*z)
		inMean += slope
		inVariance += slope * z
	}
	inMean *= scale / float64(len(g.z))
	if s > 0 {
		inVariance *= scale / (2 * s * float64(len(g.z)))
	}
	copy(g.of, g.share)
	for k, v := range value {
		j := index[k]
		g.of[j] += inMean * v
		g.of[d+j] += inVariance * v * v * g.variance[j]
	}
}
