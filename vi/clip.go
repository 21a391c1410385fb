package vi

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
)

// clipper adds up what the records on a tape add, each clipped to a norm. Record i's gradient
// is the outer products δxᵀ of all uses of θ, side by side, so its norm is
//
//	‖v_i‖² = Σ_uses ‖δ_i‖² ‖x_i‖²,
//
// and Σ_i f_i v_i is, for each use, the product of the matrix of all f_i δ_i, transposed, with
// that of all x_i: the gradients themselves are never formed.
//
// Where a Sum is to add them, x_i is coded, x = 2^e·k with k integers of ‖k‖ ≤ 2²⁰, and so is
// f·2^e·δ: d, integers rounded towards 0, of which ‖d‖·‖k‖ is at most its share of 2⁴⁰. Then the
// products d_l k_j, and up to blockRows of their sums, are integers below 2⁵³: in float64 they
// are exact, in any order (docs/vi.md). x is read as it is coded where it is data; elsewhere,
// as where no noise is added, the coding is off by 2⁻²⁰ of its norm.
type clipper struct {
	model   *Model
	tape    *Tape
	clip    float64
	sum     *Sum      // nil: nothing is coded, and the block is the sum
	block   []float64 // as long as θ
	held    int       // records in it
	touched [][2]int  // what of θ records bear on
	norms   []float64 // of gradients
}

const (
	codeBits  = 20
	blockRows = 1 << (52 - latticeBits)
	// minSquared is the least norm of which the square does not underflow.
	minSquared = 1e-140
)

// codes are rows as they are read, multiples of the unit of each, and their norms.
type codes struct{ x, unit, norm []float64 }

func newCodes(of []float64, width int) *codes {
	n := len(of) / width
	c := &codes{append([]float64(nil), of...), make([]float64, n), make([]float64, n)}
	for i := range n {
		c.unit[i], c.norm[i] = code(c.x[i*width : (i+1)*width])
	}
	return c
}

// code rounds x towards 0 to multiples of a unit, a power of two, of at most 2²⁰ of them in
// norm. What is not finite, or hardly larger than 0, is 0.
func code(x []float64) (unit, size float64) {
	size = norm(x)
	if !(size > minSquared && size <= maxScalar) {
		clear(x)
		return 1, 0
	}
	_, e := math.Frexp(size * (1 + 1e-9))
	unit = math.Ldexp(1, e-codeBits)
	inverse := math.Ldexp(1, codeBits-e)
	for j, v := range x {
		x[j] = math.Trunc(v*inverse) * unit
	}
	return unit, norm(x)
}

// measure finds the norms of rows, and codes them where they are to be added up by a Sum.
func (n *Node) measure(coded bool) {
	if n.measured {
		return
	}
	n.measured = true
	n.unit, n.norm = room(n.unit, n.rows), room(n.norm, n.rows)
	for i := range n.rows {
		switch record := n.t.records[i]; {
		case n.codes != nil:
			n.unit[i], n.norm[i] = n.codes.unit[record], n.codes.norm[record]
		case coded:
			n.unit[i], n.norm[i] = code(n.row(i))
		default:
			n.unit[i], n.norm[i] = 1, norm(n.row(i))
		}
	}
}

// newClipper looks, on a tape without records, what of θ they bear on. It panics where a
// parameter is used twice, or otherwise than by Param and Dense.
func newClipper(m *Model, clip float64, sum *Sum, rng *rand.Rand) *clipper {
	c := &clipper{tape: newTape(m.Parameters, rng), model: m, clip: clip, sum: sum, block: make([]float64, m.Dim())}
	if clip == 0 {
		c.clip = math.Inf(1)
	}
	c.tape.coded = sum != nil
	c.tape.start(make([]float64, m.Dim()), nil)
	m.LogLik(c.tape)
	uses := slices.Clone(c.tape.uses)
	slices.SortFunc(uses, func(u, v use) int { return cmp.Compare(u.at, v.at) })
	for i, u := range uses {
		if i > 0 && u.at == uses[i-1].at {
			panic("vi: a parameter is used twice by a record: one node of it serves all")
		}
		c.touched = append(c.touched, [2]int{u.at, u.at + u.size})
	}
	if sum != nil {
		sum.noisy = c.touched
	}
	return c
}

// add adds what records add at a θ, and returns their log-likelihood, in which those that are
// not finite do not count.
func (c *clipper) add(theta []float64, batch []int) (logLik float64) {
	t := c.tape
	for len(batch) > 0 {
		n := min(tileRows, len(batch))
		t.start(theta, batch[:n])
		c.model.LogLik(t)
		t.backward()
		for _, l := range t.logLik {
			if l-l == 0 {
				logLik += l
			}
		}
		if c.held += n; c.sum != nil && c.held > blockRows {
			c.flush()
			c.held = n
		}
		c.addTile(n)
		batch = batch[n:]
	}
	return logLik
}

// addTile adds what is on the tape.
func (c *clipper) addTile(n int) {
	c.norms = room(c.norms, n)
	for k, u := range c.tape.uses {
		if u.x != nil {
			u.x.measure(c.sum != nil)
		}
		for i := range n {
			size := norm(u.y.delta(i))
			if u.x != nil {
				size *= u.x.norm[i]
			}
			if k > 0 {
				size = math.Hypot(c.norms[i], size)
			}
			c.norms[i] = size
		}
	}
	for _, u := range c.tape.uses {
		for i, size := range c.norms {
			c.weigh(u, i, size)
		}
		u.gather(c.block)
	}
}

// weigh makes δ of record i f·δ, 0 where the record's norm is not finite.
func (c *clipper) weigh(u use, i int, size float64) {
	delta := u.y.delta(i)
	switch {
	case !(size <= math.MaxFloat64):
		clear(delta)
		if u.x != nil {
			clear(u.x.row(i))
		}
	case c.sum != nil && u.x != nil && u.x.norm[i] == 0:
		clear(delta) // of any size, so that f·δ may not be finite
	case c.sum != nil:
		f, unit := limit/max(size, c.clip), 1.
		if u.x != nil {
			unit = u.x.unit[i]
		}
		for j, v := range delta {
			delta[j] = math.Trunc(v*unit*f) / unit
		}
	case size > c.clip:
		floats.Scale(c.clip/size, delta)
	}
}

// gather adds Σ δxᵀ over all rows.
func (u use) gather(gradient []float64) {
	if u.x == nil {
		for i, v := range u.y.grad {
			gradient[u.at+i%u.size] += v
		}
		return
	}
	if w := u.of(gradient); u.y.width == 1 && u.y.rows > 0 {
		blas64.Gemv(blas.Trans, 1, u.x.matrix(u.x.value), vector(u.y.grad), 1, vector(w.Data)) // which is faster
	} else {
		multiply(blas.Trans, blas.NoTrans, u.y.matrix(u.y.grad), u.x.matrix(u.x.value), 1, w)
	}
}

func vector(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Inc: 1, Data: x} }

// flush takes the block to the Sum.
func (c *clipper) flush() {
	for _, r := range c.touched {
		for j := r[0]; j < r[1]; j++ {
			c.sum.total[j] += int64(c.block[j])
		}
	}
	clear(c.block)
	c.held = 0
}

// release writes the sum, with noise in the parameters that records bear on, and starts anew.
func (c *clipper) release(dst []float64) {
	if c.sum == nil {
		copy(dst, c.block)
		clear(c.block)
		return
	}
	c.flush()
	c.sum.Release(dst)
}
