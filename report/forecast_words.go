package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/dpreg/dpreg/plan"
)

// enoughDetected is the power that studies are commonly planned for.
const enoughDetected = 0.8

// conclusions says in words what a forecast comes to: for each n the smallest ε
// of the grid that is enough.
func conclusions(f *plan.Forecast, slope int) []string {
	power := fmt.Sprintf("Detected at least %v", enoughDetected)
	return []string{smallest(f, power, func(p plan.Point) bool { return p.Slopes[slope].Detected >= enoughDetected })}
}

// smallest writes, for each n, the smallest ε at which what is wanted holds.
func smallest(f *plan.Forecast, wanted string, enough func(plan.Point) bool) string {
	least := make(map[int64]float64)
	var ns []int64
	for _, p := range f.Points {
		if _, seen := least[p.N]; !seen {
			ns, least[p.N] = append(ns, p.N), math.Inf(1)
		}
		if enough(p) {
			least[p.N] = min(least[p.N], p.Epsilon)
		}
	}
	var from, never []string
	for _, n := range ns {
		if math.IsInf(least[n], 1) {
			never = append(never, fmt.Sprint(n))
			continue
		}
		from = append(from, fmt.Sprintf("%s for n = %d", exactly(least[n]), n))
	}
	switch {
	case from == nil:
		return fmt.Sprintf("No point of this grid has %s: it takes a larger epsilon, more records, or fewer columns.", wanted)
	case never == nil:
		return fmt.Sprintf("The smallest epsilon on this grid with %s is %s.", wanted, strings.Join(from, ", "))
	}
	return fmt.Sprintf("The smallest epsilon on this grid with %s is %s; none is enough for n = %s.", wanted, strings.Join(from, ", "), strings.Join(never, ", "))
}
