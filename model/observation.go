package model

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// Observation is one release as the samplers read it, or several of the same rows.
type Observation struct {
	Shape Shape
	N     float64 // as published: exact, or noisy where Count is latent
	Count Count
	Z     []float64 // noisy statistics, canonical order, length Shape.Statistics()
	Kind  release.Kind
	Scale []float64 // noise scale of each entry: b of the Laplace law, σ of the Gaussian

	Moments *NoisyMoments // of the covariates, where the release has them

	// Measurements are those of the same sums where there are several whose law is not that
	// of one; nil otherwise. Z, Kind, Scale and Count then only stand for them, to start
	// from; the law is Noise's.
	Measurements []*Observation
}

// Observe reads a release. It refuses one that withholds Σy².
func Observe(r *release.Release) (*Observation, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	if y := r.Schema.Response.Name; r.WithoutYY() {
		return nil, fmt.Errorf("this release withholds the sum of squares of %q (\"withheld\": [\"yy\"]), and no method does without: infer from it by a --formula that leaves %q out", y, y)
	}
	n, kind, z := float64(r.N), r.Noise.Kind, r.Statistics.Vector()
	shape := Shape{P: len(r.Schema.Covariates), Intercept: r.Schema.Intercept}
	return &Observation{
		Shape: shape, N: n, Z: z, Kind: kind, Scale: slices.Repeat([]float64{r.Noise.Scale}, len(z)),
		Count:   Count{Noisy: n, Kind: kind, Scale: r.NNoise, Least: float64(shape.P + 2), Most: MaxRows},
		Moments: observeMoments(r),
	}, nil
}

// Once reports an error where the sums were measured several times, which the method of
// this name cannot take.
func (o *Observation) Once(method string) error {
	if len(o.Measurements) > 0 {
		return fmt.Errorf("%s takes one measurement of each sum: several with Laplace noise, or of a noisy number of rows, are no single one; mcmc-exact, mcmc-ind and naive take them", method)
	}
	return nil
}

// observeAll reads releases of the same rows, one or more. Errors are of the release that does
// not fit the first.
func observeAll(releases []*release.Release) (*Observation, error) {
	var all []*Observation
	for j, r := range releases {
		o, err := Observe(r)
		if err == nil {
			err = sameSums(releases[0], r)
		}
		if err != nil {
			return nil, siteError(j, len(releases), err)
		}
		all = append(all, o)
	}
	return Together(all), nil
}

// sameSums reports why two releases cannot be measurements of the same sums.
func sameSums(a, b *release.Release) error {
	u, v := a.Schema.Frame(), b.Schema.Frame()
	switch {
	case !slices.Equal(u.Labels, v.Labels) || u.Intercept != v.Intercept:
		return errors.New("it has other columns than the first release: a --formula of columns that both have makes them alike")
	case !slices.Equal(u.Centre, v.Centre) || !slices.Equal(u.Half, v.Half):
		return errors.New("it has other bounds than the first release: its sums are of other scaled and clamped values, and no measurements of the same ones; infer from one of them")
	case (a.NNoise > 0) != (b.NNoise > 0):
		return errors.New("of it and the first release, one has a public number of rows and one a noisy one: infer from one of them")
	case a.NNoise == 0 && a.N != b.N:
		return fmt.Errorf("it has %d rows and the first release has %d: they are not of the same rows", b.N, a.N)
	}
	return nil
}

// Together is the observation of independent measurements of the same sums, one or more,
//
//	log p(z_1 … z_K | s) = Σ_k log p(z_k | s).
//
// Normal measurements of variances v_k tell as much as one, their mean weighted by 1/v_k, of
// variance 1/Σ(1/v_k). Where some are not, or counts are noisy, which are whole, all stay, and
// that mean stands for them where one is wanted to start from.
func Together(all []*Observation) *Observation {
	o := all[0]
	if len(all) == 1 {
		return o
	}
	out, normal := *o, true
	out.Z, out.Scale, out.Moments = make([]float64, len(o.Z)), make([]float64, len(o.Z)), nil
	for _, m := range all {
		normal = normal && m.Kind == release.Gaussian && !m.Count.Latent()
	}
	if out.Kind = release.Gaussian; !normal {
		out.Kind, out.Measurements = release.Laplace, all
	}
	for i := range out.Z {
		out.Z[i], out.Scale[i] = weighted(all, out.Kind, func(m *Observation) (float64, release.Kind, float64) { return m.Z[i], m.Kind, m.Scale[i] })
	}
	if o.Count.Latent() {
		n, scale := weighted(all, o.Count.Kind, func(m *Observation) (float64, release.Kind, float64) {
			return m.Count.Noisy, m.Count.Kind, m.Count.Scale
		})
		out.Count.Noisy, out.Count.Scale = math.Round(n), scale
		out.N = out.Count.Noisy
	}
	return &out
}

