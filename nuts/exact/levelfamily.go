package exact

import (
	"math"
	"math/rand/v2"
)

// Where y is of a family, what levelSpoke has of it are F_y and h of index, given θ and the covariates' sums by levels:
// η̄_l = η_l + βᵀF_xl/√n_l, f = D_xᵀβ. Of y in [−1, 1] F_yl is twice that of index less √n_l, and D_y is 2h, of which D_yy,
// that no noisy sum tells, is left out: 1 stands for it. About F_yl is N(m_l, s²), and h is about normal, too,
//
//	m_l = √n_l (2M_0 − 1),   s² = 4K_l;   h = Σ_l n_lM_1/n e + √(q/n) c,   q = Σ_l n_lK_l/n,
//
// which coordinates u and c make of them. A level of no rows has s² and no mean to speak of: F_xl is of mean 0, and η̄_l is
// taken at it.

// aim takes the index of θ, and m and s².
func (s *levelSpoke) aim() {
	d, q, seen, f, beta := s.q+1, s.q, s.levelSums.prior, s.family, s.slopes()[s.k:]
	clear(f.f)
	for i, b := range beta {
		addScaled(f.f[:i+1], b, seen.d[i*d:])
	}
	for l, root := range s.law.roots {
		f.at[l].root, f.at[l].eta = root, s.eta[l]+dot(beta, seen.sums[l*d:l*d+q])/s.over(l)
	}
	f.direct()
	for l, root := range s.law.roots {
		s.m[l], s.v[l] = root*(2*f.at[l].M[0]-1), 4*f.at[l].K
	}
}

// ofH are the mean of h along e, and q.
func (t *index) ofH() (along, q float64) {
	for _, l := range t.at {
		w := l.root * l.root / t.n
		along, q = along+w*l.M[1], q+w*l.K
	}
	return along, q
}

// wideH is √(q/n).
func (s *levelSpoke) wideH() float64 {
	_, q := s.family.ofH()
	return math.Sqrt(q / s.n)
}

// takeH takes h of c, and writes D_y; logY is the index's log density. It reports false where no rows have such sums.
func (s *levelSpoke) takeH(row, c []float64) (logJ float64, ok bool) {
	q, f := s.q, s.family
	mean, wide := f.ofH()
	wide = math.Sqrt(wide / s.n)
	for j, e := range f.e {
		f.h[j] = mean*e + wide*c[j]
		row[j] = 2 * f.h[j]
	}
	row[q] = 1
	for l, root := range s.law.roots {
		f.at[l].sum = 0.5 * (s.sums[l*(q+1)+q] + root)
	}
	s.logY, ok = f.value()
	return float64(q) * math.Log(wide), ok
}

// placeH writes c of D_y.
func (s *levelSpoke) placeH(c, row []float64) {
	mean, _ := s.family.ofH()
	wide := s.wideH()
	for j, e := range s.family.e {
		c[j] = (0.5*row[j] - mean*e) / wide
	}
}

// pullH writes the gradient in c, where index.slope was last, and takes those in m and s², and in D_y of row, to η̄_l, and
// to f, which row has then.
func (s *levelSpoke) pullH(grad, c, row []float64) {
	q, f := s.q, s.family
	mean, within := f.ofH()
	wide, along, byWithin := math.Sqrt(within/s.n), 0.0, 0.5*float64(q)/within
	for j, e := range f.e {
		g := f.byH[j] + 2*row[j]
		grad[j] = wide * g
		along += e * g
		f.byE[j] += mean * g
		byWithin += 0.5 * grad[j] * c[j] / within
		row[j] = 0
	}
	for l := range f.at {
		at := &f.at[l]
		w := at.root * at.root / s.n
		at.byK += 4*s.byV[l] + w*byWithin
		at.byM[0] += 2 * at.root * s.byM[l]
		at.byM[1] += w * along
	}
	f.pull(row)
	for l := range f.at {
		s.byM[l] = f.at[l].byEta / s.over(l)
	}
}

// takeMeans decides on a change of the log density of all else where counts move and means stay: y's sums have the law of
// index at the new counts.
func (s *levelShifts) takeMeans(by rowShift, change float64, rng *rand.Rand) bool {
	a, b := &s.family.at[by.from], &s.family.at[by.to]
	before := [4]float64{a.root, a.sum, b.root, b.sum}
	for _, l := range [2]int{by.from, by.to} {
		at, after := &s.family.at[l], math.Sqrt(s.counts[l]+by.more(l))
		at.sum, at.root = at.sum*after/at.root, after
	}
	logY, ok := s.family.value()
	if ok && rng.Float64() < math.Exp(change+logY-s.logY) {
		s.logY = logY
		return true
	}
	a.root, a.sum, b.root, b.sum = before[0], before[1], before[2], before[3]
	return false
}
