package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"
)

// TestPace: time left is told once a speed was kept for a second, by the speed of late.
func TestPace(t *testing.T) {
	begin := time.Now()
	p := newPace(100, begin)
	for _, c := range []struct {
		second      float64
		done, total int
		want        string
	}{
		{0.1, 110, 1100, ""},
		{0.5, 150, 1100, ""},
		{2, 300, 1100, ", 8 s left"},
		{4, 500, 1100, ", 6 s left"},
		{12, 508, 1100, ", 10 min left"}, // from 4 s on it does 1 in a second, in place of 100
		{36, 532, 1100, ", 9 min left"},
		{40, 532, 100000, ", 32.2 h left"}, // 28 s for 24
		{41, 1100, 1100, ""},
	} {
		if got := p.left(c.done, c.total, begin.Add(time.Duration(c.second*float64(time.Second)))); got != c.want {
			t.Errorf("after %v s, %d of %d: %q, want %q", c.second, c.done, c.total, got, c.want)
		}
	}
	for d, want := range map[time.Duration]string{0: "1 s", 90 * time.Second: "90 s", 20 * time.Minute: "20 min", 2 * time.Hour: "2 h", 150 * time.Minute: "2.5 h"} {
		if got := inWords(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

// TestAnnounce: mcmc-ind on many rows says how long it is to take before it starts; where
// stderr is no terminal nothing else is shown, and no time left.
func TestAnnounce(t *testing.T) {
	workspace(t)
	write(t, "large.json", strings.Replace(read(t, "good.json"), `"n": 1000`, `"n": 25000`, 1))
	ctx, cancel := context.WithCancel(context.Background())
	stderr := &watcher{text: "expected to take", then: cancel}
	var stdout bytes.Buffer
	run(ctx, &stdout, stderr, []string{"infer", "large.json", "--method", "mcmc-ind", "--draws", "100000"})
	if text := stderr.String(); !strings.Contains(text, "expected to take from") || !strings.Contains(text, "n = 25000") || stdout.Len() > 0 || strings.Contains(text, "left") {
		t.Errorf("stderr %q, stdout %q", text, stdout.String())
	}
	if r := command("infer", "large.json", "--model-clamping"); r.code != misused || !strings.Contains(r.stderr, "--method mcmc-ind") {
		t.Errorf("auto: exit code %d, %s", r.code, r.stderr)
	}
	if r := command(append([]string{"infer", "good.json", "--method", "mcmc-ind"}, quick...)...); strings.Contains(r.stderr, "expected") {
		t.Errorf("a short run is announced: %s", r.stderr)
	}
}
