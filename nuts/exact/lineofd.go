package exact

import "math"

// lineOfD are the row D_y of y in D and D_yy of n rows about a line, given D_x: of rowLaw,
//
//	D_y ~ N(βᵀD_x, σ²/n I),   D_yy = σA,   nA² ~ χ²_ν,
//
// and of q = D_yy², of about the law N(νσ²/n, 2νσ⁴/n²), z tells that it is q̂ = V̂ − |D_y|² to ± r_y, V̂ the scatter of y by z:
// together N(q̄, s²),
//
//	1/s² = n²/(2νσ⁴) + 1/r_y²,   q̄ = s²(n/(2σ²) + q̂₊/r_y²),   q̂₊ = r_y softplus(q̂/r_y);   log q = log q̄ + (s/q̄)u.
//
// The density is that of (D_y, D_yy) but for powers of n. √(2n) log A is about standard normal, and has a slope of its own.
type lineOfD struct {
	*rowLaw
	beta      []float64 // β
	sigma     float64   // σ
	n, dof    float64   // n and ν
	told      float64   // V̂
	perSquare float64   // 1/r_y²
	byA       []float64 // slope in √(2n) log A
	square    float64   // q̄
	precision float64   // 1/s²
	rate      float64   // s/q̄
	share     float64   // slope of softplus
	logA      float64

	gBeta                []float64 // gradients, where pull was last
	bySigma, byN, byTold float64
}

// newLineOfD allocates for p covariates of n rows, and variances of the noise of sums of their products with y, and of y².
func newLineOfD(p int, n, product, square float64) *lineOfD {
	f := &lineOfD{rowLaw: newRowLaw(p), beta: vec(p), byA: vec(1), gBeta: vec(p), perSquare: n * n / square}
	f.per = n * n / product
	return f
}

// begin takes the law of D_y, the fields being known.
func (f *lineOfD) begin(d []float64, m int) (logJ float64, ok bool) {
	f.own = f.n / (f.sigma * f.sigma)
	clear(f.middle)
	for i, b := range f.beta {
		addScaled(f.middle[:i+1], b, d[i*m:])
	}
	return f.prepare(d, m)
}

// take takes D_y and D_yy of coordinates y, the fields being known, and writes them to row p of d. It returns their log
// density and log J.
func (f *lineOfD) take(d []float64, m int, y []float64) (logp, logJ float64, ok bool) {
	p, row := f.p, d[f.p*m:f.p*m+f.p+1]
	if logJ, ok = f.begin(d, m); !ok {
		return 0, 0, false
	}
	f.set(row[:p], y[:p])
	for k, e := range f.residual {
		f.byR[k] = -e
		logp -= 0.5 * e * e
	}
	log := f.takeSquare(row[:p]) + f.rate*y[p] // of D_yy²
	row[p] = math.Exp(0.5 * log)
	f.logA = 0.5*log - math.Log(f.sigma)
	a := math.Exp(2 * f.logA)
	f.byA[0] = (f.dof - f.n*a) / math.Sqrt(2*f.n)
	logp += f.dof*f.logA - 0.5*f.n*a - float64(p)*math.Log(f.sigma)
	return logp - 0.5*log, logJ + 0.5*log + math.Log(f.rate), log > leastLog && log < -leastLog
}

// takeSquare takes q̄ and s, and returns log q̄.
func (f *lineOfD) takeSquare(row []float64) float64 {
	square := f.sigma * f.sigma
	r := 1 / math.Sqrt(f.perSquare)
	above, share := softplus((f.told - dot(row, row)) / r)
	f.share = share
	f.precision = f.n*f.n/(2*f.dof*square*square) + f.perSquare
	f.square = (0.5*f.n/square + above/r) / f.precision
	f.rate = 1 / (math.Sqrt(f.precision) * f.square)
	return math.Log(f.square)
}

// place writes coordinates of D_y and D_yy of d. It reports false where rounding forbids.
func (f *lineOfD) place(y, d []float64, m int) bool {
	row := d[f.p*m : f.p*m+f.p+1]
	if _, ok := f.begin(d, m); !ok {
		return false
	}
	f.law.Coordinates(y[:f.p], row[:f.p])
	log := f.takeSquare(row[:f.p])
	y[f.p] = (2*math.Log(row[f.p]) - log) / f.rate
	return true
}

// pull writes the gradient in y where take was last, of a density of D to which take's is added, and adds that in D_x, and
// those in the fields.
func (f *lineOfD) pull(grad, gD, d []float64, m int, y []float64) {
	p := f.p
	row, gRow := d[p*m:p*m+p+1], gD[p*m:p*m+p+1]
	rest, square := math.Sqrt(2*f.n)*f.byA[0], f.sigma*f.sigma
	byLog := 0.5 * (gRow[p]*row[p] + rest)
	grad[p] = byLog * f.rate
	byRate := byLog*y[p] + 1/f.rate
	bySquare := (byLog - byRate*f.rate) / f.square
	byAbove := bySquare / f.precision // in n/(2σ²) + q̂₊/r_y²
	byPrecision := -(bySquare*f.square + 0.5*byRate*f.rate) / f.precision
	ownPrecision := f.precision - f.perSquare
	f.byTold = byAbove * f.perSquare * f.share
	f.bySigma = -(rest + float64(p) + f.n/square*byAbove + 4*ownPrecision*byPrecision) / f.sigma
	f.byN = f.logA - 0.5*math.Exp(2*f.logA) + 0.5/square*byAbove + ownPrecision*(2/f.n-1/f.dof)*byPrecision
	addScaled(gRow[:p], -2*f.byTold, row)
	f.rowLaw.pull(grad[:p], gD, gRow[:p], d, m, y[:p])
	f.bySigma -= 2 * f.byOwn * f.own / f.sigma
	f.byN += f.byOwn / square
	for i, b := range f.beta {
		f.gBeta[i] = dot(d[i*m:i*m+i+1], f.byMiddle)
		addScaled(gD[i*m:i*m+i+1], b, f.byMiddle)
	}
}
