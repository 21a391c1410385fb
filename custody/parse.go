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
	if err == nil {
		err = ssp.CheckEpsilon(eps)
	}
	if err != nil {
		return 0, Misusef("--eps %q: %w", text, err)
	}
	return eps, nil
}

// ParseDelta reads δ, 0 where text is empty.
func ParseDelta(text string) (float64, error) {
	if text == "" {
		return 0, nil
	}
	delta, err := schema.ParseNumber(text)
	if err == nil {
		err = ssp.CheckDelta(delta)
	}
	if err != nil {
		return 0, Misusef("--delta %q: %w; leave --delta out for pure ε, with Laplace noise", text, err)
	}
	return delta, nil
}
