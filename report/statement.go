package report

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/dpreg/dpreg/release"
)

const simulatedRelease = "SIMULATED RELEASE: what it promises would hold if its noise were secret."

// Statement writes what a release promises, in plain words: ε, δ and the
// neighbours, what was released, the noise on it, and the release's warnings.
func Statement(w io.Writer, r *release.Release) error {
	p := &printer{w: w}
	if r.Simulated {
		p.paragraph(simulatedRelease)
	}
	p.paragraph(promise(r))
	p.paragraph(contents(r))
	p.do(func(w io.Writer) error { return Warnings(w, r.Warnings()) })
	return p.err
}

func promise(r *release.Release) string {
	if r.Privacy == nil {
		return "Privacy: not stated, epsilon unknown. Replace-one neighbours are assumed."
	}
	text := fmt.Sprintf("Privacy: epsilon = %s, delta = %s, %s neighbours: ",
		exactly(r.Privacy.Epsilon), exactly(r.Privacy.Delta), r.Privacy.Neighbours)
	change := "exchanging any one row for another"
	if r.Privacy.Neighbours == release.AddRemove {
		change = "adding or removing any one row"
	}
	text += change + fmt.Sprintf(" changes the probability of any outcome by a factor of at most %s", factor(r.Privacy.Epsilon))
	if r.Privacy.Delta > 0 {
		text += fmt.Sprintf(", but for a part of %s", exactly(r.Privacy.Delta))
	}
	return text + "." + ofBounds(r)
}

// ofBounds tells what part of ε found bounds in the rows.
func ofBounds(r *release.Release) string {
	if r.Bounds == nil {
		return ""
	}
	share := 100 * r.Bounds.Epsilon / r.Privacy.Epsilon
	if len(r.Bounds.Columns) == 0 {
		return fmt.Sprintf(" Of this epsilon %s (%.3g %%) found the bounds of columns that are left out here.", exactly(r.Bounds.Epsilon), share)
	}
	return fmt.Sprintf(" Of this epsilon %s (%.3g %%) found the bounds of %s: values beyond them were clamped.",
		exactly(r.Bounds.Epsilon), share, strings.Join(r.Bounds.Columns, ", "))
}

// factor is e^ε in words.
func factor(epsilon float64) string {
	switch {
	case epsilon > 20:
		return "exp(" + exactly(epsilon) + "), which is hardly a limit"
	case epsilon < 0.01:
		return fmt.Sprintf("exp(%s) = 1 + %.2g", exactly(epsilon), math.Expm1(epsilon))
	}
	return fmt.Sprintf("exp(%s) = %.3g", exactly(epsilon), math.Exp(epsilon))
}

func contents(r *release.Release) string {
	m := r.Dim()
	text := fmt.Sprintf("Released: n = %d, public and exact, and ", r.N)
	if r.Neighbours() == release.AddRemove {
		text = fmt.Sprintf("Released: n = %d with noise of scale %s, and ", r.N, general(r.NNoise))
	}
	products := "their squares and products"
	if r.WithoutYY() {
		products += fmt.Sprintf(" but the square of %s", r.Schema.Response.Name)
	}
	return text + fmt.Sprintf("%d sums over the rows (of %s, %s, scaled to [-1, 1]), each with %s (sd %s).",
		len(r.Statistics.Vector()), count(m, "column"), products, noise(r.Noise), general(r.Noise.SD())) + withMoments(r)
}

// withMoments tells what else was released.
func withMoments(r *release.Release) string {
	switch x := r.Moments; {
	case x == nil:
		return ""
	case x.Together():
		return fmt.Sprintf(" And %d sums of products of 3 and 4 values of the covariates, with the same noise.", len(x.Sums))
	default:
		return fmt.Sprintf(" And %d sums of products of 1 to 4 values of the covariates, each with %s (sd %s): the privacy above is that of both together.",
			len(x.Sums), noise(x.Noise), general(x.Noise.SD()))
	}
}

// noise names the law of the noise and its scale.
func noise(n release.Noise) string {
	if n.Kind == release.Gaussian {
		return "Gaussian noise"
	}
	return "Laplace noise of scale " + general(n.Scale)
}
