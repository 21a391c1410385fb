package exact

import (
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
)

// levelSpoke is what spoke is, of sums by levels. Counts, whole, sum to n and are uniform a priori, and the levels'
// means μ_l and T from the prior, for each custodian anew: of levels as of x, custodians share the prior alone. With
// F_x and D_x (levelSums), and η_l = θ₀ + Σ_c u_cθ_c of the factor's columns u_c = ±1 in level l, Bartlett has
//
//	F_yl = M_l + σe_l,   M_l = √n_l η_l + βᵀF_xl,   D_y = βᵀD_x + σA,   A_j = ε_j/√n,  A_yy = χ/√n,   χ² ~ χ²_{n−L−q},
//
// e and ε standard normal. Given θ and normal noise F_yl is normal, too, and coordinates u_l are standard then: in the units
// of levelSums, in which M_l is m_l and σ is s,
//
//	F_yl = w²(√n_l a_yy z̃_yl/ς² + m_l/s²) + w u_l,   1/w² = n_l a_yy²/ς² + 1/s²,
//
// so that counts move with F_y as z and θ have it. The row of D is of lineOfD, ν = n − L − q: of products z tells what F
// leaves of them. Where y is of a family see levelFamily. Coordinates lie in the order:
// those of (θ_j, σ_j) where pooling is partial; those of levelSums; u; those of D_y, and of D_yy, or where y is of a family of its dispersion.
type levelSpoke struct {
	custodian
	*levelSums
	eta      []float64 // η_l
	ofD      *rowLaw   // of D_y
	line     *lineOfD  // and of D_yy; nil of a family
	m, v     []float64 // m_l and s²
	byR      []float64 // slope in r_l = (F_yl − m_l)/s
	byM, byV []float64
	gF       []float64 // of a family's index
	logp     float64   // where set was last
	logY     float64   // of y's coordinates, log J left out
	ok       bool
}

func newLevelSpoke(t *model.Joint, j int, hub *model.Hub, raw *model.Site) *levelSpoke {
	c := newCustodian(t, j, hub)
	k, levels := c.Told.Dummies, c.Shape.Levels(c.Told.Dummies)
	q := t.Shape.P - k
	s := &levelSpoke{custodian: c, levelSums: newLevelSums(c.Site, ofCovariates(t.Prior).Within(behind(k, t.Shape.P)), t.Noise(j), c.lead(), q, 0),
		eta: vec(levels), m: vec(levels), v: vec(levels), byR: vec(levels), byM: vec(levels), byV: vec(levels)}
	s.drawn = t.Shared
	s.line = newLineOfD(q, rowsTold(s.obs), s.noiseOfProduct(0, q), s.noiseOfProduct(q, q))
	if s.ofD = s.line.rowLaw; t.Family != model.Normal {
		s.line = nil
		s.gF = vec(q)
		of := familyOf(t.Family, c.Upper)
		s.family = newIndex(of, c.N, q, levels)
		s.dispersion = newDispersion(raw, of, false)
		s.family.dispersion = s.dispersion
	}
	return s
}

func (s *levelSpoke) dim() int { return s.end() + s.ofY() + s.dispersion.dim() }

// ofY counts the coordinates of y's sums.
func (s *levelSpoke) ofY() int { return s.levels + s.q + number.Indicator[int](s.line != nil) }

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
	s.logJ += s.dispersion.take(y[s.levels+s.q:])
	byY, ok := s.takeY(y)
	if !ok {
		return false
	}
	s.logJ += byY
	w.spread()
	s.tell()
	s.scales.set(x[s.freeAt():], w)
	s.logp, ok = s.law.value(seen.statistics, seen.sums, x[s.zetaAt():s.freeAt()], s.scales.lambda)
	s.logp = s.scales.addPrior(s.logp+s.logJ+s.logY) + s.ofN + s.spare
	for i, log := range s.columns.logSquare {
		s.logp += 0.5 * s.power(i) * log
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
	d, q := s.d, s.q
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
	d, q, beta := s.d, s.q, s.slopes()[s.k:]
	own := s.sigma / s.units.b[q]
	for l, root := range s.law.roots {
		s.m[l] = (root*(s.eta[l]-s.units.c[q]) + dot(beta, s.levelSums.prior.sums[l*d:])) / s.units.b[q]
		s.v[l] = own * own
	}
}

