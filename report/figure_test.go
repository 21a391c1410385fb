package report

import "testing"

// However narrow a picture is, its title, keys and note stay on it; a key that does not
// fit any line has one of its own.
func TestHeadStaysOnThePicture(t *testing.T) {
	words := newPlot().Legend.TextStyle
	keys := []key{{Name: "a"}, {Name: "the lesser, which decides"}, {Name: "by the count of Gaussian noise"}, {Name: "b"}}
	for width := newPlot().Title.TextStyle.Width("Kolmogorov"); width < 600; width += 10 {
		for _, line := range folded(words, "Kolmogorov–Smirnov statistic, the largest over median_income_of_household_in_block", width) {
			if words.Width(line) > width {
				t.Errorf("%q is wider than %v", line, width)
			}
		}
		shown := 0
		for _, line := range keyLines(words, keys, width) {
			used := -keyGap
			for _, k := range line {
				used += int(k.width(words)) + 1
			}
			if shown += len(line); len(line) > 1 && float64(used-len(line)) > float64(width) {
				t.Errorf("a line of %d keys is %d wide, of %v", len(line), used, width)
			}
		}
		if shown != len(keys) {
			t.Errorf("%d of %d keys at %v", shown, len(keys), width)
		}
	}
}
