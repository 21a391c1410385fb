package model

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/dpreg/dpreg/release"
)

// Once reports an error where the sums were measured several times, which the method of
// this name cannot take.
func (o *Observation) Once(method string) error {
	if len(o.Measurements) > 0 {
		return fmt.Errorf("%s takes one measurement of each sum: several with Laplace noise, or of a noisy number of rows, are no single one; mcmc-exact, mcmc-ind and naive take them", method)
	}
	return nil
}

// observeSame reads releases of the same rows. Errors are of the release that does not fit
// the first.
func observeSame(releases []*release.Release) (*Observation, error) {
	var all []*Observation
	first := releases[0]
	for j, r := range releases {
		o, err := Observe(r)
		if err == nil {
			err = sameSums(first, r)
		}
		if err != nil {
			return nil, &SiteError{j, err}
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

// Together is the observation of independent measurements of the same sums,
//
//	log p(z_1 … z_K | s) = Σ_k log p(z_k | s).
//
// Normal measurements of variances v_k tell as much as one, their mean weighted by 1/v_k, of
// variance 1/Σ(1/v_k). Where some are not, or counts are noisy, which are whole, all stay, and
// that mean stands for them where one is wanted to start from.
func Together(all []*Observation) *Observation {
	o := all[0]
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
// scale as noise of a kind. A Laplace law of scale b has the variance 2b².
func weighted(all []*Observation, kind release.Kind, of func(*Observation) (value float64, kind release.Kind, scale float64)) (mean, scale float64) {
	precision := 0.0
	for _, m := range all {
		z, kind, scale := of(m)
		w := 1 / (scale * scale)
		if kind == release.Laplace {
			w /= 2
		}
		mean += w * z
		precision += w
	}
	scale = 1 / math.Sqrt(precision)
	if kind == release.Laplace {
		scale /= math.Sqrt2
	}
	return mean / precision, scale
}
