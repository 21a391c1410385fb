package exact

// add returns the spoke's part of the log density at x, given the hub; it writes the
// gradient in x, and adds that in the hub's parameters to the hub. It reports false
// where n is beyond its prior, or rounding forbids.
func (s *spoke) add(grad, x []float64) (logp float64, ok bool) {
	if !s.set(x) {
		return 0, false
	}
	if s.family != nil && s.family.of.most > 1 { // see generalized: of counts Σy² is not read
		s.Z[len(s.Z)-1] = s.n
	}
	logp = s.noise.LogDensity(s.noisy.slope, s.noisy.s) + s.rows.value(s.n)
	v, ok := s.through(grad, x)
	return logp + v, ok
}

// through is add but for the density of the noise, whose slope stands in noisy, and of n.
func (s *spoke) through(grad, x []float64) (logp float64, ok bool) {
	if !s.ok {
		return 0, false
	}
	s.noisy.clear()
	s.noise.PullMade(s.noisy.slope)
	byN := s.noisy.pullNoise()
	if s.family != nil {
		s.noisy.knowSquare()
	}
	s.clear()
	clear(grad)
	clear(s.gTheta)
	s.noisy.pull()
	if s.line != nil {
		v, d, ok := s.pullLine(grad, x)
		if !ok {
			return 0, false
		}
		logp, byN = logp+v, byN+d
	} else {
		byN += s.pullFamily(grad[s.ofY():], x[s.ofY():])
	}
	s.noisy.give(s.statistics)
	if s.x != nil {
		s.x.scales.slope()
		byN += s.x.pull(grad[s.lead():], x[s.lead():], s.statistics)
	}
	byX, d := s.pullRows(grad[s.bartlett():], x[s.bartlett():])
	s.rows.pull(grad, s.n, byN+d)
	return s.give(grad, x, logp+byX+s.logp)
}

// pullLine writes the gradient in y's coordinates, and in those of θ_j, of which it returns the log density, and the
// derivative in n.
func (s *spoke) pullLine(grad, x []float64) (logp, byN float64, ok bool) {
	at := s.ofY()
	bySigma, byN := s.line.pull(grad[at:], s.gTheta[:len(s.theta)], x[at:], s.noisy)
	if s.told != nil {
		if logp, ok = s.pooled.AddTheta(grad, x, s.gTheta); !ok {
			return 0, 0, false
		}
		bySigma += s.told.pull(s.noisy)
	}
	s.giveSigma(bySigma)
	return logp, byN, true
}

// pullFamily writes the gradient in the coordinates of sumsOfY, and takes those in θ₀ + βᵀx̄ and in βᵀD_x to θ, x̄ and D_x;
// it returns that in n.
func (s *spoke) pullFamily(grad, x []float64) (byN float64) {
	clear(s.gF)
	g, byN := s.family.pull(grad, x, s.noisy.statistics, s.gF)
	first := len(s.theta) - s.p
	if first > 0 {
		s.gTheta[0] = g
	}
	for i, b := range s.slopes() {
		d, to := s.d[i*s.m:i*s.m+i+1], s.gD[i*s.m:i*s.m+i+1]
		s.gTheta[first+i] = g*s.mean[i] + dot(d, s.gF)
		s.gMean[i] += b * g
		addScaled(to, b, s.gF)
	}
	return byN
}

// pullRows takes the gradients to Bartlett's rows, where those of x are
// among them, and to μ_x and L_x. It returns the rows' log density, up to what depends on
// n alone, and the derivative in n of that and of s through (f, A).
func (s *spoke) pullRows(grad, x []float64) (logp, byN float64) {
	p, at := s.p, 0
	for i := s.from; i < p; i++ {
		gf := s.pullRow(i)
		grad[at] = gf/s.root - x[at]
		logp -= 0.5 * x[at] * x[at]
		through := gf * s.f[i]
		for j := range i {
			e := x[at+1+j]
			grad[at+1+j] = s.gA[j]/s.root - e
			logp -= 0.5 * e * e
			through += s.gA[j] * s.a[i*s.m+j]
		}
		at += 1 + i
		t, a := x[at], s.a[i*s.m+i]
		dof := s.n - float64(1+i)
		grad[at] = s.gA[i]*a + dof - s.n*a*a
		logp += dof*t - 0.5*s.n*a*a
		byN += t - 0.5*a*a - 0.5*through/s.n
		at++
	}
	if s.from < p {
		s.pullFactor()
	}
	return logp, byN
}

// pullRow writes the gradient in row i of A to gA and returns that in f_i.
func (s *spoke) pullRow(i int) (gf float64) {
	m, p, l := s.m, s.p, s.hub.Factor()
	clear(s.gA)
	for h := i; h < p; h++ {
		v := l[h*p+i]
		gf += v * s.gMean[h]
		addScaled(s.gA[:i+1], v, s.gD[h*m:])
	}
	return gf
}

// pullFactor adds to the hub the gradients in μ_x and L_x.
func (s *spoke) pullFactor() {
	m, p := s.m, s.p
	for h := range p {
		s.hub.GMuX[h] += s.gMean[h]
		for i := range h + 1 {
			g := s.gMean[h] * s.f[i]
			for k, a := range s.a[i*m : i*m+i+1] {
				g += s.gD[h*m+k] * a
			}
			s.hub.GFactor[h*p+i] += g
		}
	}
}
