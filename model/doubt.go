package model

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/dpreg/dpreg/release"
)

// Doubt is what sums leave open of the slopes of a Family. Let b be those that explain them by the law of normal x, and β
// those of the rows. By g(η) = g(η̄) + g′(η − η̄) + ½g″(η − η̄)² + …, of independent columns x_j of variance 1, skewness γ_j
// and excess kurtosis κ_j,
//
//	Cov(x_j, y) = β_j E g′ + ½ β_j² γ_j E g″ + ⅙ β_j³ κ_j E g‴ + …,
//
// of which a line through normal x has the first term alone. So b/β − 1 is ½γ_jβ_j E g″/E g′, which is β_jγ_j/2 where g is near
// an exponential, of counts and of a rare y, and of the size of κ_jβ_j²; and where η
// spreads so far that g is flat, Cov(x, y) hardly tells slopes from twice as strong ones: x that are normal at each y have
// β = b/2 at an sd of η of 4. Mean and covariance of x tell neither γ nor κ, and no number of rows makes up for it. Hence
//
//	β = b exp(wz − ½w²),   z ~ N(0, 1),   w² = (a/(1 + a))² + (s²/(8 + 1.5s²))²,   a = ½s|E g″|/E g′,
//
// of counts w = s/(2 + s), with b the slopes that a posterior by the law of normal x has, and s the sd of η at them, in the second
// term of probit over 0.6: β has the mean of b, and is b where slopes are weak. γ has an sd of 1. The numbers are from x of many
// laws (doubt_test.go). η stays at the mean of x.
//
// Columns that are 0 or 1 have another way: their law is known, and location takes slopes to it first. Then s is the sd of η
// within these, and the slopes of the others turn.
type Doubt struct {
	family   Family
	location *location
	anchored bool
	located  bool // at the draw
	factor   float64
	draws    float64

	mean, kept, own *Params // of the law of x: its mean over draws, what of a draw's distance is rows', and rows' own
}

// NewDoubt prepares it for slopes that are read of such releases.
func NewDoubt(f Family, r *release.Release) *Doubt {
	read, rows := Apart(r)
	return &Doubt{family: f, location: newLocation(f, r.Schema.Response.Upper, len(r.Schema.Covariates), read, rows)}
}

// Doubt is w where η has the sd s, and E g″/E g′ is bend.
func (f Family) Doubt(s, bend float64) float64 {
	if f == Poisson {
		return s / (2 + s)
	}
	a := 0.5 * s * math.Abs(bend)
	if f == Probit {
		s /= 0.6
	}
	return math.Hypot(a/(1+a), s*s/(8+1.5*s*s))
}

// Anchor takes mean and variance of draws of θ and the law of x, of so many rows, the covariance of θ, its prior's means and sds,
// and, unless they have coefficients of their own, apart, what releases tell. A release tells θ given the mean and scatter of its
// rows, and draws have a population's: of their distance from the mean it is kept what is not due to the choice of n rows, of
// variance t_jj/n and (t_jjt_kk + t_jk²)/n.
func (d *Doubt) Anchor(mean, variance *Params, covariance *mat.SymDense, prior, sds []float64, told *Released, n float64, apart bool) {
	shape := Shape{P: d.location.read.p, Intercept: true}
	d.mean, d.kept, d.own = mean, NewParams(shape), NewParams(shape)
	kept := func(variance, chance float64) float64 { return math.Sqrt(max(0, 1-chance/variance)) }
	for j := range shape.P {
		own := mean.Tau[j*shape.P+j]
		d.kept.MuX[j] = kept(variance.MuX[j], own/n)
		for k := range shape.P {
			at := j*shape.P + k
			d.kept.Tau[at] = kept(variance.Tau[at], (own*mean.Tau[k*shape.P+k]+mean.Tau[at]*mean.Tau[at])/n)
		}
	}
	if apart {
		told = nil
	}
	d.anchored = d.location.Set(mean) && d.location.Anchor(mean.Theta, covariance, prior, sds, told, mean.Sigma2, n)
}

// Strained tells whether effects of columns that are 0 or 1 are so strong that normal x cannot have them, and slopes of rows are
// known less well than draws have it.
func (d *Doubt) Strained() bool { return d.location.strained }

// ofRows is the law of x among the rows.
func (d *Doubt) ofRows(x *Params) *Params {
	if d.mean == nil {
		return x
	}
	between := func(dst, x, mean, kept []float64) {
		for i, m := range mean {
			dst[i] = m
			if kept[i] > 0 {
				dst[i] += kept[i] * (x[i] - m)
			}
		}
	}
	between(d.own.MuX, x.MuX, d.mean.MuX, d.kept.MuX)
	between(d.own.Tau, x.Tau, d.mean.Tau, d.kept.Tau)
	return d.own
}

// golden is the step of z's quantiles from one draw to the next, which spreads any number of them evenly.
const golden = 0.6180339887498949

// Next takes theta, θ of one more draw x, to that of rows, and returns s and w.
func (d *Doubt) Next(theta []float64, x *Params) (s, w float64) {
	d.location.Draw()
	s, w = d.Locate(theta, x)
	d.draws++
	_, u := math.Modf(d.draws * golden)
	d.factor = math.Exp(w * (math.Sqrt2*math.Erfinv(2*u-1) - 0.5*w))
	d.Turn(theta, x.MuX, d.factor)
	return s, w
}

// Again is Next of another θ of the same draw, that of a custodian.
func (d *Doubt) Again(theta []float64, x *Params) {
	if d.located {
		d.location.ToRows(theta)
	}
	d.Turn(theta, x.MuX, d.factor)
}

// Locate takes theta to the location model, after Anchor, and returns s and w.
func (d *Doubt) Locate(theta []float64, x *Params) (s, w float64) {
	d.located = d.location.Set(d.ofRows(x)) && d.anchored
	if d.located {
		d.location.ToRows(theta)
		d.location.Stretch(theta)
	}
	s, bend := d.location.Index(theta)
	return s, d.family.Doubt(s, bend)
}

// Inform takes the precision of θ as the sampler reads it, a square, to that of rows, where Locate was last.
func (d *Doubt) Inform(precision []float64) {
	if d.located {
		d.location.inform(precision)
	}
}

// Turn makes the slopes that turn factor times what they are, and leaves η where x is at a mean.
func (d *Doubt) Turn(theta, mean []float64, factor float64) {
	for _, j := range d.location.rows.Rest {
		theta[0] += (1 - factor) * theta[1+j] * mean[j]
		theta[1+j] *= factor
	}
}
