package exact

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// add returns the spoke's part of the log density at x, given the hub; it writes the
// gradient in x, and adds that in the hub's parameters to the hub. It reports false
// where n is beyond its prior, or rounding forbids.
func (s *spoke) add(grad, x []float64) (logp float64, ok bool) {
	s.set(x)
	if s.Count.Latent() && s.n > s.Count.Most+0.5 || s.family != nil && !s.family.ok {
		return 0, false
	}
	logp = s.addNoise()
	v, ok := s.through(grad, x)
	return logp + v, ok
}

// through is add but for the noise, whose slope stands in E.
func (s *spoke) through(grad, x []float64) (logp float64, ok bool) {
	if s.family != nil && !s.family.ok {
		return 0, false
	}
	s.Units.PullGram(s.e)
	byN := s.known()
	s.pull()
	clear(grad)
	own, at := grad[s.lead():], x[s.lead():]
	if s.covariates != nil {
		xi := at[s.free() : s.free()+s.p]
		if logp, ok = s.covariates.value(s.statistics, xi, s.lambda); !ok {
			return 0, false
		}
		for i, v := range s.lambda {
			energy, slope := s.scales.law(i, v)
			logp -= energy
			s.gLambda[i] = slope
		}
		byN += s.covariates.slope(s.gMean, s.gD, s.gW, own[s.free():s.free()+s.p], s.gLambda, s.statistics, xi, s.lambda)
	}
	s.statistics.pull(s.gD, s.gW)
	clear(s.gTheta)
	if s.family != nil {
		byN += s.family.pull(own[s.ofY():], at[s.ofY():], s.statistics, s.theta, s.gMean, s.gD, s.gTheta)
		logp += s.family.logp
	} else {
		s.pullResponse()
	}
	if s.covariates != nil {
		v, d := s.pullCovariates(own, at)
		logp, byN = logp+v, byN+d
	}
	v, d := s.pullRows(own[s.bartlett():], at[s.bartlett():])
	logp, byN = logp+v, byN+d
	if s.Count.Latent() {
		last := len(x) - 1
		v, d := s.count()
		logp += v + x[last]
		grad[last] = 1 + (s.n-s.leastRows())*(byN+d)
	}
	if s.pooled != nil {
		v, ok := s.pooled.Add(grad, x, s.gTheta)
		return logp + v, ok
	}
	addScaled(s.hub.GTheta[:len(s.gTheta)], 1, s.gTheta)
	return logp, true
}

// known is the derivative in n of Σy² of a family's response, which is n whatever its row is.
func (s *spoke) known() (byN float64) {
	if s.family == nil {
		return 0
	}
	last := len(s.e) - 1
	byN, s.e[last] = s.e[last], 0
	return byN
}

// addNoise returns log p(z | s), and writes its gradient to E.
func (s *spoke) addNoise() float64 {
	s.vector(s.s)
	if s.family != nil && s.family.of.most > 1 { // see generalized: of counts Σy² is not read
		s.Z[len(s.Z)-1] = s.n
	}
	logp := s.noise.LogDensity(s.slope, s.s)
	k, at := s.m+1, s.m
	for j := range s.m {
		s.e[(j+1)*k] = 0.5 * s.slope[j]
		for l := j; l < s.m; l++ {
			g := s.slope[at]
			if l > j {
				g *= 0.5
			}
			s.e[(l+1)*k+j+1] = g
			at++
		}
	}
	s.e[0] = 0
	return logp
}

// pull takes E to v̄ and W: ∂v̄ = 2n(E_v0 + E_vv v̄), ∂W = nE_vv.
func (s *spoke) pull() {
	m, k, n2 := s.m, s.m+1, 2*s.n
	clear(s.gD)
	for i, u := range s.mean {
		row := s.e[(i+1)*k : (i+1)*k+i+2]
		s.gMean[i] = n2 * row[0]
		for j, v := range row[1:] {
			s.gW[i*m+j] = s.n * v
			s.gMean[i] += n2 * v * s.mean[j]
			if j < i {
				s.gMean[j] += n2 * v * u
			}
		}
	}
}

