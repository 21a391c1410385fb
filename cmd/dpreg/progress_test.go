package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dpreg/dpreg/internal/pace"
	"github.com/dpreg/dpreg/internal/testsize"
)

// TestBarIsSaid: where stderr is no terminal a line a minute says how far a run is.
func TestBarIsSaid(t *testing.T) {
	var stderr bytes.Buffer
	b := newBar(&stderr, "refits ", pace.New(0, time.Now().Add(-time.Hour)))
	b.update(2, 50)
	b.said = b.said.Add(-sayEvery)
	b.update(3, 50)
	b.update(4, 50)
	if text := stderr.String(); !strings.HasPrefix(text, "dpreg: refits 3 of 50") || strings.Count(text, "\n") != 1 {
		t.Errorf("%q", text)
	}
}

// TestAnnounce: mcmc-ind on many rows, or mcmc-exact of many columns, says how long it is to take before it starts; where
// stderr is no terminal nothing else is shown within a minute, and no time left.
func TestAnnounce(t *testing.T) {
	testsize.Full(t, "TestExpect of package individual has what is told before a run")
	workspace(t)
	write(t, "large.json", strings.Replace(read(t, "good.json"), `"n": 1000`, `"n": 25000`, 1))
	ctx, cancel := context.WithCancel(context.Background())
	stderr := &watcher{text: "expected to take", then: cancel}
	var stdout bytes.Buffer
	run(ctx, &stdout, stderr, []string{"infer", "large.json", "--method", "mcmc-ind", "--draws", "100000"})
	if text := stderr.String(); !strings.Contains(text, "expected to take from") || !strings.Contains(text, "n = 25000") || stdout.Len() > 0 || strings.Contains(text, "left") {
		t.Errorf("stderr %q, stdout %q", text, stdout.String())
	}
	names := strings.TrimSuffix(strings.Repeat("x,", 40), ",")
	for i := range 40 {
		names = strings.Replace(names, "x,", fmt.Sprintf("v%d,", i), 1)
	}
	write(t, "wide.csv", names+"\n"+strings.Repeat(strings.TrimSuffix(strings.Repeat("0.5,", 40), ",")+"\n", 100))
	made := []string{"release", "wide.csv", "--eps", "1", "--bounds", "x=0:1"}
	for i := range 39 {
		made = append(made, "--bounds", fmt.Sprintf("v%d=0:1", i))
	}
	command(made...).ends(t, done)
	ctx, cancel = context.WithCancel(context.Background())
	wide := &watcher{text: "expected to take", then: cancel}
	run(ctx, &stdout, wide, []string{"infer", "wide.release.json", "--draws", "100000"})
	if text := wide.String(); !strings.Contains(text, "cube of the columns, 40") || !strings.Contains(text, "--by-level") || stdout.Len() > 0 {
		t.Errorf("stderr %q, stdout %q", text, stdout.String())
	}
	command("infer", "large.json", "--model-clamping").says(t, "--method mcmc-ind").ends(t, misused)
	if r := command(append([]string{"infer", "good.json", "--method", "mcmc-ind"}, quick...)...); strings.Contains(r.stderr, "expected") {
		t.Errorf("a short run is announced: %s", r.stderr)
	}
}
