package ask

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/dpreg/dpreg/internal/expression"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/schema"
)

const intercept = "(Intercept)"

// names are what the words of a question stand for, given the columns of draws.
type names struct {
	*Posterior
	labels  []string       // of the columns
	columns []string       // of the design: covariates, response
	place   map[string]int // of a parameter's name
	theta   []int          // places of the coefficients
}

func newNames(p *Posterior) (*names, error) {
	n := &names{Posterior: p, columns: schema.Names(p.Design.Columns()), place: make(map[string]int)}
	covariates := n.columns[:len(n.columns)-1]
	for j, name := range p.Draws.Names {
		of, ok := model.ParseParameter(name)
		if !ok {
			return nil, fmt.Errorf("the draws have a column %q, which is no parameter", name)
		}
		if most := len(covariates); of.Kind != model.Cell && of.K > most || of.L > most || of.Custodian > len(p.Custodians) {
			return nil, fmt.Errorf("the draws have a parameter %s, which the model has not", name)
		}
		n.place[name] = j
		n.labels = append(n.labels, of.Label(covariates, p.Custodians))
	}
	shape := model.Shape{P: len(covariates), Intercept: p.Design.Intercept}
	for k := range shape.Q() {
		name := model.Parameter{Kind: model.Theta, K: k + shape.First()}.Name()
		at, ok := n.place[name]
		if !ok {
			return nil, fmt.Errorf("the draws have no parameter %s", name)
		}
		n.theta = append(n.theta, at)
	}
	return n, nil
}

// special is the name with which a text begins that needs no backquotes though others of
// its kind do: that of the intercept, or the longest of a term's; and its length in the text.
func (n *names) special(text string) (longest string, size int) {
	all := []string{intercept}
	for _, c := range n.Design.Columns() {
		if c.Term != nil {
			all = append(all, c.Name)
		}
	}
	for _, name := range all {
		if at := schema.Begins(text, name); at > size {
			longest, size = name, at
		}
	}
	return longest, size
}

// column is that of draws.
func (n *names) column(at int) value {
	v := value{at: func(draw []float64) float64 { return draw[at] }}
	if k := slices.Index(n.theta, at); k >= 0 {
		v.affine = make([]float64, len(n.theta)+1)
		v.affine[k] = 1
	}
	return v
}

// parameter is what a name stands for: a coefficient by its column's name, another parameter by
// its label, or R2. In backquotes it is never R2.
func (n *names) parameter(name string, quoted bool) (value, error) {
	if name == "Intercept" {
		name = intercept
	}
	if name == "R2" && !quoted {
		return n.r2()
	}
	if at := slices.Index(n.labels, name); at >= 0 {
		return n.column(at), nil
	}
	switch {
	case name == intercept:
		return value{}, errors.New("the model has no intercept")
	case name == n.Design.Response.Name:
		return value{}, fmt.Errorf("%q is the response, and has no coefficient; mean(%s) and sd(%[2]s) are of the column", name, n.spelt(name))
	}
	if f := schema.FactorNamed(n.Design.Factors, name); f != nil {
		return value{}, fmt.Errorf("%q is a factor: name a level, as in %s[%s]", name, n.spelt(name), f.Levels[len(f.Levels)-1])
	}
	return value{}, n.unknown(name, n.labels)
}

// spelt is a name as a question holds it.
func (n *names) spelt(name string) string {
	if special, _ := n.special(name); special == name {
		return name
	}
	return Name(name)
}

// Name is a column's name as a question holds it, in backquotes where it needs them.
func Name(name string) string {
	if slices.Contains([]string{"R2", "Intercept", "sigma", "sigma2"}, name) {
		return "`" + name + "`"
	}
	return expression.Quote(name)
}

