package main

import (
	"math"
	"slices"
	"strings"

	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// --bounds auto: bounds that are found in the rows, for a part of ε.

// splitBounds takes auto and auto=SHARE out of what --bounds says. share is 0 where
// neither is there. A column that is called auto has bounds with a colon.
func splitBounds(texts []string) (named []string, share float64, err error) {
	for _, text := range texts {
		var rest []string
		for item := range strings.SplitSeq(text, ",") {
			name, value, given := strings.Cut(strings.TrimSpace(item), "=")
			if name != release.AutoBounds || strings.Contains(value, ":") {
				rest = append(rest, item)
				continue
			}
			if share != 0 {
				return nil, 0, usagef("--bounds %s: it stands twice", item)
			}
			share = custody.DefaultShare
			if given {
				share, err = schema.ParseNumber(value)
			}
			if err != nil || !(share > 0 && share < 1) {
				return nil, 0, usagef("--bounds %s: the share of ε must lie between 0 and 1, as in --bounds auto=0.1", item)
			}
		}
		if rest != nil {
			named = append(named, strings.Join(rest, ","))
		}
	}
	return named, share, nil
}

// unbounded lists the columns whose bounds are to be found. Without --bounds auto
// there must be none, and a column of which one bound is known is a mistake.
func (f *releaseFlags) unbounded(columns []schema.Column, data string) ([]string, error) {
	_, share, err := splitBounds(f.bounds)
	if err != nil {
		return nil, err
	}
	switch {
	case share == 0 && f.remote != nil:
		return nil, checkBoundedRemote(columns)
	case share == 0:
		return nil, f.checkBounded(columns, data, boundsAuto)
	}
	var names []string
	for _, c := range columns {
		if c.Type != "" || c.Bounded() || slices.Contains(names, c.Name) {
			continue
		}
		if !math.IsNaN(c.Lower) || !math.IsNaN(c.Upper) {
			return nil, usagef("--bounds auto: column %q has one bound only; give both, or none, and both are found", c.Name)
		}
		names = append(names, c.Name)
	}
	return names, nil
}

// standInBounds gives columns whose bounds are to be found some that are not used.
func standInBounds(names []string) schema.Bounds {
	var b schema.Bounds
	for _, name := range names {
		b = append(b, schema.Column{Name: name, Lower: -1, Upper: 1})
	}
	return b
}
