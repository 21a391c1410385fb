package custody

import (
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
)

// What a custodian types of privacy, as decimals. Errors are *Error.

// ParsePrivacy reads a promise; delta is empty where there is none.
func ParsePrivacy(epsilon, delta, neighbours string) (p release.Privacy, err error) {
	if p.Neighbours, err = ParseNeighbours(neighbours); err != nil {
		return p, err
	}
	if p.Delta, err = ParseDelta(delta); err != nil {
		return p, err
	}
	p.Epsilon, err = ParseEpsilon(epsilon)
	return p, err
}

// ParseNeighbours reads a relation.
func ParseNeighbours(text string) (release.Neighbours, error) {
	switch n := release.Neighbours(text); n {
	case release.ReplaceOne, release.AddRemove:
		return n, nil
	}
	return "", Misusef("--neighbours %q: %s or %s", text, release.ReplaceOne, release.AddRemove)
}

// ParseEpsilon reads ε.
func ParseEpsilon(text string) (float64, error) {
	if text == "" {
		return 0, Misusef("--eps is missing: say how much privacy to spend, as in --eps 1 (from 0.1, strong, to 10, weak)")
	}
	eps, err := schema.ParseNumber(text)
	switch {
	case err != nil:
		return 0, Misusef("--eps %q: %w", text, err)
	case eps <= 0:
		return 0, Misusef("--eps %s: ε must be above 0", text)
	case eps < ssp.MinEpsilon:
		return 0, Misusef("--eps %s: below %v nothing is left but noise", text, ssp.MinEpsilon)
	case eps > ssp.MaxEpsilon:
		return 0, Misusef("--eps %s: above %v there is no privacy to speak of", text, ssp.MaxEpsilon)
	}
	return eps, nil
}

// ParseDelta reads δ, 0 where text is empty.
func ParseDelta(text string) (float64, error) {
	if text == "" {
		return 0, nil
	}
	delta, err := schema.ParseNumber(text)
	switch {
	case err != nil:
		return 0, Misusef("--delta %q: %w", text, err)
	case delta <= 0:
		return 0, Misusef("--delta %s: δ must be above 0; leave --delta out for pure ε, with Laplace noise", text)
	case delta >= 1:
		return 0, Misusef("--delta %s: δ must be below 1, and far below 1/n to mean anything, as in --delta 1e-6", text)
	case delta < ssp.MinDelta:
		return 0, Misusef("--delta %s: below %v it is as good as none; leave --delta out for pure ε, with Laplace noise", text, ssp.MinDelta)
	}
	return delta, nil
}
