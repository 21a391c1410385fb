package nuts

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/internal/dense"
)

// Metric is an estimate of the target's covariance, the inverse of the mass
// matrix, held as its factor F: x = Fu, where u is near isotropic. Its leading
// coordinates have a dense block; after them come blocks, if any, that are dense
// and depend on the leading coordinates too, and not on one another given those;
// the others have a diagonal. 0 leading ones and no block make it diagonal, all
// leading ones dense.
//
// A coordinate with two modes of opposite signs has the spread of one of them,
// that of its absolute value, and no correlations: trajectories are for moving
// within a mode. (The absolute value of a normal coordinate has at least 0.36 of
// its variance.)
//
// Dynamics run in u, so that momenta are standard normal and the U-turn
// criterion p♯·ρ = pᵀM⁻¹ρ is the plain product of momenta in u.
type Metric struct {
	head   block // of the leading coordinates
	blocks []block
	scale  []float64 // of the other coordinates, the last

	count         float64   // draws in the window; moments by Welford's recursion
	mean, squares []float64 // of each coordinate, and its squares about the mean
	absMean       []float64 // the same of its absolute value
	absSquares    []float64
	delta         []float64 // scratch
}

// NewMetric returns the identity with blocks of these sizes. It panics where they do not fit
// into dim.
func NewMetric(dim, lead int, blocks ...int) *Metric {
	behind := lead
	for _, size := range blocks {
		behind += size
	}
	vec := func() []float64 { return make([]float64, dim) }
	m := &Metric{head: newBlock(0, 0, lead), scale: make([]float64, dim-behind),
		mean: vec(), squares: vec(), absMean: vec(), absSquares: vec(), delta: vec()}
	for i := range m.scale {
		m.scale[i] = 1
	}
	at := lead
	for _, size := range blocks {
		m.blocks = append(m.blocks, newBlock(at, lead, size))
		at += size
	}
	return m
}

// Push adds a·Fp to dst.
func (m *Metric) Push(dst []float64, a float64, p []float64) {
	k := m.head.size
	if k > 0 {
		dense.MulLowerVec(m.delta, m.head.factor, k, p)
		floats.AddScaled(dst[:k], a, m.delta[:k])
	}
	for i := range m.blocks {
		m.blocks[i].push(dst, a, p)
	}
	k = len(m.mean) - len(m.scale)
	rest, q := dst[k:][:len(m.scale)], p[k:][:len(m.scale)]
	for i, s := range m.scale {
		rest[i] += a * s * q[i]
	}
}

// Pull writes Fᵀg, g being a gradient in x; dst may be g.
func (m *Metric) Pull(dst, g []float64) {
	dense.MulLowerTVec(dst, m.head.factor, m.head.size, g)
	for i := range m.blocks {
		m.blocks[i].pull(dst, g)
	}
	k := len(m.mean) - len(m.scale)
	rest, h := dst[k:][:len(m.scale)], g[k:][:len(m.scale)]
	for i, s := range m.scale {
		rest[i] = s * h[i]
	}
}

// Add takes a draw into the window.
func (m *Metric) Add(x []float64) {
	m.count++
	for i, v := range x {
		d := v - m.mean[i]
		m.delta[i] = d
		m.mean[i] += d / m.count
		m.squares[i] += d * (v - m.mean[i])
		a := math.Abs(v)
		d = a - m.absMean[i]
		m.absMean[i] += d / m.count
		m.absSquares[i] += d * (a - m.absMean[i])
	}
	m.head.add(m, x)
	for i := range m.blocks {
		m.blocks[i].add(m, x)
	}
}

// Update replaces F by the factor of the window's covariance, and starts a new
// window. Correlations are shrunk towards 0 by n/(n + 5 + k), k the sizes of the
// leading block and of the largest of the others, so that the estimate is positive
// definite and well conditioned after any number of draws; variances are not, for a
// bound in absolute terms would fit no coordinate but those of scale 1. It reports
// false, and leaves F as it is, where some coordinate never moved.
func (m *Metric) Update() bool {
	ok := m.estimate()
	m.count = 0
	for _, v := range [][]float64{m.mean, m.squares, m.absMean, m.absSquares, m.head.cross} {
		clear(v)
	}
	for i := range m.blocks {
		clear(m.blocks[i].cross)
	}
	return ok
}

func (m *Metric) estimate() bool {
	largest := 0
	for i := range m.mean {
		if !(m.spread(i) > 0) {
			return false
		}
	}
	for i := range m.blocks {
		largest = max(largest, m.blocks[i].size)
	}
	shrink := m.count / (m.count + 5 + float64(m.head.size+largest))
	m.head.fill(m, shrink)
	if !dense.Cholesky(m.head.trial, m.head.size) {
		return false
	}
	for i := range m.blocks {
		m.blocks[i].fill(m, shrink)
		if !m.blocks[i].estimate(m.head.trial) {
			return false
		}
	}
	unit := 1 / math.Sqrt(m.count-1)
	m.head.take(unit)
	for i := range m.blocks {
		m.blocks[i].take(unit)
	}
	k := len(m.mean) - len(m.scale)
	for i := range m.scale {
		m.scale[i] = unit * math.Sqrt(m.spread(k+i))
	}
	return true
}

