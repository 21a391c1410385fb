package exact

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/dpreg/dpreg/model"
)

// levelSpoke is what spoke is, of sums by levels. Counts, whole, sum to n and are uniform a priori, and the levels'
// means μ_l and T from the prior, for each custodian anew: of levels as of x, custodians share the prior alone. With
// F_x and D_x (levelSums), and η_l = θ₀ + Σ_c u_cθ_c of the factor's columns u_c = ±1 in level l, Bartlett has
//
//	F_yl = M_l + σe_l,   M_l = √n_l η_l + βᵀF_xl,   D_y = βᵀD_x + σA,   A_j = ε_j/√n,  A_yy = χ/√n,   χ² ~ χ²_{n−L−q},
//
// e and ε standard normal; t = log A_yy has the log density (n−L−q)t − ½n exp 2t, and as coordinate t + w log σ: where noise
// tells log D_yy = t + log σ, w is near 1, so that the thin sheet that it leaves is flat whatever hub's coordinate of σ is,
// and 0 where it tells nothing. Given θ and normal noise F_yl is
// normal, too, and coordinates u_l are standard then: in the units of levelSums, in which M_l is m_l and σ is s,
//
//	F_yl = w²(√n_l a_yy z̃_yl/ς² + m_l/s²) + w u_l,   1/w² = n_l a_yy²/ς² + 1/s²,
//
// so that counts move with F_y as z and θ have it. Where y is of a family see levelFamily. Coordinates lie in the order:
// those of (θ_j, σ_j) where pooling is partial; those of levelSums; u; ε; t, or u and those of h.
type levelSpoke struct {
	custodian
	*levelSums
	eta      []float64 // η_l
	a        []float64 // A
	m, v     []float64 // m_l and s²
	byR      []float64 // slope in r_l = (F_yl − m_l)/s
	byM, byV []float64
	logp     float64 // where set was last
	logY     float64 // of y's coordinates, log J left out
	w        float64 // of log σ in that of t
	ok       bool
}

func newLevelSpoke(t *model.Joint, j int, hub *model.Hub, least *leastSquare) *levelSpoke {
	c := newCustodian(t, j, hub)
	k, levels := c.Told.Dummies, c.Shape.Levels(c.Told.Dummies)
	q := t.Shape.P - k
	vec := func() []float64 { return make([]float64, levels) }
	s := &levelSpoke{custodian: c, levelSums: newLevelSums(c.Site, withinPrior(ofCovariates(t.Prior), behind(k, t.Shape.P)), t.Noise(j), c.lead(), q, 0),
		eta: vec(), a: make([]float64, q+1), m: vec(), v: vec(), byR: vec(), byM: vec(), byV: vec()}
	s.drawn = t.Shared
	s.w = s.toldOfResidual()
	if t.Family != model.Normal {
		s.family = newIndex(familyOf(t.Family, c.Upper), c.N, q, levels)
		s.family.least = least
	}
	return s
}

// toldOfResidual is how much noise tells of log D_yy, beside the 2n that σ does, about: nD_yy² has the noise of Σy² and more.
func (s *levelSpoke) toldOfResidual() float64 {
	d, products := s.q+1, s.toldOwn[s.levels*(s.q+1):]
	square := products[len(products)-1]
	for l := range s.levels {
		sum := s.toldOwn[l*d+s.q]
		square -= sum * sum / max(1, s.toldCount(l))
	}
	told := 2 * max(0, square) / s.squareScale
	return told * told / (told*told + 2*rowsTold(s.obs))
}

func (s *levelSpoke) dim() int {
	if s.family != nil {
		return s.end() + s.levels + s.q
	}
	return s.end() + s.levels + s.q + 1
}

// scatterDof are the degrees of freedom of A_yy².
func (s *levelSpoke) scatterDof() float64 { return s.freedom(s.n) - float64(s.q) }

func (s *levelSpoke) set(x []float64) bool {
	s.takeOwn(x)
	s.ok = s.takeStatistics(x)
	return s.ok
}

// takeStatistics takes F and D, and their log density.
func (s *levelSpoke) takeStatistics(x []float64) (ok bool) {
	w, seen, y := s.within, s.levelSums.prior, x[s.end():]
	if s.logJ, ok = s.takeRows(x); !ok {
		return false
	}
	s.takeSums(x)
	s.logJ += 0.5 * s.columns.product.value()
	seen.see(w, s.sums, s.law.roots)
	byY, ok := s.takeY(y)
	if !ok {
		return false
	}
	s.logJ += byY
	w.spread()
	s.tell()
	s.scales.set(s.lambda, x[s.freeAt():], w.d, w.m)
	s.logp, ok = s.law.value(seen.statistics, seen.sums, x[s.zetaAt():s.freeAt()], s.lambda)
	s.logp = s.scales.addPrior(s.logp+s.logJ+s.logY, s.lambda) + s.ofN + s.spare
	for i, log := range s.columns.logSquare {
		s.logp += 0.5 * s.power(i) * log
	}
	if s.family == nil {
		s.logJ += math.Log(s.a[s.q]) // of moves of counts: ∂(F_y, D_y)/∂y
	}
	return ok
}

