package ssp

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/release"
)

// Budget is what a release promises, of which each query of a row has a share: a number
// above 0 and at most 1. Shares that add up to no more than 1, as exact float64s, keep the
// promise, however a query depends on what those before it released (docs/adaptive.md).
type Budget struct {
	Kind       release.Kind // Gaussian or Ball
	Neighbours release.Neighbours

	// Of Gaussian noise the standard deviation that a query of sensitivity 1 gets for the
	// whole, else ε.
	unit float64
}

// NewBudget returns the whole of a privacy: Gaussian noise where δ > 0, pure ε where it is
// 0. Errors: those of Publish on privacy.
func NewBudget(pr release.Privacy) (Budget, error) {
	if pr.Delta == 0 {
		return Budget{release.Ball, pr.Neighbours, pr.Epsilon}, checkPrivacy(pr, release.Laplace)
	}
	if err := checkPrivacy(pr, release.Gaussian); err != nil {
		return Budget{}, err
	}
	noise, err := gaussianNoise(big.NewRat(1, 1), pr)
	return Budget{release.Gaussian, pr.Neighbours, noise.Scale}, err
}

// Sigma is the standard deviation that Gaussian noise has which takes the whole at a
// sensitivity of 1: all queries together are worth it. It is for budgets of that kind.
func (b Budget) Sigma() float64 { return b.unit }

// scale is the smallest float64 s for which a query of sensitivity Δ, given squared, takes
// no more than so much of a share of the whole. Gaussian mechanisms compose by Σ(Δ/s)², which
// is 1/S² for the whole, and others by ΣΔ/s, which is ε:
//
//	s² ≥ Δ²·S²/share,     s² ≥ (Δ/(ε·share))².
func (b Budget) scale(squared *big.Rat, share float64, of *big.Rat) (float64, error) {
	if !(share > 0 && share <= 1) {
		return 0, fmt.Errorf("a share of %v of the privacy: it must be above 0 and at most 1", share)
	}
	part, whole := new(big.Rat).Mul(number.Exactly(share), of), number.Exactly(b.unit)
	if b.Kind == release.Ball {
		part.Mul(part, part)
		whole.Inv(number.Decimal(b.unit))
	}
	q := new(big.Rat).Mul(squared, whole.Mul(whole, whole))
	if q.Quo(q, part).Cmp(powerOfTwo(2*mostScale)) > 0 {
		return 0, fmt.Errorf("a share of %v of the privacy leaves nothing but noise", share)
	}
	return rootUp(q), nil
}

// mostScale is the binary logarithm of the largest scale of noise. With MinEpsilon and
// MinDelta a share of 2⁻⁵⁰ still has less in any frame.
const mostScale = 200

// PublishRadii returns the counts with noise that takes this share: a row is in one bin, so
// that the L2 sensitivity is √2 to replace-one neighbours and the L1 sensitivity 2, and both
// are 1 to add-remove ones. Noise is Gaussian, rounded, or discrete Laplace where the budget
// is pure ε. The second result is the number of rows: to add-remove neighbours the sum of
// the noisy counts. It neither keeps nor changes c; each call draws new noise and spends
// the share again. Errors: a share that is none, or too small.
func (b Budget) PublishRadii(c *RadiusCount, share float64, e *mechanisms.Entropy) (*release.Radii, int64, error) {
	noise := release.Noise{Kind: release.Gaussian}
	if b.Kind == release.Ball {
		noise.Kind = release.Laplace
	}
	var err error
	if noise.Scale, err = b.RadiiScale(share); err != nil {
		return nil, 0, err
	}
	c.flush()
	z := make([]*big.Int, len(c.count))
	for i, n := range c.count {
		z[i] = big.NewInt(n)
	}
	if err := addNoise(noise.Kind, []part{{z, noise.Scale, 0}}, e); err != nil {
		return nil, 0, err
	}
	radii, sum := &release.Radii{Least: c.least, Scale: noise.Scale}, new(big.Int)
	for _, n := range z {
		radii.Counts = append(radii.Counts, saturated(n))
		sum.Add(sum, n)
	}
	if b.Neighbours == release.AddRemove {
		return radii, saturated(sum), nil
	}
	return radii, c.n, nil
}

