package plan

import (
	"math"

	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/persons"
	"github.com/dpreg/dpreg/release"
)

// StandIn is a release of n rows as ordered, that tells nothing of any data, so
// that inference can be rehearsed before ε is spent: rows as if uniform on the
// box, linear sums 0 and squares n/3 in scaled units.
func StandIn(n int64, o *custody.Settled, family model.Family) *release.Release {
	if o.ByLevel != "" {
		return standInLevels(n, o, family)
	}
	m := len(o.Design.Columns())
	v := make([]float64, release.Length(m))
	for j := range m {
		v[release.Index(m, j, j)] = float64(n) / 3
	}
	if family != model.Normal { // of squares 1
		v[len(v)-1] = float64(n)
	}
	r := &release.Release{
		Format:     release.Format,
		Simulated:  true,
		Schema:     *o.Design,
		N:          n,
		Noise:      release.Noise{Kind: o.Mechanism, Scale: 1},
		Statistics: release.StatisticsFromVector(m, v),
	}
	if o.Frame != nil {
		r.Format, r.Frame = release.FormatFrame, o.Frame
		r.Noise.Cross, r.Noise.Linear = 1/math.Sqrt2, 1/(math.Sqrt2*o.Frame.Weight)
		if o.Mechanism == release.Ball {
			r.Noise.Freedom = float64(release.Length(m) + 1)
		}
	}
	if o.Privacy.Neighbours == release.AddRemove {
		r.Privacy, r.NNoise = &o.Privacy, 1
	}
	if o.Persons.Rule.Kind == persons.Mean { // the others leave rows as they are
		r.Privacy, r.Persons = &o.Privacy, &release.Persons{Rows: release.PersonMean}
	}
	if o.WithMoments {
		r.Moments = standInMoments(n, m-1, o.Mechanism)
	}
	return r
}

// standInLevels is that of sums by levels, of one look: as many rows in each level.
func standInLevels(n int64, o *custody.Settled, family model.Family) *release.Release {
	m := len(o.Design.Columns())
	design, k, _ := release.LevelsFirst(o.Design, o.ByLevel) // which the order has settled
	nb := o.Privacy.Neighbours
	q, measured := m-k, make([]float64, len(release.Combinations(m, k, release.LevelCounts(k, nb))))
	products := len(measured) - q*(q+1)/2
	for i := range products - (k+1)*q {
		measured[i] = float64(n) / float64(k+1)
	}
	for j := range q {
		measured[products+release.Index(q, j, j)-q] = float64(n) / 3
	}
	if family != model.Normal && !release.Responds(o.Model(), o.ByLevel) {
		measured[len(measured)-1] = float64(n)
	}
	r := &release.Release{Format: release.FormatLevels, Simulated: true, Schema: *design, N: n, Noise: release.Noise{Kind: o.Mechanism, Scale: 1}}
	if o.Mechanism == release.Ball {
		r.Noise.Kind = release.Laplace
	}
	if nb == release.AddRemove {
		r.Privacy = &o.Privacy
	}
	like := release.NewLevels(o.ByLevel, k, nil)
	if design.Response.Binary() {
		like.Known = int64(q)
	}
	r.TakeLevels(like, measured)
	if release.Responds(o.Model(), o.ByLevel) {
		r = r.FactorLast()
	}
	r, _ = o.Answer(r) // to a formula that was settled
	return r
}

// standInMoments are those of rows uniform on the box, as good as without noise:
// nothing is to be refused for it.
func standInMoments(n int64, p int, noise release.Kind) *release.Moments {
	x := &release.Moments{Noise: release.Noise{Kind: noise, Scale: 1e-9}, Exponents: release.MomentExponents(p, 1)}
	for _, e := range x.Exponents {
		sum := float64(n)
		for _, k := range e {
			if k%2 == 1 {
				sum = 0
			}
			sum /= float64(k + 1)
		}
		x.Sums = append(x.Sums, sum)
	}
	return x
}
