package ssp

import (
	"fmt"
	"math"
	"math/big"

	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// Noise that several custodians draw together: docs/secure-sum.md has the proof.

// MaxShareEpsilon is the largest ε of a release with shares of noise, and leastShare the smallest
// standard deviation of a share, on the lattice, over the root of the number of custodians: what a sum of rounded
// normal variates is from a rounded one is then below exp(−10⁷).
const (
	MaxShareEpsilon = 1e6
	leastShare      = 1 << 10
)

// CalibrateShare returns the noise that each of so many custodians adds to sums of m columns, of whom
// at least so many are present and do not collude: the standard deviation is the smallest float64 s
// with honest·s² ≥ σ², where σ is that of one release with this privacy. Errors: those of Calibrate, and
// an ε above MaxShareEpsilon.
func CalibrateShare(m int, pr release.Privacy, custodians, honest int) (release.Noise, error) {
	if pr.Epsilon > MaxShareEpsilon {
		return release.Noise{}, fmt.Errorf("epsilon %v: at most %v is shared", pr.Epsilon, MaxShareEpsilon)
	}
	noise, err := Calibrate(m, pr, release.Gaussian, Exact)
	if err != nil {
		return noise, err
	}
	square := new(big.Rat).Mul(number.Exactly(noise.Scale), number.Exactly(noise.Scale))
	noise.Scale = rootUp(square.Quo(square, big.NewRat(int64(honest), 1)))
	if !(noise.Scale/lattice >= leastShare*math.Sqrt(float64(custodians))) {
		return noise, fmt.Errorf("shares of noise of sd %v among %d custodians are too small for the lattice", noise.Scale, custodians)
	}
	return noise, nil
}

// Share returns the sums of s and, as the last, their number of rows, as multiples of 2⁻⁴⁰, with a share of
// the noise on all that is not public. Each call draws anew.
func Share(s *Statistics, share release.Noise, nb release.Neighbours, e *mechanisms.Entropy) ([]*big.Int, error) {
	drawn, err := mechanism(share, 2*LatticeBits)
	if err != nil {
		return nil, err
	}
	z := append(s.BigInts(), new(big.Int).Lsh(big.NewInt(s.N), 2*LatticeBits))
	noisy := z
	if nb != release.AddRemove {
		noisy = z[:len(z)-1]
	}
	drawn.AddNoise(noisy, e)
	return z, nil
}

// Pooled returns the release of a total of Share over the custodians of p, of the columns of d.
func Pooled(total []*big.Int, d *schema.Design, pr release.Privacy, share release.Noise, p release.Pooled, simulated bool) (*release.Release, error) {
	m, last := len(d.Columns()), len(total)-1
	if last != release.Length(m) {
		return nil, fmt.Errorf("%d sums are not those of %d columns", last, m)
	}
	noise := share
	noise.Scale *= math.Sqrt(float64(p.Custodians))
	half := new(big.Int).Lsh(big.NewInt(1), 2*LatticeBits-1)
	r := &release.Release{
		Format:     release.Format,
		Simulated:  simulated,
		Schema:     copyDesign(d),
		Privacy:    &pr,
		Pooled:     &p,
		N:          saturated(half.Rsh(half.Add(half, total[last]), 2*LatticeBits)), // the nearest integer
		Noise:      noise,
		Statistics: release.StatisticsFromVector(m, toScaled(total[:last], 2*LatticeBits)),
	}
	if pr.Neighbours == release.AddRemove {
		r.NNoise = noise.Scale
	}
	if err := r.Validate(); err != nil {
		return nil, fmt.Errorf("the release is not valid: %w", err)
	}
	return r, nil
}
