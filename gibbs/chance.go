package gibbs

import (
	"math"
	"math/rand/v2"

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
