package pace_test

import (
	"testing"
	"time"

	"github.com/dpreg/dpreg/internal/pace"
)

// TestPace: time left is told once a speed was kept for a second, by the speed of late.
func TestPace(t *testing.T) {
	begin := time.Now()
	p := pace.New(100, begin)
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
		if got := p.Left(c.done, c.total, begin.Add(time.Duration(c.second*float64(time.Second)))); got != c.want {
			t.Errorf("after %v s, %d of %d: %q, want %q", c.second, c.done, c.total, got, c.want)
		}
	}
	for d, want := range map[time.Duration]string{0: "1 s", 90 * time.Second: "90 s", 20 * time.Minute: "20 min", 2 * time.Hour: "2 h", 150 * time.Minute: "2.5 h"} {
		if got := pace.InWords(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}
