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
//	D_i = √(V_i/(1 + |w|²)) (w, 1),   w = Σ_{j<i} c_ij √(a_j/ψ_j) D_j,   V_i = Σ_{j≤i} D_ij²,
//
// but for a factor (1 + |w|²)^{−½}: what is held is V_i, of which z tells something, and D_ii of a half-t law is
// about flat. Partial correlations are nothing like normal: each correlation is uniform, and the prior of all
// together leans on the edge of the positive definite matrices. a_j follows D_jj, and rows behind it follow a_j:
//
//	λ_j = ζ_j + log(1/A² + ½ψ_j/D_jj²),   λ = log a;
//
// a scale of several columns follows the first. With p rows, log|∂D/∂(u, c)| is
//
//	Σ_i log V_i′(u_i) − log V_i + p log D_ii + ½(p−1−i) log(a_i/ψ_i).
type slopesOfX struct {
	scales          *freeScales
	of              []int  // of each column the place of its λ; −1 of none
	first           []bool // whether a_j follows it
	psi             []float64
	lambda, gLambda []float64 // the density's

	root  []float64 // √(a_j/ψ_j)
	w     []float64 // w of row i, m×m
	ratio []float64 // 1 + |w|²
	gW    []float64
}

func newSlopesOfX(scales *freeScales, lambda, gLambda []float64) *slopesOfX {
	p := scales.p
	vec := func(n int) []float64 { return make([]float64, n) }
	s := &slopesOfX{scales: scales, of: make([]int, p), first: make([]bool, p), psi: scales.psi, lambda: lambda, gLambda: gLambda,
		root: vec(p), w: vec(p * p), ratio: vec(p), gW: vec(p)}
	for j := range s.of {
		s.of[j] = -1
	}
	for at, columns := range scales.columns {
		for k, j := range columns {
			s.of[j], s.first[j] = at, k == 0
		}
	}
	return s
}

// begin takes λ of the scales that follow no column.
func (s *slopesOfX) begin(zeta []float64) {
	for i, columns := range s.scales.columns {
		if len(columns) == 0 {
			s.lambda[i] = zeta[i] + math.Log(s.scales.rate[i])
		}
	}
}

// follow takes a_i, given D_ii² and row i of D.
func (s *slopesOfX) follow(i int, square float64, zeta []float64) {
	s.root[i] = 1 / math.Sqrt(s.psi[i])
	if at := s.of[i]; at >= 0 {
		if s.first[i] {
			s.lambda[at] = zeta[at] + math.Log(s.scales.rate[at]+0.5*s.psi[i]/square)
		}
		s.root[i] *= math.Exp(0.5 * s.lambda[at])
	}
}

// regressed tells whether row i has slopes in place of correlations.
func (c *columns) regressed(i int) bool { return c.slopes != nil && i < c.p }

// takeSlopes is takeRow by slopes, and takes a_i.
func (c *columns) takeSlopes(d []float64, i int, x, zeta []float64) (logJ float64, ok bool) {
	s, m, p := c.slopes, c.m, c.p
	spread, slope, logSlope, bend := spreadOf(x[i])
	if !(logSlope > leastLog) {
		return 0, false
	}
	w, row := s.w[i*p:i*p+i], d[i*m:i*m+i+1]
	clear(w)
	for j, v := range x[:i] {
		addScaled(w[:j+1], v*s.root[j], d[j*m:])
	}
	total := c.r[i] * spread
	s.ratio[i] = 1 + dot(w, w)
	c.slope[i], c.bend[i], c.left[i*m], c.square[i] = slope, bend, total, total/s.ratio[i]
	row[i], c.logSquare[i] = math.Sqrt(c.square[i]), math.Log(c.square[i])
	if !(c.logSquare[i] > leastLog) {
		return 0, false
	}
	for k, v := range w {
		row[k] = row[i] * v
	}
	s.follow(i, c.square[i], zeta)
	return logSlope + 0.5*float64(p)*c.logSquare[i] - math.Log(total) + float64(p-1-i)*math.Log(s.root[i]), true
}

// pullSlopes is pull of takeSlopes, where all rows behind are pulled.
func (c *columns) pullSlopes(grad, gD, d []float64, i int, x []float64) {
	s, m := c.slopes, c.m
	s.pullFollow(gD, d, m, i)
	w, f, g := s.w[i*c.p:i*c.p+i], d[i*m+i], gD[i*m:i*m+i+1]
	byF := dot(g[:i], w) + g[i] + float64(c.p)/f // D_i is f(w, 1)
	gW := s.gW[:i]
	for k, v := range w {
		gW[k] = f * (g[k] - byF*v/s.ratio[i])
	}
	for j, v := range x[:i] {
		grad[j] = s.root[j] * dot(gW[:j+1], d[j*m:])
		addScaled(gD[j*m:j*m+j+1], v*s.root[j], gW)
		if at := s.of[j]; at >= 0 {
			s.gLambda[at] += 0.5 * grad[j] * v
		}
	}
	grad[i] = (0.5*byF*f-1)/c.left[i*m]*c.r[i]*c.slope[i] + c.bend[i]
}

// pullFollow adds to the gradient in D_ii that by a_i.
func (s *slopesOfX) pullFollow(gD, d []float64, m, i int) {
	at := s.of[i]
	if at < 0 {
		return
	}
	s.gLambda[at] += 0.5 * float64(len(s.root)-1-i)
	if s.first[i] {
		v, psi := d[i*m+i], s.psi[i]
		gD[i*m+i] -= s.gLambda[at] * psi / (v * (s.scales.rate[at]*v*v + 0.5*psi))
	}
}

// placeSlopes writes the coordinates of row i, and takes a_i.
func (c *columns) placeSlopes(x, d []float64, i int, zeta []float64) {
	s, m, row := c.slopes, c.m, d[i*c.m:i*c.m+i+1]
	w := s.gW[:i]
	for k := range w {
		w[k] = row[k] / row[i]
	}
	for j := i - 1; j >= 0; j-- {
		v := w[j] / d[j*m+j]
		x[j] = v / s.root[j]
		addScaled(w[:j+1], -v, d[j*m:])
	}
	x[i] = spreadInverse(dot(row, row) / c.r[i])
	s.follow(i, c.square[i], zeta)
}
