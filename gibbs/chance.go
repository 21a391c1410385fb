package gibbs

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/model"
)

// chance is the density of a latent n and one release's φ under the exact law of s, ω integrated
// out. By Bartlett (f, A) of ancillary has independent entries,
//
//	√n f_i ~ N(0, 1),   √n A_ik ~ N(0, 1), i > k,   n A_ii² ~ χ² of ν_i = n − 1 − i degrees, i = 0 … m−1.
//
// These make x: √n f_i, √n A_ik and u_i = √(2ν_i) log(√(n/ν_i) A_ii), the last nearly N(0, 1). Given
// n, two of φ, x and s give the third, where the model has an intercept. Held may be
//
//	s and x: φ is what follows, with density p(φ) p(x | n) / |∂s/∂φ|, and z does not matter;
//	x:       s is what follows, with density p(φ) p(x | n) p(z | s);
//	s:       with density p(φ) p(s | φ, n).
//
// The first needs φ to be the release's own; else the second is right where noise hides s, and the
// third where z pins it. Up to constants, with w = u_i/√(2ν), ν = ν_i,
//
//	log p(u_i | n) = νw − ½ν exp 2w + ½ν log ½ν − ½ log ν − log Γ(½ν),
//	log p(s | φ, n) = −½n(‖f‖² + ‖A‖²) + ½m(n − m − 3) log n − ½m(n − 1) log 2
//	                  + Σ_i [(n − m − 2) log A_ii − (m + 2) log L_ii − log Γ(½ν_i)],
//	log|∂s/∂φ| = ½m(m + 3) log n + Σ_i (m − i) log(D_ii A_ii) + Σ_{i<m−1} (i + 2) log L_ii + log L_yy,
//
// by s = (nv̄, n(DDᵀ + v̄v̄ᵀ)), D = LA, and L = [L_x 0; βᵀL_x σ] of model.Coordinates.
type chance struct {
	*ancillary
	noise *model.Noise
	f, a  []float64 // x: √n f, and √n A with u on its diagonal
	lx    []float64 // L_x, p×p
	held  held
	whole bool // φ is the release's own, and there is an intercept
}

type held int

const (
	heldX held = iota
	heldS
	heldBoth
)

func newChance(t *ancillary, noise *model.Noise, own bool) *chance {
	p := t.obs.Shape.P
	return &chance{ancillary: t, noise: noise, whole: own && t.obs.Shape.Intercept,
		f: make([]float64, len(t.f)), a: make([]float64, len(t.a)), lx: make([]float64, p*p)}
}

// degrees are those of A_ii.
func (t *chance) degrees(i int) float64 { return t.n - 1 - float64(i) }

// hold takes φ and x of the parameters and statistics; see ancillary.
func (t *chance) hold(phi []float64) bool {
	if !t.ancillary.hold(phi) {
		return false
	}
	root, m := math.Sqrt(t.n), len(t.f)
	for i, f := range t.ancillary.f {
		t.f[i] = root * f
		for k, a := range t.ancillary.a[i*m : i*m+i+1] {
			t.a[i*m+k] = root * a
		}
		nu := t.degrees(i)
		t.a[i*m+i] = math.Sqrt(2*nu) * math.Log(t.a[i*m+i]/math.Sqrt(nu))
	}
	return true
}

// scale takes (f, A) of x and returns log p(x | n).
func (t *chance) scale() (logp float64) {
	root, m := math.Sqrt(t.n), len(t.f)
	for i, f := range t.f {
		t.ancillary.f[i] = f / root
		row := t.ancillary.a[i*m : i*m+i+1]
		for k := range row {
			row[k] = t.a[i*m+k] / root
		}
		nu := t.degrees(i)
		w := t.a[i*m+i] / math.Sqrt(2*nu)
		row[i] = math.Sqrt(nu) * math.Exp(w) / root
		g, _ := math.Lgamma(0.5 * nu)
		logp += 0.5*nu*(math.Log(0.5*nu)-1) - 0.5*math.Log(nu) - g - 0.5*nu*(math.Expm1(2*w)-2*w)
	}
	return logp
}

