package report

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"gonum.org/v1/plot"
)

// The characters that labels have room for along the axis of a panel, of a small one or
// one with names beside it, and of one as wide as a page; the most labels of an axis.
const (
	panelRoom  = 40
	namesRoom  = 26
	pageRoom   = 80
	mostLabels = 6
)

// linearTicks marks multiples of 1, 2 or 5 times a power of ten: as many as have room,
// and at least two, unless they would be closer than least. A range that is nothing
// beside its place has none.
type linearTicks struct {
	room  int
	least float64
}

// Ticks implements plot.Ticker.
func (t linearTicks) Ticks(low, high float64) (ticks []plot.Tick) {
	if !(high-low > 1e-9*max(-low, high)) || math.IsInf(high-low, 0) {
		return nil
	}
	for e := math.Ceil(math.Log10(high - low)); ; e-- {
		for _, m := range []float64{5, 2, 1} {
			finer := labelled(multiples(m, int(e), low, high))
			if len(ticks) >= 2 && !hold(finer, t.room) || m*math.Pow10(int(e)) < t.least {
				return ticks
			}
			if ticks = finer; len(ticks) > 2 && !hold(ticks, t.room) {
				for i := 1; i < len(ticks); i += 2 {
					ticks[i].Label = ""
				}
				return ticks
			}
		}
	}
}

// hold tells whether labels have room beside each other.
func hold(ticks []plot.Tick, room int) bool {
	used := 0
	for _, tick := range ticks {
		used += utf8.RuneCountInString(tick.Label) + 2
	}
	return len(ticks) <= mostLabels && used <= room
}

// multiples are those of m·10^e from low to high.
func multiples(m float64, e int, low, high float64) (values []float64) {
	step := m * math.Pow10(e)
	for k := math.Ceil(low/step - 1e-9); k*step <= high+1e-9*step; k++ {
		// Twelve digits leave out the rounding of the product.
		v, _ := strconv.ParseFloat(strconv.FormatFloat(k*step, 'g', 12, 64), 64)
		values = append(values, v+0) // no -0
	}
	return values
}

// logTicks marks 1, 2 and 5 times the powers of ten, or powers of ten, every one or
// fewer of them; on a range that has fewer than two of these, what linearTicks does.
type logTicks struct{ room int }

// Ticks implements plot.Ticker.
func (t logTicks) Ticks(low, high float64) []plot.Tick {
	first, last := math.Floor(math.Log10(low)), math.Ceil(math.Log10(high))
	for skip := 0; skip <= int(last-first); skip++ {
		var values []float64
		for e := first; e <= last; e += max(1, float64(skip)) {
			for _, m := range []float64{1, 2, 5} {
				if v := m * math.Pow10(int(e)); v >= low && v <= high && (m == 1 || skip == 0) {
					values = append(values, v)
				}
			}
		}
		if len(values) < 2 {
			break
		}
		if ticks := labelled(values); hold(ticks, t.room) {
			return ticks
		}
	}
	return linearTicks{room: t.room}.Ticks(low, high)
}

// valueTicks marks values, in ascending order, on a logarithmic scale, and labels those
// that have room.
type valueTicks struct {
	values []float64
	room   int
}

// Ticks implements plot.Ticker.
func (t valueTicks) Ticks(low, high float64) []plot.Tick {
	ticks := labelled(t.values)
	end := math.Inf(-1) // of the last label, in characters
	for i, tick := range ticks {
		at := float64(t.room) * math.Log(tick.Value/low) / math.Log(high/low)
		half := float64(utf8.RuneCountInString(tick.Label))/2 + 0.5
		if at-half < end {
			ticks[i].Label = ""
			continue
		}
		end = at + half
	}
	return ticks
}

// markValues makes the x axis a logarithmic one that marks values, in ascending order,
// and reaches beyond them by a factor; of one value, one that is marked around it.
func markValues(p *plot.Plot, values []float64, room int, beyond float64) {
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, valueTicks{values, room}
	if len(values) < 2 {
		p.X.Tick.Marker = logTicks{room}
		beyond = 2
	}
	p.X.Min, p.X.Max = values[0]/beyond, values[len(values)-1]*beyond
}

// labelled marks values.
func labelled(values []float64) []plot.Tick {
	ticks := make([]plot.Tick, len(values))
	for i, v := range values {
		ticks[i] = plot.Tick{Value: v, Label: tickLabel(v)}
	}
	return ticks
}

// tickLabel writes what exactly does, with thousands set apart, and shorter where there
// are many zeros.
func tickLabel(v float64) string {
	a := math.Abs(v)
	if a >= 1e7 || a < 1e-4 && a > 0 {
		text := strconv.FormatFloat(v, 'e', -1, 64)
		return strings.NewReplacer("e+0", "e", "e-0", "e-", "e+", "e").Replace(text)
	}
	text := exactly(v)
	whole, rest, _ := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if rest != "" {
		rest = "." + rest
	}
	return whole + rest
}
