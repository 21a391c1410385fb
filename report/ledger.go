package report

import (
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"

	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/mechanisms/ledger"
)

// Ledger writes a ledger's budget, its releases with what they used, and what is
// left. Used is the part of the budget that is used, by the count that decides.
func Ledger(w io.Writer, h *ledger.History) error {
	b := h.Budget
	p := &printer{w: w}
	p.paragraph(fmt.Sprintf("Ledger of %s: epsilon = %s, delta = %s in all, %s neighbours, filter %s.",
		b.Data, custody.Rational(b.Epsilon), custody.Rational(b.Delta), b.Neighbours, b.Filter))
	if len(h.Entries) > 0 {
		p.printf("\n")
		p.do(func(w io.Writer) error { return ledgerTable(w, h) })
		p.printf("\n")
	}
	if lost := unwritten(h); lost != "" {
		p.paragraph("Charged, but not known to have been written: " + lost + ". The charge stays.")
	}
	noise, delta := usual(h)
	left, err := custody.Left(h, noise, delta)
	if err != nil {
		return err
	}
	p.paragraph("Left for one more release: " + left + ".")
	return p.err
}

// releaseWidth is the width to which names of releases are folded.
const releaseWidth = 19

func ledgerTable(w io.Writer, h *ledger.History) error {
	uses, err := h.Uses()
	if err != nil {
		return err
	}
	var rows [][]string
	for i, e := range h.Entries {
		rows = append(rows, []string{
			strconv.FormatInt(e.Number, 10), e.Time.UTC().Format("2006-01-02 15:04"), fold(e.Release, releaseWidth), string(e.Noise),
			custody.Rational(e.Epsilon), custody.Rational(e.Delta), custody.Rational(uses[i].Epsilon), number(100*uses[i].Part(), 1) + "%",
		})
	}
	return grid(w, []string{"No", "Time (UTC)", "Release", "Noise", "epsilon", "delta", "Sum(eps)", "Used"}, rows, 4)
}

// unwritten lists the releases that were charged only, as far as the ledger knows.
func unwritten(h *ledger.History) string {
	var numbers []string
	for _, e := range h.Entries {
		if !e.Written {
			numbers = append(numbers, "No "+strconv.FormatInt(e.Number, 10))
		}
	}
	if more := len(numbers) - 5; more > 0 {
		numbers = append(numbers[:5], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(numbers, ", ")
}

// usual is the noise and δ of the last release with δ above 0, or Gaussian noise and all
// that there is.
func usual(h *ledger.History) (ledger.Noise, *big.Rat) {
	for i := len(h.Entries) - 1; i >= 0; i-- {
		if e := h.Entries[i]; e.Delta.Sign() > 0 {
			return e.Noise, e.Delta
		}
	}
	return ledger.Gaussian, h.Budget.Delta
}
