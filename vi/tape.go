package vi

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/internal/parallel"
)

// Tape carries a function of θ and of some records at a time, and its gradient in reverse
// (Griewank & Walther, Evaluating Derivatives, 2008). Values are matrices with a row for each
// record. θ enters in two ways only, as a matrix that rows x are multiplied with, y = Wx, and
// as a vector y that all rows have, which is W with x = 1. So, with δ the gradient of a
// record's own sum in y, its gradient in W is the outer product δxᵀ: of all records together
// that is one matrix product, and its norm is ‖δ‖·‖x‖, without the gradient being formed
// (Goodfellow, Efficient per-example gradient computations, 2015).
//
// A function calls the same operations in the same order each time. All but Factor, Observe
// and Rows concern one row at a time: what a record adds is a function of it and of θ alone,
// to the last bit. Operations panic where sizes do not fit.
type Tape struct {
	theta   []float64
	layout  []Parameter
	records []int
	nodes   []*Node
	next    int // of nodes
	uses    []use
	factors []*Node
	logLik  []float64 // of each record
	coded   bool      // rows that are multiplied with θ are read as Sum codes them
	told    bool      // values of Observe are asked for
	prior   bool      // there are no records
	rng     *rand.Rand
}

// Node is a matrix on a tape.
type Node struct {
	t           *Tape
	rows, width int
	alike       bool // all rows are one, which value and slope have once: records do not bear on it
	value, grad []float64
	needs       bool     // θ bears on it
	back        func()   // adds to the gradients of what it was made of
	made        [2]*Node // of these, entry by entry
	slope       [2][]float64
	pair        func(x, y float64) (value, dx, dy float64)
	single      func(x float64) (value, slope float64)
	of          []float64 // what Rows takes rows of
	codes       *codes    // the same, where they are coded
	measured    bool
	unit, norm  []float64 // of rows
}

// use is one of θ: y = Wx, x being nil for 1, and W entries from at on.
type use struct {
	at, size int
	x, y     *Node
}

// tileRows is how many records are on a tape at a time: matrices so low are found in the cache.
const tileRows = 256

// grain is how many entries a core has at a time, where there are more.
const grain = 1 << 13

func newTape(layout []Parameter, rng *rand.Rand) *Tape { return &Tape{layout: layout, rng: rng} }

func (t *Tape) start(theta []float64, records []int) {
	t.theta, t.records, t.next = theta, records, 0
	t.uses, t.factors = t.uses[:0], t.factors[:0]
	t.logLik = room(t.logLik, len(records))
	clear(t.logLik)
}

// backward finds the gradients of the sum of all factors.
func (t *Tape) backward() {
	for _, n := range t.factors {
		for i := range n.grad {
			n.grad[i]++
		}
	}
	for i := t.next - 1; i >= 0; i-- {
		if n := t.nodes[i]; n.needs && n.back != nil {
			n.back()
		}
	}
}

func (t *Tape) node(rows, width int, needs, alike bool) *Node {
	if t.next == len(t.nodes) {
		t.nodes = append(t.nodes, &Node{t: t})
	}
	n := t.nodes[t.next]
	t.next++
	n.rows, n.width, n.needs, n.alike, n.measured = rows, width, needs, alike, false
	if n.value = room(n.value, rows*width); alike {
		n.value = room(n.value, width)
	}
	if needs {
		n.grad = room(n.grad, rows*width)
		clear(n.grad)
	}
	return n
}

// room is x with another length.
func room(x []float64, n int) []float64 { return slices.Grow(x[:0], n)[:n] }

func (n *Node) row(i int) []float64 {
	if n.alike {
		return n.value
	}
	return n.value[i*n.width : (i+1)*n.width]
}

func (n *Node) delta(i int) []float64 { return n.grad[i*n.width : (i+1)*n.width] }

// Value is the matrix, row by row, until the tape goes on; one row where records do not bear on it.
func (n *Node) Value() []float64 { return n.value }

// Rows are the records' own rows of a matrix with so many columns.
func (t *Tape) Rows(of []float64, width int) *Node {
	n := t.node(len(t.records), width, false, false)
	n.of = of
	n.gather()
	return n
}

func (n *Node) gather() {
	of := n.of
	if n.codes != nil {
		of = n.codes.x
	}
	if n.width == 1 {
		for k, i := range n.t.records {
			n.value[k] = of[i]
		}
		return
	}
	for k, i := range n.t.records {
		copy(n.row(k), of[i*n.width:(i+1)*n.width])
	}
}

