package individual

// gram has the statistics from the residuals' mean and scatter, which is all that
// they need of the rows: the quadratic sums are LSLᵀ + n v̄v̄ᵀ, the linear n v̄.
type gram struct {
	*frame
	ls   []float64 // LS
	work []float64
}

func newGram(f *frame) *gram {
	return &gram{f, make([]float64, f.m*f.m), make([]float64, f.m*f.m)}
}

func (g *gram) write(s []float64) {
	m, n := g.m, float64(g.n)
	for i := range m {
		for j := range m {
			v := 0.0
			for k, l := range g.l[i*m : i*m+i+1] {
				v += l * g.scatter[k*m+j]
			}
			g.ls[i*m+j] = v
		}
	}
	at := m
	for j := range m {
		nv := n * g.mean[j]
		s[j] = nv
		for k := j; k < m; k++ {
			v := nv * g.mean[k]
			for i, l := range g.l[j*m : j*m+j+1] {
				v += l * g.ls[k*m+i]
			}
			s[at] = v
			at++
		}
	}
}

// pull: with g the gradient in the linear sums and E that in the quadratic ones,
//
//	∂v̄ = n(g + 2Ev̄),   ∂L = 2ELS,   ∂S = LᵀEL.
func (g *gram) pull(line, quad []float64) {
	m, n := g.m, float64(g.n)
	for i := range m {
		v := line[i]
		for j, e := range quad[i*m : (i+1)*m] {
			v += 2 * e * g.mean[j]
		}
		g.gMean[i] += n * v
		for j := range m {
			el, els := 0.0, 0.0
			for k, e := range quad[i*m : (i+1)*m] {
				els += e * g.ls[k*m+j]
				if k >= j {
					el += e * g.l[k*m+j]
				}
			}
			g.work[i*m+j] = el
			if j <= i {
				g.gL[i*m+j] += 2 * els
			}
		}
	}
	for i := range m {
		for j := range m {
			v := 0.0
			for k := i; k < m; k++ {
				v += g.l[k*m+i] * g.work[k*m+j]
			}
			g.gS[i*m+j] += v
		}
	}
}

// pullRows has nothing to add: s depends on the rows through v̄, L and S alone.
func (g *gram) pullRows([]float64) {}
