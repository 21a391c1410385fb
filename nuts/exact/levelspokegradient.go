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
	s.law.slope(seen.gSums, grad[s.zetaAt():s.freeAt()], seen.gD, seen.e, s.gLambda, seen.statistics, x[s.zetaAt():s.freeAt()], s.lambda)
	seen.pull(s.gSums, s.gD, s.e)
	s.pullTold()
	w.pull(s.gD, s.e)
	s.pullY(grad[s.end():], x[s.end():])
	s.scales.pull(grad[s.freeAt():s.end()], s.gLambda, s.gD, w.m)
	for i := range s.q {
		s.gD[i*w.m+i] += s.power(i) / w.d[i*w.m+i]
	}
	s.pullSums(grad, x)
	s.pullRows(grad, x)
	return s.give(grad, x, s.logp)
}

// pullY writes the gradient in y's coordinates, and takes those in F_y and D_y to θ, σ, F_x and D_x.
func (s *levelSpoke) pullY(grad, y []float64) {
	d, q, seen, beta, b := s.q+1, s.q, s.levelSums.prior, s.slopes()[s.k:], s.units.b
	if s.family != nil {
		s.family.slope()
	}
	for l, root := range s.law.roots {
		if s.none(l) {
			grad[l], s.byM[l], s.byV[l] = -y[l], 0, 0
			continue
		}
		precision, centre := s.wideY(l)
		v, rest := s.v[l], s.byR[l]/math.Sqrt(s.v[l])
		g := s.gSums[l*d+q] + rest
		if s.family != nil {
			g += 0.5 * s.family.at[l].bySum
		}
		grad[l] = g / math.Sqrt(precision)
		byPrecision := -g*(centre/precision+0.5*y[l]/math.Sqrt(precision))/precision - 0.5/precision
		s.byM[l] = g/(v*precision) - rest
		s.byV[l] = -0.5*rest*(s.sums[l*d+q]-s.m[l])/v - (byPrecision+g*s.m[l]/precision)/(v*v)
		addScaled(s.gSums[l*d:l*d+q], -g*root*root*s.units.a[q*d+q]/(s.sumVariance*precision), s.units.a[q*d:])
	}
	row := s.gD[q*d : q*d+d]
	for j := range row {
		row[j] /= b[q]
	}
	clear(s.gTheta)
	if s.family != nil {
		s.pullH(grad[s.levels:], y[s.levels:], row)
	} else {
		s.pullRow(grad[s.levels:], y[s.levels:], row)
	}
	byBeta := s.gTheta[1+s.k:]
	for l, g := range s.byM {
		for j, beta := range beta {
			byBeta[j] += g * seen.sums[l*d+j]
			s.gSums[l*d+j] += b[j] * beta * g
		}
		s.byM[l] = s.over(l) * g
	}
	s.giveEta(s.byM)
	for i, v := range beta {
		byBeta[i] += dot(seen.d[i*d:i*d+i+1], row)
		addScaled(s.gD[i*d:i*d+i+1], b[i]*v, row)
	}
}

// pullRow writes the gradient in (ε, t), and takes those in m and s² to M and σ.
func (s *levelSpoke) pullRow(grad, y, row []float64) {
	q, unit := s.q, s.units.b[s.q]
	bySigma := -float64(s.levels-s.empty) / s.sigma
	for l := range s.byM {
		s.byM[l] /= unit
		bySigma += s.byV[l] * 2 * s.sigma / (unit * unit)
	}
	for j, a := range s.a {
		bySigma += row[j] * a
		grad[j] = s.sigma * row[j]
	}
	for j := range q {
		grad[j] = grad[j]/math.Sqrt(s.n) - y[j]
	}
	a := s.a[q]
	grad[q] = grad[q]*a + s.scatterDof() - s.n*a*a
	s.giveSigma(bySigma - s.w*grad[q]/s.sigma)
}
