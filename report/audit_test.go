package report_test

import (
	"bytes"
	"testing"

	"github.com/dpreg/dpreg/calibration/audit"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/report"
)

func TestAudit(t *testing.T) {
	r := &audit.Result{
		Columns: 2, Privacy: release.Privacy{Epsilon: 1, Delta: 1e-6, Neighbours: release.ReplaceOne}, Noise: release.Noise{Kind: release.Gaussian},
		Releases: 1000000,
		Bounds:   []audit.Bound{{Quantity: "epsilon", Claim: 1, Certified: 0.956789, Share: 0.956789, Confidence: 1 - 1e-5, Threshold: 0.97, Correct: 40000, Wrong: 15000}},
		Checks:   []audit.Check{{Name: "law", Value: 0.123456, Passed: true}, {Name: "lattice", Value: 7}},
	}
	var out bytes.Buffer
	must.Do(t, report.Audit(&out, []*audit.Result{r}))
	must.Say(t, out.String(), "Audit of epsilon = 1, delta = 1e-06, replace-one neighbours.", "0.9568", "95.7%", "1e+06", "40000", "1-1e-05", "0.123", "passed", "7 FAILED")
}
