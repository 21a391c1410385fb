package rivals

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/conjugate"
	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/variate"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts"
	"github.com/dpreg/dpreg/release"
)

// party is what one release says, in common units. Without an intercept these differ
// from its own by factors alone, so that noise stays independent from entry to entry.
type party struct {
	p        int
	n        float64
	xx, sdXX []float64 // Ŝ, p×p symmetric, and the sds of its noise
	xy, sdXY []float64 // ẑ, p
}

// read takes the parties of a problem, or says why a method cannot.
func read(method string, p *model.Problem) (*model.Joint, []*party, error) {
	joint, err := complete(p).Join()
	if err != nil {
		return nil, nil, err
	}
	if joint.Shape.Intercept {
		return nil, nil, fmt.Errorf("%s: its model has no intercept: infer from a release without one (a formula that ends in \"- 1\"), or by another method", method)
	}
	if joint.Partial {
		return nil, nil, fmt.Errorf("%s: it has one regression for all releases; mcmc-exact, mcmc-ind, gibbs-ss-update and naive can pool them partially", method)
	}
	var parties []*party
	for _, site := range joint.Sites {
		parties = append(parties, newParty(site))
	}
	return joint, parties, joint.Each(func(o *model.Observation) error { return check(method, o) })
}

// complete gives a value to Σy² where a release withholds it, for Join to read: no method
// here looks at it.
func complete(p *model.Problem) *model.Problem {
	whole := *p
	whole.Releases = slices.Clone(p.Releases)
	for j, r := range whole.Releases {
		if r.WithoutYY() {
			c := *r
			c.Withheld, c.Statistics.SumYY = nil, new(float64)
			whole.Releases[j] = &c
		}
	}
	return &whole
}

func check(method string, site *model.Observation) error {
	switch p := site.Shape.P; {
	case site.Kind != release.Gaussian:
		return fmt.Errorf("%s: it is for Gaussian noise, and this release has %s noise: mcmc-exact and gibbs-ss-update are for either (dpreg release --delta 1e-6 --mechanism gaussian makes what %s needs)", method, site.Kind, method)
	case site.Count.Latent():
		return fmt.Errorf("%s: it takes n for exact, which is noisy here (add-remove neighbours): mcmc-exact and gibbs-ss-update infer it", method)
	case site.N < float64(p):
		return fmt.Errorf("%s: n = %g rows of %d covariates: their matrix of squares and products has no density", method, site.N, p)
	}
	return nil
}

// newParty takes Ŝ and ẑ to common units, where v_own = a v: s_jk / a_j a_k.
func newParty(site *model.Site) *party {
	p, m := site.Shape.P, site.Shape.M()
	t := &party{p: p, n: site.N, xx: make([]float64, p*p), sdXX: make([]float64, p*p), xy: make([]float64, p), sdXY: make([]float64, p)}
	a := site.Units.Scale
	for j := range p {
		for k := range p {
			i, unit := release.Index(m, j, k), a(j)*a(k)
			t.xx[j*p+k], t.sdXX[j*p+k] = site.Z[i]/unit, site.Scale[i]/unit
		}
		i, unit := release.Index(m, j, p), a(j)*a(p)
		t.xy[j], t.sdXY[j] = site.Z[i]/unit, site.Scale[i]/unit
	}
	return t
}

// raised writes the matrix nearest to a, in Frobenius norm, whose eigenvalues are not
// below least.
func raised(dst, a []float64, p int, least float64) {
	values, vectors := make([]float64, p), make([]float64, p*p)
	dense.SymEigen(values, vectors, a, p, make([]float64, p*p))
	for i, v := range values {
		values[i] = max(v, least)
	}
	dense.FromEigen(dst, values, vectors, p)
}

// latent is a party with the S at which its chain stands.
type latent struct {
	*party
	s       []float64 // p×p
	given   moment    // of ẑ given S, θ and σ²
	other   moment    // at a proposal
	columns []float64 // L⁻¹S, p×p, the columns of which are its rows
}

// moment is the law of ẑ, N(Sθ, V), V = σ²S + D = LLᵀ.
type moment struct {
	chol       []float64 // L
	scaled     []float64 // L⁻¹(ẑ − Sθ)
	logDensity float64   // up to a constant
}

func newLatent(t *party) *latent {
	p := t.p
	m := func() moment { return moment{chol: make([]float64, p*p), scaled: make([]float64, p)} }
	return &latent{party: t, s: make([]float64, p*p), given: m(), other: m(), columns: make([]float64, p*p)}
}

// factor puts m at S and σ²; false where rounding leaves V indefinite.
func (t *latent) factor(m *moment, s []float64, sigma2 float64) bool {
	for i, v := range s {
		m.chol[i] = sigma2 * v
	}
	for j, sd := range t.sdXY {
		m.chol[j*t.p+j] += sd * sd
	}
	return dense.Cholesky(m.chol, t.p)
}

// evaluate puts m at θ, after factor.
func (t *latent) evaluate(m *moment, s, theta []float64) {
	dense.SymMulVec(m.scaled, s, t.p, theta)
	for j, z := range t.xy {
		m.scaled[j] = z - m.scaled[j]
	}
	dense.SolveLower(m.chol, t.p, m.scaled)
	m.logDensity = -0.5 * (dense.LogDet(m.chol, t.p) + floats.Dot(m.scaled, m.scaled))
}

func (t *latent) accept() { t.given, t.other = t.other, t.given }

