package report

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/release"
)

// PrivacyStatement writes what a release promises for who answers for the data: to whom, in words and in the
// terms that compose with other releases, and what it does not promise. name is that of the file and digest
// its SHA-256.
func PrivacyStatement(w io.Writer, r *release.Release, name, digest string) error {
	return write(w, say("Statement of privacy", fmt.Sprintf("File %s, SHA-256 %s.", name, digest), saySimulated(r.Simulated)),
		say("Who is protected. "+protected(r), "What is promised. "+promise(r)+odds(r), "What was published. "+contents(r)),
		composes(r), say("What is not promised. "+unpromised(r)), warn(r.Warnings()))
}

func protected(r *release.Release) string {
	one, unit := "Each row that the release was made of. A row is one person's if the custodian saw to that: who has k rows is protected by k times the epsilon alone.", "a row"
	if r.Persons != nil {
		one, unit = "Each person, with all rows of theirs, of whom there may be any number.", "a person"
	}
	hidden := " That " + unit + " was among them is not hidden: their number is published."
	if r.Neighbours() == release.AddRemove {
		hidden = " Whether they were in the data at all is hidden, too."
	}
	return one + hidden
}

// odds say ε as what an attacker learns at most.
func odds(r *release.Release) string {
	if r.Privacy == nil {
		return ""
	}
	epsilon, delta := r.Privacy.Epsilon, r.Privacy.Delta
	text := " This holds against anybody who reads the file, whatever else they know, compute, or agree upon with others, now and later. "
	if epsilon > 20 {
		return text + "At this epsilon it is hardly a limit."
	}
	right := 1/(1+math.Exp(-epsilon)) + delta/(1+math.Exp(epsilon)) // half of 1 and the largest P(A) − Q(A)
	return text + fmt.Sprintf("Who does not know which of two such data sets was used, and thinks both as likely, guesses right with a probability of at most %s after reading it.", number(100*min(1, right), 1)+"%")
}

// deltas are those at which a release states its ε.
var deltas = []float64{1e-3, 1e-5, 1e-7, 1e-9}

// composes are the terms in which privacy adds up, and the curve of ε and δ.
func composes(r *release.Release) []block {
	c, err := r.Composable()
	if err != nil {
		return say("How it composes. " + strings.ToUpper(err.Error()[:1]) + err.Error()[1:] + ": nothing can be said.")
	}
	terms := table{Header: []string{"Term", "Value", "Of several releases"}, Left: 1}
	terms.Rows = [][]string{
		{"epsilon", exactly(r.Privacy.Epsilon), "they add up"}, {"delta", exactly(r.Privacy.Delta), "they add up"},
		{"mu (Gaussian differential privacy)", above(c.Mu), "squares add up"}, {"rho (zero-concentrated)", above(c.Rho), "they add up"},
	}
	curve := table{Header: []string{"At delta", "epsilon is at most"}}
	for _, delta := range deltas {
		if epsilon, err := accounting.Epsilon(1, delta, c.Mu); err == nil {
			if r.Privacy.Delta <= delta {
				epsilon = min(epsilon, r.Privacy.Epsilon)
			}
			curve.Rows = append(curve.Rows, []string{exactly(delta), above(epsilon)})
		}
	}
	of := "rows"
	if r.Persons != nil {
		of = "persons"
	}
	return append(say("How it composes. With other releases of the same "+of+", of any software, for the same neighbours ("+string(r.Neighbours())+" of "+of+"):"), append(show(terms, curve),
		say("These terms, rounded up, are of the noise that the file states. A ledger takes them by dpreg ledger import.")...)...)
}

// above writes six digits of a number that is not below x.
func above(x float64) string { return strconv.FormatFloat(x*(1+5e-6), 'g', 6, 64) }

// unpromised is what nobody should read into it.
func unpromised(r *release.Release) string {
	chosen := "Columns, bounds, levels"
	if r.Bounds != nil {
		chosen = "Columns"
	}
	return chosen + ", the formula and the wish to release must have been chosen without looking at the data; the program cannot check that. " +
		"What is true of everybody, such as a slope, may be inferred, and applied to anyone, in the data or not. " +
		"Other releases of the same persons add to this one: the custodian's ledger counts them. " +
		"That noise was drawn as stated rests on the custodian, the machine and the program; a signature says who stands for it."
}
