package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/calibration/audit"
	"github.com/dpreg/dpreg/internal/testsize"
)

func TestAudit(t *testing.T) {
	testsize.Full(t, "TestAuditJSON has the command")
	r := command("audit", "--m", "2,3", "--eps", "2", "--releases", "2000")
	if r.code != done || !strings.Contains(r.stdout, "certified") || strings.Contains(r.stdout, "FAILED") {
		t.Errorf("exit code %d, stderr %s\n%s", r.code, r.stderr, r.stdout)
	}
}

// An audit's JSON has a claim and what is certified of it, for each number of columns.
func TestAuditJSON(t *testing.T) {
	r := command("audit", "--eps", "2", "--delta", "1e-3", "--neighbours", "add-remove", "--releases", "1000", "--format", "json")
	var out struct {
		Format string
		Audits []audit.Result
	}
	if err := json.Unmarshal([]byte(r.stdout), &out); err != nil || r.code != done {
		t.Fatalf("exit code %d, %v, stderr %s", r.code, err, r.stderr)
	}
	if out.Format != "dpreg-audit/1" || len(out.Audits) != 1 || len(out.Audits[0].Bounds) == 0 || out.Audits[0].Bounds[0].Claim != 2 || len(out.Audits[0].Checks) != 6 {
		t.Errorf("%s", r.stdout)
	}
}

func TestAuditOfSteps(t *testing.T) {
	testsize.Full(t, "package audit has a short audit of steps")
	if r := command("audit", "--eps", "2", "--steps", "2", "--releases", "1000").finished(t); !strings.Contains(r.stdout, "2 steps.") || !strings.Contains(r.stdout, "ball  epsilon") {
		t.Error(r.stdout)
	}
}

func TestAuditRefuses(t *testing.T) {
	for line, says := range map[string]string{
		"audit rows.csv":                                "takes no file",
		"audit --m 1":                                   "2 to 20",
		"audit --m 2.5":                                 "whole number",
		"audit --releases 10":                           "1000 to",
		"audit --releases many":                         "--releases",
		"audit --eps 1e-6":                              "0.01 to 100",
		"audit --eps 0.05 --steps 2":                    "0.1 to 100",
		"audit --steps 9":                               "--steps",
		"audit --eps -1":                                "above 0",
		"audit --mechanism gaussian":                    "--mechanism gaussian needs",
		"audit --mechanism laplace --delta 1e-6":        "needs no δ",
		"audit --neighbours none":                       "--neighbours",
		"audit --format xml":                            "--format",
		"audit --sensitivity paper":                     "--sensitivity belongs to",
		"audit --m 2,3,4,5,6,7,8,9,10 --releases 1e100": "--releases",
	} {
		if r := command(strings.Fields(line)...); r.code != misused || r.stdout != "" {
			t.Errorf("%s: exit code %d\n%s", line, r.code, r.stdout)
		} else {
			r.says(t, says)
		}
	}
}

func TestAuditInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	commandContext(ctx, "audit").says(t, "interrupted").ends(t, interrupted)
}
