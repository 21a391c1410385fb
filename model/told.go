package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/dpreg/dpreg/internal/variate"
	"github.com/dpreg/dpreg/release"
)

// Told are sums by the levels of a factor, whose dummies are the first columns, as release.Levels has them:
// noise is on Z, the counts, sums and products in the order of release.Combinations. It is
// independent from part to part, of entries at some places: in the box each entry is one, in a frame the
// count and sums of each level, and all products.
//
// A normal law takes Known as if it had the noise of other products, of a latent n that of counts: its rows have no such
// squares for certain, and with little noise on it n and the levels' sums could hardly move. Families have no use for it.
type Told struct {
	Kind    release.Kind
	Dummies int
	Counts  []float64
	Sums    [][]float64
	Z       []float64
	Scale   []float64
	Parts   []Part
	Known   int // the place in Z of Σv² = n of a column that is −1 or 1, which is told without noise; −1: there is none

	Response *ToldOfResponse // nil: the factor is a covariate
	Levels   []*Site         // where products are per level: those of each; nil: they are over all rows
}

// observePerLevel reads products per level: what a release tells of the rows of each, of the columns that sums are of
// alone. All has noise, that on the number of rows too, unless n is public and the other levels tell it. Levels of fewer
// rows than columns and one more have no scatter with a density.
func observePerLevel(r *release.Release) (all []*Site, err error) {
	l := r.Levels
	_, columns, err := release.WithinLevels(&r.Schema, l.Factor, l.Dummies())
	if err != nil {
		return nil, err
	}
	q, counts := len(l.Sums[0]), l.CountsOf(float64(r.N))
	least, most := float64(q+1), float64(MaxRows)
	if r.Neighbours() == release.ReplaceOne {
		most = float64(r.N) - float64(len(l.Sums)-1)*least
	}
	if most < least {
		return nil, fmt.Errorf("products per level (--per-level) of %d columns need %d rows in each level, and n = %d for %d levels: take fewer columns by --formula", q, q+1, r.N, len(l.Sums))
	}
	for i, of := range columns {
		o := &Observation{Shape: Shape{P: q - 1, Intercept: true}, N: max(least, counts[i]), Kind: r.Noise.Kind, Z: slices.Concat(l.Sums[i], l.Products[i])}
		o.Scale, o.Count = slices.Repeat([]float64{r.Noise.Scale}, len(o.Z)), Count{Kind: r.Noise.Kind, Least: least, Most: most}
		if at := i - len(l.Sums) + len(l.Counts); at >= 0 {
			o.Count.Noisy, o.Count.Scale = l.Counts[at], r.Noise.Scale
		}
		all = append(all, &Site{Observation: o, Units: Identity(q), Upper: r.Schema.Response.Upper, Columns: of})
	}
	return all, nil
}

// ToldOfResponse is what Told has where the factor is the response, which is the last column then.
type ToldOfResponse struct {
	Entries    []release.Combination // Z of canonical statistics in Frame
	Frame      *release.Frame        // nil: the box
	Statistics []float64             // z in Frame
}

// observeResponse makes o, as sums by the levels of a covariate are read, that of a release by those of its
// response: z in scaled units, with the scales that the noise has there.
func (o *Observation) observeResponse(r *release.Release) {
	t := &ToldOfResponse{Entries: r.MeasuredOfResponse(), Statistics: r.Statistics.Vector()}
	if r.Frame != nil {
		t.Frame = r.Frame.Before(1)
	}
	o.Told.Response, o.Z, o.Scale, o.Frame = t, r.Scaled(), r.ScaledSD(), nil
	for i := range o.Scale {
		o.Scale[i] /= r.Noise.SDOf(1)
	}
}

// Part are entries that have their noise as one vector.
type Part struct {
	At      []int
	Freedom float64 // of ball noise
}

func observeLevels(r *release.Release) *Told {
	l := r.Levels
	t := &Told{Kind: r.Noise.Kind, Dummies: l.Dummies(), Counts: l.Counts, Sums: l.Sums, Z: r.Measured(), Scale: r.MeasuredScales(), Known: l.KnownAt()}
	times := float64(max(1, l.Merged))
	switch {
	case l.Noise != nil:
		t.InBalls(times*l.Noise.Freedom, r.Noise.Freedom)
	case l.Merged > 0 && t.Kind == release.Laplace:
		t.summed(times, l.Products != nil)
	default:
		t.Apart()
	}
	return t
}

// OfAllRows tells whether Z are canonical statistics: of one level, and of a count that a public n leaves nothing to tell.
// Samplers of statistics that have noise themselves serve.
func (t *Told) OfAllRows() bool { return t != nil && t.Dummies == 0 && len(t.Counts) == 0 }

// Apart makes each entry a part.
func (t *Told) Apart() {
	for i := range t.Z {
		t.Parts = append(t.Parts, Part{At: []int{i}})
	}
}

// laplaceFreedom is that of Laplace noise as of a ball: √V times normal noise, V ~ χ² of two degrees.
const laplaceFreedom = 2

// summed is Apart of Laplace noise of which that on counts and sums, or on products, too, is the sum of so many: of V's they
// are √ΣV times normal.
func (t *Told) summed(times float64, products bool) {
	t.Kind = release.Ball
	t.Apart()
	for i := range t.Parts {
		if t.Parts[i].Freedom = laplaceFreedom; products || i < len(t.Counts)+len(t.Sums)*len(t.Sums[0]) {
			t.Parts[i].Freedom *= times
		}
	}
}

// InBalls makes the parts of a frame, where noise of balls has these degrees of freedom. All levels have counts.
func (t *Told) InBalls(ofLevel, ofProducts float64) {
	levels := len(t.Sums)
	d := len(t.Sums[0])
	for l := range levels {
		at := []int{l}
		for j := range d {
			at = append(at, levels+l*d+j)
		}
		t.Parts = append(t.Parts, Part{at, ofLevel})
	}
	var products []int
	for i := levels * (1 + d); i < len(t.Z); i++ {
		products = append(products, i)
	}
	t.Parts = append(t.Parts, Part{products, ofProducts})
}

// Variance is that of the noise on entry i.
func (t *Told) Variance(i int) float64 {
	for _, part := range t.Parts {
		if t.Kind == release.Ball && slices.Contains(part.At, i) {
			return part.Freedom * t.Scale[i] * t.Scale[i]
		}
	}
	return NoiseVariance(t.Kind, t.Scale[i])
}

// AddNoise adds noise anew to z, of the scales times so much.
func (t *Told) AddNoise(z []float64, times float64, rng *rand.Rand) {
	for _, part := range t.Parts {
		own, wide := t.Kind, times
		if t.Kind == release.Ball {
			own, wide = release.Gaussian, times*math.Sqrt(variate.Chi2(part.Freedom, rng))
		}
		for _, at := range part.At {
			z[at] += wide * RandNoise(own, t.Scale[at], rng)
		}
	}
}

// clipped takes what clipping does to products, and to the scale of sums within levels; z and scales are of the
// columns behind the dummies, in canonical order.
func (t *Told) clipped(z, scales []float64, linear float64) {
	d, first := len(t.Sums[0]), len(t.Counts)
	for i := range len(t.Sums) * d {
		t.Scale[first+i] *= linear
	}
	first += len(t.Sums) * d
	copy(t.Z[first:], z[d:])
	copy(t.Scale[first:], scales[d:])
}
