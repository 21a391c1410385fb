package main

import (
	"path/filepath"

	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/mechanisms/ledger"
)

// runCharge is what a run of noisy sums over samples costs: the (ε, δ) asked for, and what
// the run is worth as one Gaussian release. It is named by a path.
func runCharge(f *releaseFlags, name string, all ...accounting.Training) (c ledger.Charge, err error) {
	var run accounting.Composition
	for _, t := range all {
		if err := run.Sampled(t); err != nil {
			return c, err
		}
	}
	delta, err := f.parseDelta()
	if err != nil {
		return c, err
	}
	mu, err := run.AsGaussian(delta)
	if err != nil {
		return c, err
	}
	if name, err = filepath.Abs(name); err != nil {
		return c, err
	}
	return ledger.Charge{
		Epsilon: asWritten(f.epsilon), Delta: asWritten(f.delta), Noise: ledger.Sampled,
		Sensitivity: mu, Scale: 1, Neighbours: f.neighbours, Release: name,
	}, nil
}
