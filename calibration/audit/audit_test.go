package audit

import (
	"context"
	"flag"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/release"
)

// releases lets the tests below be repeated with more, as the command has them.
var releases = flag.Int("releases", 0, "releases of each side in audits of the real path (0: a few seconds' worth)")

// seeded is noise that depends on the trial alone.
func seeded(seed uint64) func(trial int) *mechanisms.Entropy {
	return func(trial int) *mechanisms.Entropy {
		return mechanisms.Simulated(rand.New(rand.NewPCG(seed, uint64(trial))))
	}
}

// audits are all kinds of claims. The shares that are to be certified are at least four
// standard errors of the guesses below what came out of long runs.
var audits = map[string]struct {
	audit Audit
	share float64 // of one of its claims
}{
	"laplace":                       {Audit{Columns: 2, Privacy: release.Privacy{Epsilon: 2, Neighbours: release.ReplaceOne}, Noise: release.Laplace, Releases: 10000}, 0.60},
	"laplace, add-remove":           {Audit{Columns: 2, Privacy: release.Privacy{Epsilon: 2, Neighbours: release.AddRemove}, Noise: release.Laplace, Releases: 10000}, 0.60},
	"laplace, six columns":          {Audit{Columns: 6, Privacy: release.Privacy{Epsilon: 1, Neighbours: release.ReplaceOne}, Noise: release.Laplace, Releases: 4000}, 0},
	"gaussian":                      {Audit{Columns: 2, Privacy: release.Privacy{Epsilon: 2, Delta: 0.1, Neighbours: release.ReplaceOne}, Noise: release.Gaussian, Releases: 1000}, 0.55},
	"three steps, gaussian":         {Audit{Columns: 2, Steps: 3, Privacy: release.Privacy{Epsilon: 2, Delta: 0.1, Neighbours: release.ReplaceOne}, Noise: release.Gaussian, Releases: 1000}, 0.55},
	"three steps, ball, add-remove": {Audit{Columns: 2, Steps: 3, Privacy: release.Privacy{Epsilon: 2, Neighbours: release.AddRemove}, Noise: release.Ball, Releases: 1000}, 0.15},
	"gaussian, add-remove":          {Audit{Columns: 3, Privacy: release.Privacy{Epsilon: 2, Delta: 0.1, Neighbours: release.AddRemove}, Noise: release.Gaussian, Releases: 1000}, 0.55},
}

// The real path gives no less privacy than it claims, and the audit is strong enough to
// say so. A sound path fails with a probability of 2e-5 for each of the five. The short form audits one with a quarter of the releases,
// by which that share of a claim is not certified.
func TestReleased(t *testing.T) {
	for name, c := range audits {
		if testing.Short() && name != "laplace" {
			continue
		}
		a := c.audit
		a.Seed, a.Workers = 1, 2
		a.Releases = max(MinReleases, a.Releases/testsize.Of(4, 1))
		if *releases > 0 {
			a.Releases = *releases
		}
		r, err := a.Run(t.Context(), a.released(seeded(2)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, failure := range r.Failures() {
			t.Errorf("%s: %s", name, failure)
		}
		strongest := 0.0
		for _, b := range r.Bounds {
			strongest = max(strongest, b.Share)
		}
		if strongest < c.share && !testing.Short() {
			t.Errorf("%s: no more than %.3f of a claim is certified, expected %v", name, strongest, c.share)
		}
	}
}

// Results do not depend on the number of workers.
func TestWorkers(t *testing.T) {
	testsize.Full(t, "TestRunIsDeterministic of package calibration has the same workers")
	a := audits["laplace, add-remove"].audit
	a.Releases, a.Seed = 3000, 5
	var results []*Result
	for _, workers := range []int{1, 3} {
		a.Workers = workers
		r := must.Get(a.Run(t.Context(), a.released(seeded(6))))(t)
		results = append(results, r)
	}
	if !reflect.DeepEqual(results[0], results[1]) {
		t.Errorf("1 worker:  %+v\n3 workers: %+v", results[0], results[1])
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	a := audits["laplace"].audit
	a.Workers, a.Progress = 2, func(int, int) { cancel() }
	if _, err := a.Run(ctx, a.Released()); err != context.Canceled {
		t.Errorf("an audit that was interrupted ends with %v", err)
	}
}