// Constant is a matrix that no record bears on; one row is as all rows.
func (t *Tape) Constant(of []float64, width int) *Node {
	n := t.node(len(of)/width, width, false, len(of) == width)
	copy(n.value, of)
	return n
}

// Normal is standard normal variates, drawn for each record anew, from secret randomness. Given
// each record's own, a batch with one record more has the others' sums, and what is not told is
// averaged over: hockey-stick curves are convex.
func (t *Tape) Normal(width int) *Node {
	n := t.node(len(t.records), width, false, false)
	normal(n.value, t.rng)
	return n
}

// Param is the k-th parameter, a row for each record; in a prior there is one row.
func (t *Tape) Param(k int) *Node {
	at, size := t.place(k)
	n := t.node(len(t.records), size, true, !t.prior)
	copy(n.value, t.theta[at:at+size])
	t.uses = append(t.uses, use{at, size, nil, n})
	return n
}

// Matrix is the k-th parameter, row by row, in a prior.
func (t *Tape) Matrix(k, width int) *Node {
	if !t.prior {
		panic("vi: records bear on θ through Param and Dense alone")
	}
	n := t.Param(k)
	n.rows, n.width = len(n.value)/width, width
	return n
}

// place is where the k-th parameter is in θ.
func (t *Tape) place(k int) (at, size int) {
	for _, p := range t.layout[:k] {
		at += p.entries()
	}
	return at, t.layout[k].entries()
}

// Dense is Wx for every row x, the k-th parameter being W, row by row.
func (t *Tape) Dense(x *Node, k int) *Node {
	at, size := t.place(k)
	if size%x.width != 0 {
		panic(fmt.Sprintf("vi: %q has %d entries, and is multiplied with rows of %d", t.layout[k].Name, size, x.width))
	}
	t.mustBeRecords(x)
	if x.alike {
		x = x.Plus(t.zeros())
	}
	if x.codes == nil && x.of != nil {
		x.codes = newCodes(x.of, x.width, t.coded)
		x.gather()
	}
	n := t.node(x.rows, size/x.width, true, false)
	u := use{at, size, x, n}
	u.product(x.value, t.theta, n.value).Forth()
	if n.back == nil {
		n.back = func() {
			if x.needs {
				u.product(x.grad, t.theta, n.grad).Back()
			}
		}
	}
	t.uses = append(t.uses, u)
	return n
}

// product is of values or gradients.
func (u use) product(x, theta, y []float64) product {
	return product{X: matrix(x, u.x.width), W: matrix(theta[u.at:u.at+u.size], u.x.width), Y: matrix(y, u.y.width)}
}

func matrix(of []float64, width int) blas64.General {
	return blas64.General{Rows: len(of) / width, Cols: width, Stride: width, Data: of}
}

// With is f of entries x and y, which also returns its derivatives; a column or a row alone
// stands for as many as the other has.
func (n *Node) With(o *Node, f func(x, y float64) (value, dx, dy float64)) *Node {
	return n.with(o, f, nil)
}

// Map is f of every entry, which also returns its derivative.
func (n *Node) Map(f func(x float64) (value, slope float64)) *Node {
	return n.with(n.t.Constant([]float64{1}, 1), nil, f)
}

func (n *Node) with(o *Node, pair func(x, y float64) (value, dx, dy float64), single func(x float64) (value, slope float64)) *Node {
	rows, width := n.rows, max(n.width, o.width)
	if rows == 1 {
		rows = o.rows
	}
	fits := func(m *Node) bool { return (m.rows == rows || m.rows == 1) && (m.width == width || m.width == 1) }
	if !fits(n) || !fits(o) {
		panic(fmt.Sprintf("vi: a matrix of %d × %d with one of %d × %d", n.rows, n.width, o.rows, o.width))
	}
	z := n.t.node(rows, width, n.needs || o.needs, n.alike && o.alike)
	z.made, z.pair, z.single = [2]*Node{n, o}, pair, single
	z.slope[0], z.slope[1] = room(z.slope[0], len(z.value)), room(z.slope[1], len(z.value))
	parallel.Share(z, len(z.value)/width, 1+grain/width, (*Node).evaluate)
	if z.back == nil {
		z.back = func() { z.pull(n, z.slope[0]); z.pull(o, z.slope[1]) }
	}
	return z
}

