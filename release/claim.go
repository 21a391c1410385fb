package release

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/dpreg/dpreg/internal/number"
)

// What a release may claim. Sensitivities are attained, so a smaller one cannot be right
// unless the values are restricted by more than their bounds; package ssp draws the noise
// from the same ones.

// relax lowers a bound by one part in 10¹². Files written by hand hold it
// rounded to some digits, often downwards: 16/3 as 5.333333333333333.
func relax(bound *big.Rat) *big.Rat {
	return new(big.Rat).Mul(bound, big.NewRat(1e12-1, 1e12))
}

// validateClaims checks sensitivities and scales against the privacy, where all are
// stated.
func (r *Release) validateClaims() error {
	if r.Privacy == nil || r.onTrust() {
		return nil
	}
	if r.Frame != nil {
		return cmp.Or(r.inLooks(func(l *Look) error { return l.claims(r.Neighbours()) }), within("privacy", r.frameClaim()))
	}
	what := fmt.Sprintf("%d columns", r.Dim())
	if r.together() {
		what += " and their moments"
	}
	if err := r.covers(r.Noise.Sensitivity, r.least(r.vector()), what); err != nil {
		return within("noise", within("sensitivity", err))
	}
	if r.apart() && r.Moments.Noise.Sensitivity != 0 {
		if err := r.covers(r.Moments.Noise.Sensitivity, r.least(MomentsAlone), "the moments"); err != nil {
			return within("moments", within("noise", within("sensitivity", err)))
		}
	}
	claim := r.validateClaim
	if r.Noise.Kind == Gaussian {
		claim = func() error { return r.gaussianClaim(r.Noise.Sensitivity) }
	}
	return within("noise", within("scale", claim()))
}

// onTrust tells whether a sensitivity is not stated.
func (r *Release) onTrust() bool {
	return slices.ContainsFunc(r.Looks(), func(l Look) bool { return l.Noise.Sensitivity == 0 })
}

// covers compares a stated sensitivity of something with the proven one, which
// is squared for Gaussian noise.
func (r *Release) covers(stated float64, bound *big.Rat, what string) error {
	s, norm := number.Exactly(stated), "L1"
	if r.Noise.Kind == Gaussian {
		s.Mul(s, s)
		norm = "squared L2"
	}
	if s.Cmp(relax(bound)) >= 0 {
		return nil
	}
	b, _ := bound.Float64()
	return fmt.Errorf("%v is too small: %s with %s neighbours have %s sensitivity %v, so the privacy claimed does not hold (leave the field out if values are known to be restricted by more than their bounds)",
		stated, what, r.Privacy.Neighbours, norm, b)
}

// validateClaim checks that Laplace noise is large enough for the ε claimed.
// The writer guarantees scale·ε ≥ sensitivity with scale and sensitivity as
// float64 and ε as the decimal it is written as. Someone who writes a file by
// hand computes with decimals throughout, so those serve as well.
func (r *Release) validateClaim() error {
	err := r.laplaceClaim(number.Exactly(r.Noise.Sensitivity))
	if err == nil || r.claimHolds(number.Decimal(r.Noise.Sensitivity), number.Decimal) {
		return nil
	}
	return err
}

// laplaceClaim reports a scale that is too small for sensitivity s.
func (r *Release) laplaceClaim(s *big.Rat) error {
	if r.claimHolds(s, number.Exactly) {
		return nil
	}
	f, _ := s.Float64()
	return fmt.Errorf("%v is too small for epsilon %v at sensitivity %v%s: the privacy claimed does not hold",
		r.Noise.Scale, r.Privacy.Epsilon, f, r.besides())
}

