package exact

import (
	"math"
	"slices"

	"github.com/dpreg/dpreg/model"
)

// triangle are coordinates (c_ij, t_i), row by row, of a lower triangular root D of a
// covariance of which noise tells the sums. With r_i the noise's sd of a mean square of
// column i, V_i = Σ_j D_ij²/r_i and v_i = D_ii²/r_i,
//
//	V_i = log(1 + exp t_i),   q_ij = D_ij/D_ii = c_ij w_ij,   1/w_ij² = 1/9 + v_jV_i.
//
// z tells the variance r_iV_i to ± r_i, whatever its size: t_i is as wide where it is much
// more than r_i, and its logarithm, as wide as the prior of that, where it is much less. Of
// logarithms alone z would make a wall on one side of a long tail. Σx_ix_j tells D_ijD_jj to
// √(r_ir_j), and the prior q_ij to some 3: c_ij is about as wide as 1 whatever D is.
type triangle struct {
	r []float64

	v, total, slope []float64 // v_i, V_i, and its derivative in t_i, at the last set
	gv              []float64
}

func newTriangle(r []float64) *triangle {
	vec := func() []float64 { return make([]float64, len(r)) }
	return &triangle{r: r, v: vec(), total: vec(), slope: vec(), gv: vec()}
}

// dim is the number of coordinates.
func (f *triangle) dim() int { return len(f.r) * (len(f.r) + 1) / 2 }

// width is w_ij.
func (f *triangle) width(i, j int) float64 { return 1 / math.Sqrt(1.0/9+f.v[j]*f.total[i]) }

// set writes D, the first rows of a matrix with so many columns.
func (f *triangle) set(d, x []float64, columns int) {
	at := 0
	for i, r := range f.r {
		t, row, sum := x[at+i], d[i*columns:], 1.0
		f.total[i], f.slope[i] = softplus(t)
		for j := range i {
			q := x[at+j] * f.width(i, j)
			row[j] = q
			sum += q * q
		}
		f.v[i] = f.total[i] / sum
		row[i] = math.Sqrt(r * f.v[i])
		for j := range i {
			row[j] *= row[i]
		}
		at += i + 1
	}
}

// coordinates writes those of D.
func (f *triangle) coordinates(x, d []float64, columns int) {
	at := 0
	for i, r := range f.r {
		row, sum := d[i*columns:], 0.0
		for _, v := range row[:i+1] {
			sum += v * v / r
		}
		f.v[i], f.total[i], x[at+i] = row[i]*row[i]/r, sum, sum
		if sum < 30 {
			x[at+i] = math.Log(math.Expm1(sum))
		}
		for j := range i {
			x[at+j] = row[j] / (row[i] * f.width(i, j))
		}
		at += i + 1
	}
}

// pull adds to grad the gradient of a function of D whose gradient there is gD, at the x of
// the last set, and that of
//
//	log|∂D/∂x| = Σ_i [(i + 1) log D_ii − log V_i + log dV_i/dt_i + Σ_j log w_ij] + const,
//
// i = 0, 1, …, which it returns. At fixed V, ∂ log D_ii/∂q_ij = −q_ij D_ii²/(r_iV_i).
func (f *triangle) pull(grad, d, gD []float64, columns int) (logJ float64) {
	clear(f.gv)
	for i := len(f.r) - 1; i >= 0; i-- {
		row, g, at := d[i*columns:], gD[i*columns:], i*(i+1)/2
		dii, v, total := row[i], f.v[i], f.total[i]
		scale := float64(i+1) + 2*f.gv[i]*v // the gradient in log D_ii at fixed q
		for j, u := range row[:i+1] {
			scale += g[j] * u
		}
		byTotal := (0.5*scale - 1) / total
		for j := range i {
			q, w := row[j]/dii, f.width(i, j)
			gq := g[j]*dii - scale*q*v/total
			grad[at+j] += gq * w
			half := 0.5 * w * w * (gq*q + 1)
			byTotal -= half * f.v[j]
			f.gv[j] -= half * total
			logJ += math.Log(w)
		}
		grad[at+i] += byTotal*f.slope[i] + 1 - f.slope[i]
		logJ += float64(i+1)*math.Log(dii) + math.Log(f.slope[i]/total)
	}
	return logJ
}

// means are coordinates c_j of means μ_j of columns whose covariance has the root D,
//
//	μ_j = m_j + c_j u_j,   1/u_j² = 1/e_j² + κ₀/D_jj²,   or 1/e_j² + 1/A_j²:
//
// noise tells μ_j to ± e_j, and the prior, given D, to about D_jj/√κ₀, which is a funnel where
// noise hides D; or whatever that is to A_j.
type means struct {
	known  []float64 // 1/e_j², or 1/e_j² + 1/A_j²
	centre []float64 // m_j
	kappa  float64   // κ₀, or 0

	scale []float64 // u_j at the last set
}

// newMeans allocates for noise 1/e², of the first columns that the prior knows.
func newMeans(noise []float64, prior *model.Prior) *means {
	x := prior.Covariates
	f := &means{known: slices.Clone(noise), centre: x.Mean, kappa: x.Kappa, scale: make([]float64, len(noise))}
	for j, sd := range prior.MeanSD {
		f.known[j] += 1 / (sd * sd)
		f.kappa = 0
	}
	return f
}

// set writes means, given D of so many columns.
func (f *means) set(mean, x, d []float64, columns int) {
	for j, e := range f.known {
		djj := d[j*(columns+1)]
		f.scale[j] = 1 / math.Sqrt(e+f.kappa/(djj*djj))
		mean[j] = f.centre[j] + x[j]*f.scale[j]
	}
}

// coordinates writes those of means.
func (f *means) coordinates(x, mean, d []float64, columns int) {
	for j, e := range f.known {
		djj := d[j*(columns+1)]
		x[j] = (mean[j] - f.centre[j]) * math.Sqrt(e+f.kappa/(djj*djj))
	}
}

// pull writes the gradient of a function of the means and D, given that there, at the x of
// the last set, adds to that in D, and with both that of log|∂μ/∂c|, which it returns.
func (f *means) pull(grad, x, gMean, d, gD []float64, columns int) (logJ float64) {
	for j, u := range f.scale {
		djj := d[j*(columns+1)]
		grad[j] = gMean[j] * u
		gD[j*(columns+1)] += (grad[j]*x[j] + 1) * u * u * f.kappa / (djj * djj * djj)
		logJ += math.Log(u)
	}
	return logJ
}
