package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/adaptive"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
)

const simulatedRelease = "SIMULATED RELEASE: what it promises would hold if its noise were secret."

// saySimulated says so of a release that is, and nothing of others.
func saySimulated(is bool) string {
	if is {
		return simulatedRelease
	}
	return ""
}

// Statement writes what a release promises, in plain words: ε, δ and the
// neighbours, what was released, the noise on it, and the release's warnings.
func Statement(w io.Writer, r *release.Release) error { return write(w, statement(r)) }

func statement(r *release.Release) []block {
	return append(say(saySimulated(r.Simulated), promise(r), contents(r)), warn(r.Warnings())...)
}

func promise(r *release.Release) string {
	if r.Privacy == nil {
		return "Privacy: not stated, epsilon unknown. Replace-one neighbours are assumed."
	}
	text := fmt.Sprintf("Privacy: epsilon = %s, delta = %s, %s neighbours: ",
		exactly(r.Privacy.Epsilon), exactly(r.Privacy.Delta), r.Privacy.Neighbours)
	one := "any one row"
	if r.Persons != nil {
		one = "any one person, with all rows of theirs,"
	}
	change := "exchanging " + one + " for another"
	if r.Privacy.Neighbours == release.AddRemove {
		change = "adding or removing " + one
	}
	text += change + fmt.Sprintf(" changes the probability of any outcome by a factor of at most %s", factor(r.Privacy.Epsilon))
	if r.Privacy.Delta > 0 {
		text += fmt.Sprintf(", but for a part of %s", exactly(r.Privacy.Delta))
	}
	return text + "." + ofBounds(r) + ofPooled(r) + ofPart(r)
}

// ofPart tells what other releases the promise is of, too.
func ofPart(r *release.Release) string {
	if r.Part == nil {
		return ""
	}
	return fmt.Sprintf(" It holds for all %d releases of one dealing together: each row, with all of its person's, was dealt to one part of them, by coins that nobody kept. This is of part %d.", r.Part.Of, r.Part.Number)
}

// ofPooled tells of whom the noise is, and who may know some of it.
func ofPooled(r *release.Release) string {
	p := r.Pooled
	switch {
	case p == nil:
		return ""
	case p.Colluding == 0:
		return fmt.Sprintf(" It was made as the sum of %d custodians, who saw nothing else of each other's rows.", p.Custodians)
	}
	return fmt.Sprintf(" It was made as the sum of %d custodians, and holds also against any %d of them who know their own shares of the noise.", p.Custodians, p.Colluding)
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
	text := fmt.Sprintf("Released: n = %d%s, public and exact, and ", r.N, whose(r))
	switch {
	case r.Neighbours() == release.AddRemove && r.Levels != nil:
		text = fmt.Sprintf("Released: n = %d, the sum of noisy counts of levels, rounded, and ", r.N)
	case r.Neighbours() == release.AddRemove:
		text = fmt.Sprintf("Released: n = %d%s with noise of scale %s, and ", r.N, whose(r), general(r.NNoise))
	}
	products := "their squares and products"
	if r.WithoutYY() {
		products += fmt.Sprintf(" but the square of %s", r.Schema.Response.Name)
	}
	text += fmt.Sprintf("%d sums over the rows (of %s, %s, scaled to [-1, 1]), ", len(r.Statistics.Vector()), Count(m, "column"), products)
	if r.Levels != nil {
		law := "noise"
		if r.Frame == nil {
			law = fmt.Sprintf("%s (sd %s)", noise(r.Noise), general(r.Noise.SD()))
		}
		text += fmt.Sprintf("which follow from %d that have %s: %s", len(r.Measured())-int(min(1, r.Levels.Known)), law, ofLevels(r.Levels))
		if r.Frame == nil {
			return text + "."
		}
		text += ", "
	}
	if r.Frame != nil {
		return text + inFrame(r)
	}
	return text + fmt.Sprintf("each with %s (sd %s).", noise(r.Noise), general(r.Noise.SD())) + withMoments(r) + ofPersons(r)
}

// ofLevels names what has noise, and says of how many levels that were released a sum is.
func ofLevels(l *release.Levels) string {
	sums, products, merged := fmt.Sprintf("the rows of each level of %s, sums within each", l.Factor), ", and squares and products of all other columns", ""
	if l.Factor == "" {
		sums, products = "the sums of all rows", ", and their squares and products"
	}
	if l.Merged > 1 {
		merged = fmt.Sprintf(" (each that of %d levels, whose noise adds up to %s times that sd)", l.Merged, general(math.Sqrt(float64(l.Merged))))
	}
	switch {
	case l.PerLevel():
		return sums + products + " within each"
	case l.Products != nil:
		return sums + products + merged
	case l.Known > 0 && len(l.Sums[0]) == 1: // of which the square is all
		products = ""
	case l.Known > 0:
		products += " but for the square of one that is 0 or 1"
	}
	return sums + merged + products
}

// whose is what n counts, where that is not rows.
func whose(r *release.Release) string {
	if r.Persons != nil && r.Persons.Most != 1 && r.Persons.Rows == release.PersonRows || r.Persons == nil {
		return ""
	}
	return " persons"
}

