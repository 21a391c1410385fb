package ask

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/internal/expression"
	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/schema"
)

// effectName is the function of marginal effects.
const effectName = "effect"

// step is that of a central difference, in half widths of the column's bounds.
const step = 1e-6

// effect is the marginal effect at the means of a column of rows. With h the family's inverse link
// and t_j what the covariates are of such columns u,
//
//	E(y | u) = h(θ₀ + Σ_j β_j t_j(u)),
//
// and with every other column at its mean μ, the effect is
//
//	of a number       ∂E(y | u)/∂u_i at u_i = μ_i
//	of a truth value  E(y | u_i = 1) − E(y | u_i = 0)
//	of a level        E(y | its dummy is 1) − E(y | the baseline)
//
// θ, β and μ are of one draw, μ moved into the public bounds, so that its interval has the doubt
// about all three. A column whose mean no draw tells, as of x in log(x) alone, is held in the
// middle of its bounds. Where the derivative is linear in the columns, as of lines with squares and
// products of two, the effect at the means is the average one.
func (n *names) effect(of *expression.Node) (value, error) {
	if n.Units != dpreg.Original {
		return value{}, errors.New("effects are told in the data's units")
	}
	m, err := n.Design.Maker(n.Design.Covariates, false)
	if err != nil {
		return value{}, err
	}
	p := &point{names: n, maker: m, base: make([]float64, len(m.Columns)), row: make([]float64, m.Width())}
	for i := range m.Columns {
		p.mean = append(p.mean, p.meanOf(i))
	}
	if of.Op == expression.Level {
		return p.ofLevel(of.Name, of.Text)
	}
	at := slices.IndexFunc(m.Columns, func(c schema.Column) bool { return c.Name == of.Name && c.Factor == "" })
	if f := schema.FactorNamed(m.Factors, of.Name); f != nil {
		return value{}, fmt.Errorf("%q is a factor: name a level, as in effect(%s[%s])", f.Name, n.spelt(f.Name), f.Levels[len(f.Levels)-1])
	}
	if at < 0 {
		return value{}, n.unknown(of.Name, p.columns())
	}
	c := m.Columns[at]
	if c.Binary() {
		return value{at: func(draw []float64) float64 {
			p.hold(draw)
			return p.difference(draw, func(v float64) { p.base[at] = v }, 0, 1)
		}}, nil
	}
	h := step * (c.Upper/2 - c.Lower/2)
	return value{at: func(draw []float64) float64 {
		p.hold(draw)
		middle := max(c.Lower+h, min(c.Upper-h, p.base[at]))
		return p.difference(draw, func(v float64) { p.base[at] = v }, middle-h, middle+h) / (2 * h)
	}}, nil
}

// point is where an effect is evaluated.
type point struct {
	*names
	maker     *schema.Maker
	mean      []mean    // of the maker's columns
	base, row []float64 // of the maker's columns, of the covariates
}

// mean is where the mean of a column is (v − shift)/slope, v being draw[at]; at -1 where it is not known.
type mean struct {
	at           int
	shift, slope float64
}

// meanOf finds the mean of a column in that of a covariate which is a linear function of the
// column alone: itself, scale(x) or poly(x, k)1. Which are shows at points within the bounds.
func (p *point) meanOf(i int) mean {
	c, width := p.maker.Columns[i], p.maker.Width()
	var rows [][]float64
	for _, others := range []float64{0.4, 0.7} {
		for _, at := range []float64{0, 1, 0.3, 0.6} {
			for k, c := range p.maker.Columns {
				p.base[k] = c.Lower + others*(c.Upper-c.Lower)
			}
			p.base[i] = c.Lower + at*(c.Upper-c.Lower)
			row := make([]float64, width)
			p.maker.Row(row, p.base)
			rows = append(rows, row)
		}
	}
	for j := range width {
		place, known := p.place[model.Parameter{Kind: model.MuX, K: j + 1}.Name()]
		rise := rows[1][j] - rows[0][j]
		linear := rise != 0
		for k, row := range rows {
			want := rows[0][j] + []float64{0, 1, 0.3, 0.6}[k%4]*rise
			linear = linear && math.Abs(row[j]-want) <= 1e-9*math.Abs(rise)
		}
		if known && linear {
			slope := rise / (c.Upper - c.Lower)
			return mean{place, rows[0][j] - slope*c.Lower, slope}
		}
	}
	return mean{at: -1}
}

// columns are the names that have an effect.
func (p *point) columns() (all []string) {
	for _, c := range p.maker.Columns {
		if c.Factor == "" {
			all = append(all, c.Name)
		}
	}
	for _, f := range p.maker.Factors {
		all = append(all, f.Name)
	}
	return all
}

// hold puts the columns to their means.
func (p *point) hold(draw []float64) {
	for i, c := range p.maker.Columns {
		p.base[i] = c.Lower/2 + c.Upper/2
		if m := p.mean[i]; m.at >= 0 {
			p.base[i] = max(c.Lower, min(c.Upper, (draw[m.at]-m.shift)/m.slope))
		}
	}
}

// difference is E(y | b) − E(y | a), set putting a column to a value.
func (p *point) difference(draw []float64, set func(float64), a, b float64) float64 {
	set(a)
	low := p.expected(draw)
	set(b)
	return p.expected(draw) - low
}

// expected is E(y | u) of a draw.
func (p *point) expected(draw []float64) float64 {
	p.maker.Row(p.row, p.base)
	eta, slopes := 0.0, p.theta
	if p.Design.Intercept {
		eta, slopes = draw[slopes[0]], slopes[1:]
	}
	for j, x := range p.row {
		eta += draw[slopes[j]] * x
	}
	return p.Family.Mean(eta)
}

// ofLevel is that of a level of a factor over the baseline.
func (p *point) ofLevel(factor, level string) (value, error) {
	f := schema.FactorNamed(p.maker.Factors, factor)
	if f == nil {
		return value{}, fmt.Errorf("%q is no factor of the model", factor)
	}
	if !slices.Contains(f.Levels, level) {
		return value{}, fmt.Errorf("factor %q has no level %q; its levels are %s", factor, level, schema.Listed(f.Levels))
	}
	to := func(v float64) {
		for i, c := range p.maker.Columns {
			if c.Factor == factor {
				p.base[i] = number.Indicator[float64](c.Level == level && v == 1 || c.Level == f.Levels[0] && v == 0)
			}
		}
	}
	return value{at: func(draw []float64) float64 {
		p.hold(draw)
		if level == f.Levels[0] {
			return 0
		}
		return p.difference(draw, to, 0, 1)
	}}, nil
}

// effects are the questions for all marginal effects, where these are no coefficients.
func (n *names) effects() (all []string) {
	if n.Units != dpreg.Original || n.Family == model.Normal && !n.Design.Made() {
		return nil
	}
	m, err := n.Design.Maker(n.Design.Covariates, false)
	if err != nil {
		return nil // which a question will say
	}
	for _, c := range m.Columns {
		if c.Factor == "" {
			all = append(all, effectName+"("+n.spelt(c.Name)+")")
		}
	}
	for _, f := range m.Factors {
		for _, level := range f.Levels[1:] {
			all = append(all, fmt.Sprintf("%s(%s[%s])", effectName, n.spelt(f.Name), level))
		}
	}
	return all
}