// ofLevel is the coefficient of a level, 0 for the baseline's: its line over that one's. A truth
// value has the levels 0 and 1.
func (n *names) ofLevel(factor, level string) (value, error) {
	if f := schema.FactorNamed(n.Design.Factors, factor); f != nil {
		if !slices.Contains(f.Levels, level) {
			return value{}, fmt.Errorf("factor %q has no level %q; its levels are %s", factor, level, schema.Listed(f.Levels))
		}
		at := slices.IndexFunc(n.Design.Covariates, func(c schema.Column) bool { return c.Factor == factor && c.Level == level })
		switch {
		case at >= 0:
			return n.parameter(n.columns[at], true)
		case level == f.Levels[0]:
			return n.constant(0), nil
		}
		return value{}, fmt.Errorf("the model has no column of level %q of %q", level, factor)
	}
	for _, c := range n.Design.Covariates {
		if c.Name == factor && c.Boolean() {
			switch level {
			case "1":
				return n.parameter(factor, true)
			case "0":
				return n.constant(0), nil
			}
			return value{}, fmt.Errorf("%q is a truth value: its levels are 0 and 1", factor)
		}
	}
	return value{}, fmt.Errorf("%q is no factor of the model", factor)
}

// columnFunctions are the functions of columns.
var columnFunctions = []string{"mean", "sd", "var", "cov", "cor", "beta", effectName}

// isFunction refuses a function that there is not.
func isFunction(function string) error {
	if function == expression.Identity {
		return errors.New("there is no such term here: I(...) is one that the release has, and ( ) alone are around expressions")
	}
	if slices.Contains(columnFunctions, function) || expression.Functions[function] != nil {
		return nil
	}
	known := append(slices.Sorted(maps.Keys(expression.Functions)), columnFunctions...)
	known = slices.DeleteFunc(known, func(name string) bool { return name == expression.Identity })
	return fmt.Errorf("there is no function %s; there are %s", function, strings.Join(known, ", "))
}

// ofColumns is a function of columns' moments; beta(x) is the slope in standard deviations of x
// and y.
func (n *names) ofColumns(function string, args []*expression.Node) (value, error) {
	if function == effectName && len(args) == 1 && (args[0].Op == expression.Variable || args[0].Op == expression.Level) {
		return n.effect(args[0])
	}
	var columns []string
	for _, a := range args {
		if a.Op != expression.Variable {
			return value{}, fmt.Errorf("%s(...) takes names of columns", function)
		}
		columns = append(columns, a.Name)
	}
	want := 1
	if function == "cov" || function == "cor" {
		want = 2
	}
	if len(columns) != want {
		return value{}, fmt.Errorf("%s takes %d of the model's columns, and %d are given", function, want, len(columns))
	}
	var places []int
	for _, name := range columns {
		i := slices.Index(n.columns, name)
		if i < 0 {
			return value{}, n.unknown(name, n.columns)
		}
		places = append(places, i)
	}
	m, err := n.moments(places...)
	if err != nil {
		return value{}, err
	}
	i, j, y := places[0], places[len(places)-1], len(n.columns)-1
	sd := func(draw []float64, k int) float64 { return math.Sqrt(m.cov(draw, k, k)) }
	at := map[string]func(draw []float64) float64{
		"mean": func(draw []float64) float64 { return m.mean(draw, i) },
		"sd":   func(draw []float64) float64 { return sd(draw, i) },
		"var":  func(draw []float64) float64 { return m.cov(draw, i, i) },
		"cov":  func(draw []float64) float64 { return m.cov(draw, i, j) },
		"cor":  func(draw []float64) float64 { return m.cov(draw, i, j) / (sd(draw, i) * sd(draw, j)) },
	}[function]
	if at != nil {
		return value{at: at}, nil
	}
	if i == y {
		return value{}, fmt.Errorf("%q is the response: beta(...) is of a covariate", columns[0])
	}
	if m, err = n.moments(i, y); err != nil {
		return value{}, err
	}
	return value{at: func(draw []float64) float64 { return draw[m.slope[i]] * sd(draw, i) / sd(draw, y) }}, nil
}

