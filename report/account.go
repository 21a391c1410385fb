package report

import (
	"io"
	"slices"
	"strconv"

	"github.com/dpreg/dpreg/mechanisms/accounting"
)

// Account is what accountants answer to one question.
type Account struct {
	Subject  string // what is accounted for, in words
	Quantity string // what is asked for: epsilon, delta, sigma, scale, q, steps or count
	Loose    bool   // ε and δ are those of a bound that may be above the truth
	Delta    float64
	Answers  []Answer
}

// Answer is one accountant's.
type Answer struct {
	Accountant accounting.Accountant
	Value      float64
}

// accountants are the names of accountants in tables and pictures.
var accountants = map[accounting.Accountant]string{
	accounting.PLD:        "privacy-loss distributions, upper",
	accounting.Optimistic: "privacy-loss distributions, lower",
	accounting.RDP:        "Rényi divergences",
	accounting.ZCDP:       "zero-concentration",
	accounting.Moments:    "moments accountant, up to the " + strconv.Itoa(accounting.DefaultMoments) + "nd",
	accounting.Advanced:   "advanced composition",
	accounting.Basic:      "basic composition",
}

// WriteAccount writes the subject, a table with a row for each accountant that has an
// answer, and what the first two are.
func WriteAccount(w io.Writer, a Account) error {
	p := &printer{w: w}
	p.paragraph(a.Subject + ":")
	p.printf("\n")
	var rows [][]string
	for _, answer := range a.Answers {
		rows = append(rows, []string{accountants[answer.Accountant], strconv.FormatFloat(answer.Value, 'g', 8, 64)})
	}
	p.do(func(w io.Writer) error { return grid(w, []string{"accountant", a.Quantity}, rows, 1) })
	p.printf("\n")
	p.paragraph(a.words())
	if a.Loose {
		p.paragraph("For batches of fixed size the truth is not known: all of this is about a bound on it.")
	}
	return p.err
}

// words say what the first two lines are; a search that ends where accounts do has one.
func (a *Account) words() string {
	bracketed := slices.ContainsFunc(a.Answers, func(answer Answer) bool { return answer.Accountant == accounting.Optimistic })
	switch a.Quantity {
	case "epsilon", "delta":
		return "The smallest " + a.Quantity + " lies between the first two lines, rounding errors included; the other lines are upper bounds."
	case "sigma", "scale":
		if !bracketed {
			return "The first line is enough noise, and none is known that is not: there are no accounts of less. The other lines are what the accountant needs to show that it is enough."
		}
		return "The first line is enough noise, and less than the second is not enough; the other lines are what the accountant needs to show that it is enough."
	}
	if !bracketed {
		return "The first line is allowed, and no number is known that is not: there are no accounts of more. The other lines are what the accountant can allow."
	}
	return "The first line is allowed, and more than the second is not; the other lines are what the accountant can allow."
}
