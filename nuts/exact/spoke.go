package exact

import (
	"math"

	"github.com/dpreg/dpreg/model"
)

// spoke is one custodian's part of the density of several releases: the latent
// statistics of its n rows, given the hub, the parameters that all share. Rows are
// v ~ N(μ, LLᵀ), LLᵀ the covariance of (x, y), so that with Bartlett's factor
//
//	v̄ = μ + Lf,  scatter about v̄ W = n DDᵀ,  D = LA,
//	f_i = e_i/√n,  A_ij = ε_ij/√n for j < i,  A_ii = χ_i/√n,
//
// e and ε are standard normal and χ_i² ~ χ²_{n−1−i}, i = 0 … m−1. The last row, of
// y, is, whatever the law of x,
//
//	v̄_y = θ₀ + βᵀx̄ + σf_y,   D_y = βᵀD_x + σA_y,
//
// θ and σ of the hub, or where pooling is partial the release's own; where y is of a family see
// indexRow.
//
// Where covariates are shared all rows of (f, A) are coordinates; t_i = log A_ii has
// the log density (n−1−i)t − ½n exp 2t. Where each custodian has its own (μ_x, T)
// T is integrated out, as in density, and x̄, D_x, μ_x and λ are parameters,
//
//	log p(x̄, D_x, μ_x, λ) = Σ_i (n − 2 − i) log D_ii + log p(x, μ_x | λ) + log p(λ),   i = 0 … p−1,
//
// see covariates, of which ξ is too. Coordinates of x̄ are those of means, of D_x of triangle.
//
// Given the hub, that is all standard; noise hides s and leaves it so, and where noise
// is weak (f, A) depend on the hub almost linearly, which the metric takes up.
//
// Coordinates lie in the order: those of (θ_j, σ_j) where pooling is partial; x̄; t and c; ξ; ζ;
// rows of (e_i, ε_i0 … t_i); log(n − n₀) where n is latent.
type spoke struct {
	*model.Site
	*statistics // in common units
	hub         *model.Hub
	pooled      *model.Pooled // nil unless pooling is partial
	covariates  *covariates   // nil where they are shared, and so the next three
	scales      *freeScales
	triangle    *triangle
	means       *means
	noise       *model.Noise
	family      *indexRow // nil of a normal response
	p           int
	from        int // the first Bartlett row: 0, or p

	root      float64   // √n
	theta     []float64 // θ, or θ_j
	sigma     float64   // σ, or σ_j
	f, a      []float64 // f and A
	b, own    []float64 // B in common units and in the release's, lower triangles
	e         []float64 // E, of B's size
	gMean, gD []float64 // gradients in v̄ and D
	gW        []float64 // that in W, as statistics.pull has it
	gTheta    []float64 // in θ, or in (θ_j, log σ_j²)
	gA        []float64 // of one row of A

	lambda, gLambda []float64
}

func newSpoke(t *model.Joint, j int, hub *model.Hub) *spoke {
	m := t.Shape.M()
	vec := func(n int) []float64 { return make([]float64, n) }
	s := &spoke{Site: t.Sites[j], statistics: newStatistics(m), hub: hub, noise: t.Noise(j), p: m - 1,
		f: vec(m), a: vec(m * m), b: vec((m + 1) * (m + 1)), own: vec((m + 1) * (m + 1)),
		e: vec((m + 1) * (m + 1)), gMean: vec(m), gD: vec(m * m), gW: vec(m * m), gTheta: vec(t.Shape.Q()), gA: vec(m)}
	s.theta = hub.Params.Theta
	if !t.Shared {
		prior := ofCovariates(t.Prior)
		s.from, s.covariates, s.scales = s.p, newCovariates(prior), newFreeScales(prior)
		s.triangle, s.means = newTriangle(noiseOfSquares(s.Site)[:s.p]), newMeans(noiseOfMeans(s.Site)[:s.p], prior)
		s.lambda, s.gLambda = vec(s.scales.dim()), vec(s.scales.dim())
	}
	if t.Family != model.Normal {
		s.family = newIndexRow(familyOf(t.Family, s.Upper), s.p)
	}
	if t.Partial {
		s.pooled = model.NewPooled(s.Site, hub)
		s.theta, s.gTheta = s.pooled.Theta, vec(len(s.pooled.Own))
	}
	return s
}

// noiseOfSquares returns the sd of the noise of each column's mean square, in common units.
func noiseOfSquares(s *model.Site) []float64 {
	r, at := make([]float64, s.Shape.M()), s.Shape.M()
	for i := range r {
		a := s.Units.Scale(i)
		r[i] = math.Sqrt(s.Variance(at)) / (math.Max(s.N, s.Count.Least) * a * a)
		at += len(r) - i
	}
	return r
}

// noiseOfMeans returns the precision of each column's mean as noise leaves it.
func noiseOfMeans(s *model.Site) []float64 {
	e, r := make([]float64, s.Shape.M()), noiseOfSquares(s)
	for i := range e {
		a := s.Units.Scale(i)
		e[i] = 1 / (r[i] * r[i] * a * a)
	}
	return e
}