// weighted is the mean of measurements, weighted by the inverses of their variances, and its
// scale as noise of a kind.
func weighted(all []*Observation, kind release.Kind, of func(*Observation) (value float64, kind release.Kind, scale float64)) (mean, scale float64) {
	precision := 0.0
	for _, m := range all {
		z, kind, scale := of(m)
		w := 1 / NoiseVariance(kind, scale)
		mean += w * z
		precision += w
	}
	scale = 1 / math.Sqrt(precision)
	if kind == release.Laplace {
		scale /= math.Sqrt2
	}
	return mean / precision, scale
}

// Units is the affine map from common scaled units to those of one release,
//
//	v_own = a v + b,  entry by entry,  a > 0,
//
// and its inverse. With K = [1 0; b diag(a)], B_own = K B Kᵀ. Without an intercept
// b = 0.
type Units struct{ Scale, Shift []float64 } // a and b, of length m

// UnitsBetween returns the map from the scaled units of one frame to those of
// another, of the same columns in the same order.
func UnitsBetween(common, own schema.Frame) *Units {
	m := len(own.Half)
	u := &Units{make([]float64, m), make([]float64, m)}
	for j := range m {
		u.Scale[j] = common.Half[j] / own.Half[j]
		u.Shift[j] = (common.Centre[j] - own.Centre[j]) / own.Half[j]
	}
	return u
}

// Moments takes the mean (m) and covariance (m×m) of rows from common units to the
// release's, in place.
func (u *Units) Moments(mean, cov []float64) {
	m := len(u.Scale)
	for j, a := range u.Scale {
		mean[j] = a*mean[j] + u.Shift[j]
		for k, b := range u.Scale {
			cov[j*m+k] *= a * b
		}
	}
}

// Gram writes B_own = K B Kᵀ; of both matrices, (m+1)×(m+1), the lower triangle is
// given.
func (u *Units) Gram(own, b []float64) {
	k := len(u.Scale) + 1
	own[0] = b[0]
	for i := 1; i < k; i++ {
		ai, bi := u.Scale[i-1], u.Shift[i-1]
		own[i*k] = ai*b[i*k] + bi*b[0]
		for j := 1; j <= i; j++ {
			aj, bj := u.Scale[j-1], u.Shift[j-1]
			own[i*k+j] = ai*(aj*b[i*k+j]+bj*b[i*k]) + bi*(aj*b[j*k]+bj*b[0])
		}
	}
}

// PullGram replaces the symmetric E with df = Σ_ij E_ij dB_own,ij by KᵀEK, the same of
// B; the lower triangle is given.
func (u *Units) PullGram(e []float64) {
	k := len(u.Scale) + 1
	corner := e[0]
	for i := 1; i < k; i++ { // Eb of each row of v, then the corner's terms
		sum := e[i*k]
		for j := 1; j < k; j++ {
			sum += e[max(i, j)*k+min(i, j)] * u.Shift[j-1]
		}
		corner += u.Shift[i-1] * (e[i*k] + sum)
		e[i*k] = sum
	}
	e[0] = corner
	for i := 1; i < k; i++ {
		e[i*k] *= u.Scale[i-1]
		for j := 1; j <= i; j++ {
			e[i*k+j] *= u.Scale[i-1] * u.Scale[j-1]
		}
	}
}

// Common takes statistics of n rows, canonical order, from the release's units to
// common ones; dst may be s.
func (u *Units) Common(dst, s []float64, n float64) {
	m := len(u.Scale)
	at := len(s) - 1
	for j := m - 1; j >= 0; j-- { // backwards, so that linear sums stay until they are not needed
		aj, bj := u.Scale[j], u.Shift[j]
		for k := m - 1; k >= j; k-- {
			ak, bk := u.Scale[k], u.Shift[k]
			dst[at] = (s[at] - bj*s[k] - bk*s[j] + bj*bk*n) / (aj * ak)
			at--
		}
	}
	for j := range m {
		dst[j] = (s[j] - u.Shift[j]*n) / u.Scale[j]
	}
}
