package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/release"
)

// custodiansWords go below the table of several releases.
const custodiansWords = "Each release is private by itself, for the rows of its custodian. A person of whom two custodians have rows loses what both releases cost together: their epsilons add up, and so do their deltas."

// custodiansTable lists several releases and what each promises.
func custodiansTable(f *dpreg.Fit) table {
	t := table{Header: []string{"Release", "n", "epsilon", "delta", "neighbours", "noise", "sd"}, Left: 1}
	for _, c := range f.Custodians {
		r := c.Release
		epsilon, delta := "not stated", ""
		if r.Privacy != nil {
			epsilon, delta = exactly(r.Privacy.Epsilon), exactly(r.Privacy.Delta)
		}
		n := strconv.FormatInt(r.N, 10)
		if r.Neighbours() == release.AddRemove {
			n = "about " + n
		}
		t.Rows = append(t.Rows, []string{c.Name, n, epsilon, delta, string(r.Neighbours()), string(r.Noise.Kind), general(r.Noise.SD())})
	}
	return t
}

// subject says of what a fit is.
func subject(f *dpreg.Fit, u dpreg.Units) string {
	text := fmt.Sprintf("method %s, n = %d, %s units", f.Method, f.N, u)
	if f.Custodians != nil {
		covariates, pooling := f.Sharing()
		text += fmt.Sprintf(", %s pooling, %s covariates", pooling, covariates)
	}
	return text
}

// shrunk tells how far partial pooling drew custodians together; empty without.
func shrunk(f *dpreg.Fit, u dpreg.Units) string {
	shares := f.Shrinkage(u)
	if shares == nil {
		return ""
	}
	var parts []string
	labels := f.Summary(u, 0.5).Parameters
	for k, share := range shares {
		parts = append(parts, fmt.Sprintf("%s %.2f", labels[k].Label, share))
	}
	return "Shrinkage (0: each custodian has its own coefficient, 1: all have one): " + strings.Join(parts, ", ") + "."
}

// ofSimulated tells whether any release of a fit is.
func ofSimulated(f *dpreg.Fit) bool {
	if f.Release != nil {
		return f.Release.Simulated
	}
	for _, c := range f.Custodians {
		if c.Release.Simulated {
			return true
		}
	}
	return false
}
