package vi

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// hierarchical is the logistic regression of d3p (Prediger et al. 2022, section 3.3): the
// records of group l have coefficients w_l of their own, which a linear map M of the
// group's descriptors g_l explains,
//
//	y ~ Bernoulli(1/(1 + e^{−xᵀw_l})),  w_l ~ N(M g_l, I),  M_jk ~ N(0, sd²).
//
// θ is (w_1, …, w_L, rows of M). A record is linear in w, with its covariates in the
// place of its group.
type hierarchical struct {
	y           []float64
	x           []float64 // n × (groups·p)
	descriptors []float64 // groups × k
	p, groups   int
	k           int
	sd          float64
}

// Hierarchical returns the model of rows with the groups group[i] = 0, 1, … and their
// descriptors, a matrix of groups × width, row-major. It panics where sizes do not fit,
// or a group has no descriptors.
func Hierarchical(rows *Rows, group []int, descriptors []float64, width int, sd float64) Linear {
	rows.mustFit()
	if len(group) != len(rows.Y) || width < 1 || len(descriptors)%width != 0 {
		panic("vi: groups and descriptors do not fit the rows")
	}
	h := &hierarchical{y: rows.Y, descriptors: descriptors, p: rows.P, groups: len(descriptors) / width, k: width, sd: sd}
	h.x = make([]float64, len(rows.Y)*h.wide())
	for i, l := range group {
		if l < 0 || l >= h.groups {
			panic(fmt.Sprintf("vi: group %d of %d", l, h.groups))
		}
		copy(h.Covariates(i)[l*h.p:], rows.row(i))
	}
	return h
}

// wide is the number of the groups' coefficients.
func (h *hierarchical) wide() int { return h.groups * h.p }

func (h *hierarchical) Dim() int                    { return h.wide() + h.p*h.k }
func (h *hierarchical) Len() int                    { return len(h.y) }
func (h *hierarchical) Constrain(dst, th []float64) { copy(dst, th) }

func (h *hierarchical) Names() []string {
	table := func(name string, rows, columns int) (names []string) {
		for i := range rows * columns {
			names = append(names, fmt.Sprintf("%s[%d,%d]", name, i/columns, i%columns))
		}
		return names
	}
	return slices.Concat(table("w", h.groups, h.p), table("M", h.p, h.k))
}

func (h *hierarchical) Predictors() int { return h.wide() }

func (h *hierarchical) Covariates(i int) []float64 {
	return h.x[i*h.wide() : (i+1)*h.wide() : (i+1)*h.wide()]
}

func (h *hierarchical) Slope(i int, eta float64) float64 { return bernoulliSlope(h.y[i], eta) }

func (h *hierarchical) LogLik(grad, theta []float64, i int) float64 {
	return bernoulliLogLik(grad, theta, h.Covariates(i), h.y[i])
}

// LogPrior has, with e_l = w_l − M g_l, the gradients −e_l in w_l and
// Σ_l e_l g_lᵀ − M/sd² in M.
func (h *hierarchical) LogPrior(grad, theta []float64) float64 {
	w := h.wide()
	m, gradM := theta[w:], grad[w:]
	logPrior := normalPrior(gradM, m, h.sd)
	for l := range h.groups {
		g := h.descriptors[l*h.k : (l+1)*h.k]
		for j := range h.p {
			e := theta[l*h.p+j] - floats.Dot(m[j*h.k:(j+1)*h.k], g)
			grad[l*h.p+j] = -e
			logPrior -= e * e / 2
			for k, v := range g {
				gradM[j*h.k+k] += e * v
			}
		}
	}
	return logPrior
}
