package exact

import "math"

func (s *levelSpoke) add(grad, x []float64) (logp float64, ok bool) {
	if !s.set(x) {
		return 0, false
	}
	logp = s.levelSums.noise.LogDensity(s.byTold, s.told)
	v, ok := s.through(grad, x)
	return logp + v, ok
}

func (s *levelSpoke) through(grad, x []float64) (logp float64, ok bool) {
	if !s.ok {
		return 0, false
	}
	w, seen := s.within, s.levelSums.prior
	clear(grad)
	s.begin()
	s.law.slope(seen.gSums, grad[s.zetaAt():s.freeAt()], s.scales.gLambda, seen.statistics, x[s.zetaAt():s.freeAt()], s.scales.lambda)
	seen.pull(s.gSums, w)
	s.pullTold()
	w.pull()
	s.pullY(grad[s.end():], x[s.end():])
	s.scales.pull(grad[s.freeAt():s.end()], w)
	for i := range s.q {
		w.gD[i*w.m+i] += s.power(i) / w.d[i*w.m+i]
	}
	s.pullSums(grad, x)
	s.pullRows(grad, x)
	return s.give(grad, x, s.logp)
}

// pullY writes the gradient in y's coordinates, and takes those in F_y and D_y to θ, σ, F_x and D_x.
func (s *levelSpoke) pullY(grad, y []float64) {
	d, q, seen, beta, b := s.d, s.q, s.levelSums.prior, s.slopes()[s.k:], s.units.b
	clear(s.gTheta)
	byBeta := s.gTheta[1+s.k:]
	if s.family != nil {
		s.pullH(grad[s.levels:s.levels+s.q], y[s.levels:s.levels+s.q])
	} else {
		s.line.pull(grad[s.levels:], s.within.gD, s.within.d, d, y[s.levels:])
		for j, g := range s.line.gBeta {
			byBeta[j] = g * b[j] / b[q]
		}
		for l := range s.law.roots {
			s.gSums[l*d+q] -= 2 * s.line.byTold * s.sums[l*d+q] / s.n
		}
	}
	for l, root := range s.law.roots {
		own, g := s.sums[l*d:l*d+q], s.gSums[l*d:(l+1)*d]
		addScaled(g[:q], -s.sums[l*d+q]/s.n, s.ofD.gProducts)
		g[q] -= dot(s.ofD.gProducts, own) / s.n
		if s.none(l) {
			grad[l], s.byM[l], s.byV[l] = -y[l], 0, 0
			continue
		}
		precision, centre := s.wideY(l)
		v, rest := s.v[l], s.byR[l]/math.Sqrt(s.v[l])
		byY := g[q] + rest
		if s.family != nil {
			byY += 0.5 * s.family.at[l].bySum
		}
		grad[l] = byY / math.Sqrt(precision)
		byPrecision := -byY*(centre/precision+0.5*y[l]/math.Sqrt(precision))/precision - 0.5/precision
		s.byM[l] = byY/(v*precision) - rest
		s.byV[l] = -0.5*rest*(s.sums[l*d+q]-s.m[l])/v - (byPrecision+byY*s.m[l]/precision)/(v*v)
		addScaled(g[:q], -byY*root*root*s.units.a[q*d+q]/(s.sumVariance*precision), s.units.a[q*d:])
	}
	if s.family != nil {
		s.pullIndex()
		s.dispersion.give(grad[s.levels+s.q:])
	} else {
		s.pullLine()
	}
	for l, g := range s.byM {
		for j, beta := range beta {
			byBeta[j] += g * seen.sums[l*d+j]
			s.gSums[l*d+j] += b[j] * beta * g
		}
		s.byM[l] = s.over(l) * g
	}
	s.giveEta(s.byM)
}

// pullLine takes the gradients in m and s² to M and σ.
func (s *levelSpoke) pullLine() {
	unit := s.units.b[s.q]
	bySigma := s.line.bySigma / unit
	for l, g := range s.byV {
		s.byM[l] /= unit
		if !s.none(l) {
			bySigma += 2*g*s.sigma/(unit*unit) - 1/s.sigma
		}
	}
	s.giveSigma(bySigma)
}
