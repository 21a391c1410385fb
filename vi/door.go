package vi

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/mechanisms"
)

// Door is where records leave: it adds up their gradients, each clipped to a norm. Record i's gradient
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
type Door struct {
	model *Model
	tape  *Tape
	clip  float64
	sum   *Sum      // nil: nothing is coded, and the block is the sum
	block []float64 // as long as θ
	held  int       // records in it
	norms []float64 // of gradients
}

const (
	codeBits  = 20
	blockRows = 1 << (52 - latticeBits)
	// minSquared is the least norm of which the square does not underflow.
	minSquared = 1e-140
)

// codes are rows as they are read, multiples of the unit of each, and their norms. Where they are
// not coded the unit is 1.
type codes struct{ x, unit, norm []float64 }

func newCodes(of []float64, width int, coded bool) *codes {
	n := len(of) / width
	c := &codes{of, make([]float64, n), make([]float64, n)}
	if coded {
		c.x = slices.Clone(of)
	}
	for i := range n {
		c.unit[i], c.norm[i] = code(c.x[i*width:(i+1)*width], coded)
	}
	return c
}

// code rounds x, where it is to be coded, towards 0 to multiples of a unit, a power of two, of at most
// 2²⁰ of them in norm. What is not finite, or hardly larger than 0, is 0.
func code(x []float64, coded bool) (unit, size float64) {
	if size = norm(x); !coded {
		return 1, size
	}
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
		if record := n.t.records[i]; n.codes != nil {
			n.unit[i], n.norm[i] = n.codes.unit[record], n.codes.norm[record]
		} else {
			n.unit[i], n.norm[i] = code(n.row(i), coded)
		}
	}
}

// NewDoor is of a model's records, which may draw variates from a secret stream. What each adds is
// clipped to norm clip, 0 standing for none where there is no noise, and N(0, (multiplier·clip)² I)
// is added to a sum, unless multiplier is 0. It panics where a parameter is used twice, or
// otherwise than by Param and Dense, and as NewSum does.
func NewDoor(m *Model, clip, multiplier float64, stream *mechanisms.Stream) *Door {
	var sum *Sum
	if multiplier != 0 {
		sum = NewSum(m.Dim(), clip, multiplier, stream)
	}
	return newDoor(m, clip, sum, rand.New(stream))
}

// newDoor looks, on a tape without records, what of θ they bear on.
func newDoor(m *Model, clip float64, sum *Sum, rng *rand.Rand) *Door {
	d := &Door{tape: newTape(m.Parameters, rng), model: m, clip: clip, sum: sum, block: make([]float64, m.Dim())}
	if clip == 0 {
		d.clip = math.Inf(1)
	}
	d.tape.coded = sum != nil
	d.tape.start(make([]float64, m.Dim()), nil)
	m.LogLik(d.tape)
	uses := slices.Clone(d.tape.uses)
	slices.SortFunc(uses, func(u, v use) int { return cmp.Compare(u.at, v.at) })
	var touched [][2]int // of θ
	for i, u := range uses {
		if i > 0 && u.at == uses[i-1].at {
			panic("vi: a parameter is used twice by a record: one node of it serves all")
		}
		if touched = append(touched, [2]int{u.at, u.at + u.size}); sum != nil {
			sum.noisy = touched
		}
	}
	return d
}

// Add adds what records, numbered from 0, add at a θ of the model's Dim, and returns their log-likelihood,
// in which those that are not finite do not count.
func (d *Door) Add(theta []float64, batch []int) (logLik float64) {
	t := d.tape
	for len(batch) > 0 {
		n := min(tileRows, len(batch))
		t.start(theta, batch[:n])
		d.model.LogLik(t)
		t.backward()
		for _, l := range t.logLik {
			if l-l == 0 {
				logLik += l
			}
		}
		if d.held += n; d.sum != nil && d.held > blockRows {
			d.flush()
			d.held = n
		}
		d.addTile(n)
		batch = batch[n:]
	}
	return logLik
}

func (d *Door) addTile(n int) {
	d.norms = room(d.norms, n)
	for k, u := range d.tape.uses {
		if u.x != nil {
			u.x.measure(d.sum != nil)
		}
		for i := range n {
			delta := u.y.delta(i)
			size := math.Abs(delta[0])
			if len(delta) > 1 {
				size = norm(delta)
			}
			if u.x != nil {
				size *= u.x.norm[i]
			}
			if k > 0 {
				size = math.Sqrt(d.norms[i]*d.norms[i] + size*size)
			}
			d.norms[i] = size
		}
	}
	for _, u := range d.tape.uses {
		d.weigh(u)
		u.gather(d.block)
	}
}

// weigh makes δ of each record f·δ, 0 where the record's norm is not finite.
func (d *Door) weigh(u use) {
	for i, size := range d.norms {
		delta := u.y.delta(i)
		switch {
		case !(size <= math.MaxFloat64):
			clear(delta)
			if u.x != nil {
				clear(u.x.row(i))
			}
		case d.sum != nil && u.x != nil && u.x.norm[i] == 0:
			clear(delta) // of any size, so that f·δ may not be finite
		case d.sum != nil:
			f, unit := limit/max(size, d.clip), 1.
			if u.x != nil {
				unit = u.x.unit[i]
			}
			for j, v := range delta {
				delta[j] = math.Trunc(v*unit*f) * (1 / unit) // a power of two
			}
		case size > d.clip:
			floats.Scale(d.clip/size, delta)
		}
	}
}

// gather adds Σ δxᵀ over all rows.
func (u use) gather(gradient []float64) {
	if u.x != nil {
		u.product(u.x.value, gradient, u.y.grad).Sum()
		return
	}
	delta := matrix(u.y.grad, u.size)
	product{X: delta, W: matrix(gradient[u.at:u.at+u.size], u.size), Y: matrix(ones[:delta.Rows], 1)}.Sum()
}

var ones = slices.Repeat([]float64{1}, tileRows)

// flush takes the block to the Sum.
func (d *Door) flush() {
	for _, r := range d.sum.noisy {
		for j := r[0]; j < r[1]; j++ {
			d.sum.total[j] += int64(d.block[j])
		}
	}
	clear(d.block)
	d.held = 0
}

// Release writes the sum, as long as θ, with noise in the parameters that records bear on, and starts anew.
func (d *Door) Release(dst []float64) {
	if d.sum == nil {
		copy(dst, d.block)
		clear(d.block)
		return
	}
	d.flush()
	d.sum.Release(dst)
}
