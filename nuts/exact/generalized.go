package exact

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts"
)

// generalized is the posterior of a generalized linear model, in coordinates,
//
//	log p(x̄, D_x, μ_x, λ, θ, ȳ, h | z) = Σ_i (n−2−i) log D_ii + log p(x, μ_x | λ) + log p(ȳ, h | x̄, D_x, θ)
//	                        + log p(θ | λ) + log p(λ) + log p(z | s),
//
// i = 0 … p−1, see rowsOfX, index and linked. T alone is integrated out.
// Σy² is no statistic: of a response of −1 and 1, as the box scales it, it is n whatever z tells, and
// of counts dispersion has what z tells. Statistics have n for it,
// and so has what is observed, but where y is 0 or 1 and n is latent: there z tells n once more.
//
// What depends on n alone is
//
//	log p(noisy count | n) + log Γ_p(½ν_n) − log Γ_p(½(n−1)) + ½pn log n + log n
//	                        + log Γ(½(n−2)) − log Γ(½(n−p−1)),
//
// of T's integral and c(n), and of the constants of index.
//
// Coordinates: those of rowsOfX, of linked, of n.
type generalized struct {
	obs    *model.Observation
	own    *statistics // in units of the coordinates
	noisy  *view       // in those of the noise
	x      *rowsOfX
	linked *linked
	params *model.Params
	noise  *model.Noise
	rows   *rowCount
	byN    float64 // of the noise, at fixed v̄ and D
}

// knowing is a site with Σy² as it is known, and of sums by levels without it.
func knowing(site *model.Site) *model.Site {
	known := func(o model.Observation) *model.Observation {
		o.Z = slices.Clone(o.Z)
		if !o.Count.Latent() {
			o.Z[len(o.Z)-1] = o.N
		}
		return &o
	}
	obs := known(*site.Observation)
	obs.Measurements = slices.Clone(obs.Measurements)
	for k, m := range obs.Measurements {
		obs.Measurements[k] = known(*m)
	}
	switch {
	case obs.Told != nil && obs.Told.Response == nil:
		told := *obs.Told
		told.Scale = slices.Clone(told.Scale)
		told.Scale[len(told.Scale)-1] = math.Inf(1)
		obs.Told = &told
	case obs.Told != nil: // it has no noise, and starts are as if it had that of Σy
		obs.Scale = slices.Clone(obs.Scale)
		obs.Scale[len(obs.Scale)-1] = obs.Scale[obs.Shape.P]
	}
	return &model.Site{Observation: obs, Units: site.Units, Upper: site.Upper}
}

func newGeneralized(site *model.Site, prior *model.Prior, of family) *generalized {
	dispersion := newDispersion(site, of, false)
	site = knowing(site)
	obs := site.Observation
	m, p := obs.Shape.M(), obs.Shape.P
	f := &generalized{obs: obs, own: newStatistics(m), x: newRowsOfX(columnsOf(site, prior, p), prior),
		linked: newLinked(site, prior, of), params: model.NewParams(obs.Shape), noise: model.NewNoise(obs)}
	f.linked.dispersion = dispersion
	f.noisy = newView(f.own, nil)
	if told := obs.Told; told != nil && told.Response != nil && told.Response.Frame != nil {
		f.noisy = newView(f.own, site.Noisy())
	}
	f.rows = newRowCount(obs, f.noise)
	f.rows.a, f.rows.c = 0.5*float64(p), 1
	f.rows.covariance(p, f.x.covariates.dof)
	f.rows.scatter(0, p+1)
	f.rows.gamma = append(f.rows.gamma, gammaTerm{1, -1})
	return f
}

// Dim returns the number of coordinates.
func (f *generalized) Dim() int { return f.end() + f.rows.dim() }

// end is where the coordinates of linked end.
func (f *generalized) end() int { return f.x.dim() + f.linked.dim() }

// LogDensity returns the log density at x up to a constant, and its gradient.
func (f *generalized) LogDensity(grad, x []float64) (float64, error) {
	return logDensity(f, grad, x)
}

