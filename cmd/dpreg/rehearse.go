package main

import (
	"context"
	"errors"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/release"
)

// rehearse returns what dpreg.Infer refuses of releases and options before it
// draws anything: a context that is done keeps it from going further.
func rehearse(custodians []dpreg.Custodian, o dpreg.Options) error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := dpreg.Infer(ctx, custodians, o); !errors.Is(err, context.Canceled) {
		return usage(err)
	}
	return nil
}

// standIn is a release of n rows as ordered, that tells nothing of any data, so
// that inference can be rehearsed before ε is spent: rows as if uniform on the
// box, linear sums 0 and squares n/3 in scaled units.
func standIn(n int64, o *order) *release.Release {
	m := len(o.design.Columns())
	v := make([]float64, release.Length(m))
	for j := range m {
		v[release.Index(m, j, j)] = float64(n) / 3
	}
	r := &release.Release{
		Format:     release.Format,
		Simulated:  true,
		Schema:     *o.design,
		N:          n,
		Noise:      release.Noise{Kind: o.noise, Scale: 1},
		Statistics: release.StatisticsFromVector(m, v),
	}
	if o.privacy.Neighbours == release.AddRemove {
		r.Privacy, r.NNoise = &o.privacy, 1
	}
	if o.withoutYY {
		r.Statistics, r.Withheld = release.StatisticsFromVector(m, v[:len(v)-1]), []string{release.WithheldYY}
	}
	if o.moments {
		r.Moments = standInMoments(n, m-1, o.noise)
	}
	return r
}
