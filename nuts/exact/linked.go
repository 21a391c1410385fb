package exact

import (
	"math"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
)

// linked are the coefficients of a response of a family, and its sums, in coordinates that are about
// standard normal given those before them, and given x̄ and D_x: those of sumsOfY, and, starting
// from what z tells at the outset, with Φ for g (c = E g′ along the index, q of ȳ's variance), r the sd of
// the noise of means of products of y in [0, 1] and m̂ what z tells of covariances with y,
//
//	β          precision Λ_β + c²WVW, V = (qŴ/n + r²I)⁻¹; mean of Λ_βμ_β + cWVm̂
//	η̄ = ρη_a − ½ls²   ρ = √(1 + ks²), z tells η_a, of which ȳ is about the mean, and the prior η̄
//
// So parameters follow the covariates' scatter where noise leaves that
// open, and sums follow the parameters where noise hides sums.
type linked struct {
	*coefficients
	*sumsOfY
	own  []float64 // told, in the units of x̄ and D_x
	v    []float64 // V
	c    float64
	eta  float64 // what z tells of η_a
	info float64 // and its precision

	slopes       *model.Conditional
	beta         []float64
	wv, vb, dev  []float64 // WV; Vm̂; β − μ_β
	pulled       []float64 // Λ_β(β − μ_β)
	covariance   []float64 // m̂
	delta, force float64   // (x̄ − c)ᵀβ; its offset α − m_α
	rho, middle  float64   // ρ; η_a
	shift        float64   // ½ls²
	tell         float64   // precision of η_a

	gBeta, gF, work []float64
	square          []float64
}

// mostTold keeps the correlation that z tells of y's latent index below 1.
const mostTold = 0.9

func newLinked(site *model.Site, prior *model.Prior, of family) *linked {
	obs := site.Observation
	m, p, n := obs.Shape.M(), obs.Shape.P, obs.N
	sums, told := newSumsOfY(obs, of)
	l := &linked{coefficients: newCoefficients(obs.Shape, prior), sumsOfY: sums, v: vec(p * p), slopes: model.NewConditional(p),
		beta: vec(p), wv: vec(p * p), vb: vec(p), dev: vec(p), pulled: vec(p), covariance: vec(p), gBeta: vec(p), gF: vec(p), work: vec(p), square: vec(p * p)}
	l.n, l.own = n, l.told
	l.begin(told)
	if obs.Told != nil && obs.Told.Response != nil && obs.Told.Response.Frame != nil {
		l.own = vec(p)
		for j := range p {
			l.own[j] = obs.Z[release.Index(m, j, p)] / n
		}
		l.turn(site.Noisy())
	}
	return l
}

// turn takes V to the units from which these lead to those of the noise, v = Wx + b: WᵀVW.
func (l *linked) turn(units *model.Units) {
	p := l.coefficients.p
	vw := vec(p * p)
	for k := range p {
		row, _ := units.Row(k)
		for i := range p {
			addScaled(vw[i*p:i*p+k+1], l.v[i*p+k], row)
		}
	}
	clear(l.v)
	for k := range p {
		row, _ := units.Row(k)
		for i, a := range row {
			addScaled(l.v[i*p:(i+1)*p], a, vw[k*p:(k+1)*p])
		}
	}
}

// begin finds V, c, and what z tells of η_a, in the noise's units.
func (l *linked) begin(t toldSums) {
	p, n, z, r := l.coefficients.p, l.n, t.z, t.r
	scatter := vec(l.m * l.m)
	model.Scatter(scatter, z, l.m, n)
	a := vec(p * p)
	for i := range p {
		for j := range i + 1 {
			a[i*p+j] = scatter[i*l.m+j] / n
		}
	}
	values, vectors := vec(p), vec(p*p)
	dense.SymEigen(values, vectors, a, p, vec(p*p))
	dense.Transpose(vectors, p)
	told := 0.0 // |h|²
	for k := range values {
		values[k] = max(values[k], 2*r) // not below what noise can hide
		along := 0.0
		for i, u := range vectors[k*p : (k+1)*p] {
			along += u * 0.5 * (l.told[i] - z[i]/n*l.sumsOfY.mean)
		}
		told += along * along / values[k]
	}
	eta, slope, along, q := l.of.outset(t.y, told)
	for k, w := range values {
		vector := vectors[k*p : (k+1)*p]
		for i, u := range vector {
			addScaled(l.v[i*p:(i+1)*p], u/(q*w/n+r*r), vector)
		}
	}
	l.eta, l.c, l.info = eta, along, slope*slope/(q/n+t.noise*t.noise)
}

