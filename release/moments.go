package release

import (
	"errors"
	"fmt"
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

// least is the least degree.
func (m *Moments) least() int {
	if m.Together() {
		return leastTogether
	}
	return leastApart
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
	want := MomentExponents(p, m.least())
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
	if err := n.validate(false); err != nil {
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
	out := &Moments{Noise: m.Noise, Exponents: MomentExponents(len(at), m.least())}
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