// pullResponse takes the gradients of y's row to θ, σ, x̄ and D_x.
func (s *spoke) pullResponse() {
	m, p := s.m, s.p
	first := len(s.theta) - p
	gy, row := s.gMean[p], s.gD[p*m:p*m+m]
	if first > 0 {
		s.gTheta[0] = gy
	}
	for i, b := range s.theta[first:] {
		g := gy * s.mean[i]
		s.gMean[i] += b * gy
		for k, d := range s.d[i*m : i*m+i+1] {
			g += row[k] * d
			s.gD[i*m+k] += b * row[k]
		}
		s.gTheta[first+i] = g
	}
	g := gy * s.f[p]
	for k, a := range s.a[p*m : p*m+m] {
		g += row[k] * a
	}
	if s.pooled != nil {
		s.gTheta[len(s.theta)] = 0.5 * s.sigma * g // ∂σ/∂ log σ² = ½σ
	} else {
		s.hub.GSigma += g
	}
}

// pullCovariates takes the gradients of x̄, D_x and λ to their coordinates. It returns
// Σ_i (n − 2 − i) log D_ii, with the Jacobians of these and ξ, and its derivative in n.
func (s *spoke) pullCovariates(grad, x []float64) (logp, byN float64) {
	m, p := s.m, s.p
	s.scales.pull(grad[s.free()+p:], s.gLambda, s.gD, m)
	logp = s.means.pull(grad, x, s.gMean, s.d, s.gD, m)
	for i := range p {
		power, dii := s.n-float64(1+i), s.d[i*m+i]
		u := math.Log(dii)
		s.gD[i*m+i] += power / dii
		logp += power * u
		byN += u
	}
	return logp + s.triangle.pull(grad[p:], s.d, s.gD, m), byN
}

// pullRows takes the gradients to Bartlett's rows, and of those of x, where they are
// among them, to μ_x and L_x. It returns the rows' log density, up to what depends on
// n alone, and the derivative in n of that and of s through (f, A).
func (s *spoke) pullRows(grad, x []float64) (logp, byN float64) {
	p, at := s.p, 0
	for i := s.from; i < s.bartletts(); i++ {
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
	m, p := s.m, s.p
	if i == p {
		for k := range m {
			s.gA[k] = s.sigma * s.gD[p*m+k]
		}
		return s.sigma * s.gMean[p]
	}
	l := s.hub.Factor()
	clear(s.gA)
	for h := i; h < p; h++ {
		v := l[h*p+i]
		gf += v * s.gMean[h]
		for k := range i + 1 {
			s.gA[k] += v * s.gD[h*m+k]
		}
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

// count returns what depends on n alone, and the derivative in n of that and of s
// through B at fixed v̄ and D: with ν_i = n − 1 − i for each Bartlett row
//
//	log p(noisy count | n) + Σ_i [½ν_i log n − ½ν_i log 2 − log Γ(½ν_i)],
//
// and where T was integrated out log Γ_p(½ν_n) − log Γ_p(½(n−1)) +
// ½pn log n.
func (s *spoke) count() (logp, byN float64) {
	logp, byN = s.noise.LogCount(s.n)
	n, logn := s.n, math.Log(s.n)
	for i := s.from; i < s.bartletts(); i++ {
		half := 0.5 * (n - float64(1+i))
		g, _ := math.Lgamma(half)
		logp += half*(logn-math.Ln2) - g
		byN += 0.5*(logn-math.Ln2) + half/n - 0.5*mathext.Digamma(half)
	}
	if s.family != nil {
		v, by := s.family.ofRows()
		logp, byN = logp+v, byN+by
	}
	if s.covariates != nil {
		p := float64(s.p)
		logp += 0.5 * p * n * logn
		byN += 0.5 * p * (logn + 1)
		for i := range s.p {
			half, after := 0.5*(n-float64(1+i)), 0.5*(n+s.covariates.dof-float64(i))
			a, _ := math.Lgamma(after)
			b, _ := math.Lgamma(half)
			logp += a - b
			byN += 0.5 * (mathext.Digamma(after) - mathext.Digamma(half))
		}
	}
	k := s.m + 1
	for i := range k {
		for j := range i {
			byN += 2 * s.e[i*k+j] * s.b[i*k+j] / n
		}
		byN += s.e[i*k+i] * s.b[i*k+i] / n
	}
	return logp, byN
}
