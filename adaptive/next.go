package adaptive

import (
	"math"
	"slices"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/release"
)

// First is the frame of the first look: the box, in a ball that holds all of it.
func First(m int) *release.Frame {
	f := &release.Frame{Centre: make([]float64, m), Matrix: make([][]float64, m), Radius: math.Sqrt(float64(m)), Weight: 1}
	for j := range m {
		f.Matrix[j] = make([]float64, j+1)
		f.Matrix[j][j] = 1
	}
	return f
}

// The next frame. A look gives the rows' mean and covariance in its frame, with noise:
//
//	ū = Σũ/n,   S = Σũũᵀ/n − ūūᵀ,   noise of S of spectral norm about √m·SD/n.
//
// Eigenvalues of S below floor of that are raised to it (a variance is never below what noise
// may hide), but not above 1: where the look says nothing its frame is kept. The centre is
// c + Lū, L = W⁻¹, shrunk toward 0 where noise is as wide as the box, and clamped into it.
// W of the next frame is the inverse of the Cholesky factor of L S Lᵀ + raised.
//
// Whitening serves rows that fill an ellipsoid. A column of few rows far out would reach far
// beyond it, and all noise would pay for its R². Noise of slopes is least where a column
// reaches about √B of its spread, B = m + 2√(2m): what an ellipsoid is filled to. So spreads σ
// are raised, to end = most·(1+|c|)/√B at most, by two signs of rows far out:
//
//   - σ over a, the distance from c to the nearer end of the box. It is below about .8 where
//     rows lie about c, and above 1.2 only if most are near that end and few far from it.
//     From little to much, σ goes to σ^(1−part)·end^part;
//   - the R² that the radii ask for, foreseen for a look of less noise: √(R² − B) in the
//     look's frame is how far some column reaches. If it is a skewed one, σ > a, then all
//     of that; any other column is suspected only where R² is beyond 2B.
const (
	floor     = .7
	widest    = 4    // of an eigenvalue in the look's frame
	narrowest = 1e-7 // variance in scaled units: rows of W fit the grid
	halfway   = .5   // sd of a column's mean at which it is worth half
	most      = .7
	little    = .8
	much      = 1.2
	part      = .7
	skewed    = 1.1
	lastLook  = 1. / 3 // noise of a later look to this one's
)

// Next returns the frame of the next look, by the look before it; n is the number of rows (0:
// the look's). Its radius is for Plan.Radius to set.
func Next(look *release.Look, n float64, m int) *release.Frame {
	f := look.Frame
	if n <= 0 {
		n = float64(look.N)
	}
	n = max(n, 1)
	l := inverse(f)
	c := centre(look, n, l)
	cov := covariance(look, n, c, l)
	reach := reached(look, n)
	for j, old := range spread(f) {
		mean := old * look.Noise.SD() * linear(look) / n // its noise
		v := raised(math.Sqrt(cov[j*m+j]), min(1-math.Abs(c[j])+mean, 1), most*(1+math.Abs(c[j]))/math.Sqrt(filled(m)), old, reach)
		cov[j*m+j] = v*v + narrowest
	}
	next := &release.Frame{Centre: c, Matrix: f.Matrix}
	if !dense.Cholesky(cov, m) { // not finite: the frame is kept
		return next
	}
	w := make([]float64, m*m)
	dense.InvertLower(w, cov, m)
	next.Matrix = make([][]float64, m)
	for j := range m {
		next.Matrix[j] = slices.Clone(w[j*m : j*m+j+1])
	}
	return next
}

// raised is the spread that a column is to have; near is a, and old its spread in the frame of
// the look.
func raised(sigma, near, end, old float64, reach reaches) float64 {
	if sigma >= end {
		return sigma
	}
	skew := min(max((sigma/near-little)/(much-little), 0), 1)
	by := reach.other
	if sigma > skewed*near {
		by = reach.skewed
	}
	return max(sigma*math.Pow(end/sigma, part*skew), min(by*old, end))
}

// filled is B.
func filled(m int) float64 { return float64(m) + 2*math.Sqrt(float64(2*m)) }

// reaches are √((R² − B)/B) and √((R² − 2B)/B) for the R² that a later look would choose.
type reaches struct{ skewed, other float64 }

func reached(look *release.Look, n float64) reaches {
	f, b := look.Frame, filled(len(look.Frame.Centre))
	if look.Radii == nil {
		return reaches{}
	}
	edges, lost := tails(f, look.Radii, n, look.Noise.Kind == release.Ball)
	k := best(edges, lost, lastLook*look.Noise.SD()/(f.Radius*f.Radius), len(f.Centre))
	return reaches{math.Sqrt(max(edges[k]/b-1, 0)), math.Sqrt(max(edges[k]/b-2, 0))}
}

// linear is the ratio of the noise on linear sums to that on squares.
func linear(look *release.Look) float64 { return look.Noise.Linear / look.Noise.Scale }

func centre(look *release.Look, n float64, l []float64) []float64 {
	m, f, z := len(look.Frame.Centre), look.Frame, look.Statistics.Vector()
	c, u, s := make([]float64, m), make([]float64, m), spread(f)
	for j := range u {
		u[j] = z[j] / n
	}
	dense.MulLowerVec(c, l, m, u)
	for j := range c {
		noise := s[j] * look.Noise.SD() * linear(look) / n / halfway
		c[j] = min(max(f.Centre[j]+c[j]/(1+noise*noise), -1), 1)
	}
	return c
}

// covariance is that of the rows about c, in scaled units.
func covariance(look *release.Look, n float64, c, l []float64) []float64 {
	f, z := look.Frame, look.Statistics.Vector()
	m := len(c)
	off, u, s := make([]float64, m), make([]float64, m), make([]float64, m*m)
	for j := range c {
		off[j] = c[j] - f.Centre[j]
	}
	for j, row := range f.Matrix {
		for i, w := range row {
			u[j] += w * off[i]
		}
	}
	for j := range m {
		for k := range j + 1 {
			s[j*m+k] = z[release.Index(m, j, k)]/n - u[j]*u[k]
		}
	}
	values, vectors := make([]float64, m), make([]float64, m*m)
	dense.SymEigen(values, vectors, s, m, make([]float64, m*m))
	hide := min(floor*math.Sqrt(float64(m))*look.Noise.SD()/n, 1)
	root, half := make([]float64, m*m), make([]float64, m*m)
	for j := range m {
		for k, v := range values {
			root[j*m+k] = vectors[j*m+k] * math.Sqrt(min(max(v, hide), widest))
		}
	}
	product(half, l, root, m)
	dense.MulABt(s, half, half, m, m, m)
	return s
}

func product(dst, a, b []float64, m int) {
	for i := range m {
		for j := range m {
			var sum float64
			for k := range m {
				sum += a[i*m+k] * b[k*m+j]
			}
			dst[i*m+j] = sum
		}
	}
}

// inverse is L = W⁻¹, m×m, zeros above the diagonal.
func inverse(f *release.Frame) []float64 {
	m := len(f.Matrix)
	w, l := make([]float64, m*m), make([]float64, m*m)
	for j, row := range f.Matrix {
		copy(w[j*m:], row)
	}
	dense.InvertLower(l, w, m)
	return l
}

// spread is of each column, in scaled units, that of a ball of radius 1 in u.
func spread(f *release.Frame) []float64 {
	m, l := len(f.Matrix), inverse(f)
	s := make([]float64, m)
	for j := range s {
		for _, x := range l[j*m : j*m+j+1] {
			s[j] = math.Hypot(s[j], x)
		}
	}
	return s
}
