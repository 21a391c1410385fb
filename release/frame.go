package release

import (
	"math"
	"slices"

	"github.com/dpreg/dpreg/internal/dense"
)

// Rows of a frame are u = W(v − c). With L = W⁻¹, v = c + Lu, so that of n rows
//
//	Σv = nc + LΣu,   Σvvᵀ = LΣuuᵀLᵀ + c(LΣu)ᵀ + (LΣu)cᵀ + nccᵀ.
//
// Noise is isotropic: a symmetric matrix E of noise on Σuuᵀ has variance σ² on its diagonal
// and ½σ² off it, and a vector e on Σu has τ², so that for a, b of that size
//
//	var aᵀEb = ½σ²(‖a‖²‖b‖² + (aᵀb)²),   var aᵀe = τ²‖a‖²,
//
// which no rotation of a and b changes: in u' = Qᵀu, QᵀQ = 1, noise has the law that it has in
// u. A ball's is √V times such noise, V independent, and stays so.
//
// Of some columns of v, in any order, L has the rows L_a = RQᵀ, R lower triangular with a
// positive diagonal: v_a = c_a + Ru' is a look in the frame of c_a and R⁻¹.

// Inverse is L = W⁻¹, m×m, by rows, with zeros above the diagonal.
func (f *Frame) Inverse() []float64 {
	m := len(f.Centre)
	w, l := make([]float64, m*m), make([]float64, m*m)
	for j, row := range f.Matrix {
		copy(w[j*m:], row)
	}
	dense.InvertLower(l, w, m)
	return l
}

// square writes out the sums of products in a canonical vector of m columns, m×m.
func square(m int, z []float64) []float64 {
	s := make([]float64, m*m)
	for j := range m {
		for k := range m {
			s[j*m+k] = z[Index(m, j, k)]
		}
	}
	return s
}

// turned returns the canonical vector of Au, A k×m, from that of u.
func turned(a []float64, k, m int, z []float64) []float64 {
	out := make([]float64, Length(k))
	as, asa := make([]float64, k*m), make([]float64, k*k)
	dense.MulABt(as, a, square(m, z), k, m, m)
	dense.MulABt(asa, as, a, k, k, m)
	for i := range k {
		out[i] = inner(a[i*m:(i+1)*m], z[:m])
		for j := range i + 1 {
			out[Index(k, i, j)] = asa[i*k+j]
		}
	}
	return out
}

func inner(a, b []float64) (sum float64) {
	for i, x := range a {
		sum += x * b[i]
	}
	return sum
}

// Scaled is the canonical vector of Σv_j and Σv_jv_k in scaled units v, as the release tells
// it: its statistics in the box, and those of v = c + Lu in a frame, with n as stated. Rows
// that were clipped are in it as they were clipped.
func (r *Release) Scaled() []float64 {
	if r.LevelsAreOfResponse() {
		return r.asWanted(r.FactorFirst().Scaled())
	}
	return r.scaled(r.Statistics.Vector(), float64(r.N))
}

// scaled is Scaled of other statistics, of so many rows.
func (r *Release) scaled(z []float64, n float64) []float64 {
	if r.Frame == nil {
		return z
	}
	f := r.Frame.Behind(r.Levels.Dummies())
	m, c := r.Dim(), f.Centre
	s := turned(f.Inverse(), m, m, z)
	for j := range m {
		for k := j; k < m; k++ {
			s[Index(m, j, k)] += c[j]*s[k] + c[k]*s[j] + n*c[j]*c[k]
		}
	}
	for j := range m {
		s[j] += n * c[j]
	}
	return s
}

// ScaledSD are the standard deviations of the noise in Scaled. With rows a_j of L, noise
// of sd σ on squares, τ on linear sums and ν on n, their squares are
//
//	τ²‖a_j‖² + ν²c_j²,   ½σ²(‖a_j‖²‖a_k‖² + (a_jᵀa_k)²) + τ²‖c_ja_k + c_ka_j‖² + ν²c_j²c_k².
func (r *Release) ScaledSD() []float64 {
	m := r.Dim()
	if r.Levels != nil {
		return r.levelSD()
	}
	if r.Frame == nil {
		return slices.Repeat([]float64{r.Noise.SD()}, len(r.Statistics.Vector()))
	}
	c, l, gram, sd := r.Frame.Centre, r.Frame.Inverse(), make([]float64, m*m), make([]float64, Length(m))
	dense.LLt(gram, l, m)
	sigma, tau, nu := r.Noise.SD(), r.Noise.SDOf(r.Noise.Linear), r.countSD()
	for j := range m {
		jj := gram[j*m+j]
		sd[j] = math.Hypot(tau*math.Sqrt(jj), nu*c[j])
		for k := j; k < m; k++ {
			kk, jk := gram[k*m+k], gram[j*m+k]
			square := sigma*sigma/2*(jj*kk+jk*jk) + tau*tau*(c[j]*c[j]*kk+2*c[j]*c[k]*jk+c[k]*c[k]*jj)
			sd[Index(m, j, k)] = math.Hypot(math.Sqrt(max(0, square)), nu*c[j]*c[k])
		}
	}
	return sd
}

