package agree

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/model"
)

// Contradicting returns the numbers of those releases that complete pooling does not fit, given
// draws of the posterior. It is
// the cheap form of a check: no refit, no law of the covariates. At a draw (θ, σ²)
// the residual sums of release j,
//
//	v_j = (XY − XXθ, YY − 2θᵀXY + θᵀXXθ − nσ²)  of z_j,
//
// have expectation 0. Their variance is that of the noise, whose law is known, and that of
// rows, diag(σ²XX, 2nσ⁴) for normal residuals, XX that of z_j, projected. Real rows have
// heavier tails: that of the rows is taken fourfold, which holds for a kurtosis up to 9 and
// residuals whose variance is up to fourfold where x is extreme; and σ_j² that differ by a
// tenth are no contradiction worth a word: the last gets (nσ²/10)² more, which holds for a
// kurtosis of 30 from 2100 rows on. With T_j = v_jᵀV_j⁻¹v_j
//
//	p_j = P(max_i T_i(z_rep) ≥ T_j(z) | z),
//
// replicates z_rep of all releases at each draw, j contradicts the others where
// p_j ≤ Level. The least p_j is a posterior predictive p-value of all releases
// at once, which under the model is at most α with probability 2α at most (Meng 1994,
// Annals of Statistics 22): one fit of a hundred, however many releases it has, names any;
// fewer, for rows that are normal.
//
// Of a response of a family residuals are those of its line, XX and XY alone are asked, and V_j has what slopes may be off by
// where x is not normal, model.Doubt. A release whose noise hides the covariates contradicts nothing.
func Contradicting(of Response, releases []*model.Observation, sites []Site, draws [][]float64, rng *rand.Rand) (those []int) {
	var all []*residualSite
	var at []int
	for j, obs := range releases {
		if s := newResidualSite(of, obs, sites[j]); s != nil {
			all, at = append(all, s), append(at, j)
		}
	}
	if of.Family != model.Normal {
		pivot(all)
	}
	reached, count := make([]float64, len(all)), 0.0
	for _, row := range draws {
		largest, ok := 0.0, true
		for _, s := range all {
			if ok = ok && s.at(row); ok {
				largest = math.Max(largest, s.replicate(rng))
			}
		}
		if !ok {
			continue
		}
		count++
		for j, s := range all {
			if largest >= s.distance {
				reached[j]++
			}
		}
	}
	for j := range all {
		if reached[j] <= Level*count && count > 0 {
			those = append(those, at[j])
		}
	}
	return those
}

// Response is the law of the response of all: of a family with its bound, and the groups of covariates that are 0 or 1.
type Response struct {
	Family model.Family
	Most   float64
	Apart  [][]int
}

// Level is that of p_j.
const Level = 0.005

// The factor by which rows' variance is taken larger, and the sd by which σ_j² may differ.
const (
	rowsVariance    = 4.0
	differentSigma2 = 0.1
)

// residualSite has the residual sums of one release, in the coordinates u of its sums, which
// in the box are v. With (1, v) = K(1, u) covariates are X(1, u), X those rows of K, the
// residual is ρᵀ(1, u), ρ = Kᵀ(−θ, 1), and of B = Σ(1, u)(1, u)ᵀ
//
//	v_j = (XBρ, ρᵀBρ − nσ²).
type residualSite struct {
	Site
	line     *line     // nil of a normal response, which has the last of v alone
	turned   []float64 // what slopes within the release may be off by, of line, in v
	shifted  []float64 // and slopes between releases
	obs      *model.Observation
	k        []float64 // K, of v = c + W⁻¹u in a frame
	x        []float64 // X
	theta    []float64
	rho      []float64
	times    []float64 // Bρ
	sigma2   float64
	v        []float64
	chol     []float64 // of V
	xx       []float64 // XX of z, projected
	root     []float64 // of XX, its eigenvectors
	noise    []float64
	distance float64 // T_j of z
}

func newResidualSite(of Response, obs *model.Observation, at Site) *residualSite {
	q, m := obs.Shape.Q(), obs.Shape.M()
	s := &residualSite{Site: at, obs: obs, k: model.Identity(m).In(obs.Frame).Inverse().Matrix(), rho: make([]float64, m+1), times: make([]float64, m+1),
		v: make([]float64, q+1), chol: make([]float64, (q+1)*(q+1)), noise: make([]float64, len(obs.Z)), xx: make([]float64, q*q)}
	s.x = s.k[(m-q)*(m+1) : m*(m+1)]
	z := append([]float64(nil), obs.Z...)
	model.NewProjection(m).Apply(z, s.rows())
	for k := range q {
		s.multiply(s.x[k*(m+1):(k+1)*(m+1)], z, s.rows())
		for l := range q {
			s.xx[k*q+l] = floats.Dot(s.x[l*(m+1):(l+1)*(m+1)], s.times)
		}
	}
	if of.Family != model.Normal {
		if s.line, s.v = newLine(of, obs, z, s.xx, s.rows()), s.v[:q]; s.line == nil {
			return nil
		}
		s.turned, s.shifted = make([]float64, q), make([]float64, q)
	}
	values, vectors, work := make([]float64, q), make([]float64, q*q), make([]float64, q*q)
	dense.SymEigen(values, vectors, append([]float64(nil), s.xx...), q, work)
	s.root = vectors
	for l, v := range values {
		for k := range q {
			s.root[k*q+l] *= math.Sqrt(math.Max(0, v)) // projected sums may leave one at 0
		}
	}
	return s
}

