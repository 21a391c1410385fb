// Package expression has the one language in which columns and parameters are reckoned with: terms
// of formulas, such as log(x + 1), and questions, such as educ - 2*age.
package expression

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Node is an expression: a number, a name, or an operation on expressions.
type Node struct {
	Op     Op
	Name   string // of a variable, a function, a factor
	Text   string // the level of a Level; what an Own is written as
	Number float64
	Quoted bool // the name stood in backquotes
	Args   []*Node
}

// Op is what a node does with its arguments.
type Op int

const (
	Constant Op = iota
	Variable
	Level // name[text]
	Bracketed
	Negated
	Sum
	Difference
	Product
	Quotient
	Power
	Called // a function, one of Functions or of those whose language it is
	Own    // whatever those whose language it is make of it
)

// signs of operations, as R writes them.
var signs = map[Op]string{Sum: " + ", Difference: " - ", Product: " * ", Quotient: "/", Power: "^"}

// Identity is R's I: arithmetic within a formula.
const Identity = "I"

// Functions of a number.
var Functions = map[string]func(float64) float64{
	"log": math.Log, "log2": math.Log2, "log10": math.Log10, "log1p": math.Log1p, "exp": math.Exp,
	"sqrt": math.Sqrt, "abs": math.Abs, Identity: func(x float64) float64 { return x },
}

// String is the expression as R writes it.
func (e *Node) String() string {
	switch e.Op {
	case Constant:
		return strconv.FormatFloat(e.Number, 'g', -1, 64)
	case Variable:
		return Quote(e.Name)
	case Level:
		return Quote(e.Name) + "[" + e.Text + "]"
	case Bracketed:
		return "(" + e.Args[0].String() + ")"
	case Negated:
		return "-" + e.Args[0].String()
	case Called:
		var args []string
		for _, a := range e.Args {
			args = append(args, a.String())
		}
		return e.Name + "(" + strings.Join(args, ", ") + ")"
	case Own:
		return e.Text
	}
	return e.Args[0].String() + signs[e.Op] + e.Args[1].String()
}

// Variables adds the names that it is of, each once.
func (e *Node) Variables(names []string) []string {
	if e.Op == Variable && !slices.Contains(names, e.Name) {
		names = append(names, e.Name)
	}
	for _, a := range e.Args {
		names = a.Variables(names)
	}
	return names
}

// Leaf tells whether the value of e is not for this package to tell: a name, a level, a function
// that is none of Functions.
func (e *Node) Leaf() bool {
	return e.Op == Variable || e.Op == Level || e.Op == Own || e.Op == Called && Functions[e.Name] == nil
}

// At evaluates e, given its leaves.
func (e *Node) At(leaf func(*Node) float64) float64 {
	if e.Leaf() {
		return leaf(e)
	}
	arg := func(i int) float64 { return e.Args[i].At(leaf) }
	switch e.Op {
	case Bracketed:
		return arg(0)
	case Negated:
		return -arg(0)
	case Sum:
		return arg(0) + arg(1)
	case Difference:
		return arg(0) - arg(1)
	case Product:
		return arg(0) * arg(1)
	case Quotient:
		return arg(0) / arg(1)
	case Power:
		return math.Pow(arg(0), arg(1))
	case Called:
		return Functions[e.Name](arg(0))
	}
	return e.Number
}

var (
	plain    = regexp.MustCompile(`^(?:\p{L}|\.[\p{L}\p{M}._])[\p{L}\p{Nd}\p{M}._]*$`)
	quoted   = strings.NewReplacer("\\", "\\\\", "`", "\\`")
	unquoted = strings.NewReplacer("\\\\", "\\", "\\`", "`")
)

// Quote writes a name as an expression holds it: in backquotes, unless it is a letter, or a dot
// and no digit after it, then letters, digits, dots and underscores.
func Quote(name string) string {
	if plain.MatchString(name) {
		return name
	}
	return "`" + quoted.Replace(name) + "`"
}