// density returns the logarithm of one of the densities, up to a constant. Where φ follows, it
// writes it.
func (t *chance) density(phi []float64) (logp float64) {
	switch t.held {
	case heldBoth:
		logp = t.follow(phi)
	case heldX:
		logp = t.scale()
		t.move(phi)
		logp += t.fit(t.noise)
	default:
		t.rows(phi)
		logp = t.given()
	}
	if math.IsInf(logp, -1) {
		return logp
	}
	return logp + t.law.LogPrior(t.grad, t.params)
}

// follow writes φ of s and x, and returns log p(x | n) − log|∂s/∂φ|.
func (t *chance) follow(phi []float64) float64 {
	m, s, d := len(t.f), t.statistics(), t.gD
	model.Scatter(d, s, m, t.n)
	if !dense.Cholesky(d, m) {
		return math.Inf(-1)
	}
	logp := t.scale() - 0.5*float64(m*(m+3))*math.Log(t.n)
	root, a := math.Sqrt(t.n), t.ancillary.a
	for i := range m {
		li := t.l[i*m : i*m+i+1]
		t.mean[i] = s[i] / t.n
		for k := i; k >= 0; k-- { // LA = D
			li[k] = d[i*m+k] / root
			for h := k + 1; h <= i; h++ {
				li[k] -= li[h] * a[h*m+k]
			}
			li[k] /= a[k*m+k]
			t.mean[i] -= li[k] * t.ancillary.f[k]
		}
		aii, lii := math.Log(a[i*m+i]), math.Log(li[i])
		logp -= float64(m-i) * (lii + 2*aii)
		if i < m-1 {
			logp -= float64(i+2) * lii
		} else {
			logp -= lii
		}
	}
	t.take()
	if !t.law.Unconstrain(phi, t.params) {
		return math.Inf(-1)
	}
	t.law.Constrain(t.params, phi)
	return logp
}

// take takes the parameters of μ and L.
func (t *chance) take() {
	m, x := len(t.f), t.params
	p := m - 1
	beta := x.Theta[1:]
	copy(beta, t.l[p*m:p*m+p])
	for i := range p {
		copy(t.lx[i*p:i*p+i+1], t.l[i*m:])
	}
	dense.LLt(x.Tau, t.lx, p)
	dense.SolveLowerT(t.lx, p, beta)
	x.Sigma2 = t.l[p*m+p] * t.l[p*m+p]
	copy(x.MuX, t.mean)
	x.Theta[0] = t.mean[p]
	for j, b := range beta {
		x.Theta[0] -= b * t.mean[j]
	}
}

// given returns log p(s | φ, n) at the last rows.
func (t *chance) given() float64 {
	if !t.of() {
		return math.Inf(-1)
	}
	n, m := t.n, len(t.f)
	logp := 0.5 * float64(m) * ((n-float64(m)-3)*math.Log(n) - (n-1)*math.Ln2)
	for i, f := range t.ancillary.f {
		row, square := t.ancillary.a[i*m:i*m+i+1], f*f
		for _, a := range row {
			square += a * a
		}
		g, _ := math.Lgamma(0.5 * t.degrees(i))
		logp += (n-float64(m)-2)*math.Log(row[i]) - float64(m+2)*math.Log(t.l[i*m+i]) - g - 0.5*n*square
	}
	return logp
}

// moveCount moves n and φ; it reports false where s lies at the border of what data can have. ω
// is drawn anew, before anything depends on it.
func (s *site) moveCount(rng *rand.Rand) bool {
	kinds := 2
	if s.chance.whole {
		kinds = 3
	}
	s.chance.held = held(rng.IntN(kinds))
	if !s.stepCount(rng) {
		return false
	}
	s.drawOmega(rng)
	return true
}