// over is what F_xl is over in x̄_l: √n_l, and 1 where a family's law is at the mean of no rows.
func (s *levelSpoke) over(l int) float64 {
	if s.family != nil {
		return max(s.law.roots[l], 1)
	}
	return s.law.roots[l]
}

// wideY returns 1/w² and the centre of F_yl over w², F_xl, m_l and s² being known.
func (s *levelSpoke) wideY(l int) (precision, centre float64) {
	d, q := s.q+1, s.q
	root, noise, a := s.law.roots[l], s.sumVariance, s.units.a[q*d:]
	told := s.Told.Z[len(s.Told.Counts)+l*d+q] - root*dot(a[:q], s.sums[l*d:])
	return root*root*a[q]*a[q]/noise + 1/s.v[l], root*a[q]*told/noise + s.m[l]/s.v[l]
}

// takeM takes m and s², F_x and D_x being known.
func (s *levelSpoke) takeM() {
	s.takeEta(s.eta)
	if s.family != nil {
		s.aim()
		return
	}
	d, q, beta := s.q+1, s.q, s.slopes()[s.k:]
	own := s.sigma / s.units.b[q]
	for l, root := range s.law.roots {
		s.m[l] = (root*(s.eta[l]-s.units.c[q]) + dot(beta, s.levelSums.prior.sums[l*d:])) / s.units.b[q]
		s.v[l] = own * own
	}
}

// takeY takes F_y and D_y of y's coordinates, as the prior sees them and in the units of others.
func (s *levelSpoke) takeY(y []float64) (logJ float64, ok bool) {
	d, q, seen := s.q+1, s.q, s.levelSums.prior
	b, c := s.units.b[q], s.units.c[q]
	s.takeM()
	s.logY = 0
	product := logProduct{rest: 1}
	for l, root := range s.law.roots {
		if s.none(l) {
			s.byR[l], s.sums[l*d+q], seen.sums[l*d+q] = 0, 0, 0
			s.spare -= 0.5 * y[l] * y[l]
			continue
		}
		precision, centre := s.wideY(l)
		own := centre/precision + y[l]/math.Sqrt(precision)
		product.times(precision)
		if s.family == nil {
			s.byR[l] = (s.m[l] - own) / math.Sqrt(s.v[l])
			s.logY -= 0.5 * s.byR[l] * s.byR[l]
		}
		s.sums[l*d+q], seen.sums[l*d+q] = own, b*own+root*c
	}
	logJ, ok = -0.5*product.value(), true
	row := seen.d[q*d : q*d+d]
	if s.family != nil {
		byH, in := s.takeH(row, y[s.levels:])
		logJ, ok = logJ+byH, in
	} else {
		s.takeRow(row, y[s.levels:])
		logJ -= 0.5 * float64(q) * math.Log(s.n)
	}
	for j, v := range row {
		s.within.d[q*d+j] = v / b
	}
	return logJ, ok
}

// takeRow takes D_y of (ε, t).
func (s *levelSpoke) takeRow(row, y []float64) {
	d, q, seen := s.q+1, s.q, s.levelSums.prior
	for j, e := range y[:q] {
		s.a[j] = e / math.Sqrt(s.n)
		s.logY -= 0.5 * e * e
	}
	t := y[q] - s.w*math.Log(s.sigma)
	s.a[q] = math.Exp(t)
	s.logY += s.scatterDof()*t - 0.5*s.n*s.a[q]*s.a[q] - float64(s.levels-s.empty)*math.Log(s.sigma/s.units.b[q])
	for j, a := range s.a {
		row[j] = s.sigma * a
	}
	for i, v := range s.slopes()[s.k:] {
		addScaled(row[:i+1], v, seen.d[i*d:])
	}
}

// placeY writes y's coordinates, of F_y, and D_y as the prior sees it.
func (s *levelSpoke) placeY(y []float64) {
	d, q, seen, beta := s.q+1, s.q, s.levelSums.prior, s.slopes()[s.k:]
	s.takeM()
	for l := range s.levels {
		if s.none(l) {
			continue
		}
		precision, centre := s.wideY(l)
		y[l] = (s.sums[l*d+q] - centre/precision) * math.Sqrt(precision)
	}
	if s.family != nil {
		s.placeH(y[s.levels:], seen.d[q*d:])
		return
	}
	copy(s.a, seen.d[q*d:])
	for i, v := range beta {
		addScaled(s.a[:i+1], -v, seen.d[i*d:])
	}
	for j, v := range s.a[:q] {
		y[s.levels+j] = v / s.sigma * math.Sqrt(s.n)
	}
	y[s.levels+q] = math.Log(s.a[q]/s.sigma) + s.w*math.Log(s.sigma)
}