// multiply writes Ba into times, B of statistics z of n rows.
func (s *residualSite) multiply(a, z []float64, n float64) {
	m := len(a) - 1
	s.times[0] = n * a[0]
	for j := range m {
		s.times[0] += z[j] * a[j+1]
		s.times[j+1] = z[j] * a[0]
	}
	at := m
	for j := 1; j <= m; j++ {
		for k := j; k <= m; k++ {
			s.times[j] += z[at] * a[k]
			if k > j {
				s.times[k] += z[at] * a[j]
			}
			at++
		}
	}
}

// rows is n, as far as it is known.
func (s *residualSite) rows() float64 { return math.Max(s.obs.N, float64(s.obs.Shape.M()+1)) }

// squaresVariance is that of the residual sum of squares of rows.
func (s *residualSite) squaresVariance() float64 {
	n := s.rows()
	return (rowsVariance*2*n + differentSigma2*differentSigma2*n*n) * s.sigma2 * s.sigma2
}

// at takes a draw, V and T_j of z; it reports false where rounding leaves V indefinite.
func (s *residualSite) at(row []float64) bool {
	q := s.obs.Shape.Q()
	own := s.Regression(row)
	theta, sigma2 := own[:q], own[q]
	if s.line != nil {
		var ok bool
		if theta, sigma2, ok = s.line.at(theta, sigma2); !ok {
			return false
		}
	}
	s.set(theta, sigma2)
	k := len(s.v)
	clear(s.chol)
	for i := range q {
		for l := range i + 1 {
			s.chol[i*k+l] = rowsVariance * s.sigma2 * s.xx[i*q+l]
		}
	}
	if k > q {
		s.chol[k*k-1] = s.squaresVariance()
	} else {
		dense.SymMulVec(s.turned, s.xx, q, s.line.turn)
		for k := range s.shifted {
			s.shifted[k] = s.line.shift * s.xx[k*q]
		}
		s.add(s.turned)
		s.add(s.shifted)
	}
	clear(s.noise)
	for e := range s.noise {
		s.noise[e] = math.Sqrt(s.obs.Variance(e))
		s.addNoise(s.noise, 0)
		s.noise[e] = 0
	}
	if s.obs.Count.Latent() {
		s.addNoise(s.noise, math.Sqrt(model.NoiseVariance(s.obs.Count.Kind, s.obs.Count.Scale)))
	}
	if !dense.Cholesky(s.chol, k) {
		return false
	}
	s.residual(s.obs.Z, s.obs.N)
	s.distance = s.length()
	return true
}

// set takes θ and σ².
func (s *residualSite) set(theta []float64, sigma2 float64) {
	s.theta, s.sigma2 = theta, sigma2
	m := len(s.rho) - 1
	for i := range s.rho {
		s.rho[i] = s.k[m*(m+1)+i]
		for k, t := range theta {
			s.rho[i] -= t * s.x[k*(m+1)+i]
		}
	}
}

// addNoise adds to V the variance of one noise.
func (s *residualSite) addNoise(e []float64, n float64) {
	s.residual(e, n)
	s.add(s.v)
}

// add adds to V what moves v so by an sd.
func (s *residualSite) add(v []float64) {
	for i, a := range v {
		for l, b := range v[:i+1] {
			s.chol[i*len(v)+l] += a * b
		}
	}
}

// residual writes v of statistics of n rows, in which it is linear.
func (s *residualSite) residual(z []float64, n float64) {
	s.multiply(s.rho, z, n)
	w := len(s.rho)
	for k := range s.theta {
		s.v[k] = floats.Dot(s.x[k*w:(k+1)*w], s.times)
	}
	if s.line == nil {
		s.v[len(s.theta)] = floats.Dot(s.rho, s.times) - n*s.sigma2
	}
}

// length returns vᵀV⁻¹v.
func (s *residualSite) length() float64 {
	dense.SolveLower(s.chol, len(s.v), s.v)
	return floats.Dot(s.v, s.v)
}

// replicate returns T_j of a replicate.
func (s *residualSite) replicate(rng *rand.Rand) float64 {
	q, n := len(s.theta), 0.0
	clear(s.noise)
	s.obs.AddNoise(s.noise, 1, rng)
	if s.obs.Count.Latent() {
		n = model.RandNoise(s.obs.Count.Kind, s.obs.Count.Scale, rng)
	}
	s.residual(s.noise, n)
	sd := math.Sqrt(rowsVariance * s.sigma2)
	for l := range q {
		e := sd * rng.NormFloat64()
		for k := range q {
			s.v[k] += s.root[k*q+l] * e
		}
	}
	if s.line == nil {
		s.v[q] += math.Sqrt(s.squaresVariance()) * rng.NormFloat64()
	} else {
		floats.AddScaled(s.v, rng.NormFloat64(), s.turned)
		floats.AddScaled(s.v, rng.NormFloat64(), s.shifted)
	}
	return s.length()
}
