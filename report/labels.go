package report

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// shortNames gives each of the names in a picture a text that is at most width wide, and no
// two names the same: an ellipsis stands for what a name shares with others. Names that
// have no room for what tells them apart are numbered, which may be wider.
func shortNames(style text.Style, width vg.Length, names ...string) map[string]string {
	short, taken := make(map[string]string), make(map[string]bool)
	split := make(map[string][]string)
	for _, name := range names {
		split[name] = letters(name)
	}
	for _, name := range names {
		if _, done := short[name]; done {
			continue
		}
		order := byImportance(name, split)
		brief := cut(style, width, split[name], order, "")
		for n := 2; taken[brief]; n++ {
			brief = cut(style, width, split[name], order, " ("+strconv.Itoa(n)+")")
		}
		short[name], taken[brief] = brief, true
	}
	return short
}

// letters are the characters of a name, each with its combining marks. A picture shows one
// blank for any number of them.
func letters(name string) (all []string) {
	for _, r := range strings.Join(strings.Fields(name), " ") {
		if last := len(all) - 1; last >= 0 && unicode.Is(unicode.M, r) {
			all[last] += string(r)
		} else {
			all = append(all, string(r))
		}
	}
	return all
}

// byImportance orders the letters of a name: first those at which it begins to differ from
// another one, then by their distance to these and to both ends.
func byImportance(name string, names map[string][]string) []int {
	own := names[name]
	nearest, order := make([]int, len(own)), make([]int, len(own))
	for i := range own {
		nearest[i], order[i] = 1+min(i, len(own)-1-i), i
	}
	for other, text := range names {
		if other == name || len(own) == 0 {
			continue
		}
		at := 0
		for at < min(len(own)-1, len(text)) && own[at] == text[at] {
			at++
		}
		for i := range own {
			nearest[i] = min(nearest[i], max(i-at, at-i))
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(nearest[a], nearest[b]) })
	return order
}

// cut keeps as many letters as have room, in an order, and ends them with a suffix.
func cut(style text.Style, width vg.Length, letters []string, order []int, suffix string) string {
	if whole := strings.Join(letters, "") + suffix; style.Width(whole) <= width {
		return whole
	}
	kept, brief := make([]bool, len(letters)), "…"+suffix
	for _, at := range order {
		kept[at] = true
		longer := elided(letters, kept) + suffix
		if style.Width(longer) > width {
			break
		}
		brief = longer
	}
	return brief
}

// elided has an ellipsis for each two letters or more in a row that are not kept.
func elided(letters []string, kept []bool) string {
	var b strings.Builder
	for at := 0; at < len(letters); {
		gap := at
		for gap < len(letters) && !kept[gap] {
			gap++
		}
		if gap > at+1 {
			b.WriteString("…")
			at = gap
			continue
		}
		b.WriteString(letters[at])
		at++
	}
	return b.String()
}

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