// takeY takes F_y and D_y of y's coordinates.
func (s *levelSpoke) takeY(y []float64) (logJ float64, ok bool) {
	d, q := s.d, s.q
	s.takeM()
	s.logY = 0
	product := logProduct{rest: 1}
	for l := range s.law.roots {
		if s.none(l) {
			s.byR[l], s.sums[l*d+q] = 0, 0
			s.spare -= 0.5 * y[l] * y[l]
			continue
		}
		precision, centre := s.wideY(l)
		own := centre/precision + y[l]/math.Sqrt(precision)
		product.times(precision)
		if s.family == nil {
			s.byR[l] = (s.m[l] - own) / math.Sqrt(s.v[l])
			s.logY -= 0.5 * (s.byR[l]*s.byR[l] + math.Log(s.v[l]))
		}
		s.sums[l*d+q] = own
	}
	s.seeRow()
	byD, byRow := 0.0, 0.0
	if s.family != nil {
		byD, byRow, ok = s.takeH(y[s.levels : s.levels+s.q])
	} else {
		byD, byRow, ok = s.line.take(s.within.d, s.within.m, y[s.levels:])
	}
	s.logY += byD
	return byRow - 0.5*product.value(), ok
}

// seeRow takes what D_y hangs on: F, and parameters.
func (s *levelSpoke) seeRow() {
	d, q, b := s.d, s.q, s.units.b
	products := s.toldOwn[s.levels*d:]
	told := func(j int) float64 {
		v := products[release.Index(d, j, q)-d]
		for l := range s.levels {
			v -= s.sums[l*d+j] * s.sums[l*d+q]
		}
		return v / s.n
	}
	for j := range q {
		s.ofD.products[j] = told(j)
	}
	if s.family != nil {
		mean, within := s.family.ofH()
		s.ofD.own = 0.25 * s.n / within
		for j, e := range s.family.e {
			s.ofD.middle[j] = 2 * mean * e
		}
		return
	}
	s.line.told, s.line.sigma, s.line.n, s.line.dof = told(q), s.sigma/b[q], s.n, s.freedom(s.n)-float64(q)
	for j, beta := range s.slopes()[s.k:] {
		s.line.beta[j] = beta * b[j] / b[q]
	}
}

// placeY writes y's coordinates, of F_y and D_y. It reports false where rounding forbids.
func (s *levelSpoke) placeY(y []float64) bool {
	d, q, w := s.d, s.q, s.within
	s.takeM()
	for l := range s.levels {
		if s.none(l) {
			continue
		}
		precision, centre := s.wideY(l)
		y[l] = (s.sums[l*d+q] - centre/precision) * math.Sqrt(precision)
	}
	s.seeRow()
	if s.family == nil {
		return s.line.place(y[s.levels:], w.d, d)
	}
	_, ok := s.ofD.prepare(w.d, d)
	s.ofD.law.Coordinates(y[s.levels:s.levels+q], w.d[q*d:q*d+q])
	return ok
}

func (s *levelSpoke) noised() []float64 { return s.byTold }

// standard is what y's sums leave, beside η.
func (s *levelSpoke) standard() [][]float64 {
	all := append(s.custodian.standard(), s.byR, s.ofD.byR)
	if s.line != nil {
		all = append(all, s.line.byA)
	}
	return all
}

func (s *levelSpoke) variance(i int) float64 {
	return variance(s.Kind, s.Told.Scale[i], s.Told.Z[i]-s.told[i])
}

// prior is 1 also of coordinates of F_x as the prior has them, and none of y's, see standard and spoke.prior.
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
	}
	for i := s.end(); i < s.end()+s.ofY(); i++ {
		if l := i - s.end(); l >= s.levels || !s.none(l) {
			r[i*size+i] = 0
		}
	}
	s.columns.priorRows(r, size, s.rowsAt())
}

// place writes coordinates near what z tells of counts and D_x, and others as if they were standard normal.
func (s *levelSpoke) place(x, _ []float64, _ float64, rng *rand.Rand) bool {
	s.take(s.startCounts(rng))
	for i := s.sumsAt; i < len(x); i++ {
		x[i] = rng.NormFloat64()
	}
	if s.pooled != nil {
		s.pooled.Coordinates(x)
	}
	s.disperse(rng)
	s.placeRows(x)
	return s.set(x)
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
	if !s.takeScatter(counts, w) {
		return false
	}
	s.placeRows(x)
	s.placeSums(x, sums)
	s.levelSums.prior.see(s.within, s.sums, s.law.roots)
	return s.placeY(x[s.end():])
}
