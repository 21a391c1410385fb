package report

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/testsize"
	"gonum.org/v1/plot"
)

func labelsOf(ticks []plot.Tick) (labels []string) {
	for _, tick := range ticks {
		if tick.Label != "" {
			labels = append(labels, tick.Label)
		}
	}
	return labels
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		ticker    plot.Ticker
		low, high float64
		want      string
	}{
		{linearTicks{room: 36}, -0.31, 0.32, "-0.2 0 0.2"},
		{linearTicks{room: 36}, -0.05, 1.05, "0 0.2 0.4 0.6 0.8 1"},
		{linearTicks{room: 36}, 1e17, 1e17 + 16, ""},
		{linearTicks{room: 36}, 1e5, 9e5, "200,000 400,000 600,000 800,000"},
		{linearTicks{room: 36}, -57_000, 118_000, "-50,000 0 50,000 100,000"},
		{linearTicks{room: 36}, 3e9, 7e9, "3e9 4e9 5e9 6e9 7e9"},
		{linearTicks{room: 36}, 5873, 8_783_756, "2,000,000 6,000,000"},
		{linearTicks{36, 1}, 0, 2, "0 1 2"},
		{logTicks{36}, 0.9, 11, "1 2 5 10"},
		{logTicks{36}, 0.0012, 900, "0.01 0.1 1 10 100"},
		{logTicks{36}, 450, 620, "450 500 550 600"},
		{valueTicks{[]float64{0.1, 0.2, 0.5, 1, 2, 5, 10}, 80}, 0.08, 12, "0.1 0.2 0.5 1 2 5 10"},
		{valueTicks{[]float64{100, 101, 102, 10_000}, 36}, 90, 11_000, "100 10,000"},
	} {
		if got := strings.Join(labelsOf(c.ticker.Ticks(c.low, c.high)), " "); got != c.want {
			t.Errorf("%T from %g to %g: %s, want %s", c.ticker, c.low, c.high, got, c.want)
		}
	}
}

// On any axis there are at least two labels and not many, each of them says where it
// stands, and where there are more than three they have room.
func TestTicksOfAnyAxis(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range testsize.Of(3000, 20_000) {
		low, length := rng.NormFloat64()*math.Pow(10, 14*rng.Float64()-7), math.Pow(10, 14*rng.Float64()-7)
		length = max(length, 1e-6*math.Abs(low)) // what twelve digits tell apart
		tickers := map[plot.Ticker][2]float64{
			linearTicks{room: panelRoom}: {low, low + length},
			logTicks{panelRoom}:          {math.Abs(low), math.Abs(low) + length},
		}
		for ticker, axis := range tickers {
			ticks := slices.DeleteFunc(ticker.Ticks(axis[0], axis[1]), func(t plot.Tick) bool { return t.Label == "" })
			if n := len(ticks); n < 2 || n > 3 && !hold(ticks, panelRoom) {
				t.Fatalf("%T from %g to %g: %q", ticker, axis[0], axis[1], labelsOf(ticks))
			}
			for _, tick := range ticks {
				v, err := strconv.ParseFloat(strings.ReplaceAll(tick.Label, ",", ""), 64)
				if err != nil || v != tick.Value || v < axis[0]-1e-6*length || v > axis[1]+1e-6*length {
					t.Fatalf("%T from %g to %g: %q at %g, %v", ticker, axis[0], axis[1], tick.Label, tick.Value, err)
				}
			}
			if !slices.IsSortedFunc(ticks, func(a, b plot.Tick) int { return int(math.Copysign(1, a.Value-b.Value)) }) {
				t.Fatalf("%T: %q", ticker, labelsOf(ticks))
			}
		}
	}
}
