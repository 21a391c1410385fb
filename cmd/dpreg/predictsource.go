package main

import (
	"io"
	"slices"
	"strings"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
)

// predictSource is what is predicted from: releases, or a saved run of them.
type predictSource struct {
	*evidence
	draws  *posterior.Draws // nil: infer from the releases
	units  dpreg.Units
	files  []string // of the run
	pooled bool     // partially
}

func (c *predictCommand) source(stderr io.Writer, args []string) (*predictSource, error) {
	if c.dir != "" {
		run, files, err := readSaved(c.dir)
		if err != nil {
			return nil, err
		}
		pooled := slices.ContainsFunc(run.draws.Names, func(name string) bool { return model.KindOf(name) == model.ThetaAt })
		return &predictSource{run.evidence, run.draws, run.units, files, pooled}, nil
	}
	e, err := readEvidence(stderr, args[:len(args)-1], c.formula)
	return &predictSource{evidence: e, pooled: c.pooling == dpreg.PartialPooling}, err
}

// number is the custodian's that --custodian names, from 1; 0 where it names none.
func (c *predictCommand) number(s *predictSource) (int, error) {
	if c.custodian == "" {
		return 0, nil
	}
	names := s.names()
	at := slices.Index(names, c.custodian)
	switch {
	case len(names) == 1:
		return 0, usagef("--custodian is of several releases, and there is one")
	case !s.pooled:
		return 0, usagef("--custodian %s: with complete pooling all custodians have one regression; --pooling partial gives each its own", c.custodian)
	case at < 0:
		return 0, usagef("--custodian %s: the custodians are %s", c.custodian, strings.Join(names, ", "))
	}
	return at + 1, nil
}

// sayWhose says of which custodian the rows are taken to be, where it matters.
func (c *predictCommand) sayWhose(stderr io.Writer, s *predictSource) {
	switch {
	case !s.pooled:
	case c.custodian != "":
		note(stderr, "predicted for the custodian %s", c.custodian)
	default:
		note(stderr, "predicted for a new custodian, whose regression lies about that of all, θ_new ~ N(θ, Ω), log σ_new ~ N(log σ, υ²); --custodian NAME predicts for one of %s", strings.Join(s.names(), ", "))
	}
}
