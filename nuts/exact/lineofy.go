package exact

import (
	"math"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
)

// lineOfY are ȳ and y's row of D about a line, given θ, σ and the rows of x, in the units u of a release's noise, in which the
// line is (α, β) = Hθ + h and σ is W_yyσ. With n₀ the rows that are told and ς² the variance of the noise of Σy,
//
//	ȳ ~ N(α + βᵀx̄, σ²/n),   z ~ N(n₀ȳ, ς²):   ȳ = (κ(α + βᵀx̄) + n₀z/ς²)/λ + e/√λ,   κ = n/σ²,   λ = κ + n₀²/ς²,
//
// and the row is of lineOfD, of products m̂ = z_xy/n₀ − x̄ȳ and the scatter V̂ = z_yy/n₀ − ȳ². The sheet on which sums follow θ,
// thin as noise, is flat in these coordinates. They lie in the order e; those of D_y; u of D_yy.
type lineOfY struct {
	row           *lineOfD
	theta, gTheta []float64 // (α, β), and the gradient
	turn, turned  []float64 // H, (p+1)×q, and its transpose
	shift         []float64 // h
	scale         float64   // W_yy
	n             float64   // n₀
	mean, square  float64   // Σy/n₀ and Σy²/n₀ of z
	products      []float64 // Σxy/n₀ of z
	perMean       float64   // n₀²/ς²
	residual      float64   // (ȳ − α − βᵀx̄)√κ
	byR           []float64 // slope in it
}

func newLineOfY(site *model.Site) *lineOfY {
	obs, units := site.Observation, site.Noisy()
	p, q, m, n := obs.Shape.P, obs.Shape.Q(), obs.Shape.M(), rowsTold(obs)
	f := &lineOfY{row: newLineOfD(p, n, obs.Variance(release.Index(m, 0, p)), obs.Variance(len(obs.Z)-1)), theta: vec(p + 1), gTheta: vec(p + 1), turn: vec((p + 1) * q), turned: vec(q * (p + 1)),
		shift: vec(p + 1), scale: units.Scale(p), n: n, mean: obs.Z[p] / n, square: obs.Z[len(obs.Z)-1] / n, perMean: n * n / obs.Variance(p), byR: vec(1)}
	for j := range p {
		f.products = append(f.products, obs.Z[release.Index(m, j, p)]/n)
	}
	theta, back := vec(q), units.Inverse()
	f.toNoise(f.shift, theta, units, back)
	for k := range theta {
		clear(theta)
		theta[k] = 1
		f.toNoise(f.theta, theta, units, back)
		for i, v := range f.theta {
			f.turned[k*(p+1)+i] = v - f.shift[i]
			f.turn[i*q+k] = v - f.shift[i]
		}
	}
	return f
}

// toNoise writes the line in the noise's units, which lead back to those of θ.
func (f *lineOfY) toNoise(dst, theta []float64, units, back *model.Units) {
	first := len(theta) - f.row.p
	own, b := units.Row(f.row.p)
	clear(dst)
	if dst[0] = b; first > 0 {
		dst[0] += f.scale * theta[0]
	}
	for j, beta := range theta[first:] {
		beta = own[j] + f.scale*beta
		row, c := back.Row(j)
		dst[0] += beta * c
		addScaled(dst[1:1+len(row)], beta, row)
	}
}

// take writes ȳ and the row of coordinates y to t, which has the rows of x, and returns their log density, log J counted in.
func (f *lineOfY) take(t *statistics, y, theta []float64, sigma float64) (logp float64, ok bool) {
	d, p, q := f.row, f.row.p, len(theta)
	for i, v := range f.shift {
		f.theta[i] = v + dot(f.turn[i*q:(i+1)*q], theta)
	}
	copy(d.beta, f.theta[1:])
	d.sigma, d.n, d.dof = f.scale*sigma, t.n, t.n-float64(1+p)
	kappa, eta := t.n/(d.sigma*d.sigma), f.theta[0]+dot(d.beta, t.mean)
	lambda := kappa + f.perMean
	t.mean[p] = (kappa*eta+f.perMean*f.mean)/lambda + y[0]/math.Sqrt(lambda)
	f.residual = math.Sqrt(kappa) * (t.mean[p] - eta)
	f.byR[0] = -f.residual
	for j, v := range f.products {
		d.products[j] = v - t.mean[j]*t.mean[p]
	}
	d.told = f.square - t.mean[p]*t.mean[p]
	logp, logJ, ok := d.take(t.d, t.m, y[1:])
	return logp + logJ - 0.5*f.residual*f.residual + 0.5*math.Log(kappa/lambda) + 0.5*float64(p)*math.Log(t.n), ok
}

// pull writes the gradient in y where take was last, and adds that in θ to gTheta, of a density whose gradient in ȳ and the
// row stands in t; it takes these to the rows of x, and returns those in σ and in n.
func (f *lineOfY) pull(grad, gTheta, y []float64, t *view) (bySigma, byN float64) {
	d, p, mean := f.row, f.row.p, t.mean[f.row.p]
	d.pull(grad[1:], t.gD, t.d, t.m, y[1:])
	kappa, eta := d.own, f.theta[0]+dot(d.beta, t.mean)
	lambda, root := kappa+f.perMean, math.Sqrt(kappa)
	g := t.gMean[p] + root*f.byR[0] - 2*d.byTold*mean - dot(d.gProducts, t.mean)
	grad[0] = g / math.Sqrt(lambda)
	byLambda := -(g*(mean-0.5*y[0]/math.Sqrt(lambda)) + 0.5) / lambda
	byKappa := g*eta/lambda + byLambda + 0.5*(1+f.byR[0]*f.residual)/kappa
	byEta := g*kappa/lambda - root*f.byR[0]
	f.gTheta[0] = byEta
	for j, b := range d.beta {
		f.gTheta[1+j] = d.gBeta[j] + byEta*t.mean[j]
		t.gMean[j] += byEta*b - d.gProducts[j]*mean
	}
	t.gMean[p] = 0
	clear(t.gD[p*t.m:])
	for k := range gTheta {
		gTheta[k] += dot(f.turned[k*(p+1):(k+1)*(p+1)], f.gTheta)
	}
	bySigma = f.scale * (d.bySigma - 2*byKappa*kappa/d.sigma)
	return bySigma, d.byN + byKappa*kappa/t.n + 0.5*float64(p)/t.n
}
