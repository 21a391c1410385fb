package release

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// maxN is the largest count whose float64 is exact.
const maxN = 1 << 53

// Validate checks everything that a release file must satisfy: what passes
// can be written, and read back. Errors are *FieldError and name the field.
//
// Besides shapes and ranges it checks the claim where the file states all of it:
// a sensitivity must not lie below the proven one, Laplace noise must satisfy
// scale·ε ≥ sensitivity, of moments too, and Gaussian noise must not have a δ that is certainly
// larger than the one stated.
func (r *Release) Validate() error {
	err := cmp.Or(within("format", checkFormat(r.Format)), within("schema", r.Schema.Validate()), within("privacy", r.validatePrivacy()))
	if err == nil {
		err = cmp.Or(within("bounds", r.validateBounds()), within("persons", r.Persons.validate(r)), within("pooled", r.validatePooled()), within("part", r.Part.validate(r)), r.validateCount(), r.validateLooks())
	}
	if err == nil {
		err = cmp.Or(within("moments", r.validateMoments()), r.validateWithheld(), r.validateLevels())
	}
	if err == nil {
		err = cmp.Or(r.validateClaims(), within("statistics", r.Statistics.validate(r.Dim()-1)))
	}
	if err == nil {
		err = r.validateFollows()
	}
	return err
}

// validateWithheld checks that the release withholds what it says, and nothing
// that its moments need.
func (r *Release) validateWithheld() error {
	says := len(r.Withheld) > 0
	switch {
	case says && (len(r.Withheld) > 1 || r.Withheld[0] != WithheldYY):
		return within("withheld", fmt.Errorf("must be [%q], or left out, not %q", WithheldYY, r.Withheld))
	case says && !r.WithoutYY():
		return within("withheld", fmt.Errorf("says %q, and statistics.sum_yy is given: write null there", WithheldYY))
	case !says && r.WithoutYY():
		return within("statistics", within("sum_yy", fmt.Errorf("must be a number, or null where \"withheld\" is [%q]", WithheldYY)))
	case says && r.Moments != nil:
		return within("moments", errors.New("not with \"withheld\": who takes moments needs statistics.sum_yy as well"))
	}
	return nil
}

// checkFormat accepts this version, and says of anything else what it is.
func checkFormat(format string) error {
	if format == Format || format == FormatFrame || format == FormatLevels {
		return nil
	}
	kind, version, _ := strings.Cut(format, "/")
	switch {
	case format == "":
		return fmt.Errorf("missing; a release says \"format\": %q", Format)
	case kind == "dpreg-release":
		return fmt.Errorf("version %q of the release format is not known; this version of dpreg reads %q, %q and %q", version, Format, FormatFrame, FormatLevels)
	}
	return fmt.Errorf("%q is not a release; a release says \"format\": %q", format, Format)
}

func (r *Release) validatePrivacy() error {
	p := r.Privacy
	if p == nil {
		return nil
	}
	switch {
	case !positive(p.Epsilon):
		return within("epsilon", fmt.Errorf("must be a positive number up to 1e100, not %v", p.Epsilon))
	case !(p.Delta >= 0 && p.Delta < 1):
		return within("delta", fmt.Errorf("must be at least 0 and less than 1, not %v", p.Delta))
	case p.Neighbours != ReplaceOne && p.Neighbours != AddRemove:
		return within("neighbours", fmt.Errorf("must be %q or %q, not %q", ReplaceOne, AddRemove, p.Neighbours))
	case p.Delta == 0 && r.Noise.Kind == Gaussian:
		return within("delta", fmt.Errorf("must be above 0 where noise.kind is %q", Gaussian))
	case p.Delta > 0 && r.Noise.Kind == Ball:
		return within("delta", fmt.Errorf("must be 0 where noise.kind is %q, not %v", Ball, p.Delta))
	}
	return nil
}

func (r *Release) validateCount() error {
	if r.N > maxN || r.N < -maxN {
		return within("n", fmt.Errorf("%d is out of range", r.N))
	}
	noisy := r.Neighbours() == AddRemove
	if err := validateCountNoise(r.NNoise, noisy); err != nil {
		return err
	}
	if !noisy && r.N < 1 {
		return within("n", fmt.Errorf("must be at least 1, not %d", r.N))
	}
	return nil
}