// r2 is the share of the response's variance that the regression explains, βᵀCβ/(βᵀCβ + σ²):
// Bayesian R² (Gelman, Goodrich, Gabry & Vehtari 2019, The American Statistician 73) with the
// variance of the law of x in place of that of the rows.
func (n *names) r2() (value, error) {
	y := len(n.columns) - 1
	m, err := n.moments(y)
	return value{at: func(draw []float64) float64 { return 1 - draw[m.sigma2]/m.cov(draw, y, y) }}, err
}

// moments are the places of what E v and Cov v, v = (x, y), are made of. With C = Cov(x),
//
//	E y = θ₀ + βᵀμ,   Cov(x, y) = Cβ,   Var y = βᵀCβ + σ².
type moments struct {
	p                 int
	intercept, sigma2 int   // -1: there is none
	slope, mu         []int // p
	tau               []int // p×p
}

// moments finds them, where draws tell those of these columns.
func (n *names) moments(columns ...int) (*moments, error) {
	p := len(n.columns) - 1
	at := func(of model.Parameter) int {
		if place, ok := n.place[of.Name()]; ok {
			return place
		}
		return -1
	}
	m := &moments{p: p, intercept: at(model.Parameter{Kind: model.Theta}), sigma2: at(model.Parameter{Kind: model.Sigma2})}
	for i := range p {
		m.slope = append(m.slope, at(model.Parameter{Kind: model.Theta, K: i + 1}))
		m.mu = append(m.mu, at(model.Parameter{Kind: model.MuX, K: i + 1}))
		for j := range p {
			m.tau = append(m.tau, at(model.Parameter{Kind: model.Tau, K: min(i, j) + 1, L: max(i, j) + 1}))
		}
	}
	switch {
	case slices.Contains(m.mu, -1) || slices.Contains(m.tau, -1):
		return nil, errors.New("these draws hold no moments of the columns: a method that learns the covariates' law has them, of one release, or of several with --covariates shared")
	case slices.Contains(columns, p) && m.sigma2 < 0:
		return nil, errors.New("the response of a family has no variance to explain: ask for coefficients, and for moments of covariates")
	}
	return m, nil
}

func (m *moments) mean(draw []float64, i int) float64 {
	if i < m.p {
		return draw[m.mu[i]]
	}
	sum := 0.0
	if m.intercept >= 0 {
		sum = draw[m.intercept]
	}
	for j := range m.p {
		sum += draw[m.slope[j]] * draw[m.mu[j]]
	}
	return sum
}

func (m *moments) cov(draw []float64, i, j int) (sum float64) {
	i, j = min(i, j), max(i, j)
	if j < m.p {
		return draw[m.tau[i*m.p+j]]
	}
	if i == m.p {
		sum = draw[m.sigma2]
		for k := range m.p {
			sum += draw[m.slope[k]] * m.cov(draw, k, m.p)
		}
		return sum
	}
	for k := range m.p {
		sum += draw[m.tau[i*m.p+k]] * draw[m.slope[k]]
	}
	return sum
}

// nearby is how many letters may be wrong of a name for another to be offered.
const nearby = 3

// unknown is the error of a name that stands for nothing, with those nearest to it.
func (n *names) unknown(name string, known []string) error {
	near := slices.DeleteFunc(slices.Clone(known), func(other string) bool {
		return distance(name, other) > min(nearby, len(name)/2+1)
	})
	slices.SortStableFunc(near, func(a, b string) int { return cmp.Compare(distance(name, a), distance(name, b)) })
	if len(near) > 0 {
		return fmt.Errorf("there is no %q here; did you mean %s?", name, schema.Listed(near))
	}
	return fmt.Errorf("there is no %q here; there are %s", name, schema.Listed(known))
}

// distance is Levenshtein's, of letters, capitals or not.
func distance(a, b string) int {
	x, y := []rune(strings.ToLower(a)), []rune(strings.ToLower(b))
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		before := row[0]
		row[0] = i + 1
		for j := range y {
			change := before
			if x[i] != y[j] {
				change++
			}
			before, row[j+1] = row[j+1], min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(y)]
}