// regression is where a chain stands, (θ, σ², S_j), and moves θ and σ² given the S_j.
// The prior is that of all methods, given its free scales, which move draws first.
type regression struct {
	mixture *model.Mixture
	prior   *conjugate.NIG // given free scales
	scaled  bool           // θ's law has a factor σ
	theta   []float64
	sigma2  float64
	parties []*latent
	step    nuts.StepSize // sd of the random walk of log σ²

	precision, mean, work []float64 // p×p, p, p
}

// acceptSigma2 is the best acceptance of a random walk in one dimension (Roberts,
// Gelman & Gilks 1997).
const acceptSigma2 = 0.44

// newRegression starts σ² at a draw from its prior at typical scales; start does the rest.
func newRegression(parties []*party, prior *model.Prior, rng *rand.Rand) *regression {
	p, mixture := parties[0].p, model.NewMixture(prior)
	law := mixture.Theta
	r := &regression{mixture: mixture, prior: law, scaled: !prior.Unscaled, theta: make([]float64, p), sigma2: variate.InverseGamma(law.Shape, law.Scale, rng),
		step: nuts.StepSize{Target: acceptSigma2}, precision: make([]float64, p*p), mean: make([]float64, p), work: make([]float64, p)}
	for _, t := range parties {
		r.parties = append(r.parties, newLatent(t))
	}
	r.step.Restart(0.5, 0.5)
	return r
}

// start draws θ where the S_j stand.
func (r *regression) start(rng *rand.Rand) error {
	for j, t := range r.parties {
		if !t.factor(&t.given, t.s, r.sigma2) {
			return &model.SiteError{Site: j, Err: errors.New("rounding leaves the covariance of its noisy sums of x y indefinite: columns are collinear, and the noise too small to tell")}
		}
	}
	var info Info
	r.move(&info, rng)
	return nil
}

// move draws free scales and θ and moves σ², and leaves all parties evaluated at both.
func (r *regression) move(info *Info, rng *rand.Rand) {
	r.mixture.DrawRegression(r.theta, r.sigma2, false, rng)
	info.failed = !r.drawTheta(rng) || info.failed
	info.accept = r.moveSigma2(rng)
}

// drawTheta draws θ given σ² and the S_j. With V_j = L_jL_jᵀ, W_j = L_j⁻¹S_j and the
// prior N(μ₀, cΛ₀⁻¹), c = σ² or, where it is Unscaled, 1, it is N(P⁻¹h, P⁻¹),
//
//	P = Λ₀/c + Σ W_jᵀW_j,   P⁻¹h = μ₀ + P⁻¹ Σ W_jᵀ L_j⁻¹(ẑ_j − S_jμ₀).
//
// False where rounding leaves P indefinite, and θ stays.
func (r *regression) drawTheta(rng *rand.Rand) bool {
	p, c := len(r.theta), 1.0
	if r.scaled {
		c = r.sigma2
	}
	for i, v := range r.prior.Precision {
		r.precision[i] = v / c
	}
	clear(r.mean)
	for _, t := range r.parties {
		t.evaluate(&t.given, t.s, r.prior.Mean)
		copy(t.columns, t.s)
		for j := range p {
			column := t.columns[j*p:][:p]
			dense.SolveLower(t.given.chol, p, column)
			r.mean[j] += floats.Dot(column, t.given.scaled)
			for k := range j + 1 {
				r.precision[j*p+k] += floats.Dot(column, t.columns[k*p:][:p])
			}
		}
	}
	if !dense.Cholesky(r.precision, p) {
		return false
	}
	dense.SolveLower(r.precision, p, r.mean)
	for j := range r.mean {
		r.mean[j] += rng.NormFloat64()
	}
	dense.SolveLowerT(r.precision, p, r.mean)
	for j, m := range r.prior.Mean {
		r.theta[j] = m + r.mean[j]
	}
	return true
}

// moveSigma2 takes a step of a random walk in log σ² given θ and the S_j, and returns
// the probability with which it was accepted. The target, in log σ², is
//
//	−(a₀ + p/2) log σ² − (b₀ + ½(θ−μ₀)ᵀΛ₀(θ−μ₀))/σ² + Σ log N(ẑ_j; S_jθ, σ²S_j + D_j),
//
// of which the terms of θ are left out where the prior is Unscaled.
func (r *regression) moveSigma2(rng *rand.Rand) float64 {
	shape, scale := r.prior.Shape, r.prior.Scale
	if r.scaled {
		p := len(r.theta)
		for j, m := range r.prior.Mean {
			r.work[j] = r.theta[j] - m
		}
		shape, scale = shape+0.5*float64(p), scale+0.5*dense.QuadForm(r.prior.Precision, p, r.work)
	}
	jump := r.step.Value() * rng.NormFloat64()
	sigma2 := r.sigma2 * math.Exp(jump)
	ratio := -shape*jump - scale/sigma2 + scale/r.sigma2
	for _, t := range r.parties {
		t.evaluate(&t.given, t.s, r.theta)
		if !t.factor(&t.other, t.s, sigma2) {
			ratio = math.Inf(-1)
			continue
		}
		t.evaluate(&t.other, t.s, r.theta)
		ratio += t.other.logDensity - t.given.logDensity
	}
	if rng.Float64() < math.Exp(ratio) {
		r.sigma2 = sigma2
		for _, t := range r.parties {
			t.accept()
		}
	}
	return math.Min(1, math.Exp(ratio))
}

// adapt tunes a step in warm-up.
func adapt(step *nuts.StepSize, accept float64, last bool) {
	if step.Update(accept); last {
		step.Settle()
	}
}

// Params writes θ and σ².
func (r *regression) Params(dst []float64) { dst[copy(dst, r.theta)] = r.sigma2 }