// validateCountNoise checks the scale of the noise on n, where n is noisy, and elsewhere
// that there is none.
func validateCountNoise(scale float64, noisy bool) error {
	switch {
	case noisy && !positive(scale):
		return within("n_noise", fmt.Errorf("add-remove neighbours need the scale of the noise on n, a positive number up to 1e100, not %v", scale))
	case !noisy && scale != 0:
		return within("n_noise", fmt.Errorf("only with \"neighbours\": %q, where n is noisy", AddRemove))
	}
	return nil
}

// validate checks the noise in a frame or in the box, but for what isotropic checks.
func (n Noise) validate(frame bool) error {
	kinds := [2]Kind{Laplace, Gaussian}
	if frame {
		kinds[0] = Ball
	}
	switch {
	case !slices.Contains(kinds[:], n.Kind) && frame:
		return within("kind", fmt.Errorf("must be %q or %q in a frame, not %q", kinds[0], kinds[1], n.Kind))
	case !slices.Contains(kinds[:], n.Kind):
		return within("kind", fmt.Errorf("must be %q or %q, not %q", kinds[0], kinds[1], n.Kind))
	case n.Cross != 0 && !frame:
		return within("cross", errors.New(withFrame))
	case n.Linear != 0 && !frame:
		return within("linear", errors.New(withFrame))
	case n.Freedom != 0 && n.Kind != Ball:
		return within("freedom", fmt.Errorf("only where \"kind\" is %q", Ball))
	case !positive(n.Scale):
		return within("scale", fmt.Errorf("must be a positive number up to 1e100, not %v", n.Scale))
	case n.Sensitivity != 0 && !positive(n.Sensitivity):
		return within("sensitivity", fmt.Errorf("must be a positive number up to 1e100, not %v", n.Sensitivity))
	case n.Lattice != 0 && !positive(n.Lattice):
		return within("lattice", fmt.Errorf("must be a positive number up to 1e100, not %v", n.Lattice))
	}
	return nil
}

// validate checks the blocks for p covariates.
func (s *Statistics) validate(p int) error {
	var yy float64
	if s.SumYY != nil {
		yy = *s.SumYY
	}
	return cmp.Or(
		within("sum_x", checkVector(s.SumX, p)), within("sum_xx", checkSymmetric(s.SumXX, p)), within("sum_y", checkFinite(s.SumY)),
		within("sum_xy", checkVector(s.SumXY, p)), within("sum_yy", checkFinite(yy)))
}

func checkVector(v []float64, p int) error {
	if len(v) != p {
		return fmt.Errorf("must have %d entries, one for each covariate, not %d", p, len(v))
	}
	for j, x := range v {
		if err := checkFinite(x); err != nil {
			return within(index(j), err)
		}
	}
	return nil
}

func checkSymmetric(a [][]float64, p int) error {
	if len(a) != p {
		return fmt.Errorf("must have %d rows, one for each covariate, not %d", p, len(a))
	}
	for j, row := range a {
		if err := checkVector(row, p); err != nil {
			return within(index(j), err)
		}
		for k := range j {
			if row[k] != a[k][j] {
				return within(index(j)+index(k), fmt.Errorf("%v differs from %v at [%d][%d]: the matrix must be symmetric, written whole", row[k], a[k][j], k, j))
			}
		}
	}
	return nil
}

func checkFinite(x float64) error {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return fmt.Errorf("must be a finite number, not %v", x)
	}
	return nil
}

// positive reports whether x is so, and squares of x are numbers, too.
func positive(x float64) bool { return x > 0 && x <= 1e100 }

func index(j int) string { return fmt.Sprintf("[%d]", j) }

// FieldError is a mistake in one field of a release. Field is its JSON path,
// such as statistics.sum_xx[1][0].
type FieldError struct {
	Field string
	Err   error
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Err.Error() }

// Unwrap gives the mistake itself.
func (e *FieldError) Unwrap() error { return e.Err }

// within puts a segment of the path in front of an error: a key, or an index
// in brackets.
func within(segment string, err error) error {
	if err == nil {
		return nil
	}
	inner, ok := err.(*FieldError)
	if !ok {
		return &FieldError{Field: segment, Err: err}
	}
	if !strings.HasPrefix(inner.Field, "[") {
		segment += "."
	}
	return &FieldError{Field: segment + inner.Field, Err: inner.Err}
}

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
