package release

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
)

// MaxMomentCovariates is the largest number of covariates that a release holds
// moments of: there are 34 then.
const MaxMomentCovariates = 3

// MomentDegree is the largest degree of a moment.
const MomentDegree = 4

// Moments are noisy sums over the rows of monomials of the covariates, Σ ∏_j x_j^e_j,
// in scaled units. Exponents are MomentExponents(p, 3) or MomentExponents(p, 1).
//
// With degrees 3 and 4 the moments were noised together with the statistics, as one
// vector: Noise has the kind, the scale and the sensitivity of the release's,
// and these are the joint ones. With degrees 1 to 4 they are a vector of their own,
// whose ε adds to that of the statistics. The lattice may differ either way.
type Moments struct {
	Noise     Noise     `json:"noise"`
	Exponents [][]int   `json:"exponents"`
	Sums      []float64 `json:"sums"`
}

// MomentExponents lists the exponents of the monomials in p variables of degree
// least to MomentDegree: by degree, and within a degree the powers of the first
// variable falling, then those of the second, …
func MomentExponents(p, least int) [][]int {
	var all [][]int
	for degree := least; degree <= MomentDegree; degree++ {
		all = append(all, exponents(p, degree)...)
	}
	return all
}

// exponents lists those of one degree.
func exponents(p, degree int) [][]int {
	if p == 1 {
		return [][]int{{degree}}
	}
	var all [][]int
	for first := degree; first >= 0; first-- {
		for _, rest := range exponents(p-1, degree-first) {
			all = append(all, append([]int{first}, rest...))
		}
	}
	return all
}

// least degrees of the two lists.
const (
	leastTogether = 3
	leastApart    = 1
)

// Together tells whether the moments were noised as one vector with the
// statistics: whether they are those of degree 3 and 4.
func (m *Moments) Together() bool {
	if len(m.Exponents) == 0 {
		return false
	}
	degree := 0
	for _, e := range m.Exponents[0] {
		degree += e
	}
	return degree == leastTogether
}

// together and apart tell how the moments of a release were noised; neither is
// true where it has none.
func (r *Release) together() bool { return r.Moments != nil && r.Moments.Together() }
func (r *Release) apart() bool    { return r.Moments != nil && !r.Moments.Together() }

// validateMoments checks all of the moments but the claim on their noise.
func (r *Release) validateMoments() error {
	m, p := r.Moments, r.Dim()-1
	switch {
	case m == nil:
		return nil
	case p > MaxMomentCovariates:
		return fmt.Errorf("%d covariates: moments are released of at most %d", p, MaxMomentCovariates)
	}
	least := leastApart
	if m.Together() {
		least = leastTogether
	}
	want := MomentExponents(p, least)
	if !slices.EqualFunc(m.Exponents, want, slices.Equal) {
		return within("exponents", fmt.Errorf("must be all of degree 3 and 4, or all of degree 1 to 4, of %d covariates, in order: %v or %v",
			p, MomentExponents(p, leastTogether), MomentExponents(p, leastApart)))
	}
	if len(m.Sums) != len(want) {
		return within("sums", fmt.Errorf("must have %d entries, one for each list of exponents, not %d", len(want), len(m.Sums)))
	}
	for i, x := range m.Sums {
		if err := checkFinite(x); err != nil {
			return within("sums", within(index(i), err))
		}
	}
	return within("noise", r.validateMomentNoise())
}

func (r *Release) validateMomentNoise() error {
	n := r.Moments.Noise
	if err := n.validate(); err != nil {
		return err
	}
	switch {
	case n.Kind != r.Noise.Kind:
		return within("kind", fmt.Errorf("must be %q, that of the noise on the statistics, not %q", r.Noise.Kind, n.Kind))
	case r.apart():
		return nil
	case n.Scale != r.Noise.Scale:
		return within("scale", fmt.Errorf("must be %v, that of the noise on the statistics, with which moments of degree 3 and 4 are one vector, not %v", r.Noise.Scale, n.Scale))
	case n.Sensitivity != r.Noise.Sensitivity:
		return within("sensitivity", errors.New("must be that of the statistics, with which moments of degree 3 and 4 are one vector"))
	}
	return nil
}

