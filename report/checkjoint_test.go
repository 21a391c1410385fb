package report_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/report"
)

// jointCheckOf is a check of several releases, the last of which is unlike the model's.
func jointCheckOf(count int, calibrated bool, covariates, pooling string) *dpreg.JointCheck {
	c := &dpreg.JointCheck{Format: dpreg.JointCheckFormat, Method: "mcmc-exact", N: 3000, Covariates: covariates, Pooling: pooling, Warnings: []string{"n is small"}}
	for j := range count {
		r := checkOf(calibrated)
		r.Name, c.Refits = fmt.Sprintf("hospital%d.json", j+1), r.Refits
		last := &r.Blocks[len(r.Blocks)-1]
		last.P = 0.5
		if j == count-1 {
			last.P, c.All = 0.001, dpreg.PValue{P: 0.004, Calibrated: last.Calibrated}
		}
		if calibrated {
			rank := 0.02 + last.P
			last.Calibrated, c.All.Calibrated = &rank, &rank
		}
		c.Releases = append(c.Releases, r)
	}
	return c
}

func TestCheckJointly(t *testing.T) {
	d := made().Schema
	golden(t, "check-joint", func(w io.Writer) error {
		for _, c := range []*dpreg.JointCheck{jointCheckOf(2, true, "shared", "complete"), jointCheckOf(2, false, "separate", "partial")} {
			if err := report.CheckJointly(w, c, &d); err != nil {
				return err
			}
			fmt.Fprintln(w)
		}
		return nil
	})
}

// TestCheckJointlyOfMany: of many releases the sums of the least likely are shown, and of
// all the blocks.
func TestCheckJointlyOfMany(t *testing.T) {
	d := made().Schema
	var text bytes.Buffer
	if err := report.CheckJointly(&text, jointCheckOf(40, false, "shared", "complete"), &d); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"\nhospital40.json\n": true, "\nhospital29.json\n": true, "\nhospital30.json\n": false, "\nhospital39.json ": true, "30 releases with the smallest p": true} {
		if strings.Contains(text.String(), name) != want {
			t.Errorf("%q: want %v in\n%s", name, want, text.String())
		}
	}
}
