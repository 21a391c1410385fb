package exact

import (
	"math"

	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
)

// dispersion is φ, by which the variance of counts given x is more than Poisson's or less, φ(g₂ − g²), alike at every x
// (quasi-Poisson: McCullagh & Nelder 1989, §6.2),
//
//	log φ ~ N(½, 1),
//
// and what a release tells of it, z of Σu², u = 2y − 1 of y in [0, 1]. Given the rest of index, with κ_l = S_0/M_0,
//
//	Σu² ~ N(S, τ²),   S = n + 4Σ_l (κ_l − 1)√n_lF_l,
//
// so that noise leaves no correlation above 1 open. The fourth moment of counts, which τ² hangs on, is taken for that of a
// negative binomial of the mean λ that z tells, and of the variance: with v̂ that of y and φ̂ its excess, as z tells both,
//
//	τ² = 16n v̂²(2 + 6φ̂/λ), at most n/4, as u² is between 0 and 1.
//
// The coordinate is of log φ = c + u/√P, normal as z and the prior have it where z tells it. Where sums of y are summed out, as
// negative binomial counts (binomialSum), (1 + φ⁴)^¼ stands for φ in their law: few counts of less than Poisson's variance
// have none. Σu² has φ itself, so that counts that vary less do not move means.
type dispersion struct {
	z, noise, tau float64 // of Σu²: as released, the sd of the noise or the scale of Laplace's, τ
	laplace       bool
	kink          float64 // slopes round off Laplace's within it, see model.Noise; 0 where τ does
	centre, root  float64 // c, √P

	log, phi   float64 // at u
	per, bySum float64 // S/n, and the slope in S, where value was last
	byLog      float64 // slope in log φ
}

// kinkOfSquares is the width of the kink, over Laplace's b.
const kinkOfSquares = 0.25

// newDispersion returns that of a release, nil of a response that is 0 or 1.
func newDispersion(site *model.Site, of family, summedOut bool) *dispersion {
	if of.most == 1 {
		return nil
	}
	obs := site.Observation
	last, n := len(obs.Z)-1, rowsTold(obs)
	z, variance := obs.Z[last], obs.Variance(last)
	if told := obs.Told; told != nil {
		last = len(told.Z) - 1
		z, variance = told.Z[last], told.Variance(last)
	}
	d := &dispersion{z: z, noise: math.Sqrt(variance), laplace: obs.Kind == release.Laplace}
	d.guess(obs, of, n, summedOut)
	if d.laplace = d.laplace && d.noise > 1e-6*d.tau; d.laplace {
		d.noise /= math.Sqrt2
		if kink := kinkOfSquares * d.noise; d.tau < kink {
			d.kink = kink
		}
	}
	return d
}

// guess finds τ, c and P by what z tells of ȳ and of φ. Where sums of y are summed out, Σu² varies with them, too, by
// 64n(ȳ − ½)²v̂.
func (d *dispersion) guess(obs *model.Observation, of family, n float64, summedOut bool) {
	at := obs.Shape.P
	least := min(0.5, max(0.5*math.Sqrt(obs.Variance(at)), 1)/n)
	y := max(least, min(1-least, 0.5*(1+obs.Z[at]/n)))
	_, _, _, poisson := of.outset(y, 0)
	excess := (0.25*(d.z/n-1) + y - y*y) / poisson // φ̂
	most := max(1, excess)
	own := 16 * most * most * poisson * poisson * (2 + 6*most/(of.most*y))
	if summedOut {
		own += 64 * (y - 0.5) * (y - 0.5) * most * poisson
	}
	d.tau = math.Sqrt(n * min(0.25, own))
	told := 0.0
	if excess > 0 {
		told = 4 * n * poisson * excess / math.Hypot(d.noise, d.tau)
		told *= told
	}
	const prior = 1 / (model.LogDispersionSD * model.LogDispersionSD)
	d.root = math.Sqrt(prior + told)
	d.centre = model.LogDispersion * prior / (prior + told)
	if told > 0 {
		d.centre += told * math.Log(excess) / (prior + told)
	}
}

// dim is the number of coordinates.
func (d *dispersion) dim() int { return number.Indicator[int](d != nil) }

// take takes φ of its coordinate, the first of x, and returns the log prior.
func (d *dispersion) take(x []float64) (logp float64) {
	if d == nil {
		return 0
	}
	d.log = d.centre + x[0]/d.root
	d.phi = math.Exp(d.log)
	off := (d.log - model.LogDispersion) / model.LogDispersionSD
	return -0.5 * off * off
}

// ofSums returns what stands for φ in the law of sums that are summed out, and the derivative of its logarithm in log φ.
func (d *dispersion) ofSums() (phi, share float64) {
	if d == nil {
		return 1, 0
	}
	square := d.phi * d.phi
	return math.Sqrt(math.Hypot(1, square)), square * square / (1 + square*square)
}

// value returns the log density of z where t has F and κ.
func (d *dispersion) value(t *index) (logp float64) {
	d.per = 1.0
	for i := range t.at {
		l := &t.at[i]
		d.per += 4 * (l.kappa - 1) * l.root * l.sum / t.n
	}
	logp, d.bySum = d.at(t.n * d.per)
	return logp
}

// slope adds the gradient where value was last to that in a level's F, and returns that in κ.
func (d *dispersion) slope(l *ofLevel) (byKappa float64) {
	l.bySum += 4 * d.bySum * (l.kappa - 1) * l.root
	return 4 * d.bySum * l.root * l.sum
}

// write writes φ, and returns how many numbers that is.
func (d *dispersion) write(dst []float64) int {
	if d != nil {
		dst[0] = d.phi
	}
	return d.dim()
}

// give writes the gradient in the coordinate, the first of grad, where byLog has that in log φ but for the prior's.
func (d *dispersion) give(grad []float64) {
	if d != nil {
		grad[0] = (d.byLog + (model.LogDispersion-d.log)/(model.LogDispersionSD*model.LogDispersionSD)) / d.root
	}
}

// at returns the log density of z, and its derivative in S, but for a kink. Laplace's law of scale b and N(0, τ²) have
// together, with a = τ/b and x = z − S,
//
//	p(x) = (T(x) + T(−x))/4b,   T(x) = exp(½a² + x/b) erfc((a + x/τ)/√2),   d log p/dx = (T(x) − T(−x))/(T(x) + T(−x))/b.
func (d *dispersion) at(sum float64) (logp, slope float64) {
	x := d.z - sum
	if !d.laplace {
		v := d.noise*d.noise + d.tau*d.tau
		return -0.5 * x * x / v, x / v
	}
	above, below := d.tail(x), d.tail(-x)
	most := max(above, below)
	up, down := math.Exp(above-most), math.Exp(below-most)
	logp = most + math.Log(up+down)
	if d.kink > 0 {
		return logp, x / (d.noise * math.Hypot(x, d.kink))
	}
	return logp, (down - up) / ((up + down) * d.noise)
}

// tail is log T(x), of which erfc is an asymptotic series where it would underflow.
func (d *dispersion) tail(x float64) float64 {
	a := d.tau / d.noise
	t := (a + x/d.tau) / math.Sqrt2
	if t < 20 {
		return 0.5*a*a + x/d.noise + math.Log(math.Erfc(t))
	}
	y, square := x/d.tau, t*t
	return -0.5*y*y - math.Log(t*math.Sqrt(math.Pi)) + math.Log1p((0.75/square-0.5)/square)
}