// ofPersons tells what became of a person's rows.
func ofPersons(r *release.Release) string {
	switch p := r.Persons; {
	case p == nil:
		return ""
	case p.Rows == release.PersonMean:
		return " A row is the mean of a person's rows."
	case p.Rows == release.PersonWeight:
		return " Each row counts one over the number of its person's rows."
	default:
		by := ", by " + exactly(p.Epsilon) + " of the epsilon"
		if r.Pooled != nil {
			by = ""
		}
		return fmt.Sprintf(" At most %s of a person %s, chosen by a keyed hash; about %s had more (noise of scale %s%s).",
			Count(int(p.Most), "row"), map[bool]string{true: "counts", false: "count"}[p.Most == 1], Count(max(0, int(p.More)), "person"), general(p.Scale), by)
	}
}

// inFrame tells how a release in a frame came about.
func inFrame(r *release.Release) string {
	text := "in an ellipsoid: "
	if len(r.Steps) > 0 {
		text = fmt.Sprintf("as the last of %s saw them. Each look has an ellipsoid, which the looks before it found, and the privacy above is that of all looks together: ", Count(len(r.Looks()), "look"))
	}
	text += "rows outside it are moved to its surface, and the sums have " + noise(r.Noise) + " in proportion to its size."
	if moved := model.ClippingMoves(r); moved > fewMoved {
		text += fmt.Sprintf(" Moving rows may shift a slope by up to %.1g of its posterior sd, and draws the mean of a skewed column towards most rows; intervals allow for that.", moved)
	}
	if r.Radii != nil && r.Frame.Lost > 0 {
		text += fmt.Sprintf(" Fewer than about %.0f%s far from all others go unseen: estimates are then those of the others.", math.Ceil(adaptive.Unseen(r.Radii, r.Noise.Kind)), cmp.Or(whose(r), " rows"))
	}
	return text + ofPersons(r)
}

// fewMoved is how much of a posterior sd may be a shift of which nothing is said.
const fewMoved = 0.25

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
	switch n.Kind {
	case release.Gaussian:
		return "Gaussian noise"
	case release.Ball:
		return "K-norm noise, whose density falls as exp(-|e|),"
	}
	return "Laplace noise of scale " + general(n.Scale)
}

// private says what the releases of a fit promise: one in words, of several a table and words.
func private(f *dpreg.Fit) []block {
	switch len(f.Custodians) {
	case 0:
		return nil
	case 1:
		r := f.Custodians[0].Release
		return say(promise(r), contents(r))
	}
	t := custodiansTable(f)
	return []block{{Table: &t, Text: custodiansWords(f)}}
}

// custodiansWords go below the table of several releases.
func custodiansWords(f *dpreg.Fit) string {
	if f.OneDealing() {
		return "The releases are of parts that rows were dealt to. A person's rows are in one part, and lose what one release costs."
	}
	if !f.SameRows() {
		return "Each release is private by itself, for the rows of its custodian. A person of whom two custodians have rows loses what both releases cost together: their epsilons add up, and so do their deltas."
	}
	words := "All releases are of the same rows. A person loses what they cost together: their epsilons add up, and so do their deltas"
	if total := f.TotalPrivacy(); total != nil {
		words += fmt.Sprintf(", to epsilon = %s, delta = %s", exactly(total.Epsilon), exactly(total.Delta))
	}
	return words + "."
}

// custodiansTable lists several releases and what each promises; of many, those that
// promise the same have one row.
func custodiansTable(f *dpreg.Fit) table {
	t := table{Header: []string{"Release", "n", "epsilon", "delta", "neighbours", "noise", "sd"}, Left: 1}
	places := map[[5]string]int{}
	var groups [][]dpreg.Custodian
	for i, c := range f.Custodians {
		terms := termsOf(c.Release)
		at, known := places[terms]
		if !known || len(f.Custodians) <= mostCustodians {
			at = len(groups)
			places[terms], groups = at, append(groups, nil)
		}
		groups[at] = append(groups[at], f.Custodians[i])
	}
	for _, all := range groups {
		t.Rows = append(t.Rows, custodiansRow(all))
	}
	return t
}

// termsOf are what a release says of its privacy: ε, δ, neighbours, noise and its sd.
func termsOf(r *release.Release) [5]string {
	terms := [5]string{"not stated", "", string(r.Neighbours()), string(r.Noise.Kind), general(r.Noise.SD())}
	if r.Privacy != nil {
		terms[0], terms[1] = exactly(r.Privacy.Epsilon), exactly(r.Privacy.Delta)
	}
	return terms
}

// custodiansRow is that of releases on the same terms.
func custodiansRow(all []dpreg.Custodian) []string {
	name, least, most := all[0].Name, all[0].Release.N, all[0].Release.N
	if len(all) > 1 {
		name = Count(len(all), "release")
	}
	for _, c := range all {
		least, most = min(least, c.Release.N), max(most, c.Release.N)
	}
	n := strconv.FormatInt(least, 10)
	if most > least {
		n += " to " + strconv.FormatInt(most, 10)
	}
	if all[0].Release.Neighbours() == release.AddRemove {
		n = "about " + n
	}
	terms := termsOf(all[0].Release)
	return append([]string{name, n}, terms[:]...)
}
