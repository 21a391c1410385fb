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
// beyond it, and all noise would pay for its R². Noise of slopes is least where a column
// reaches about √B of its spread, B = m + 2√(2m): what an ellipsoid is filled to. So spreads σ
// are raised, to end = sure·(1+|c|)/√B at most, by two signs of rows far out:
//
//   - σ over a, the distance from c to the nearer end of the box. It is below about .8 where
//     rows lie about c, and above 1.2 only if most are near that end and few far from it.
//     From little to much, σ goes to σ^(1−sure)·end^sure;
//   - the R² that the radii ask for, foreseen for a look of less noise: √(R² − B) in the
//     look's frame is how far some column reaches. If it is a skewed one, σ > a, then all
//     of that; any other column is suspected only where R² is beyond 2B.
//
// The less noise, the farther out are the rows for which R² is worth its noise: sure falls
// from mostSure with what noise may hide.
const (
	floor     = .7
	halfLost  = .5
	widest    = 4    // of an eigenvalue in the look's frame
	narrowest = 1e-7 // variance in scaled units: rows of W fit the grid
	halfway   = .5   // sd of a column's mean at which it is worth half
	mostSure  = .9
	perHidden = .85
	little    = .8
	much      = 1.2
	skewed    = 1.1
	lastLook  = 1. / 3 // noise of a later look to this one's
)

// Next returns the frame of the next look, by the look before it, of m columns; n is the number
// of rows where that is public, else the look has it. Its radius is for Plan.Radius to set.
func Next(look *release.Look, n float64, m int) *release.Frame {
	if look.NNoise > 0 || n <= 0 {
		n = max(float64(look.N), look.NNoise, 1)
	}
	l := look.Frame.Inverse()
	spread, mean := make([]float64, m), make([]float64, m) // of rows whose u is spread by 1; the noise on the mean
	for j := range m {
		spread[j] = floats.Norm(l[j*m:(j+1)*m], 2)
		mean[j] = spread[j] * look.Noise.SD() * look.Noise.Linear / look.Noise.Scale / n
	}
	c := centre(look, n, l, mean)
	cov := covariance(look, n, l, c)
	ends, other := reached(look, n)
	sure := mostSure - perHidden*hidden(look, n, m)
	for j, old := range spread {
		sigma, near, far := math.Sqrt(cov[j*m+j]), min(1-math.Abs(c[j])+mean[j], 1), 1+math.Abs(c[j])
		by := other
		if sigma > skewed*near {
			by = ends
		}
		sigma = raised(sigma, sigma/near, sure*far/math.Sqrt(filled(m)), by*old, sure)
		cov[j*m+j] = sigma*sigma + narrowest
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

// raised is the spread that a column is to have: skew is σ/a, and asked is what the radii say.
func raised(sigma, skew, end, asked, sure float64) float64 {
	if sigma >= end {
		return sigma
	}
	grade := min(max((skew-little)/(much-little), 0), 1)
	return max(sigma*math.Pow(end/sigma, sure*grade), min(asked, end))
}

// hidden is the variance in the look's frame that noise and clipping may hide, 1 at most.
func hidden(look *release.Look, n float64, m int) float64 {
	return min(floor*(math.Sqrt(float64(m))*look.Noise.SD()+halfLost/float64(m)*look.Frame.Lost)/n, 1)
}

// filled is B.
func filled(m int) float64 { return float64(m) + 2*math.Sqrt(float64(2*m)) }

// reached is √((R² − B)/B), and √((R² − 2B)/B), for the R² that a later look would choose.
func reached(look *release.Look, n float64) (skewed, other float64) {
	f, b := look.Frame, filled(len(look.Frame.Centre))
	if look.Radii == nil {
		return 0, 0
	}
	edges, lost := tails(look.Radii, n, look.Noise.Kind == release.Ball, standsOut)
	square := edges[best(edges, lost, lastLook*look.Noise.SD()/(f.Radius*f.Radius), len(f.Centre))]
	return math.Sqrt(max(square/b-1, 0)), math.Sqrt(max(square/b-2, 0))
}

func centre(look *release.Look, n float64, l, noise []float64) []float64 {
	m, c := len(noise), make([]float64, len(noise))
	dense.MulLowerVec(c, l, m, look.Statistics.Vector()[:m])
	for j, from := range look.Frame.Centre {
		doubt := noise[j] / halfway
		c[j] = min(max(from+c[j]/n/(1+doubt*doubt), -1), 1)
	}
	return c
}

// covariance is that of the rows about c, in scaled units.
func covariance(look *release.Look, n float64, l, c []float64) []float64 {
	m, z := len(c), look.Statistics.Vector()
	u, s := make([]float64, m), make([]float64, m*m)
	for j, row := range look.Frame.Matrix {
		for i, w := range row {
			u[j] += w * (c[i] - look.Frame.Centre[i])
		}
		for k := range j + 1 {
			s[j*m+k] = z[release.Index(m, j, k)]/n - u[j]*u[k]
		}
	}
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

// After is the frame of the look t of a plan, t ≥ 1, after this one, with its radius; n and noise are as for Next
// and Radius.
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