// stepCount is moveCount but for ω, by the density of what is held.
func (s *site) stepCount(rng *rand.Rand) bool {
	t := s.chance
	if !t.hold(s.phi) {
		return false
	}
	if s.count.step(s.phi, rng).accepted && t.held == heldX {
		t.scale()
		t.move(s.phi)
		t.settle()
	} else {
		s.law.Constrain(s.params, s.phi)
	}
	return true
}

// count moves the number of rows n where the release noised it, and takes φ along its regression
// on n:
//
//	n′ = n + k,  φ′ = φ + k·slope.
//
// More rows with the same sums mean smaller moments of a row, so that n and φ
// depend on one another closely, and neither moves far alone. The shear has
// Jacobian 1 and −k undoes it; k is symmetric, of a size drawn between a fifth
// and three times the noise's scale, so that some size fits. So Metropolis on
// a density of (φ, n), for the CLT's law
//
//	π(φ, n | ω) ∝ p(φ) p(n) p(z_n | n) N(z; nμ_t, nΣ_t + diag ω²),
//
// for the exact one that of chance, is reversible, and so are several such steps in a row, a power
// of one. The slope is 0 until warm-up has estimated it. A density may write φ, where n leaves no choice.
type count struct {
	*state
	density func(phi []float64) float64 // log π but for what is of n alone
	prop    []float64
	slope   []float64
	still   int // leading coordinates that are not moved

	draws      float64 // the window's so far; moments by Welford's recursion
	mean       float64 // of n
	total      float64 // its squares about the mean
	meanPhi    []float64
	covariance []float64 // of φ and n, times draws
}

// newCount returns the move on a density, or nil where n is public.
func newCount(c *state, density func(phi []float64) float64) *count {
	if !c.obs.Count.Latent() {
		return nil
	}
	vec := func() []float64 { return make([]float64, c.law.Dim()) }
	return &count{state: c, density: density, prop: vec(), slope: vec(), meanPhi: vec(), covariance: vec()}
}

// countShare is how often the move takes the place of HMC where n is latent, and
// countSteps how many steps it has: they cost a density each, and no gradient.
const (
	countShare = 0.25
	countSteps = 5
)

func (c *count) step(phi []float64, rng *rand.Rand) transition {
	t := transition{logDensity: c.at(c.n, phi)}
	for range countSteps {
		old := c.n
		size := c.obs.Count.Scale * math.Exp(2.6*rng.Float64()-1.6)
		k := math.Copysign(math.Ceil(size*rng.ExpFloat64()), rng.Float64()-0.5)
		copy(c.prop, phi)
		floats.AddScaled(c.prop, k, c.slope)
		after := c.at(old+k, c.prop)
		accept := math.Min(1, math.Exp(after-t.logDensity))
		t.accept += accept / countSteps
		if rng.Float64() < accept {
			copy(phi, c.prop)
			t.logDensity, t.accepted = after, true
		} else {
			c.n = old
		}
	}
	return t
}

// at sets n and returns log π(φ, n | ω).
func (c *count) at(n float64, phi []float64) float64 {
	c.n = n
	prior := c.obs.Count.LogDensity(n)
	if math.IsInf(prior, -1) {
		return prior
	}
	return prior + c.density(phi)
}

// add takes a draw into the window of warm-up.
func (c *count) add(phi []float64) {
	c.draws++
	d := c.n - c.mean
	c.mean += d / c.draws
	c.total += d * (c.n - c.mean)
	for i, v := range phi {
		c.meanPhi[i] += (v - c.meanPhi[i]) / c.draws
		c.covariance[i] += d * (v - c.meanPhi[i])
	}
}

// update takes the window's slope and starts a new one.
func (c *count) update() {
	if c.total > 0 {
		for i, v := range c.covariance {
			c.slope[i] = v / c.total
		}
		clear(c.slope[:c.still])
	}
	c.draws, c.mean, c.total = 0, 0, 0
	clear(c.meanPhi)
	clear(c.covariance)
}
