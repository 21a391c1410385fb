// Package pace tells how much time is left.
package pace

import (
	"fmt"
	"strings"
	"time"
)

// Pace tells how much time is left by the speed of late: over the last half of the time
// that has passed, or more.
type Pace struct{ old, late milestone }

// milestone is when so much was done.
type milestone struct {
	at   time.Time
	done int
}

// New is that of a thing of which so much is done now.
func New(done int, now time.Time) *Pace {
	begin := milestone{now, done}
	return &Pace{begin, begin}
}

// atLeast is how long a pace must have been kept to be told.
const atLeast = time.Second

// Left says how much time is left; empty as long as it is not known, or not long.
func (p *Pace) Left(done, total int, now time.Time) string {
	if now.Sub(p.late.at) >= p.late.at.Sub(p.old.at) && done > p.late.done {
		p.old, p.late = p.late, milestone{now, done}
	}
	passed := now.Sub(p.old.at)
	if passed < atLeast || done <= p.old.done || done >= total {
		return ""
	}
	each := float64(passed) / float64(done-p.old.done)
	return ", " + InWords(time.Duration(each*float64(total-done))) + " left"
}

// InWords is a time in whole seconds, minutes or hours, of which there are more than one.
func InWords(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", max(1, d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", d.Hours()), ".0") + " h"
}