// countSD is the standard deviation of the noise on n, which beside a ball is Laplace's.
func (r *Release) countSD() float64 {
	if r.Noise.Kind == Ball {
		return math.Sqrt2 * r.NNoise
	}
	return r.NNoise
}

// Clipping takes a matrix L from Σuuᵀ of m columns. What moves a slope is an entry of the response's row: over data
// sets of four columns and more by rms .31, .25, .2, .16 and .14 of tr L/m where K = tr L/R², about as many rows as are
// clipped, is 5, 20, 50, 150 and 1000. Few do not even out; and of two columns the one slope may take what several
// share, .2 to .35 of tr L. As it is alike in each release of the same rows, twice that is allowed for of four columns,
//
//	1.5√(slopesMany² + slopesFew/(K + 8)) tr L/(m − 1),
//
// slopesMost at most, since an entry is tr L/2 at most. B parts of one dealing have it alike, too, of BK rows, and it
// does not average out as noise does: √B times.
const slopesMany, slopesFew, slopesMost = 0.14, 2.5, 0.35

// ClippingMoves is the standard deviation that is allowed for what clipping moves an entry of the response's row of
// Σuuᵀ by, of m columns in a ball of radius² edge, where it takes lost = tr L, and rows are dealt into parts.
func ClippingMoves(lost, edge float64, m, parts int) float64 {
	b := float64(max(1, parts))
	share := 1.5 / float64(max(1, m-1)) * math.Sqrt(slopesMany*slopesMany+slopesFew/(b*lost/edge+8))
	return math.Sqrt(b) * min(share, slopesMost) * lost
}

// pick is the look at these columns of m, which shares nothing with l.
func (l Look) pick(at []int, m int) Look {
	if l.Frame == nil {
		l.Statistics = l.Statistics.pick(at)
		return l
	}
	f, k := *l.Frame, len(at)
	q, r := make([]float64, k*m), make([]float64, k*k)
	inverse := f.Inverse()
	for i, a := range at {
		copy(q[i*m:(i+1)*m], inverse[a*m:])
	}
	factorLQ(q, r, k, m)
	l.Statistics = StatisticsFromVector(k, turned(q, k, m, l.Statistics.Vector()))
	dense.InvertLower(r, slices.Clone(r), k)
	f.Lost *= float64(k) / float64(m) // of Σ‖u'‖², about, directions being alike
	f.Centre, f.Matrix = make([]float64, k), make([][]float64, k)
	still := true // the columns up to here are the first: W has their rows, to the bit
	for i, a := range at {
		f.Centre[i], f.Matrix[i] = l.Frame.Centre[a], slices.Clone(r[i*k:i*k+i+1])
		if still = still && a == i; still {
			copy(f.Matrix[i], l.Frame.Matrix[i])
		}
	}
	l.Frame = &f
	if l.Radii != nil {
		radii := *l.Radii
		radii.Counts = slices.Clone(radii.Counts)
		l.Radii = &radii
	}
	return l
}

// factorLQ factors the k×m matrix of independent rows in q as RQᵀ, and leaves Qᵀ there: by
// Gram and Schmidt, each row made orthogonal twice, which leaves it so to rounding
// (Giraud, Langou & Rozložník 2005).
func factorLQ(q, r []float64, k, m int) {
	for i := range k {
		row := q[i*m : (i+1)*m]
		for range 2 {
			for j := range i {
				before := q[j*m : (j+1)*m]
				x := inner(row, before)
				r[i*k+j] += x
				for c := range row {
					row[c] -= x * before[c]
				}
			}
		}
		norm := math.Sqrt(inner(row, row))
		r[i*k+i] = norm
		for c := range row {
			row[c] /= norm
		}
	}
}
