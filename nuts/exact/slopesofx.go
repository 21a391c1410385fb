package exact

import "math"

// slopesOfX makes rows of x in D where noise hides what columns have beside one another, and the prior
// tells it. Given free scales a, T ~ IW(ν₀, Ψ(a)), and where Ψ is diagonal the slopes of column i on the
// columns before it are independent, given what it has beside these,
//
//	γ_ij ~ N(0, D_ii²a_j/ψ_j),   D_i = (γ_iD_x, D_ii),
//
// so that c_ij are standard normal in
//
//	D_i = √(V_ik/(1 + |w|²)) (w, 1),   w = Σ_j c_ij √(a_j/ψ_j) D_j,   V_ik = Σ_j D_ij²,   j = k … i,
//
// but for a factor (1 + |w|²)^{−½}: what is held is V_i, of which z tells something, and D_ii of a half-t law is
// about flat. Partial correlations are nothing like normal: each correlation is uniform, and the prior of all
// together leans on the edge of the positive definite matrices. With the first k columns, whose spread z tells,
// correlations are kept: of these z tells Σv_iv_j, and a slope of a hidden V_i would bend with that. a_j follows
// D_jj, and rows behind it follow a_j:
//
//	λ_j = ζ_j + log(1/A² + ½ψ_j/D_jj²),   λ = log a;
//
// a scale of several columns follows the first. Of rows i = k … p−1, log|∂D/∂(u, c)| is
//
//	log V_i′(u_i) − log V_ik + (i+1−k) log D_ii + Σ_{k≤j<i} log(D_jj √(a_j/ψ_j))
//
// beside what the correlations have.
type slopesOfX struct {
	scales *freeScales
	told   int // k

	root  []float64 // √(a_j/ψ_j)
	w     []float64 // w of row i, m×m
	ratio []float64 // 1 + |w|²
	gW    []float64
}

func newSlopesOfX(told int, scales *freeScales) *slopesOfX {
	p := scales.p
	return &slopesOfX{scales: scales, told: told, root: vec(p), w: vec(p * p), ratio: vec(p), gW: vec(p)}
}

// begin takes λ of the scales that follow no column.
func (s *slopesOfX) begin(zeta []float64) {
	for i, columns := range s.scales.columns {
		if len(columns) == 0 {
			s.scales.lambda[i] = zeta[i] + math.Log(s.scales.rate[i])
		}
	}
}

// follow takes a_i, given D_ii², and returns the part of log J that rows behind have of it.
func (s *slopesOfX) follow(i int, square float64, zeta []float64) (logJ float64) {
	s.root[i] = 1 / math.Sqrt(s.scales.psi[i])
	if at := s.scales.of[i]; at >= 0 {
		if s.first(at, i) {
			s.scales.lambda[at] = zeta[at] + math.Log(s.scales.rate[at]+0.5*s.scales.psi[i]/square)
		}
		s.root[i] *= math.Exp(0.5 * s.scales.lambda[at])
	}
	return s.behind(i) * math.Log(s.root[i]*math.Sqrt(square))
}

// first tells whether a scale follows column i.
func (s *slopesOfX) first(at, i int) bool { return s.scales.columns[at][0] == i }

// behind is how many rows have a slope on column i.
func (s *slopesOfX) behind(i int) float64 {
	if i < s.told {
		return 0
	}
	return float64(len(s.root) - 1 - i)
}

// regressed tells whether row i has slopes in place of correlations.
func (c *columns) regressed(i int) bool { return c.slopes != nil && i >= c.slopes.told }

// takeSlopes takes row i from column k on, of the square left, by slopes x.
func (c *columns) takeSlopes(d []float64, i int, left float64, x []float64) (logJ float64, ok bool) {
	s, m, p, k := c.slopes, c.m, c.p, c.slopes.told
	w, row := s.w[i*p+k:i*p+i], d[i*m+k:i*m+i+1]
	clear(w)
	for j, v := range x {
		addScaled(w[:j+1], v*s.root[k+j], d[(k+j)*m+k:])
	}
	s.ratio[i] = 1 + dot(w, w)
	c.left[i*m+k], c.square[i] = left, left/s.ratio[i]
	root := math.Sqrt(c.square[i])
	for j, v := range w {
		row[j] = root * v
	}
	row[i-k], c.logSquare[i] = root, math.Log(c.square[i])
	return 0.5*float64(i+1-k)*c.logSquare[i] - math.Log(left), c.logSquare[i] > leastLog
}

// pullSlopes is pull of takeSlopes, and returns the gradient in the square left.
func (c *columns) pullSlopes(grad []float64, t *statistics, i int, x []float64) (byLeft float64) {
	s, m, k, d, gD := c.slopes, c.m, c.slopes.told, t.d, t.gD
	w, f, g := s.w[i*c.p+k:i*c.p+i], d[i*m+i], gD[i*m+k:i*m+i+1]
	byF := dot(g[:i-k], w) + g[i-k] + float64(i+1-k)/f // D_i is f(w, 1)
	gW := s.gW[:i-k]
	for j, v := range w {
		gW[j] = f * (g[j] - byF*v/s.ratio[i])
	}
	for j, v := range x {
		at := (k + j) * m
		grad[j] = s.root[k+j] * dot(gW[:j+1], d[at+k:])
		addScaled(gD[at+k:at+k+j+1], v*s.root[k+j], gW)
		if at := s.scales.of[k+j]; at >= 0 {
			s.scales.gLambda[at] += 0.5 * grad[j] * v
		}
	}
	return (0.5*byF*f - 1) / c.left[i*m+k]
}

// pullFollow adds to the gradient in D_ii that by a_i and by what follow returns, where all rows behind are pulled.
func (s *slopesOfX) pullFollow(t *statistics, i int) {
	ii, behind := i*(t.m+1), s.behind(i)
	v := t.d[ii]
	t.gD[ii] += behind / v
	at := s.scales.of[i]
	if at < 0 {
		return
	}
	s.scales.gLambda[at] += 0.5 * behind
	if s.first(at, i) {
		psi := s.scales.psi[i]
		t.gD[ii] -= s.scales.gLambda[at] * psi / (v * (s.scales.rate[at]*v*v + 0.5*psi))
	}
}

// placeSlopes writes the slopes of row i.
func (c *columns) placeSlopes(x, d []float64, i int) {
	s, m, k := c.slopes, c.m, c.slopes.told
	row, w := d[i*m:i*m+i+1], s.gW[:i-k]
	for j := range w {
		w[j] = row[k+j] / row[i]
	}
	for j := i - k - 1; j >= 0; j-- {
		at := (k + j) * m
		v := w[j] / d[at+k+j]
		x[j] = v / s.root[k+j]
		addScaled(w[:j+1], -v, d[at+k:])
	}
}
