package adaptive

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/release"
)

// First is the frame of the first look: the box, in a ball that holds all of it.
func First(m int) *release.Frame {
	return (&release.Frame{Radius: math.Sqrt(float64(m)), Weight: 1}).Behind(m)
}

// The next frame. A look gives the rows' mean and covariance in its frame, with noise:
//
//	ū = Σũ/n,   S = Σũũᵀ/n − ūūᵀ,   noise of S of spectral norm about √m·SD/n.
//
// and clipping moves it by about halfLost·T̂/(nm). Eigenvalues of S below floor of both are raised
// to it (a variance is never below what they may hide), but not above 1: where the look says
// nothing its frame is kept. The centre is c + Lū, L = W⁻¹, shrunk toward 0 where noise is as
// wide as the box, and clamped into it.
// W of the next frame is the inverse of the Cholesky factor of L S Lᵀ + raised.
//
// Whitening serves rows that fill an ellipsoid. A column of few rows far out would reach far
// beyond it, and all noise would pay for its R², or clipping take what they weigh. Noise of slopes is
// least where a column reaches about √B of its spread, B = m + 2√(2m): what an ellipsoid is filled
// to. So where rows reach r from c, a column's spread is at least inside·r/√B. A look does not tell r, but t² is the
// column's variance, one standard deviation of noise more, and with half of what clipping took of it, where it took
// of all columns alike. a is the distance from c to the nearer end of the box. Exponential rows at that end have
// t = a and reach 10t where they are 20,000, lognormal ones have t = 1.3a, rows of which nine in ten are at the end
// t ≥ 3a; all others less. r is tail·t(t/a)², but not beyond the box, nor beyond the R that the radii ask for, foreseen
// for a look of less noise, farthest at most, or longest·σ where that is more, σ the spread in the next frame: radii do
// not see a few rows.
//
// What clipping took may be one column's alone, of few rows far out, and noise may hide more of them. But were all
// that could be there taken to be there, one column whose bounds are far too wide would stay as wide as they are.
const (
	floor     = .7
	halfLost  = .5
	widest    = 4    // of an eigenvalue in the look's frame
	narrowest = 1e-7 // variance in scaled units: rows of W fit the grid
	halfway   = .5   // sd of a column's mean at which it is worth half
	inside    = .8
	tail      = 10
	longest   = 10     // spreads of the next frame
	farthest  = 8      // in the look's frame
	lastLook  = 1. / 3 // noise of a later look to this one's
)

// Next returns the frame of the look after this one, of m columns; n is the number of rows where that is public,
// else the look has it. Its radius is for Plan.Radius to set.
func Next(look *release.Look, n float64, m int) *release.Frame {
	if look.NNoise > 0 || n <= 0 {
		n = max(float64(look.N), look.NNoise, 1)
	}
	l := look.Frame.Inverse()
	c := centre(look, n, l)
	cov := covariance(look, n, l, c)
	for j, r := range reaches(look, n, c, cov) {
		cov[j*m+j] = max(cov[j*m+j], inside*inside*r*r/filled(m)) + narrowest
	}
	next := &release.Frame{Centre: c, Matrix: slices.Clone(look.Frame.Matrix)}
	if !dense.Cholesky(cov, m) { // not finite: the frame is kept
		return next
	}
	dense.InvertLower(l, cov, m)
	for j := range m {
		next.Matrix[j] = slices.Clone(l[j*m : j*m+j+1])
	}
	return next
}

// reaches is r, by column; cov is that of the next frame. Noise on Σũ counts 2d times, d how far c is from the look's
// centre in units.
func reaches(look *release.Look, n float64, c, cov []float64) []float64 {
	m, l, s := len(c), look.Frame.Inverse(), about(look, n, c)
	all := narrowest // the variance of all columns in the look's frame
	for j := range m {
		all += max(s[j*m+j], 0)
	}
	whole := 1 + halfLost*look.Frame.Lost/n/all // a variance over what clipping left of it
	asked, onMean := reached(look, n), meanNoise(look, n)
	reach := make([]float64, m)
	for j, unit := range units(l, m) {
		d := (c[j] - look.Frame.Centre[j]) / unit
		noise := unit * unit * math.Hypot(look.Noise.SD()/n, 2*d*onMean)
		t := math.Sqrt(max(whole*dense.QuadForm(s, m, l[j*m:(j+1)*m])+noise, 0))
		a := min(1-math.Abs(c[j])+unit*onMean, 1)
		reach[j] = min(tail*t*(t/a)*(t/a), max(asked*unit, longest*math.Sqrt(cov[j*m+j])), 1+math.Abs(c[j]))
	}
	return reach
}

// units are the spreads of columns whose u is spread by 1, L = W⁻¹.
func units(l []float64, m int) []float64 {
	out := make([]float64, m)
	for j := range out {
		out[j] = floats.Norm(l[j*m:(j+1)*m], 2)
	}
	return out
}

// meanNoise is the standard deviation of the noise on a mean of u.
func meanNoise(look *release.Look, n float64) float64 {
	return look.Noise.SD() * look.Noise.Linear / look.Noise.Scale / n
}

// hidden is the variance in the look's frame that noise and clipping may hide, 1 at most.
func hidden(look *release.Look, n float64, m int) float64 {
	return min(floor*(math.Sqrt(float64(m))*look.Noise.SD()+halfLost/float64(m)*look.Frame.Lost)/n, 1)
}

