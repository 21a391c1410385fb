package individual

import (
	"math"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/model"
)

// site is one custodian's part of the density of several releases: its rows, given the
// parameters φ_j = (θ, log σ², μ_x, U; where pooling is partial those of Ω) of which all but
// (μ_x, U), or all, is shared. The regression of its rows is (θ, σ), or where pooling is
// partial (θ_j, σ_j) in the coordinates of model.Pooled. Rows are v_i = μ + L e_i with the residuals turned
// as in frame, so that
//
//	v̄ = μ + L u_1/√n,   scatter about v̄ LSLᵀ,   S = Σ_{i≥2} u_i u_iᵀ,
//
// and all of U is standard normal. That is the non-centred form, for what z tells of is
// shared among sites; frame's, in which a release's own mean and scatter are
// coordinates, is better where noise is weak.
//
// frame serves the sums of rows, in the release's own units: mean, l and what sums.pull
// adds to.
type site struct {
	*frame
	likelihood
	release *model.Site
	hub     *model.Hub    // of φ_j
	pooled  *model.Pooled // nil unless pooling is partial
	theta   []float64     // θ, or θ_j
	phi     []float64
	grad    []float64 // in φ_j
	gTheta  []float64 // in θ, or (θ_j, log σ_j²)
	common  []float64 // L in common units
}

// part is what of a point, or of a gradient, is a site's own.
type part struct {
	coefficients []float64 // where pooling is partial, c of (θ_j, σ_j)
	covariates   []float64 // where they are not shared, (μ_x, U)
	first, rows  []float64 // u_1, the other rows of U by column
}

func newJointSite(t *model.Joint, j int, clamping bool) *site {
	m := t.Shape.M()
	vec := func() []float64 { return make([]float64, m) }
	square := func() []float64 { return make([]float64, m*m) }
	f := &frame{shape: t.Shape, m: m, p: t.Shape.P, n: int(t.Sites[j].N), centre: vec(), scatter: square(), mean: vec(), mu: vec(), l: square(),
		gMean: vec(), gL: square(), gS: square(), work: [3][]float64{square()}}
	radius := 0.0
	if of := t.Sites[j].Frame; of != nil {
		radius = of.Radius
	}
	k := &site{frame: f, likelihood: newLikelihood(f, t.Noise(j), clamping, radius), release: t.Sites[j], common: square(),
		hub: model.NewHub(&model.Joint{Shape: t.Shape, Prior: t.Prior, Shared: true, Partial: t.Partial})}
	k.phi, k.grad = make([]float64, k.hub.Dim()), make([]float64, k.hub.Dim())
	k.theta, k.gTheta = k.hub.Params.Theta, k.hub.GTheta
	if t.Partial {
		k.pooled = model.NewPooled(k.release, k.hub, nil)
		k.theta, k.gTheta = k.pooled.Theta, make([]float64, len(k.pooled.Own))
	}
	return k
}

// add returns log p(φ_j) + log p(c) + log p(U) + log p(z | s) at x, and at φ_j and θ_j as
// sites.set leaves them; it writes the gradients in g, but for the covariates', and in grad.
// It reports false where rounding forbids that.
func (k *site) add(g, x part) (logp float64, ok bool) {
	m := k.m
	logp = k.hub.LogPrior(k.grad, k.phi)
	clear(k.gTheta)
	k.place(x.first, x.rows)
	clear(k.gMean)
	clear(k.gL)
	clear(k.gS)
	logp += k.logLikelihood()
	k.pullLaw()

	of, root := k.work[0][:m], math.Sqrt(float64(k.n))
	dense.MulLowerTVec(of, k.common, m, k.gMean)
	for j, u := range x.first {
		g.first[j] = of[j]/root - u
		logp -= 0.5 * (u*u + k.scatter[j*m+j])
	}
	k.pullScatter(g.rows)
	k.sums.pullRows(g.rows)
	ok = true
	if k.pooled != nil {
		clear(g.coefficients)
		var v float64
		v, ok = k.pooled.Add(g.coefficients, x.coefficients, k.gTheta)
		logp += v
	}
	k.hub.Pull(k.grad)
	return logp, ok
}

// place takes v̄ and L of the parameters and U, in the release's units.
func (k *site) place(first, rows []float64) {
	m, root := k.m, math.Sqrt(float64(k.n))
	l := k.common
	k.rows = rows
	scatter(k.scatter, rows, m, k.n-1)
	model.JointFactor(k.mu, l, k.theta, k.hub.Params.MuX, k.hub.Factor(), k.sigma())
	for i, v := range k.mu {
		for j := range i + 1 {
			k.centre[j] = first[j] / root
			v += l[i*m+j] * k.centre[j]
		}
		k.mean[i] = v
	}
	copy(k.l, l)
	k.release.Units.Mean(k.mean)
	k.release.Units.Factor(k.l)
}

// sigma is σ, or σ_j.
func (k *site) sigma() float64 {
	if k.pooled != nil {
		return k.pooled.Sigma()
	}
	return math.Sqrt(k.hub.Params.Sigma2)
}

// pullLaw takes the gradients in v̄ and L to common units, and on to the parameters.
func (k *site) pullLaw() {
	m, p, h := k.m, k.p, k.hub
	k.release.Units.PullMean(k.gMean)
	k.release.Units.PullFactor(k.gL)
	for i, g := range k.gMean {
		for j := range i + 1 {
			k.gL[i*m+j] += g * k.centre[j]
		}
	}
	first := len(k.theta) - p
	gy, row := k.gMean[p], k.gL[p*m:p*m+m]
	if first > 0 {
		k.gTheta[0] += gy
	}
	lx := h.Factor()
	for i, b := range k.theta[first:] {
		g := gy * h.Params.MuX[i]
		h.GMuX[i] += k.gMean[i] + b*gy
		for j := range i + 1 {
			g += row[j] * lx[i*p+j]
			h.GFactor[i*p+j] += k.gL[i*m+j] + b*row[j]
		}
		k.gTheta[first+i] += g
	}
	if k.pooled != nil {
		k.gTheta[len(k.theta)] += 0.5 * k.sigma() * row[p] // ∂σ/∂ log σ² = ½σ
	} else {
		h.GSigma += row[p]
	}
}
