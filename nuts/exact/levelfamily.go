package exact

import (
	"math"
	"math/rand/v2"
)

// Where y is of a family, what levelSpoke has of it are F_y and h of index, given θ and the covariates' sums by levels:
// η̄_l = η_l + βᵀF_xl/√n_l, f = D_xᵀβ. Of y in [−1, 1] F_yl is twice that of index less √n_l, and D_y is 2h, of which D_yy,
// that no noisy sum tells, is left out: 1 stands for it. About F_yl is N(m_l, s²), and h is about normal, too,
//
//	m_l = √n_l (2M_0 − 1),   s² = 4K_l;   h ~ N(Σ_l n_lM_1/n e, q/n I),   q = Σ_l n_lK_l/n,
//
// which coordinates u, and those of rowLaw, make of them. A level of no rows has s² and no mean to speak of: F_xl is of mean 0, and η̄_l is
// taken at it.

// aim takes the index of θ, and m and s².
func (s *levelSpoke) aim() {
	d, q, seen, f, beta := s.d, s.q, s.levelSums.prior, s.family, s.slopes()[s.k:]
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

// takeH takes h of c, and writes D_y = 2h; the density is that of the index. It reports false where no rows have such sums.
func (s *levelSpoke) takeH(c []float64) (logp, logJ float64, ok bool) {
	q, f, w := s.q, s.family, s.within
	if logJ, ok = s.ofD.prepare(w.d, w.m); !ok {
		return 0, 0, false
	}
	row := w.d[q*w.m : q*w.m+w.m]
	s.ofD.set(row[:q], c)
	for j, v := range row[:q] {
		f.h[j] = 0.5 * v
	}
	row[q] = 1
	for l, root := range s.law.roots {
		f.at[l].sum = 0.5 * (s.sums[l*s.d+q] + root)
	}
	logp, ok = f.value()
	return logp, logJ, ok
}

// pullH writes the gradient in c, and takes that in D_y to D_x, and to moments.
func (s *levelSpoke) pullH(grad, c []float64) {
	q, f, w := s.q, s.family, s.within
	f.slope()
	row := w.gD[q*w.m : q*w.m+q]
	for j, g := range f.byH {
		row[j] += 0.5 * g
	}
	s.ofD.pull(grad, w.gD, row, w.d, w.m, c)
	mean, within := f.ofH()
	along, byWithin := 2*dot(f.e, s.ofD.byMiddle), -s.ofD.byOwn*s.ofD.own/within
	addScaled(f.byE, 2*mean, s.ofD.byMiddle)
	for l := range f.at {
		at := &f.at[l]
		share := at.root * at.root / s.n
		at.byK += share * byWithin
		at.byM[1] += share * along
	}
}

// pullIndex takes gradients in m and s² to η̄_l, and those of the index to β and D_x.
func (s *levelSpoke) pullIndex() {
	d, f, seen, b, byBeta := s.d, s.family, s.levelSums.prior, s.units.b, s.gTheta[1+s.k:]
	for l := range f.at {
		at := &f.at[l]
		at.byK += 4 * s.byV[l]
		at.byM[0] += 2 * at.root * s.byM[l]
	}
	clear(s.gF)
	f.pull(s.gF)
	for l := range f.at {
		s.byM[l] = f.at[l].byEta / s.over(l)
	}
	for i, v := range s.slopes()[s.k:] {
		byBeta[i] += dot(seen.d[i*d:i*d+i+1], s.gF)
		addScaled(s.within.gD[i*d:i*d+i+1], b[i]*v, s.gF)
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
