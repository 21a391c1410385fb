package nuts

import (
	"math"

	"github.com/dpreg/dpreg/internal/dense"
)

// block is one of the metric's blocks: with the leading coordinates h it has the
// covariance
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

// estimate continues the Cholesky factor in the metric's trial by the block's rows.
func (b *block) estimate(m *Metric, shrink float64) bool {
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
		dense.SolveLower(m.trial, b.lead, row[:b.lead])
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
func (b *block) take(unit float64) {
	for i, v := range b.trial {
		b.factor[i] = unit * v
	}
}

// largest is the size of the largest block.
func (m *Metric) largest() (size int) {
	for i := range m.blocks {
		size = max(size, m.blocks[i].size)
	}
	return size
}
