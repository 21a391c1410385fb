package pvi

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/vi"
)

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
// much is clipped, jointly over all coordinates.
type Gradient struct {
	model   Likelihood
	rows    *sparse
	options GradientOptions
	family  Family
	rng     *rand.Rand
	batches vi.Batches
	sum     sum

	mean, logVar, variance, inverse []float64 // of q; inverse is 1/v
	cavity, share, of, total        []float64
	z, eta                          []float64
}

// GradientOptions are those of NewGradient.
type GradientOptions struct {
	Steps int     // of an Aim
	Batch float64 // L, the expected size where not Fixed; from N on it is N
	Fixed bool    // batches of Batch records without replacement, else by Poisson
	// Scale multiplies all gradients before they are clipped; 0 is 1. 1/N makes C a bound
	// for those of single records.
	Scale float64
	// Draws is J. At 0, z = ±1, which is exact where f is quadratic.
	Draws int
	// Mean and LogVar move μ and log v. They remember from Aim to Aim.
	Mean, LogVar vi.Optimiser
	// InVariance clips and noises gradients in v, which then are moved to log v.
	InVariance bool
	// Protect needs its Stream for batches, even where it does nothing else.
	Protect Protection
}

// NewGradient has diagonal laws. Errors: no records, options out of range.
func NewGradient(model Likelihood, o GradientOptions) (*Gradient, error) {
	if model.Len() < 1 {
		return nil, errEmpty
	}
	d, n := model.Dim(), model.Len()
	switch {
	case !(o.Scale >= 0) || math.IsInf(o.Scale, 0):
		return nil, fmt.Errorf("a scale of %v: a finite number of at least 0", o.Scale)
	case o.Steps < 1 || !(o.Batch >= 1) || o.Draws < 0 || o.Fixed && o.Batch != math.Trunc(o.Batch):
		return nil, fmt.Errorf("%d steps with batches of %v and %d draws: at least 1 step, 1 record, 0 draws, and whole records in batches of fixed size", o.Steps, o.Batch, o.Draws)
	case o.Mean == nil || o.LogVar == nil || o.Protect.Stream == nil:
		return nil, errors.New("optimisers for means and log variances and a stream are needed")
	}
	if err := o.Protect.check(); err != nil {
		return nil, err
	}
	o.Batch = math.Min(o.Batch, float64(n))
	if o.Scale == 0 {
		o.Scale = 1
	}
	g := &Gradient{model: model, rows: newSparse(model), options: o, family: Family{Dim: d}, rng: rand.New(o.Protect.Stream), sum: o.Protect.newSum(2 * d)}
	if o.Fixed {
		g.batches = vi.FixedSize(n, int(o.Batch), o.Protect.Stream)
	} else {
		g.batches = vi.Poisson(n, g.rate(), o.Protect.Stream)
	}
	o.Mean.Start(d)
	o.LogVar.Start(d)
	for _, v := range []*[]float64{&g.mean, &g.logVar, &g.variance, &g.inverse} {
		*v = make([]float64, d)
	}
	for _, v := range []*[]float64{&g.cavity, &g.share, &g.of, &g.total} {
		*v = make([]float64, 2*d)
	}
	g.z = []float64{-1, 1}
	if o.Draws > 0 {
		g.z = make([]float64, o.Draws)
	}
	g.eta = make([]float64, len(g.z))
	return g, nil
}

func (g *Gradient) rate() float64 { return g.options.Batch / float64(g.model.Len()) }

// Family implements Rule.
func (g *Gradient) Family() Family { return g.family }

// Len implements Rule.
func (g *Gradient) Len() int { return g.model.Len() }

// Spends implements Rule.
func (g *Gradient) Spends() []accounting.Training {
	if g.options.Protect.none() {
		return nil
	}
	t := accounting.Training{Multiplier: g.options.Protect.Multiplier, Rate: g.rate(), Steps: g.options.Steps}
	if g.options.Fixed {
		t.Scheme = accounting.FixedReplaceOne
	}
	return []accounting.Training{t}
}

// Aim implements Rule. It panics where global is not a law.
func (g *Gradient) Aim(dst, global, factor []float64) {
	if !g.family.Proper(global) {
		panic("pvi: no law to start from")
	}
	d := g.family.Dim
	floats.SubTo(g.cavity, global, factor)
	for j := range d {
		g.mean[j] = global[j] / global[d+j]
		g.logVar[j] = -math.Log(global[d+j])
	}
	for range g.options.Steps {
		g.step()
	}
	for j := range d {
		precision := math.Exp(-g.logVar[j])
		dst[j] = precision*g.mean[j] - g.cavity[j]
		dst[d+j] = precision - g.cavity[d+j]
	}
}

// step moves (μ, log v) by one batch.
func (g *Gradient) step() {
	d, o := g.family.Dim, &g.options
	// −KL's gradient is h_c − Λ_c μ in μ, and ½(1/v − Λ_c) in v.
	for j := range d {
		g.variance[j] = math.Exp(g.logVar[j])
		g.inverse[j] = 1 / g.variance[j]
		g.share[j] = o.Scale / o.Batch * (g.cavity[j] - g.cavity[d+j]*g.mean[j])
		g.share[d+j] = o.Scale / o.Batch * (g.inverse[j] - g.cavity[d+j]) / 2
		if !o.InVariance {
			g.share[d+j] *= g.variance[j]
		}
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
	if o.InVariance {
		floats.Mul(g.total[d:], g.variance)
	}
	o.Mean.Step(g.mean, g.total[:d])
	o.LogVar.Step(g.logVar, g.total[d:])
}

// record writes what record i adds: 0 in coordinates where x is, but for the divergence.
func (g *Gradient) record(i int) {
	index, value := g.rows.row(i)
	d, scale := g.family.Dim, g.options.Scale*float64(g.model.Len())/g.options.Batch
	m, s := 0., 0.
	for k, v := range value {
		m += v * g.mean[index[k]]
		s += v * v * g.variance[index[k]]
	}
	s = math.Sqrt(s)
	for j, z := range g.z {
		g.eta[j] = m + s*z
	}
	g.model.Slopes(i, g.eta)
	// In a fixed order: that of floats.Sum depends on where in memory its argument is.
	inMean, inVariance := 0., 0.
	for j, slope := range g.eta {
		inMean += slope
		inVariance += slope * g.z[j]
	}
	inMean *= scale / float64(len(g.z))
	if s > 0 {
		inVariance *= scale / (2 * s * float64(len(g.z)))
	}
	copy(g.of, g.share)
	for k, v := range value {
		j := index[k]
		square := inVariance * v * v
		if !g.options.InVariance {
			square *= g.variance[j]
		}
		g.of[j] += inMean * v
		g.of[d+j] += square
	}
}