// sumsAt is where the coordinates of ȳ and h begin, behind those of β and η_a; φ of counts is last.
func (l *linked) sumsAt() int { return l.coefficients.p + number.Indicator[int](l.intercept) }

// dim is the number of coordinates.
func (l *linked) dim() int { return l.sumsAt() + 1 + l.coefficients.p + l.dispersion.dim() }

// take makes β, η̄, ȳ and h of coordinates x, and writes those to noisy, t in the noise's units, as y's mean and
// row of D, in [−1, 1]; it returns log J with the prior of θ. It reports false where no rows have these sums.
func (l *linked) take(t, noisy *statistics, x, lambda []float64) (logp float64, ok bool) {
	p := l.coefficients.p
	logp, ok = l.takeSlopes(t, x[:p], lambda)
	if !ok {
		return 0, false
	}
	eta, log := l.takeMiddle(t, x[p:])
	l.sumsOfY.eta = eta
	return l.sumsOfY.take(logp+log, noisy, x[l.sumsAt():])
}

// takeSlopes makes β and f.
func (l *linked) takeSlopes(t *statistics, u, lambda []float64) (logp float64, ok bool) {
	p := l.coefficients.p
	logp = l.coefficients.take(0, lambda)
	for j, z := range l.own {
		l.covariance[j] = 0.5 * (z - t.mean[j]*l.sumsOfY.mean)
	}
	dense.SymMulVec(l.vb, l.v, p, l.covariance)
	dense.SymMulVec(l.slopes.Mean, l.given, p, l.coefficients.mean)
	clear(l.wv)
	for i := range p {
		for k, w := range t.w[i*l.m : i*l.m+p] {
			addScaled(l.wv[i*p:(i+1)*p], w, l.v[k*p:])
			l.slopes.Mean[i] += l.c * w * l.vb[k]
		}
	}
	for i := range p {
		row := l.slopes.Root[i*p : i*p+i+1]
		copy(row, l.given[i*p:])
		for k, v := range l.wv[i*p : (i+1)*p] {
			addScaled(row, l.c*l.c*v, t.w[k*l.m:])
		}
	}
	logJ, ok := l.slopes.Prepare()
	if !ok {
		return 0, false
	}
	l.slopes.Set(l.beta, u)
	clear(l.f)
	for j, b := range l.beta {
		l.dev[j] = b - l.coefficients.mean[j]
		addScaled(l.f[:j+1], b, t.d[j*l.m:])
	}
	dense.SymMulVec(l.pulled, l.given, p, l.dev)
	return logp + logJ - 0.5*dot(l.dev, l.pulled), true
}

// takeMiddle makes η̄, of its coordinate where there is an intercept.
func (l *linked) takeMiddle(t *statistics, x []float64) (eta, logp float64) {
	if !l.intercept {
		return dot(l.beta, t.mean), 0
	}
	l.delta = 0
	for j, b := range l.beta {
		l.delta += b * (t.mean[j] - l.centre[j])
	}
	square := dot(l.f, l.f)
	l.rho, l.shift = math.Sqrt(1+l.of.steep*square), 0.5*l.of.lift*square
	l.tell = l.alpha*l.rho*l.rho + l.info
	l.middle = (l.alpha*l.rho*(l.level+l.delta+l.shift)+l.info*l.eta)/l.tell + x[0]/math.Sqrt(l.tell)
	eta = l.rho*l.middle - l.shift
	l.force = eta - l.delta - l.level
	return eta, math.Log(l.rho) - 0.5*math.Log(l.tell) - 0.5*l.alpha*l.force*l.force
}
