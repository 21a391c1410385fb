package models

import (
	"context"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/release"
)

// Selected are the formulas of the models of a release that are weighed.
func Selected(r *release.Release) (all []string, err error) {
	c, err := newComparing(context.Background(), dpreg.One(r), dpreg.Options{})
	if err != nil {
		return nil, err
	}
	for _, set := range c.models {
		all = append(all, c.formula(set).String())
	}
	return all, nil
}