// filled is B.
func filled(m int) float64 { return float64(m) + 2*math.Sqrt(float64(2*m)) }

// reached is the R that a later look would choose, farthest at most: of a look whose radii are noise it may be anything.
func reached(look *release.Look, n float64) float64 {
	if look.Radii == nil {
		return farthest
	}
	edges, lost := tails(look.Radii, n, look.Noise.Kind == release.Ball, standsOut)
	r := look.Frame.Radius
	k, _ := best(edges, lost, hides(lastLook*look.Noise.SD()/(r*r), len(look.Frame.Centre)))
	return min(math.Sqrt(edges[k]), farthest)
}

func centre(look *release.Look, n float64, l []float64) []float64 {
	m := len(look.Frame.Centre)
	c, unit := make([]float64, m), units(l, m)
	dense.MulLowerVec(c, l, m, look.Statistics.Vector()[:m])
	for j, from := range look.Frame.Centre {
		doubt := unit[j] * meanNoise(look, n) / halfway
		c[j] = min(max(from+c[j]/n/(1+doubt*doubt), -1), 1)
	}
	return c
}

// covariance is that of the rows about c, in scaled units, its eigenvalues raised.
func covariance(look *release.Look, n float64, l, c []float64) []float64 {
	m := len(c)
	s := about(look, n, c)
	values, vectors, root := make([]float64, m), make([]float64, m*m), make([]float64, m*m)
	dense.SymEigen(values, vectors, s, m, root)
	least := hidden(look, n, m)
	for k, v := range values {
		for j := range m { // an eigenvector times the root of its value, in row k
			root[k*m+j] = vectors[j*m+k] * math.Sqrt(min(max(v, least), widest))
		}
	}
	dense.MulABt(vectors, l, root, m, m, m)
	dense.MulABt(s, vectors, vectors, m, m, m)
	return s
}

// about is the covariance of u about that of c, as the look has it: with ū its mean, d = W(c − c_look),
// S = Σũũᵀ/n − dūᵀ − ūdᵀ + ddᵀ.
func about(look *release.Look, n float64, c []float64) []float64 {
	m, z := len(c), look.Statistics.Vector()
	d, s := make([]float64, m), make([]float64, m*m)
	for j, row := range look.Frame.Matrix {
		for i, w := range row {
			d[j] += w * (c[i] - look.Frame.Centre[i])
		}
	}
	for j := range m {
		for k := range m {
			s[j*m+k] = (z[release.Index(m, j, k)]-d[j]*z[k]-d[k]*z[j])/n + d[j]*d[k]
		}
	}
	return s
}

// Looks that several custodians take together have one round each, in which radii and sums are shared at
// once: R is chosen before the radii of its frame are known, and these tell afterwards what it clipped. With C
// the covariance about c′ that a look told, rows have
//
//	E‖u‖² = tr WCWᵀ + ‖W(c′ − c)‖²   in its frame,   E‖u′‖² = tr W′CW′ᵀ   in the next,
//
// and its radii are taken for those of the next, larger by this ratio, in steps of √2. Where the mean was
// farther from c than rows are spread, radii say nothing of the spread: rows are taken for those of a
// multivariate t law then.
const foreseenFreedom = 5

// After is the frame of the look t of a plan, t ≥ 1, after the one before it, with its radius; n and noise are as for
// Next and Radius.
func (p Plan) After(t int, look *release.Look, n float64, m int, noise func(f *release.Frame) release.Noise) *release.Frame {
	next := Next(look, n, m)
	return p.Radius(t, next, foreseen(look, next, n), n, noise)
}

// foreseen are the radii of the rows in the next frame.
func foreseen(look *release.Look, next *release.Frame, n float64) *release.Radii {
	m := len(next.Centre)
	cov, moved := covariance(look, n, look.Frame.Inverse(), next.Centre), make([]float64, m)
	floats.SubTo(moved, next.Centre, look.Frame.Centre)
	spread, offset := within(look.Frame, cov, moved)
	will, _ := within(next, cov, moved)
	r := *look.Radii
	r.Least += int(math.Round(2 * math.Log2(will/(spread+offset))))
	if offset < spread {
		return &r
	}
	law, below := distuv.F{D1: float64(m), D2: foreseenFreedom}, 0. // of ‖u′‖² over unit
	unit := will * (foreseenFreedom - 2) / foreseenFreedom
	r.Counts = make([]int64, len(look.Radii.Counts))
	for i := range r.Counts {
		to := law.CDF(math.Exp2(float64(r.Least+i)/2) / unit)
		r.Counts[i], below = int64(math.Round(n*(to-below))), to
	}
	return &r
}

// within is tr WCWᵀ in a frame, and ‖Wd‖².
func within(f *release.Frame, cov, d []float64) (spread, offset float64) {
	m := len(d)
	for _, row := range f.Matrix {
		w := make([]float64, m)
		copy(w, row)
		spread += dense.QuadForm(cov, m, w)
		along := floats.Dot(w, d)
		offset += along * along
	}
	return spread, offset
}

// Lost is about what the radius of a look clipped, as its radii tell.
func Lost(look *release.Look, n float64) float64 {
	if look.NNoise > 0 {
		n = max(float64(look.N), 1)
	}
	edges, lost, _ := taken(look.Radii, n, false, standsBeyond)
	for i, e := range edges {
		if e >= look.Frame.Radius*look.Frame.Radius*(1-1e-9) {
			return lost[i]
		}
	}
	return 0
}