// set takes the statistics of x, and returns the log density without the noise's.
func (f *generalized) set(x []float64) (logp float64, ok bool) {
	t := f.own
	t.n = f.rows.of(x)
	f.linked.n = t.n
	if !(t.n > float64(f.obs.Shape.P+3) && f.rows.within(t.n)) {
		return 0, false
	}
	if logp, ok = f.x.take(t, x); !ok {
		return 0, false
	}
	if f.noisy.units != nil {
		f.noisy.see(t)
	}
	byY, ok := f.linked.take(t, f.noisy.statistics, x[f.x.dim():f.end()], f.x.scales.lambda)
	f.noisy.spread()
	return logp + byY, ok
}

// value returns the log density alone, and leaves the noise's slopes in gMean and e.
func (f *generalized) value(x []float64) (logp float64, ok bool) {
	if logp, ok = f.set(x); !ok {
		return 0, false
	}
	f.noisy.clear()
	t := f.noisy
	if f.linked.of.most > 1 {
		last := len(f.obs.Z) - 1
		f.obs.Z[last] = t.n
		for _, m := range f.obs.Measurements {
			m.Z[last] = t.n
		}
	}
	noise, byN := t.addNoise(f.noise)
	f.byN = byN
	t.knowSquare()
	return logp + f.rows.value(t.n) + noise, true
}

// slope writes the gradient where value was last.
func (f *generalized) slope(grad, x []float64) {
	t, noisy, y := f.own, f.noisy, f.x.dim()
	f.x.scales.slope()
	noisy.pull()
	if noisy.units == nil {
		clear(t.e)
	} else {
		t.clear()
	}
	byN := f.byN + f.linked.pull(grad[y:f.end()], x[y:f.end()], t, noisy.statistics, f.x.scales.gLambda, f.x.scales.lambda)
	noisy.give(t)
	byN += f.x.pull(grad, x, t)
	f.rows.pull(grad, t.n, byN)
}

// start writes coordinates to start from: covariates that z may tell of, and all else as if
// it were standard normal, or y's sums as expected where no rows have such. It reports false where rounding forbids.
func (f *generalized) start(x []float64, rng *rand.Rand) bool {
	n := f.obs.StartRows(rng)
	f.own.disperse(f.obs, n, rng)
	f.x.columns.place(x, f.own)
	for i := f.x.columns.end(); i < len(x); i++ {
		x[i] = rng.NormFloat64()
	}
	f.rows.set(x, n)
	_, ok := f.value(x)
	if !ok && f.linked.expected(x[f.x.dim()+f.linked.sumsAt():], f.noisy.statistics) {
		_, ok = f.value(x)
	}
	return ok
}

// Move draws the parameters.
func (f *generalized) Move(k *nuts.Sampler, rng *rand.Rand) { f.draw(k, rng) }

// draw draws T given the statistics, and takes the parameters of the position.
func (f *generalized) draw(k *nuts.Sampler, rng *rand.Rand) {
	if _, ok := f.set(k.Position()); !ok {
		k.Fail(errRounding)
		return
	}
	copy(f.params.MuX, f.x.covariates.mu)
	f.x.covariates.draw(f.params.Tau, f.own.n, rng)
	theta, l := f.params.Theta, f.linked
	copy(theta[len(theta)-len(l.beta):], l.beta)
	if l.intercept {
		theta[0] = l.sumsOfY.eta
		for j, b := range l.beta {
			theta[0] -= b * f.own.mean[j]
		}
	}
}

// Reach makes the noise's slopes the derivative about x.
func (f *generalized) Reach(x []float64) {
	if _, ok := f.set(x); ok {
		f.noisy.vector()
		f.noise.Reach(f.noisy.s)
	}
}

// Write writes the parameters of the last draw, of counts their dispersion, and n where it is latent.
func (f *generalized) Write(dst, x []float64) {
	at := f.params.WriteLinked(dst)
	at += f.linked.dispersion.write(dst[at:])
	if f.obs.Count.Latent() {
		dst[at] = f.rows.of(x)
	}
}
