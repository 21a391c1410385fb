package model

import "math"

// Doubt is what sums leave open of the slopes of a Family. Let b be those that explain them by the law of normal x, and β
// those of the rows. By g(η) = g(η̄) + g′(η − η̄) + ½g″(η − η̄)² + …, of independent columns x_j of variance 1, skewness γ_j
// and excess kurtosis κ_j,
//
//	Cov(x_j, y) = β_j E g′ + ½ β_j² γ_j E g″ + ⅙ β_j³ κ_j E g‴ + …,
//
// of which a line through normal x has the first term alone. So b/β − 1 is of the size of γ_jβ_j and κ_jβ_j², and where η
// spreads so far that g is flat, Cov(x, y) hardly tells slopes from twice as strong ones: x that are normal at each y have
// β = b/2 at an sd of η of 4. Mean and covariance of x tell neither γ nor κ, and no number of rows makes up for it. Hence
//
//	β = b exp(wz − ½w²),   z ~ N(0, 1),   w = s²/(8 + 1.5s²),   of counts s/(2 + s),
//
// with b the slopes that a posterior by the law of normal x has, and s the sd of η at them, in logit's units (of probit 0.6), of
// counts in the log's: β has the mean of b, and is b where slopes are weak. Near ȳ of a half logit's g″ is small, and its error of the
// second order; g″ of a rate is g′, so that w is s/2 times γ's sd of 1. The numbers are from x of many laws (doubt_test.go). η
// stays at the mean of x.
type Doubt struct {
	family Family
	law    *LevelLaw
	at     Index
	draws  float64
}

// NewDoubt prepares it, of which the first columns are so many dummies of a factor with a law of its own.
func NewDoubt(f Family, s Shape, dummies int) *Doubt {
	return &Doubt{family: f, law: NewLevelLaw(s, dummies, 0, nil)}
}

// Doubt is w at an sd of η.
func (f Family) Doubt(s float64) float64 {
	switch f {
	case Poisson:
		return s / (2 + s)
	case Probit:
		s /= 0.6
	}
	return s * s / (8 + 1.5*s*s)
}

// golden is the step of z's quantiles from one draw to the next, which spreads any number of them evenly.
const golden = 0.6180339887498949

// Next returns the factor of β of one more draw, and s.
func (d *Doubt) Next(x *Params) (factor, s float64) {
	d.law.Set(x)
	d.law.Index(&d.at)
	d.draws++
	_, u := math.Modf(d.draws * golden)
	w := d.family.Doubt(d.at.S)
	return math.Exp(w * (math.Sqrt2*math.Erfinv(2*u-1) - 0.5*w)), d.at.S
}

// Turn makes slopes, but those of so many dummies before them, factor times what they are, and leaves η where x is at a mean.
func Turn(theta, mean []float64, dummies int, factor float64) {
	slopes := theta[len(theta)-len(mean):]
	for j := dummies; j < len(slopes); j++ {
		if len(slopes) < len(theta) {
			theta[0] += (1 - factor) * slopes[j] * mean[j]
		}
		slopes[j] *= factor
	}
}
