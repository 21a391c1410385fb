package exact

import (
	"math"

	"github.com/dpreg/dpreg/internal/number"
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
// θ and σ of the hub, or where pooling is partial the release's own; see lineOfY, and where y is of a family
// sumsOfY. Sums by the levels of such a y, ½Σ(1 ± y)x of y = ±1, are linear in s: of a release by these
// the noise alone has another law given s (model.Noise.Made), in a frame of x.
//
// Where covariates are shared rows of (f, A) of x are coordinates; t_i = log A_ii has
// the log density (n−1−i)t − ½n exp 2t. Where each custodian has its own (μ_x, T)
// T is integrated out, and x̄, D_x, μ_x and λ are parameters, see rowsOfX.
//
// Given the hub, that is all standard; noise hides s and leaves it so, and where noise
// is weak (f, A) depend on the hub almost linearly, which the metric takes up.
//
// Coordinates lie in the order: those of (θ_j, σ_j) where pooling is partial; those of rowsOfX;
// rows of (e_i, ε_i0 … t_i); those of lineOfY or sumsOfY; that of n. Where pooling is partial of a line σ_j is known first,
// then x, and θ_j given these, see toldOfTheta.
type spoke struct {
	custodian
	*statistics          // in common units
	noisy       *view    // in the release's
	x           *rowsOfX // nil where covariates are shared
	noise       *model.Noise
	made        []float64 // what has noise
	rows        *rowCount
	line        *lineOfY     // nil of a family
	told        *toldOfTheta // nil unless a line is pooled in part
	family      *sumsOfY     // nil of a normal response
	dispersion  *dispersion  // nil but of counts
	from        int          // the first Bartlett row, 0 or p

	root float64   // √n
	f, a []float64 // f and A
	gA   []float64 // of one row of A
	gF   []float64 // of a family's index
	logp float64   // of x and of y's sums, where set was last
	ok   bool      // rows have such statistics
}

func newSpoke(t *model.Joint, j int, hub *model.Hub, raw *model.Site) *spoke {
	m := t.Shape.M()
	s := &spoke{custodian: newCustodian(t, j, hub), statistics: newStatistics(m), noise: t.Noise(j),
		f: vec(m - 1), a: vec(m * m), gA: vec(m), gF: vec(m - 1)}
	s.noisy = newView(s.statistics, s.Noisy())
	s.rows = newRowCount(s.Observation, s.noise)
	end := m
	if t.Family == model.Normal {
		s.line = newLineOfY(s.Site)
		if s.pooled != nil {
			s.told, s.late = newToldOfTheta(s.line, s.pooled.Guess), true
		}
	} else {
		end = s.p
		of := familyOf(t.Family, s.Upper)
		s.family, _ = newSumsOfY(s.Observation, of)
		s.dispersion = newDispersion(raw, of, false)
		s.family.dispersion = s.dispersion
		s.rows.c++
		s.rows.scatter(s.p, m)
		s.rows.gamma = append(s.rows.gamma, gammaTerm{1, -1})
	}
	if !t.Shared {
		s.from = s.p
		s.x = newRowsOfX(commonColumns(t.Prior, m, t.Sites[j:j+1]), ofCovariates(t.Prior))
		s.rows.a += 0.5 * float64(s.p)
		s.rows.covariance(s.p, s.x.covariates.dof)
		s.rows.scatter(0, s.p)
	}
	for i := s.from; i < end; i++ { // ½(n−1−i) log ½n
		s.rows.a, s.rows.b, s.rows.c = s.rows.a+0.5, s.rows.b+0.5*math.Ln2, s.rows.c-0.5*float64(1+i)
	}
	s.rows.scatter(s.from, end)
	return s
}

// bartlett is where those of Bartlett's rows begin, and ofY those of y.
func (s *spoke) bartlett() int {
	if s.x != nil {
		return s.lead() + s.x.dim()
	}
	return s.lead()
}

func (s *spoke) ofY() int {
	at := s.bartlett()
	for i := s.from; i < s.p; i++ {
		at += i + 2
	}
	return at
}

// dim is the number of coordinates.
func (s *spoke) dim() int { return s.ofY() + s.sumsOfY() + s.dispersion.dim() + s.rows.dim() }

// sumsOfY counts the coordinates of y's sums.
func (s *spoke) sumsOfY() int { return s.m + number.Indicator[int](s.line != nil) }

// set takes the statistics of x, given the hub's parameters. It reports false where rows have no such.
func (s *spoke) set(x []float64) bool {
	s.n = s.rows.of(x)
	s.root = math.Sqrt(s.n)
	s.takeOwn(x)
	s.takeRows(x[s.bartlett():])
	s.logp, s.ok = 0, s.rows.within(s.n)
	if s.x != nil {
		var ok bool
		s.logp, ok = s.x.take(s.statistics, x[s.lead():])
		s.ok = s.ok && ok
	} else {
		s.drawnCovariates()
	}
	s.noisy.take(s.statistics)
	switch {
	case !s.ok:
	case s.line != nil:
		logp, ok := s.takeLine(x)
		s.logp, s.ok = s.logp+logp, ok
	default:
		s.aim()
		s.logp, s.ok = s.family.take(s.logp, s.noisy.statistics, x[s.ofY():])
	}
	s.noisy.spread()
	s.noisy.vector()
	s.made = s.noise.Made(s.noisy.s)
	return s.ok
}

// takeLine takes y's row, and before it θ_j.
func (s *spoke) takeLine(x []float64) (logp float64, ok bool) {
	t := s.noisy.statistics
	if s.told != nil {
		if !s.told.take(t, s.sigma) {
			return 0, false
		}
		s.pooled.SetTheta(x)
	}
	return s.line.take(t, x[s.ofY():], s.theta, s.sigma)
}

// takeRows takes f and A of x.
func (s *spoke) takeRows(x []float64) {
	m, at := s.m, 0
	for i := s.from; i < s.p; i++ {
		s.f[i] = x[at] / s.root
		row := s.a[i*m : i*m+i+1]
		for j := range i {
			row[j] = x[at+1+j] / s.root
		}
		row[i] = math.Exp(x[at+1+i])
		at += i + 2
	}
}

// drawnCovariates takes x̄ and D_x of f and A.
func (s *spoke) drawnCovariates() {
	m, p, l := s.m, s.p, s.hub.Factor()
	for i := range p {
		row := s.d[i*m : i*m+i+1]
		clear(row)
		s.mean[i] = s.hub.Params.MuX[i]
		for h, v := range l[i*p : i*p+i+1] {
			s.mean[i] += v * s.f[h]
			addScaled(row[:h+1], v, s.a[h*m:])
		}
	}
}

// aim takes a family's index of θ.
func (s *spoke) aim() {
	eta, f := 0.0, s.family
	if len(s.theta) > s.p {
		eta = s.theta[0]
	}
	clear(f.f)
	for j, b := range s.slopes() {
		eta += b * s.mean[j]
		addScaled(f.f[:j+1], b, s.d[j*s.m:])
	}
	f.n, f.eta = s.n, eta
}