// dim is the number of coordinates.
func (s *spoke) dim() int {
	n := s.lead() + s.m + s.m*(s.m+1)/2
	if s.covariates != nil {
		n += s.p + s.scales.dim()
	}
	if s.Count.Latent() {
		n++
	}
	if s.family != nil {
		n-- // there is no t of y
	}
	return n
}

// bartletts is the number of Bartlett's rows, the first being from.
func (s *spoke) bartletts() int {
	if s.family != nil {
		return s.p
	}
	return s.m
}

// lead is the number of coordinates before those of the statistics.
func (s *spoke) lead() int {
	if s.pooled != nil {
		return len(s.pooled.Own)
	}
	return 0
}

// free is where ξ begins, and behind it ζ, among the coordinates of the statistics.
func (s *spoke) free() int { return s.from + s.from*(s.from+1)/2 }

// bartlett is where those of Bartlett's rows begin.
func (s *spoke) bartlett() int {
	if s.covariates == nil {
		return 0
	}
	return s.free() + s.p + s.scales.dim()
}

// ofY is where those of a family's response begin.
func (s *spoke) ofY() int {
	at := s.bartlett()
	for i := s.from; i < s.p; i++ {
		at += i + 2
	}
	return at
}

// leastRows is n₀; see density.leastRows.
func (s *spoke) leastRows() float64 { return s.Count.Least - 0.5 }

// rows is n at x.
func (s *spoke) rows(x []float64) float64 {
	if s.Count.Latent() {
		return s.leastRows() + math.Exp(x[len(x)-1])
	}
	return s.N
}

// set takes the statistics of x, given the hub's parameters.
func (s *spoke) set(x []float64) {
	s.n = s.rows(x)
	s.root = math.Sqrt(s.n)
	if s.pooled != nil {
		s.pooled.Set(x)
	}
	s.setSigma()
	x = x[s.lead():]
	s.takeRows(x[s.bartlett():])
	if s.covariates != nil {
		s.takeCovariates(x)
	} else {
		s.drawnCovariates()
	}
	if s.family != nil {
		s.family.take(s.statistics, s.theta, x[s.ofY():])
	} else {
		s.response()
	}
	s.gram()
}

// setSigma takes σ, or σ_j.
func (s *spoke) setSigma() {
	if s.pooled != nil {
		s.sigma = s.pooled.Sigma()
	} else {
		s.sigma = math.Sqrt(s.hub.Params.Sigma2)
	}
}

// takeRows takes f and A.
func (s *spoke) takeRows(x []float64) {
	m, at := s.m, 0
	for i := s.from; i < s.bartletts(); i++ {
		s.f[i] = x[at] / s.root
		row := s.a[i*m : i*m+i+1]
		for j := range i {
			row[j] = x[at+1+j] / s.root
		}
		row[i] = math.Exp(x[at+1+i])
		at += i + 2
	}
}

// takeCovariates takes x̄, D_x and λ of their coordinates.
func (s *spoke) takeCovariates(x []float64) {
	s.triangle.set(s.d, x[s.p:], s.m)
	s.means.set(s.mean, x, s.d, s.m)
	s.scales.set(s.lambda, x[s.free()+s.p:], s.d, s.m)
}

// drawnCovariates takes x̄ and D_x of f and A.
func (s *spoke) drawnCovariates() {
	m, p, l := s.m, s.p, s.hub.Factor()
	for i := range p {
		v := s.hub.Params.MuX[i]
		for k := range i + 1 {
			v += l[i*p+k] * s.f[k]
			sum := 0.0
			for h := k; h <= i; h++ {
				sum += l[i*p+h] * s.a[h*m+k]
			}
			s.d[i*m+k] = sum
		}
		s.mean[i] = v
	}
}

// response takes the last row, that of y.
func (s *spoke) response() {
	m, p := s.m, s.p
	sigma, beta := s.sigma, s.theta[len(s.theta)-p:]
	v := sigma * s.f[p]
	if len(s.theta) > p {
		v += s.theta[0]
	}
	row := s.d[p*m : p*m+m]
	for k, a := range s.a[p*m : p*m+m] {
		row[k] = sigma * a
	}
	for i, b := range beta {
		v += b * s.mean[i]
		addScaled(row[:i+1], b, s.d[i*m:])
	}
	s.mean[p] = v
}

// gram computes W, and B in both units.
func (s *spoke) gram() {
	s.spread()
	s.b[0] = s.n
	for i, u := range s.mean {
		row := s.b[(i+1)*(s.m+1):]
		row[0] = s.n * u
		for j, w := range s.w[i*s.m : i*s.m+i+1] {
			row[j+1] = s.n * (w + u*s.mean[j])
		}
	}
	s.Units.Gram(s.own, s.b)
}

// vector writes s in canonical order and the release's own units.
func (s *spoke) vector(dst []float64) {
	k, at := s.m+1, s.m
	for j := range s.m {
		dst[j] = s.own[(j+1)*k]
		for l := j; l < s.m; l++ {
			dst[at] = s.own[(l+1)*k+j+1]
			at++
		}
	}
}