// RadiiScale is that of the noise of PublishRadii, whose errors it has.
func (b Budget) RadiiScale(share float64) (float64, error) {
	squared := int64(2)
	switch {
	case b.Neighbours == release.AddRemove:
		squared = 1
	case b.Kind == release.Ball:
		squared = 4
	}
	return b.scale(big.NewRat(squared, 1), share, all)
}

// saturated is the int64 nearest to x.
func saturated(x *big.Int) int64 {
	switch {
	case x.IsInt64():
		return x.Int64()
	case x.Sign() < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}

// Noise is what PublishLook states of its noise on m columns in a frame, of which only the
// radius R and the weight κ matter. In the norm of φ (see release.Look) it is isotropic, of
// a scale s that takes this share at the sensitivity
//
//	Δ² = 2(κ² + R²)²   to replace-one neighbours,      Δ = κ² + R²   to add-remove ones,
//
// so that, each rounded up to a float64, a square has Scale ≥ s, a product of two columns
// Cross ≥ Scale/√2, and a linear sum Linear ≥ Scale/(√2κ). The number of rows, where it is
// released too, has Gaussian noise of Scale/κ², the first coordinate of φ; beside a ball it has
// discrete Laplace noise, of sensitivity 1, for a twentieth of the share. Errors: a radius
// outside the grid, a weight that is not in its range, a share that is none, or too small. It
// panics if m < 1.
func (b Budget) Noise(m int, f *release.Frame, share float64) (release.Noise, error) {
	if !(f.Radius >= 1./(1<<-leastRadius) && f.Radius <= 1<<mostRadius) {
		return release.Noise{}, fmt.Errorf("the frame has a radius of %v: it must be within 2^%d and 2^%d", f.Radius, leastRadius, mostRadius)
	}
	if !(f.Weight >= 1./(1<<-leastRadius) && f.Weight <= 1<<mostRadius) {
		return release.Noise{}, fmt.Errorf("the frame has a weight of %v: it must be within 2^%d and 2^%d", f.Weight, leastRadius, mostRadius)
	}
	noise := release.Noise{Kind: b.Kind, Sensitivity: rootUp(f.Sensitivity2(b.Neighbours))}
	var err error
	of := all
	if b.countsApart() {
		of = besideCount
	}
	if noise.Scale, err = b.scale(square(noise.Sensitivity), share, of); err != nil {
		return release.Noise{}, err
	}
	half := new(big.Rat).Quo(square(noise.Scale), big.NewRat(2, 1))
	noise.Cross = rootUp(half)
	noise.Linear = rootUp(half.Quo(half, square(f.Weight)))
	if b.Kind == release.Ball {
		noise.Freedom = float64(release.Length(m) + 1)
	}
	noise.Lattice = math.Ldexp(1, -2*radiusLattice(f.Radius))
	return noise, nil
}

// all and besideCount are what the sums have of a look's share, and ofCount the number of rows.
var all, besideCount, ofCount = big.NewRat(1, 1), big.NewRat(19, 20), big.NewRat(1, 20)

// countsApart tells whether the number of rows is noised, and not with the sums as one vector.
func (b Budget) countsApart() bool {
	return b.Kind == release.Ball && b.Neighbours == release.AddRemove
}

func square(x float64) *big.Rat { return new(big.Rat).Mul(number.Exactly(x), number.Exactly(x)) }

// PublishLook returns a look at the rows of s in its frame, f, with noise that takes this
// share, drawn on the lattice that Noise states. Statistics are the exact multiples of it,
// each rounded once. Radii are left to the caller. It neither keeps nor changes s; each call
// draws new noise and spends the share again. e is mechanisms.OS() for a release.
//
// Errors: f is another frame than that of s, those of Noise. It panics if e was not made by
// mechanisms.OS or mechanisms.Simulated.
func (b Budget) PublishLook(s *BallAccumulator, f *release.Frame, share float64, e *mechanisms.Entropy) (release.Look, error) {
	if !sameFrame(f, &s.ball.frame) {
		return release.Look{}, errors.New("the sums are of another frame")
	}
	m := s.Dim()
	noise, err := b.Noise(m, f, share)
	if err != nil {
		return release.Look{}, err
	}
	look := release.Look{Frame: RoundFrame(f), Noise: noise}
	z, digits := s.integers(), 2*radiusLattice(f.Radius)
	if err := addNoise(b.Kind, byScale(m, z, noise, digits), e); err != nil {
		return release.Look{}, err
	}
	if b.Neighbours == release.AddRemove {
		if look.N, look.NNoise, err = b.count(s.n, noise.Scale, f, share, e); err != nil {
			return release.Look{}, err
		}
	}
	look.Statistics = release.StatisticsFromVector(m, toScaled(z, digits))
	return look, nil
}

// count is the number of rows with noise, and the scale of that.
func (b Budget) count(n int64, scale float64, f *release.Frame, share float64, e *mechanisms.Entropy) (noisy int64, noise float64, err error) {
	kind := release.Gaussian
	if noise = roundUp(new(big.Rat).Quo(number.Exactly(scale), square(f.Weight))); b.countsApart() {
		kind = release.Laplace
		if noise, err = b.scale(all, share, ofCount); err != nil {
			return 0, 0, err
		}
	}
	noisy, err = noisyCount(n, kind, noise, e)
	return noisy, noise, err
}

// integers are the sums in canonical order, as multiples of 4^b·2⁻⁴⁰ in the frame, b as of
// BallAccumulator: of products those of integers, and of linear sums 2^−b times what sums
// has, 2²⁰ times an integer, b ≤ 20.
func (s *BallAccumulator) integers() []*big.Int {
	s.flush()
	z := bigInts(s.sums.total)
	b := ceilLog2(s.ball.frame.Radius)
	for _, linear := range z[:s.Dim()] {
		if b > 0 {
			linear.Rsh(linear, uint(b))
		} else {
			linear.Lsh(linear, uint(-b))
		}
	}
	return z
}

// part are integers that have noise of one scale: multiples of 2^-digits.
type part struct {
	z      []*big.Int
	scale  float64
	digits int
}

// steps is the scale on the integers, exactly.
func (p part) steps() *big.Rat {
	return new(big.Rat).Mul(number.Exactly(p.scale), powerOfTwo(p.digits))
}

// byScale parts sums in canonical order: linear ones, squares, products of two columns.
func byScale(m int, z []*big.Int, noise release.Noise, digits int) []part {
	linear, squares, cross := part{z[:m], noise.Linear, digits}, part{nil, noise.Scale, digits}, part{nil, noise.Cross, digits}
	for j := range m {
		first := release.Index(m, j, j)
		squares.z = append(squares.z, z[first])
		cross.z = append(cross.z, z[first+1:first+m-j]...)
	}
	return []part{linear, squares, cross}
}

// addNoise adds noise of this kind to all parts: to each by itself, or, of a ball, to all
// as one vector.
func addNoise(kind release.Kind, parts []part, e *mechanisms.Entropy) error {
	law := mechanisms.Laplace
	switch kind {
	case release.Ball:
		return addBall(parts, e)
	case release.Gaussian:
		law = mechanisms.Gaussian
	}
	for _, p := range parts {
		drawn, err := law(p.steps())
		if err != nil {
			return err
		}
		drawn.AddNoise(p.z, e)
	}
	return nil
}

func addBall(parts []part, e *mechanisms.Entropy) error {
	var z []*big.Int
	var scales []*big.Rat
	for _, p := range parts {
		z, scales = append(z, p.z...), append(scales, slices.Repeat([]*big.Rat{p.steps()}, len(p.z))...)
	}
	drawn, err := mechanisms.Ball(scales)
	if err != nil {
		return err
	}
	drawn.AddNoise(z, e)
	return nil
}