// claimHolds is s/scale ≤ ε where n is public. Where n is released too, it is
// one of the entries that s counts (by 1), with a scale of its own:
// (s-1)/scale + 1/n_noise ≤ ε. Moments of their own add their part, and bounds that
// were found in the rows, or a count of persons, take theirs from ε. A person with k rows changes k
// times as much as a row.
func (r *Release) claimHolds(s *big.Rat, value func(float64) *big.Rat) bool {
	spent := new(big.Rat).Set(s)
	if r.countApart() {
		spent.Sub(spent, big.NewRat(1, 1))
	}
	spent.Quo(spent, value(r.Noise.Scale))
	if r.countApart() {
		spent.Add(spent, new(big.Rat).Inv(value(r.NNoise)))
	}
	if r.apart() {
		spent.Add(spent, r.momentsSpend(value))
	}
	return spent.Mul(spent, r.perPerson()).Cmp(r.statisticsEpsilon()) <= 0
}

// countApart tells whether n has noise of its own. With levels each of their counts has that of all entries.
func (r *Release) countApart() bool { return r.Privacy.Neighbours == AddRemove && r.Levels == nil }

// gaussianClaim reports Gaussian noise that is certainly too small for the ε and δ claimed,
// at L2 sensitivity s. The writer calibrates it to δ itself, which is computed with an error
// bound (package accounting); here a lower bound of δ serves, which a few elementary
// functions give. Where n is released too, it is one of the entries that s counts, with a
// scale of its own; moments of their own lengthen the vector.
func (r *Release) gaussianClaim(s float64) error {
	epsilon, _ := r.statisticsEpsilon().Float64()
	if least := leastDelta(epsilon, r.gaussianRatio(s)); least > r.Privacy.Delta {
		return fmt.Errorf("%v is too small for epsilon %v and delta %v at sensitivity %v%s: delta is at least %.3g, so the privacy claimed does not hold",
			r.Noise.Scale, r.Privacy.Epsilon, r.Privacy.Delta, s, r.besides(), least)
	}
	return nil
}

// gaussianRatio is the sensitivity over the standard deviation, of all noise of a release in the box that
// nobody knows.
func (r *Release) gaussianRatio(s float64) float64 {
	ratio := s / r.Noise.Scale
	if r.countApart() {
		ratio = math.Hypot(math.Sqrt(s*s-1)/r.Noise.Scale, 1/r.NNoise)
	}
	if r.apart() {
		ratio = math.Hypot(ratio, r.momentsRatio())
	}
	most, _ := r.perPerson().Float64()
	known, _ := r.Pooled.known().Float64()
	return math.Hypot(most*ratio*math.Sqrt(known), r.countRatio())
}

// momentsSpend is what moments of their own add to s/scale: their L1 sensitivity,
// stated or proven, over the scale of their noise.
func (r *Release) momentsSpend(value func(float64) *big.Rat) *big.Rat {
	s := relax(r.least(MomentsAlone))
	if n := r.Moments.Noise; n.Sensitivity != 0 {
		s = value(n.Sensitivity)
	}
	return s.Quo(s, value(r.Moments.Noise.Scale))
}

// momentsRatio is the same for Gaussian noise and the L2 sensitivity.
func (r *Release) momentsRatio() float64 {
	s := r.Moments.Noise.Sensitivity
	if s == 0 {
		s = root(r.least(MomentsAlone))
	}
	return s / r.Moments.Noise.Scale
}

// root is the root of a proven sensitivity's square, a part in 10¹² below it at most.
func root(square *big.Rat) float64 {
	s, _ := relax(square).Float64()
	return math.Sqrt(s)
}

// besides says what has its part in the claim.
func (r *Release) besides() (text string) {
	if r.apart() {
		text = fmt.Sprintf(", beside moments with noise of scale %v", r.Moments.Noise.Scale)
	}
	if r.Persons != nil && r.Persons.Most > 0 {
		text += fmt.Sprintf(", of persons with up to %d rows, beside the count of those with more", r.Persons.Most)
	}
	if r.Pooled != nil {
		text += fmt.Sprintf(", of which %d of %d custodians know their shares", r.Pooled.Colluding, r.Pooled.Custodians)
	}
	if r.Bounds != nil {
		text += fmt.Sprintf(", beside bounds with epsilon %v", r.Bounds.Epsilon)
	}
	return text
}