// bimodal tells whether a coordinate has modes of opposite signs.
func (m *Metric) bimodal(i int) bool { return m.absSquares[i] < 0.25*m.squares[i] }

// spread is the sum of squares of a coordinate about its mean, or of its one mode.
func (m *Metric) spread(i int) float64 {
	if m.bimodal(i) {
		return m.absSquares[i]
	}
	return m.squares[i]
}

// block is one of the metric's blocks, or with no h before it the leading one: with the
// leading coordinates h it has the covariance
//
//	[ C_hh  C_hx ]          F = [ F_h  0   ]
//	[ C_xh  C_xx ] = F Fᵀ,      [ G    F_x ]
//
// so that x = G u_h + F_x u_x. F_h is the same for all blocks, whose x are
// independent given h: the whole factor is an arrow, and what it costs grows with the
// number of blocks. Its correlations are shrunk and cut at modes as the metric's are,
// all by one factor, so that each pair of blocks agrees on C_hh.
type block struct {
	at, lead, size int
	factor         []float64 // rows [G, F_x], size × (lead + size)
	cross          []float64 // products about the mean, of the same shape
	trial          []float64
}

func newBlock(at, lead, size int) block {
	rows := func() []float64 { return make([]float64, size*(lead+size)) }
	b := block{at: at, lead: lead, size: size, factor: rows(), cross: rows(), trial: rows()}
	for i := range size {
		b.factor[i*(lead+size)+lead+i] = 1
	}
	return b
}

// push adds a·(G p_h + F_x p_x) to the block of dst.
func (b *block) push(dst []float64, a float64, p []float64) {
	h, x, width := p[:b.lead], p[b.at:b.at+b.size], b.lead+b.size
	for i := range x {
		row, sum := b.factor[i*width:i*width+b.lead+i+1], 0.0
		for j, v := range h {
			sum += row[j] * v
		}
		for j, f := range row[b.lead:] {
			sum += f * x[j]
		}
		dst[b.at+i] += a * sum
	}
}

// pull adds Gᵀg_x to the leading part of dst and writes F_xᵀg_x to the block; dst
// may be g.
func (b *block) pull(dst, g []float64) {
	h, x, width := dst[:b.lead], dst[b.at:b.at+b.size], b.lead+b.size
	for i, v := range g[b.at : b.at+b.size] {
		row := b.factor[i*width : i*width+b.lead+i+1]
		for j, f := range row[:b.lead] {
			h[j] += f * v
		}
		x[i] = 0
		for j, f := range row[b.lead:] {
			x[j] += f * v
		}
	}
}

// add takes a draw, after the metric took its means and left deviations in delta.
func (b *block) add(m *Metric, x []float64) {
	width := b.lead + b.size
	for i := range b.size {
		row, d := b.cross[i*width:i*width+b.lead+i], x[b.at+i]-m.mean[b.at+i]
		for j := range b.lead {
			row[j] += d * m.delta[j]
		}
		for j := range row[b.lead:] {
			row[b.lead+j] += d * m.delta[b.at+j]
		}
	}
}

// fill writes the block's rows of the covariance to trial.
func (b *block) fill(m *Metric, shrink float64) {
	width := b.lead + b.size
	for i := range b.size {
		row := b.trial[i*width : i*width+b.lead+i+1]
		for j := range row {
			of := j
			if j >= b.lead {
				of = b.at + j - b.lead
			}
			switch {
			case of == b.at+i:
				row[j] = m.spread(of)
			case m.bimodal(of) || m.bimodal(b.at+i):
				row[j] = 0
			default:
				row[j] = shrink * b.cross[i*width+j]
			}
		}
	}
}

// estimate continues the Cholesky factor of the leading coordinates by the block's rows.
func (b *block) estimate(head []float64) bool {
	width := b.lead + b.size
	for i := range b.size {
		row := b.trial[i*width : i*width+b.lead+i+1]
		dense.SolveLower(head, b.lead, row[:b.lead])
		for j := range i + 1 {
			other := b.trial[j*width : j*width+b.lead+j+1]
			sum := row[b.lead+j]
			for k := range b.lead + j {
				sum -= row[k] * other[k]
			}
			if j == i {
				if !(sum > 0) {
					return false
				}
				row[b.lead+i] = math.Sqrt(sum)
			} else {
				row[b.lead+j] = sum / other[b.lead+j]
			}
		}
	}
	return true
}

// take makes the estimate the factor.
func (b *block) take(unit float64) { floats.ScaleTo(b.factor, unit, b.trial) }
