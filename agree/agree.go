// Package agree asks whether several releases go together: whether any contradicts the
// regression that all are said to share, and whether two are of the same rows.
package agree

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// Alike is the log ratio of two likelihoods, of z_a − z_b and n_a − n_b if both releases
// are of the same rows, when they have the noise's law alone, and if they are of other rows
// of the same population, which is as near to that as other rows come:
//
//	Σ_j [log N(d_j; 0, v) − log N(d_j; 0, v + 2n Var x_j)]   over the linear sums,
//	log N(d_n; 0, v_n) + log n   of noisy numbers of rows, as other custodians' are about
//	                             uniform up to n,
//	log 10⁴                      of equal public ones.
//
// The last is no likelihood but odds: two releases with the same bounds of as many rows are
// mostly of one table, unless their sums say otherwise. A public number that three custodians
// have was agreed on, and tells nothing. Of other bounds, of columns or public numbers of
// rows, it is −∞. Where one is in a frame, sums are those in it, about independent from one to
// another, as neither rows nor noise are in scaled units.
func Alike(a, b *release.Release, agreed bool) float64 {
	u, v := a.Schema.Frame(), b.Schema.Frame()
	if !slices.Equal(u.Centre, v.Centre) || !slices.Equal(u.Half, v.Half) {
		return math.Inf(-1)
	}
	n := math.Max(2, float64(a.N))
	ratio := countsAlike(a, b, n)
	if agreed && a.NNoise == 0 {
		ratio = math.Min(ratio, 0)
	}
	f := cmp.Or(a.Frame, b.Frame)
	if a.Levels != nil || b.Levels != nil { // a frame of some columns alone
		f = nil
	}
	a, b = in(a, f), in(b, f)
	x, y, sdA, sdB, m := a.Scaled(), b.Scaled(), a.ScaledSD(), b.ScaledSD(), a.Dim()
	for j := range m {
		noise := sdA[j]*sdA[j] + sdB[j]*sdB[j]
		d, rows := x[j]-y[j], noise
		if at := release.Index(m, j, j); at < len(x) { // Σy² may be withheld
			rows += 2 * n * math.Max(0, x[at]/n-x[j]*x[j]/(n*n))
		}
		ratio += 0.5 * (math.Log(rows/noise) - d*d/noise + d*d/rows)
	}
	return ratio
}

// in gives a release whose scaled units are the coordinates u = W(v − c) of a frame f, in which
// its own, W_r and c_r, is that of W_rW⁻¹ and W(c_r − c); its noise on linear sums is right. It
// is the release itself where f is nil.
func in(r *release.Release, f *release.Frame) *release.Release {
	if f == nil {
		return r
	}
	out := *r
	if r.Frame == nil {
		out.Noise.Linear = r.Noise.Scale
	}
	own := model.Identity(r.Dim()).In(f).Inverse().In(r.Frame) // from u
	back := own.Inverse()
	out.Frame = new(release.Frame)
	for j := range r.Dim() {
		row, _ := own.Row(j)
		out.Frame.Matrix, out.Frame.Centre = append(out.Frame.Matrix, row), append(out.Frame.Centre, back.Shift(j))
	}
	return &out
}

// countsAlike is the part of Alike that the numbers of rows have.
func countsAlike(a, b *release.Release, n float64) float64 {
	sdA, sdB := a.Noise.SDOf(a.NNoise), b.Noise.SDOf(b.NNoise)
	sd2, d := sdA*sdA+sdB*sdB, float64(a.N-b.N)
	switch {
	case (a.NNoise > 0) != (b.NNoise > 0) || sd2 == 0 && d != 0:
		return math.Inf(-1)
	case sd2 > 0:
		return math.Log(n) - 0.5*d*d/sd2 - 0.5*math.Log(2*math.Pi*sd2)
	}
	return math.Log(1e4)
}

// Site takes the parameters of one custodian out of draws in scaled units.
type Site struct {
	shape model.Shape
	own   schema.Frame // from common units, which take the place of scaled ones, to its own
	theta int          // where its coefficients are
	sigma int          // and its own σ_j; -1: it has none
	all   int          // and σ², or its counts' dispersion; -1: the response is of a family without
	mu    int          // and the shared μ_x and T
	n     int          // and its latent number of rows; -1: it is public
}

// NewSite finds those of custodian j, from 0, of a release of this shape, among draws in the scaled units of the frame.
func NewSite(d *posterior.Draws, shape model.Shape, common, own schema.Frame, j int) Site {
	u := model.UnitsBetween(common, own)
	s := Site{shape: shape, own: schema.Frame{Intercept: common.Intercept}}
	for k := range own.Half {
		s.own.Centre, s.own.Half = append(s.own.Centre, u.Shift(k)), append(s.own.Half, u.Scale(k))
	}
	s.theta = max(0, d.Index(fmt.Sprintf("theta_at[%d,%d]", j+1, shape.P+1-shape.Q())))
	s.sigma = d.Index(fmt.Sprintf("sigma_at[%d]", j+1))
	if s.all, s.mu = d.Index("sigma2"), d.Index("mu_x[1]"); s.all < 0 { // a dispersion has no unit, and a family's response the same in all
		s.all = ofSeveral(d, "dispersion", j)
	}
	s.n = ofSeveral(d, "n", j)
	return s
}

// ofSeveral is where the parameter of all rows is, or that of custodian j.
func ofSeveral(d *posterior.Draws, name string, j int) int {
	if at := d.Index(name); at >= 0 {
		return at
	}
	return d.Index(fmt.Sprintf("%s[%d]", name, j+1))
}

// Regression are θ_j and σ_j² of a draw; 1 stands for the σ² that there is not.
func (s Site) Regression(row []float64) []float64 {
	q := s.shape.Q()
	out := make([]float64, q, len(row))
	s.own.ThetaToOriginal(out, row[s.theta:s.theta+q])
	switch {
	case s.sigma >= 0:
		return append(out, s.own.Sigma2ToOriginal(row[s.sigma]*row[s.sigma]))
	case s.all >= 0:
		return append(out, s.own.Sigma2ToOriginal(row[s.all]))
	}
	return append(out, 1)
}

// Covariates appends the shared μ_x and T of a draw, and n.
func (s Site) Covariates(dst, row []float64) []float64 {
	p, at := s.shape.P, max(0, s.mu) // -1 where there is none
	mu, tau := make([]float64, p), make([]float64, p*p)
	s.own.MuXToOriginal(mu, row[at:at+p])
	model.Expand(tau, row[at+p:], p)
	s.own.TauToOriginal(tau, tau)
	dst = append(dst, mu...)
	for j := range p {
		dst = append(dst, tau[j*p+j:(j+1)*p]...)
	}
	if n := s.shape.InCells(); n > 0 {
		cells := make([]float64, n)
		s.shape.CellsToOriginal(&s.own, cells, row[at+p+p*(p+1)/2:][:n])
		dst = append(dst, cells...)
	}
	if s.n >= 0 {
		dst = append(dst, row[s.n])
	}
	return dst
}