// evaluate finds values and slopes in some rows.
func (n *Node) evaluate(from, to int) {
	pair, single := n.pair, n.single
	xs, ys, value, dx, dy := n.made[0].value, n.made[1].value, n.value, n.slope[0], n.slope[1]
	xRow, xColumn := strides(len(xs), n.made[0].width)
	yRow, yColumn := strides(len(ys), n.made[1].width)
	for i, at := from, from*n.width; i < to; i++ {
		x, y := i*xRow, i*yRow
		for end := at + n.width; at < end; at++ {
			if single != nil {
				value[at], dx[at] = single(xs[x])
			} else {
				value[at], dx[at], dy[at] = pair(xs[x], ys[y])
			}
			x, y = x+xColumn, y+yColumn
		}
	}
}

// strides are from row to row and from column to column, 0 where there is one.
func strides(entries, width int) (row, column int) {
	if entries > width {
		row = width
	}
	if width > 1 {
		column = 1
	}
	return row, column
}

// pull adds the gradient times the slope in x to x's.
func (n *Node) pull(x *Node, slope []float64) {
	if !x.needs {
		return
	}
	to, from := x.grad, n.grad
	row, column := strides(len(to), x.width)
	slopeRow, _ := strides(len(slope), n.width)
	for i, at := 0, 0; at < len(from); i++ {
		j, s := i*row, i*slopeRow
		for end := at + n.width; at < end; at++ {
			to[j] += from[at] * slope[s]
			j, s = j+column, s+1
		}
	}
}

// zeros is a column for the records.
func (t *Tape) zeros() *Node {
	n := t.node(len(t.records), 1, false, false)
	clear(n.value)
	return n
}

// Plus, Minus and Times are by entries.
func (n *Node) Plus(o *Node) *Node {
	return n.With(o, func(x, y float64) (float64, float64, float64) { return x + y, 1, 1 })
}

func (n *Node) Minus(o *Node) *Node {
	return n.With(o, func(x, y float64) (float64, float64, float64) { return x - y, 1, -1 })
}

func (n *Node) Times(o *Node) *Node {
	return n.With(o, func(x, y float64) (float64, float64, float64) { return x * y, y, x })
}

// Scaled is a multiple.
func (n *Node) Scaled(by float64) *Node {
	return n.Times(n.t.Constant([]float64{by}, 1))
}

// Linear is Cx for every row x, C being constant, row by row.
func (n *Node) Linear(c []float64) *Node {
	z := n.t.node(n.rows, len(c)/n.width, n.needs, n.alike)
	w := matrix(c, n.width)
	product{X: matrix(n.value, n.width), W: w, Y: matrix(z.value, z.width)}.Forth()
	if z.back == nil {
		z.back = func() { product{X: matrix(n.grad, n.width), W: w, Y: matrix(z.grad, z.width)}.Back() }
	}
	return z
}

// LogSumExp is log Σ e^x of each row.
func (n *Node) LogSumExp() *Node {
	z := n.t.node(n.rows, 1, n.needs, n.alike)
	for i := range z.value {
		z.value[i] = floats.LogSumExp(n.row(i))
	}
	if z.back == nil {
		z.back = func() {
			for i, g := range z.grad {
				for j, v := range n.row(i) {
					n.delta(i)[j] += g * math.Exp(v-z.row(i)[0])
				}
			}
		}
	}
	return z
}

// mustBeRecords panics unless a matrix has a row for each record, or there are none in a prior.
func (t *Tape) mustBeRecords(n *Node) {
	if !t.prior && n.rows != len(t.records) {
		panic("vi: a matrix without a row for each record meets θ, or is a factor")
	}
}

// Factor adds the sum of each row to the record's log density, or all to the prior's.
func (t *Tape) Factor(n *Node) {
	t.mustBeRecords(n)
	t.factors = append(t.factors, n)
	for i := 0; t.told && i < n.rows; i++ {
		for _, v := range n.row(i) {
			t.logLik[min(i, len(t.logLik)-1)] += v
		}
	}
}

// Observe adds log p(y | η) of each record's own y, given the predictor η. Where values are
// not asked for, the slope in η is all that is computed.
func (t *Tape) Observe(eta *Node, y []float64, value, slope func(y, eta float64) float64) {
	n := t.node(eta.rows, 1, eta.needs, false)
	n.slope[0] = room(n.slope[0], n.rows)
	for k, i := range t.records {
		eta := eta.row(k)[0]
		n.slope[0][k] = slope(y[i], eta)
		if t.told {
			t.logLik[k] += value(y[i], eta)
		}
	}
	if n.back == nil {
		n.back = func() { n.pull(eta, n.slope[0]) }
	}
	t.factors = append(t.factors, n)
}