// pick takes the moments of these covariates, at positions of the old ones;
// none if the response is among them.
func (m *Moments) pick(at []int, response int) *Moments {
	if m == nil || slices.Contains(at, response) {
		return nil
	}
	least := leastApart
	if m.Together() {
		least = leastTogether
	}
	out := &Moments{Noise: m.Noise, Exponents: MomentExponents(len(at), least)}
	old := make([]int, response)
	for _, e := range out.Exponents {
		clear(old)
		for j, a := range at {
			old[a] = e[j]
		}
		same := func(have []int) bool { return slices.Equal(have, old) }
		out.Sums = append(out.Sums, m.Sums[slices.IndexFunc(m.Exponents, same)])
	}
	return out
}

// Sensitivities of moments, replace-one, for p = 1, 2, 3: those of degree 1 to 4
// alone, and those of degree 3 and 4 together with the statistics of p+1 columns.
// docs/sensitivity.md has the proofs; package ssp draws the noise from the same
// numbers. The L1 ones are rounded up in the ninth decimal.
var (
	momentsL1         = [...]*big.Rat{big.NewRat(4_326446777, 1e9), big.NewRat(14_452561040, 1e9), big.NewRat(34_519025147, 1e9)}
	togetherL1        = [...]*big.Rat{big.NewRat(59, 8), big.NewRat(18_458196126, 1e9), big.NewRat(39_519311059, 1e9)}
	momentsL2Squared  = [...]int64{8, 24, 64}
	togetherL2Squared = [...]int64{12, 32, 72}
)

// leastL1 is the proven L1 sensitivity of the vector that the noise stands on: the
// statistics, and the moments where they are together with them.
func (r *Release) leastL1() *big.Rat {
	m, nb := r.Dim(), r.Privacy.Neighbours
	switch {
	case !r.together():
		return r.boundL1()
	case nb == AddRemove:
		return r.withMoments(r.boundL1())
	}
	return togetherL1[m-2]
}

// leastL2Squared is the same for the square of the L2 sensitivity.
func (r *Release) leastL2Squared() *big.Rat {
	m, nb := r.Dim(), r.Privacy.Neighbours
	switch {
	case !r.together():
		return r.boundL2Squared()
	case nb == AddRemove:
		return r.withMoments(r.boundL2Squared())
	}
	return big.NewRat(togetherL2Squared[m-2], 1)
}

// withMoments counts the moments: one row adds at most 1 to each.
func (r *Release) withMoments(bound *big.Rat) *big.Rat {
	return new(big.Rat).Add(bound, big.NewRat(int64(len(r.Moments.Sums)), 1))
}

// leastMoments is the proven sensitivity of moments of degree 1 to 4: in L1 for
// Laplace noise, the square of that in L2 for Gaussian.
func (r *Release) leastMoments() *big.Rat {
	p := r.Dim() - 1
	switch {
	case r.Privacy.Neighbours == AddRemove:
		return r.withMoments(new(big.Rat))
	case r.Noise.Kind == Gaussian:
		return big.NewRat(momentsL2Squared[p-1], 1)
	}
	return momentsL1[p-1]
}

// besidesMoments says that another vector has its part in the claim.
func (r *Release) besidesMoments() string {
	if !r.apart() {
		return ""
	}
	return fmt.Sprintf(", beside moments with noise of scale %v", r.Moments.Noise.Scale)
}

// momentsSpend is what moments of their own add to s/scale: their L1 sensitivity,
// stated or proven, over the scale of their noise.
func (r *Release) momentsSpend(value func(float64) *big.Rat) *big.Rat {
	s := relax(r.leastMoments())
	if n := r.Moments.Noise; n.Sensitivity != 0 {
		s = value(n.Sensitivity)
	}
	return s.Quo(s, value(r.Moments.Noise.Scale))
}

// momentsRatio is the same for Gaussian noise and the L2 sensitivity.
func (r *Release) momentsRatio() float64 {
	n := r.Moments.Noise
	s := n.Sensitivity
	if s == 0 {
		square, _ := relax(r.leastMoments()).Float64()
		s = math.Sqrt(square)
	}
	return s / n.Scale
}

// validateMomentSensitivity refuses a stated sensitivity of moments of their own
// below the proven one.
func (r *Release) validateMomentSensitivity() error {
	if !r.apart() || r.Moments.Noise.Sensitivity == 0 {
		return nil
	}
	return r.covers(r.Moments.Noise.Sensitivity, r.leastMoments(), "the moments")
}
