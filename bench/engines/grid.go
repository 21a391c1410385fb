//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/dpreg/dpreg/mcmc"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
)

// cell is a place in the grid.
type cell struct {
	p, n    int
	epsilon float64
}

// cells lists the grid, but for fewer rows than columns and one more: their
// statistics have no density, and there is one engine.
func (s *settings) cells() (all []cell) {
	for _, p := range s.covariates {
		for _, epsilon := range s.epsilons {
			for _, n := range s.rows {
				if n > p+1 {
					all = append(all, cell{int(p), int(n), epsilon})
				}
			}
		}
	}
	return all
}

func (c cell) shape() model.Shape { return model.Shape{P: c.p, Intercept: true} }

// The streams of the random numbers of release k, the same in every cell.
const (
	parameterStream = iota
	rowStream
	noiseStream
	streams
)

// problem simulates release k: parameters from the box prior, statistics of n
// rows by their exact law, and noise for ε.
func (c cell) problem(ctx context.Context, seed uint64, k int) (*model.Problem, error) {
	shape := c.shape()
	prior, x, law := model.BoxPrior(shape), model.NewParams(shape), model.NewMoments(shape)
	model.NewConditionals(shape, prior, true).DrawPrior(x, mcmc.Stream(seed, streams*k+parameterStream))
	law.Set(x)
	if !law.Factor() {
		return nil, errors.New("the parameters drawn have a covariance that is singular in float64; take another -seed")
	}
	v := make([]float64, shape.Statistics())
	law.RandExact(v, float64(c.n), mcmc.Stream(seed, streams*k+rowStream))
	exact, err := ssp.FromVector(shape.M(), int64(c.n), v)
	if err != nil {
		return nil, err
	}
	privacy := release.Privacy{Epsilon: c.epsilon, Neighbours: release.ReplaceOne}
	noise := mechanisms.Simulated(mcmc.Stream(seed, streams*k+noiseStream))
	r, err := ssp.Publish(ctx, exact, c.design(), privacy, release.Laplace, ssp.Exact, noise)
	if err != nil {
		return nil, err
	}
	return &model.Problem{Releases: []*release.Release{r}, Prior: prior}, nil
}

// design is that of p covariates in the box.
func (c cell) design() *schema.Design {
	box := func(name string) schema.Column { return schema.Column{Name: name, Lower: -1, Upper: 1} }
	d := &schema.Design{Response: box("y"), Intercept: true}
	for j := range c.p {
		d.Covariates = append(d.Covariates, box(fmt.Sprintf("x%d", j+1)))
	}
	return d
}