func (s *levelSpoke) noised() []float64 { return s.byTold }

// standard is r beside η.
func (s *levelSpoke) standard() [][]float64 { return append(s.custodian.standard(), s.byR) }

func (s *levelSpoke) variance(i int) float64 {
	return variance(s.Kind, s.Told.Scale[i], s.Told.Z[i]-s.told[i])
}

// prior is 1 also of coordinates of F_x as the prior has them, and none of u, which r has. See spoke.prior.
func (s *levelSpoke) prior(r []float64, size int) {
	for i := s.rowsAt(); i < size; i++ {
		r[i*size+i] = 1
	}
	for l := range s.levels {
		for j := range s.q {
			at := s.sumsAt + l*s.q + j
			if r[at*size+at] = 1; !s.none(l) {
				v, precision, _ := s.wide(l, j)
				r[at*size+at] = 1 / (v * precision)
			}
		}
		if i := s.end() + l; !s.none(l) {
			r[i*size+i] = 0
		}
	}
	s.columns.priorRows(r, size, s.rowsAt())
	if s.family == nil {
		a := s.a[s.q]
		r[size*size-1] = 2 * s.n * max(1, a*a)
	}
}

// place writes coordinates near what z tells of counts, D and F_y, and others as if they were standard normal.
func (s *levelSpoke) place(x, _ []float64, _ float64, rng *rand.Rand) bool {
	d, q, seen := s.q+1, s.q, s.levelSums.prior
	s.take(s.startCounts(rng))
	for i := s.sumsAt; i < len(x); i++ {
		x[i] = rng.NormFloat64()
	}
	if s.pooled != nil {
		s.pooled.Coordinates(x)
	}
	s.takeSigma()
	s.disperse(rng)
	s.placeRows(x)
	s.takeSums(x)
	seen.see(s.within, s.sums, s.law.roots)
	y := x[s.end():]
	own := slices.Clone(y)
	s.placeY(y)
	copy(y, own[:s.levels])
	// seen is a standard normal coordinate that noise of an sd hides.
	between := func(i int, seen, sd float64) { y[i] = (seen + sd*sd*own[i]) / (1 + sd*sd) }
	unit, r := s.units.b[q]/s.sigma, s.squareScale/s.n
	if s.family != nil {
		for j := range q {
			between(s.levels+j, y[s.levels+j], 0.5*r/(s.wideH()*s.within.d[j*d+j]))
		}
		_, ok := s.takeY(y)
		return ok
	}
	if !(s.a[q] > 0) {
		return false
	}
	for j := range q {
		between(s.levels+j, y[s.levels+j], math.Sqrt(s.n)*r*unit/s.within.d[j*d+j])
	}
	wide, square, moved := math.Sqrt(2*s.n), s.within.d[q*d+q]*s.within.d[q*d+q], s.w*math.Log(s.sigma)
	between(s.levels+q, wide*(y[s.levels+q]-moved), wide*r/(2*square))
	y[s.levels+q] = y[s.levels+q]/wide + moved
	return true
}

func (s *levelSpoke) reach() {
	if s.ok {
		s.levelSums.noise.Reach(s.told)
	}
}

func (s *levelSpoke) signs() []int { return nil }

// move moves counts, and draws the covariates' law.
func (s *levelSpoke) move(x []float64, rng *rand.Rand) bool {
	moved := s.moveRows(x, rng)
	if s.drawn && s.set(x) {
		s.law.draw(s.tau, rng)
		s.drawOverall(rng)
	}
	return moved
}

func (s *levelSpoke) moveRows(x []float64, rng *rand.Rand) bool {
	if !s.set(x) {
		return false
	}
	copy(s.params.Theta, s.theta)
	s.params.Sigma2 = s.sigma * s.sigma
	s.law.draw(s.tau, rng)
	moved := s.sumCounts(s, x, rng)
	now, ok := s.value(x)
	return ok && s.moveCounts(s, x, now, rng) || moved
}

func (s *levelSpoke) value(x []float64) (logp float64, ok bool) {
	if !s.set(x) {
		return 0, false
	}
	return s.logp + s.levelSums.noise.LogDensity(s.byTold, s.told), true
}

func (s *levelSpoke) resum(x, counts, sums, w []float64) bool {
	if s.family != nil { // Σy² follows from nothing
		w[len(w)-1] = math.MaxFloat32 * s.n
	}
	if !s.levelSums.resum(x, counts, sums, w) {
		return false
	}
	s.levelSums.prior.see(s.within, s.sums, s.law.roots)
	s.placeY(x[s.end():])
	return true
}

// keep writes nothing: y's coordinates are given θ and σ.
func (s *levelSpoke) keep([]float64) {}
