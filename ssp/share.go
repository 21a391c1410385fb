package ssp

import (
	"errors"
	"fmt"
	"math"
	"math/big"

	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/release"
)

// Noise that several custodians draw together: docs/secure-sum.md has the proof.

// MaxShareEpsilon is the largest ε of a release with shares of noise, and leastShare the smallest
// standard deviation of a share, on the lattice, over the root of the number of custodians: what a sum of rounded
// normal variates is from a rounded one is then below exp(−10⁷).
const (
	MaxShareEpsilon = 1e6
	leastShare      = 1 << 10
)

// Shared is what custodians add up: the sums of rows, in the box or in a frame, their number, the counts of
// their radii in the frame, and how many persons had rows left out; and the Gaussian noise on these. Counts
// are shared as multiples of 2⁻⁴⁰, as noise on integers cannot be shared.
type Shared struct {
	Columns    int
	Neighbours release.Neighbours
	Frame      *release.Frame // nil: the box
	Noise      release.Noise  // on the sums
	Radii      float64        // its scale on the counts of radii; in a frame
	More       float64        // on the count of persons; 0: there is none
}

// Split returns the noise that each of so many custodians adds, of whom at least so many are present and
// do not collude: of a scale σ the smallest float64 s with honest·s² ≥ σ². It is an error if the lattice
// is too coarse for it.
func (q Shared) Split(custodians, honest int) (Shared, error) {
	least := leastShare * math.Sqrt(float64(custodians))
	for _, s := range []struct {
		scale   *float64
		lattice float64
	}{{&q.Noise.Scale, q.Noise.Lattice}, {&q.Noise.Cross, q.Noise.Lattice}, {&q.Noise.Linear, q.Noise.Lattice}, {&q.Radii, lattice}, {&q.More, lattice}} {
		if *s.scale == 0 {
			continue
		}
		square := square(*s.scale)
		*s.scale = rootUp(square.Quo(square, big.NewRat(int64(honest), 1)))
		if !(*s.scale/s.lattice >= least) {
			return q, fmt.Errorf("shares of noise of sd %v among %d custodians are too small for the lattice", *s.scale, custodians)
		}
	}
	return q, nil
}

// Together is the noise of so many shares.
func (q Shared) Together(custodians int64) Shared {
	root := math.Sqrt(float64(custodians))
	for _, scale := range []*float64{&q.Noise.Scale, &q.Noise.Cross, &q.Noise.Linear, &q.Radii, &q.More} {
		*scale *= root
	}
	return q
}

// count is the scale of the noise on the number of rows; 0 where that is public.
func (q Shared) count() float64 {
	switch {
	case q.Neighbours != release.AddRemove:
		return 0
	case q.Frame == nil:
		return q.Noise.Scale
	}
	return roundUp(new(big.Rat).Quo(number.Exactly(q.Noise.Scale), square(q.Frame.Weight)))
}

// Share returns the sums of s and their number of rows, as multiples of 2⁻⁴⁰, with noise, in the box;
// more is that of persons. Each call draws anew.
func (q Shared) Share(s *Statistics, more int64, e *mechanisms.Entropy) ([]*big.Int, error) {
	z := s.BigInts()
	return q.share(z, []part{{z, q.Noise.Scale, 2 * LatticeBits}}, s.N, nil, more, e)
}

// ShareLook is Share of sums in the frame, and of radii in it.
func (q Shared) ShareLook(s *BallAccumulator, c *RadiusCount, more int64, e *mechanisms.Entropy) ([]*big.Int, error) {
	if !sameFrame(q.Frame, &s.ball.frame) {
		return nil, errors.New("the sums are of another frame")
	}
	c.flush()
	z := s.integers()
	return q.share(z, byScale(q.Columns, z, q.Noise, 2*radiusLattice(q.Frame.Radius)), s.n, c.count, more, e)
}

// share puts counts behind the sums z, and noise on all that is not public.
func (q Shared) share(z []*big.Int, parts []part, n int64, radii []int64, more int64, e *mechanisms.Entropy) ([]*big.Int, error) {
	add := func(scale float64, counts ...int64) {
		p := part{nil, scale, 2 * LatticeBits}
		for _, k := range counts {
			p.z = append(p.z, new(big.Int).Lsh(big.NewInt(k), 2*LatticeBits))
		}
		if z = append(z, p.z...); scale > 0 {
			parts = append(parts, p)
		}
	}
	add(q.count(), n)
	add(q.Radii, radii...)
	if q.More > 0 {
		add(q.More, more)
	}
	return z, addNoise(release.Gaussian, parts, e)
}

// Total puts a total of shares of so many custodians, whose noise q is, into r, which has all else, and
// checks it.
func (q Shared) Total(total []*big.Int, r *release.Release) error {
	all, digits := q.Together(r.Pooled.Custodians), 2*LatticeBits
	r.Format = release.Format
	var bins *RadiusCount
	size := release.Length(q.Columns) + 1
	if q.Frame != nil {
		ball, err := NewBall(q.Frame, q.Columns)
		if err != nil {
			return err
		}
		bins, digits = ball.Radii(), 2*radiusLattice(q.Frame.Radius)
		size += len(bins.count)
		r.Format, r.Frame = release.FormatFrame, q.Frame
		r.Radii = &release.Radii{Least: bins.least, Scale: all.Radii}
	}
	if q.More > 0 {
		size++
	}
	if len(total) != size {
		return fmt.Errorf("%d sums are not those of %d columns", len(total), q.Columns)
	}
	sums, counts := total[:release.Length(q.Columns)], total[release.Length(q.Columns):]
	whole := make([]int64, len(counts)) // the nearest integers
	for i, z := range counts {
		half := new(big.Int).Lsh(big.NewInt(1), 2*LatticeBits-1)
		whole[i] = saturated(half.Rsh(half.Add(half, z), 2*LatticeBits))
	}
	r.N, r.NNoise, r.Noise = whole[0], all.count(), all.Noise
	if r.Radii != nil {
		r.Radii.Counts = whole[1 : 1+len(bins.count)]
	}
	if q.More > 0 {
		r.Persons.More, r.Persons.Scale = whole[len(whole)-1], all.More
	}
	r.Statistics = release.StatisticsFromVector(q.Columns, toScaled(sums, digits))
	if err := r.Validate(); err != nil {
		return fmt.Errorf("the release is not valid: %w", err)
	}
	return nil
}
