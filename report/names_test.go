package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"

	"github.com/dpreg/dpreg/internal/testsize"
)

// TestShortNames: whatever names a picture has, and at each width that it gives them, no two
// are shown as one, no one is cut that has room, and none is wider, unless it is numbered.
func TestShortNames(t *testing.T) {
	p := newPlot()
	title := axes("", "", "").Title.TextStyle
	places := map[string]struct {
		style text.Style
		width vg.Length
	}{
		"panel": {title, titleWidth}, "pairs": {p.X.Tick.Label, 2 * pairsText}, "check": {p.Y.Tick.Label, checkName},
		"factor": {p.Y.Tick.Label, checkFactor}, "custodian": {p.Y.Tick.Label, custodianName}, "narrow": {title, 20}, "nothing": {title, 0},
	}
	series := func(format string, n int) (names []string) {
		for i := range n {
			names = append(names, fmt.Sprintf(format, i))
		}
		return names
	}
	long := strings.Repeat("x", 80)
	for what, c := range map[string]struct {
		names []string
		apart bool // where there is room for a factor, none is numbered
	}{
		"short":         {[]string{"(Intercept)", "educ", "sigma", "é", "y"}, true},
		"middle":        {series("income_of_the_household_in_20%02d_in_thousands_of_dollars", 30), true},
		"end":           {series("median_household_income_in_thousands_of_dollars_20%02d", 30), true},
		"beginning":     {series("%d_of_the_households_and_of_the_farms_of_the_county", 30), true},
		"two places":    {[]string{"income_of_the_house_in_2019_of_dollars_in_the_north", "income_of_the_house_in_2019_of_dollars_in_the_south", "income_of_the_house_in_2020_of_dollars_in_the_north", "income_of_the_house_in_2020_of_dollars_in_the_south"}, true},
		"prefix":        {[]string{long, long + "x", long + "xx", long + "_y", "x"}, false},
		"no words":      {[]string{long + "1" + long, long + "2" + long, long + long + "1"}, true},
		"doubled":       {[]string{"ab" + long, "aab" + long, "abb" + long, long + "ab"}, true},
		"unicode":       {[]string{strings.Repeat("収入", 20) + "年" + long, strings.Repeat("収入", 20) + "月" + long, strings.Repeat("e\u0301", 60), strings.Repeat("e\u0301", 59) + "e"}, true},
		"blanks":        {[]string{"a b", "a  b", " a b", long + " b", long + "  b", "", " "}, false},
		"looks cut":     {[]string{"in…t", "in…t (2)", "…", "… (2)", "income_of_a_house_in_thousands_at_last", "income_of_the_house_in_thousands_at_last"}, true},
		"levels":        {[]string{"ocean_proximityNEAR BAY", "ocean_proximityNEAR OCEAN", "ocean_proximityless than one hour by car", "ocean_proximityless than one hour by train"}, true},
		"paths":         {[]string{"/tmp/x/region_hospital_of_the_county_2019_release.json", "/tmp/x/region_hospital_of_the_county_2020_release.json", "/tmp/y/region_hospital_of_the_county_2019_release.json", "common"}, true},
		"numbers apart": {series(long+"%03d"+long, testsize.Of(30, 200)), true},
	} {
		for where, place := range places {
			seen := make(map[string]string)
			for name, brief := range shortNames(place.style, place.width, c.names...) {
				if other, ok := seen[brief]; ok || brief == "" && strings.TrimSpace(name) != "" {
					t.Errorf("%s, %s: %q and %q are %q", what, where, name, other, brief)
				}
				seen[brief] = name
				numbered := brief != name && strings.HasSuffix(brief, ")")
				if numbered && c.apart && place.width >= checkFactor {
					t.Errorf("%s, %s: %q is numbered: %q", what, where, name, brief)
				}
				if brief != name && !numbered && place.style.Width(brief) > max(place.width, place.style.Width("…")) {
					t.Errorf("%s, %s: %q is wider than %v", what, where, brief, place.width)
				}
				if bare := strings.Join(strings.Fields(name), " "); brief != bare && !numbered && place.style.Width(bare) <= place.width {
					t.Errorf("%s, %s: %q has room", what, where, name)
				}
			}
			if len(seen) != len(set(c.names)) {
				t.Errorf("%s, %s: %d of %d names", what, where, len(seen), len(c.names))
			}
		}
	}
}

func set(names []string) map[string]bool {
	all := make(map[string]bool)
	for _, name := range names {
		all[name] = true
	}
	return all
}

// TestSumLabels: no two sums of a check are shown as one, and none is numbered.
func TestSumLabels(t *testing.T) {
	names := []string{"income_of_the_household_in_2019_in_thousands_of_dollars", "income_of_the_household_in_2020_in_thousands_of_dollars", "income_of_the_household", "y"}
	sums, seen := slices.Clone(names), make(map[string]bool)
	for _, a := range names {
		sums = append(sums, a+"²", "1 in "+a, "u("+a+")")
		for _, b := range names {
			sums = append(sums, a+" × "+b, "u("+a+") × u("+b+")")
		}
	}
	style := newPlot().Y.Tick.Label
	for label, shown := range shortNames(style, checkName, sums...) {
		if seen[shown] || style.Width(shown) > checkName {
			t.Errorf("%q is shown as %q", label, shown)
		}
		seen[shown] = true
	}
}
