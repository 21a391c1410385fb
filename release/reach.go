package release

import "fmt"

// beyondNoise is how many standard deviations no noise reaches: e^−200 of Laplace's, less of others.
const beyondNoise = 200

// CheckReach refuses sums that are far from those of n rows, as where n is mistyped: chains would find no end. Scaled
// entries lie in [−1, 1]; others' may lie outside, in a frame that clips towards a centre there, or as nobody clamped
// them: 10n. Squares, and rows of a level, have no negative sum. Errors are *FieldError, and name the sum.
func (r *Release) CheckReach() error {
	n := max(0, float64(r.N))
	check := func(name string, sum, least, most, sd float64) error {
		if noise := beyondNoise * (sd + r.NNoise); !(sum >= least-noise && sum <= most+noise) {
			return fmt.Errorf("the sum of %s is %.6g in scaled units, which n = %d rows within these bounds do not have, nor does noise explain it", name, sum, r.N)
		}
		return nil
	}
	if r.Levels != nil {
		_, sd := r.FactorFirst().scales()
		for i, rows := range r.Levels.Counts {
			if err := check("rows", rows, 0, n, sd[0]); err != nil {
				return within("levels", within("counts", within(index(i), err)))
			}
		}
	}
	m := r.Dim()
	squares := map[int]bool{}
	for j := range m {
		squares[Index(m, j, j)] = true
	}
	names, sd := sumNames(r.Schema.Columns()), r.ScaledSD()
	for i, sum := range r.Scaled() {
		least := -10 * n
		if squares[i] {
			least = 0
		}
		if err := check(names[i], sum, least, 10*n, sd[i]); err != nil {
			return within("statistics", err)
		}
	}
	return nil
}