// leastDelta is a lower bound of the smallest δ of Gaussian noise whose standard
// deviation is the L2 sensitivity over mu. With a, b = ε/μ ∓ μ/2, φ and Q the
// normal density and upper tail and R = Q/φ,
//
//	δ = Q(a) − φ(a) R(b),   R(b) < 4/(3b + √(b² + 8)),  b > −1
//
// (Balle & Wang 2018, Theorem 8; Sampford 1953). What rounding could have added,
// and one part in 10⁶, is taken off. δ grows with μ: where it is all but 1, a smaller μ
// serves, at which rounding tells less.
func leastDelta(epsilon, mu float64) float64 {
	mu = min(mu, 10*(1+math.Sqrt(epsilon)))
	a, b := epsilon/mu-mu/2, epsilon/mu+mu/2
	upper := math.Erfc(a/math.Sqrt2) / 2
	density := math.Exp(-a*a/2) / math.Sqrt(2*math.Pi)
	least := upper - 4*density/(3*b+math.Sqrt(b*b+8))
	return least*(1-1e-6) - upper*(1e-10+1e-15*math.Abs(a)*b)
}

// Vector is one of the vectors of sums that noise stands on as a whole.
type Vector int

const (
	// Sums are the statistics of the columns, and n where it is not public.
	Sums Vector = iota
	// SumsWithoutYY are Sums without Σy².
	SumsWithoutYY
	// SumsAndMoments are Sums, and the moments of the covariates of degree 3 and 4.
	SumsAndMoments
	// MomentsAlone are the moments of the covariates of degree 1 to 4.
	MomentsAlone
)

// Sensitivity is how far apart the vector of two neighbouring data sets of m columns can
// be, over the box [-1,1]^m, in scaled units: the largest L1 distance, and the square of
// the largest L2 distance. They are joint over all entries and attained; a box or a lattice
// inside [-1,1]^m can only do with less. docs/sensitivity.md has the proofs.
//
// To add-remove neighbours both are the number of entries, with n among those of the sums.
// To replace-one neighbours, where n is public, they are, of the sums,
//
//	                L1                  L2²
//	with Σy²        m(m+2)²/(2(m+1))    4⌊(m+1)²/4⌋
//	without it      m(m+3)/2            4⌊(m+1)²/4⌋
//
// and with moments what momentSensitivities has. It panics if m is not in 1 … 2²⁰, where
// there are moments of a number of covariates other than 1 … MaxMomentCovariates, and if nb
// is neither.
func (v Vector) Sensitivity(m int, nb Neighbours) (l1, l2Squared *big.Rat) {
	p := m - 1
	if m < 1 || m > 1<<20 || v >= SumsAndMoments && (p < 1 || p > MaxMomentCovariates) {
		panic(fmt.Sprintf("release: sensitivity of sums of %d columns", m))
	}
	switch nb {
	case AddRemove:
		return big.NewRat(v.entries(m), 1), big.NewRat(v.entries(m), 1)
	case ReplaceOne:
	default:
		panic(fmt.Sprintf("release: unknown neighbours %q", string(nb)))
	}
	k := int64(m)
	l2Squared = big.NewRat(4*((k+1)*(k+1)/4), 1)
	switch v {
	case Sums:
		return big.NewRat(k*(k+2)*(k+2), 2*(k+1)), l2Squared
	case SumsWithoutYY:
		return big.NewRat(k*(k+3), 2), l2Squared
	}
	s := momentSensitivities[v][p-1]
	return big.NewRat(s.l1, 1e9), big.NewRat(s.l2Squared, 1)
}

// momentSensitivities are those to replace-one neighbours, of p = 1, 2, 3 covariates, the
// L1 one in billionths. Over the box, for any list of monomials and with N of them,
//
//	max ‖t(v) − t(w)‖₁  = N − min_u Σ_α u^α        at v = (1, …, 1), w = u,
//	max ‖t(v) − t(w)‖₂² = max_u Σ_α (1 − u^α)²     at the same.
//
// The first minimum is that of a convex quartic in one variable, here rounded so
// that the sensitivity is up in the ninth decimal; the second maximum is at a
// corner. Tests of package ssp certify both.
var momentSensitivities = map[Vector][MaxMomentCovariates]struct{ l1, l2Squared int64 }{
	SumsAndMoments: {{7_375000000, 12}, {18_458196126, 32}, {39_519311059, 72}},
	MomentsAlone:   {{4_326446777, 8}, {14_452561040, 24}, {34_519025147, 64}},
}

// entries counts those of m columns; among the sums n.
func (v Vector) entries(m int) int64 {
	switch v {
	case SumsWithoutYY:
		return int64(Length(m))
	case SumsAndMoments:
		return int64(1 + Length(m) + len(MomentExponents(m-1, leastTogether)))
	case MomentsAlone:
		return int64(len(MomentExponents(m-1, leastApart)))
	}
	return int64(1 + Length(m))
}

// vector is the one that Noise is on.
func (r *Release) vector() Vector {
	switch {
	case r.together():
		return SumsAndMoments
	case r.WithoutYY():
		return SumsWithoutYY
	}
	return Sums
}

// least is the proven sensitivity of a vector in the norm of the noise: L1, or the square
// of L2.
func (r *Release) least(v Vector) *big.Rat {
	l1, l2Squared := v.Sensitivity(r.Dim(), r.Privacy.Neighbours)
	if l := r.Levels; l != nil {
		k := l.Dummies()
		l1, l2Squared = Leveled{k + len(l.Sums[0]), k, l.PerLevel(), l.Known > 0}.Sensitivity(r.Neighbours())
	}
	if r.Noise.Kind == Gaussian {
		return l2Squared
	}
	return l1
}

// Composable is what a release promises in terms that add up over releases: squares of Mu, which are of
// Gaussian differential privacy (Dong, Roth & Su 2022), and Rho of zero-concentrated privacy (Bun &
// Steinke 2016). Pure ε is worth the Mu of Φ(μ/2) = e^ε/(1 + e^ε), and ρ = ε²/2. Both are rounded
// up by a part in 10⁹.
type Composable struct{ Mu, Rho float64 }

// Composable is an error where the release states no privacy, or no sensitivity that it could be checked by.
func (r *Release) Composable() (c Composable, err error) {
	if r.Privacy == nil || r.onTrust() {
		return c, errors.New("the release does not state its privacy and its sensitivity")
	}
	pure, mu2 := r.Privacy.Epsilon, 0.
	if r.Noise.Kind == Gaussian {
		pure, _ = new(big.Rat).Sub(number.Decimal(r.Privacy.Epsilon), r.statisticsEpsilon()).Float64()
		mu2 = r.mu2()
	}
	mu := 2 * math.Sqrt2 * math.Erfinv(math.Tanh(pure/2))
	if pure > 16 { // Φ(−t) ≤ e^(−t²/2)/2, and the digits of tanh run out
		mu = 2 * math.Sqrt(2*pure)
	}
	const up = 1 + 1e-9
	return Composable{math.Sqrt(mu2+mu*mu) * up, (mu2/2 + pure*pure/2) * up}, nil
}

// mu2 is the square of μ of all Gaussian noise.
func (r *Release) mu2() float64 {
	if r.Frame != nil {
		spent, _ := total(r.parts(number.Exactly)).Float64()
		return spent
	}
	ratio := r.gaussianRatio(r.Noise.Sensitivity)
	return ratio * ratio
}
