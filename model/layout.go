package model

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dpreg/dpreg/internal/number"
)

// Params are the parameters in scaled units. MuX and Tau are empty where x has
// no model.
type Params struct {
	Theta  []float64 // Q
	Sigma2 float64   // of the rows, σ²w; of counts their dispersion
	LogW   float64   // log w, see Kurtosis; draws have σ² alone
	MuX    []float64 // P
	Tau    []float64 // P×P row-major, symmetric

	// Cells are of each level of several factors its share of the rows, then the means of covariates that are not of
	// the factors. μ_x and T do not tell them.
	Cells []float64
}

// NewParams returns zero parameters of a shape.
func NewParams(s Shape) *Params {
	return &Params{Theta: make([]float64, s.Q()), MuX: make([]float64, s.P), Tau: make([]float64, s.P*s.P), Cells: make([]float64, s.InCells())}
}

// NewRegressionParams returns zero parameters (θ, σ²) of a model that has no
// others: MuX and Tau are empty.
func NewRegressionParams(s Shape) *Params { return &Params{Theta: make([]float64, s.Q())} }

// Population is σ² of the population.
func (p *Params) Population() float64 { return p.Sigma2 * math.Exp(-p.LogW) }

// Copy copies src, of the same shape.
func (p *Params) Copy(src *Params) {
	copy(p.Theta, src.Theta)
	p.Sigma2, p.LogW = src.Sigma2, src.LogW
	copy(p.MuX, src.MuX)
	copy(p.Tau, src.Tau)
	copy(p.Cells, src.Cells)
}

// Kind is what a column of draws is of.
type Kind int

const (
	Theta Kind = iota
	Sigma2
	Sigma
	MuX
	Tau
	Cell           // of Params.Cells
	Omega          // the covariance of coefficients between custodians
	RootOmega      // √Ω_kk
	SpreadLogSigma // υ
	ThetaAt        // θ_j
	SigmaAt        // σ_j
	Dispersion     // of counts, of one release
	Rows           // a latent number of rows
)

// forms are the names of kinds, which indices stand behind them, j being a custodian's, and
// labels, with the names of covariates k and l.
var forms = [...]struct{ base, indices, label string }{
	Theta: {"theta", "k", "%s"}, Sigma2: {"sigma2", "", "sigma2"}, Sigma: {"sigma", "", "sigma"},
	MuX: {"mu_x", "k", "mean(%s)"}, Tau: {"tau", "kl", "cov(%s, %s)"},
	Cell:  {"cell", "k", ""},
	Omega: {"omega", "kl", "omega(%s, %s)"}, RootOmega: {"spread", "k", "spread(%s)"},
	SpreadLogSigma: {"spread_log_sigma", "", "spread(log sigma)"},
	ThetaAt:        {"theta_at", "jk", "%s"}, SigmaAt: {"sigma_at", "j", "sigma"},
	Dispersion: {"dispersion", "j", "dispersion"}, Rows: {"n", "j", "n"},
}

// Parameter is what a column of draws is of, with the indices that its name has: K and L are
// 0 for the intercept and j for covariate j, Custodian counts from 1, and is 0 for the dispersion and the number
// of rows of one release.
type Parameter struct {
	Kind            Kind
	Custodian, K, L int
}

// indices are those that the name has.
func (p *Parameter) indices() (of []*int) {
	for _, i := range forms[p.Kind].indices {
		switch {
		case i == 'j' && !(p.Kind >= Dispersion && p.Custodian == 0):
			of = append(of, &p.Custodian)
		case i == 'k':
			of = append(of, &p.K)
		case i == 'l':
			of = append(of, &p.L)
		}
	}
	return of
}

// Name is the name of the column, such as theta_at[2,1].
func (p Parameter) Name() string {
	var at []string
	for _, i := range p.indices() {
		at = append(at, fmt.Sprint(*i))
	}
	if at == nil {
		return forms[p.Kind].base
	}
	return forms[p.Kind].base + "[" + strings.Join(at, ",") + "]"
}

// ParseParameter reads a name that Name makes; false where it is none.
func ParseParameter(name string) (Parameter, bool) {
	base, at, _ := strings.Cut(name, "[")
	for kind, form := range forms {
		if form.base != base {
			continue
		}
		p := Parameter{Kind: Kind(kind)}
		if at != "" && strings.Contains(form.indices, "j") {
			p.Custodian = 1
		}
		parts := strings.Split(at, ",")
		for i, to := range p.indices() {
			if i < len(parts) {
				fmt.Sscan(parts[i], to)
			}
		}
		return p, p.Name() == name
	}
	return Parameter{}, false
}

// KindOf is the kind of a name, −1 of others.
func KindOf(name string) Kind {
	if p, ok := ParseParameter(name); ok {
		return p.Kind
	}
	return -1
}

// Label is the name in words, given those of covariates and custodians.
func (p Parameter) Label(covariates, custodians []string) string {
	names := append([]string{"(Intercept)"}, covariates...)
	label := forms[p.Kind].label
	if p.Kind == Cell {
		return p.Name()
	}
	if p.Kind == Tau && p.K == p.L {
		label = "var(%[1]s)"
	}
	var of []any
	for _, i := range forms[p.Kind].indices {
		switch i {
		case 'k':
			of = append(of, names[p.K])
		case 'l':
			of = append(of, names[p.L])
		}
	}
	if label = fmt.Sprintf(label, of...); p.Custodian > 0 {
		label += " @ " + custodians[p.Custodian-1]
	}
	return label
}

// Several tells whether only draws of several releases have the parameter.
func (p Parameter) Several() bool { return p.Kind >= Omega && (p.Kind < Dispersion || p.Custodian > 0) }

// Layout says which columns draws have, and in which order.
type Layout struct {
	Shape      Shape
	Covariates bool   // μ_x and T are among the parameters
	Family     Family // of the response: of the normal one σ is among them, of Poisson dispersions
	Partial    bool   // so are Ω, υ, and each custodian's θ_j and σ_j, but υ and σ_j of a Family
	Latent     []bool // of each release, whether its number of rows is
}

// Drawn are the columns of a method's draws: θ, σ², μ_x, the upper triangle of T, that of Ω,
// υ, each θ_j and σ_j, each dispersion and latent n.
func (l Layout) Drawn() []Parameter { return l.columns(false, false) }

// Shown are those of results: σ behind σ², the roots of Ω's diagonal in place of it, or of
// the whole matrices, behind the whole of Ω.
func (l Layout) Shown(whole bool) []Parameter { return l.columns(true, whole) }

func (l Layout) columns(shown, whole bool) (all []Parameter) {
	add := func(p Parameter) { all = append(all, p) }
	matrix := func(kind Kind, first, size int) {
		for k := range size {
			for i := range size {
				if whole || i >= k {
					add(Parameter{Kind: kind, K: first + k, L: first + i})
				}
			}
		}
	}
	vector := func(kind Kind, custodian, first, size int) {
		for k := range size {
			add(Parameter{Kind: kind, Custodian: custodian, K: first + k})
		}
	}
	first, q, p := l.Shape.First(), l.Shape.Q(), l.Shape.P
	vector(Theta, 0, first, q)
	if !l.linked() {
		add(Parameter{Kind: Sigma2})
	}
	if shown && !l.linked() {
		add(Parameter{Kind: Sigma})
	}
	if l.Covariates {
		vector(MuX, 0, 1, p)
		matrix(Tau, 1, p)
		vector(Cell, 0, 1, l.Shape.InCells())
	}
	if l.Partial {
		if whole || !shown {
			matrix(Omega, first, q)
		}
		if shown {
			vector(RootOmega, 0, first, q)
		}
		if !l.linked() {
			add(Parameter{Kind: SpreadLogSigma})
		}
		for j := range l.Latent {
			if vector(ThetaAt, j+1, first, q); !l.linked() {
				add(Parameter{Kind: SigmaAt, Custodian: j + 1})
			}
		}
	}
	for j, latent := range l.Latent {
		if l.Family == Poisson {
			add(l.of(Dispersion, j))
		}
		if latent {
			add(l.Rows(j))
		}
	}
	return all
}

// Own counts a custodian's coefficients and sigma.
func (l Layout) Own() int { return l.Shape.Q() + number.Indicator[int](!l.linked()) }

// Rows is the number of rows of release j, from 0.
func (l Layout) Rows(j int) Parameter { return l.of(Rows, j) }

func (l Layout) of(kind Kind, j int) Parameter {
	if len(l.Latent) == 1 {
		return Parameter{Kind: kind}
	}
	return Parameter{Kind: kind, Custodian: j + 1}
}

// linked tells whether θ is on a link's scale, and σ is none of the parameters.
func (l Layout) linked() bool { return l.Family != Normal }

// behind counts the last columns of draws that release j has, its dispersion and its number of rows.
func (l Layout) behind(j int) int {
	return number.Indicator[int](l.Family == Poisson) + number.Indicator[int](l.Latent[j])
}

// OfOne counts those that only draws of one release have, 0 of several.
func (l Layout) OfOne() int {
	if len(l.Latent) != 1 {
		return 0
	}
	return l.behind(0)
}

// Dispersion is that of counts in a draw, the mean of several releases', and 1 of another response.
func (l Layout) Dispersion(row []float64) (mean float64) {
	if l.Family != Poisson {
		return 1
	}
	at := len(row)
	for j := range slices.Backward(l.Latent) {
		at -= l.behind(j)
		mean += row[at] / float64(len(l.Latent))
	}
	return mean
}

// Names are those of parameters.
func Names(all []Parameter) (names []string) {
	for _, p := range all {
		names = append(names, p.Name())
	}
	return names
}

// RegressionNames names θ and σ²: theta[0] is the intercept, theta[j] the j-th
// slope.
func (s Shape) RegressionNames() []string { return Names(Layout{Shape: s}.Drawn()) }

// Names names all parameters in the order of Params.Write: θ, σ², μ_x, and the
// upper triangle of T.
func (s Shape) Names() []string { return Names(Layout{Shape: s, Covariates: true}.Drawn()) }

// Layout is that of draws from the joint posterior.
func (t *Joint) Layout() Layout {
	l := Layout{Shape: t.Shape, Covariates: t.Shared, Partial: t.Partial, Family: t.Family}
	for _, s := range t.Sites {
		l.Latent = append(l.Latent, s.Count.Latent())
	}
	return l
}

// Names names the parameters of draws, in order; see Layout.
func (t *Joint) Names() []string { return Names(t.Layout().Drawn()) }

// Names names all parameters in the order of draws: those of the shape, then n
// where it is latent.
func (o *Observation) Names() []string {
	return Names(Layout{Shape: o.Shape, Covariates: true, Latent: []bool{o.Count.Latent()}}.Drawn())
}

// RegressionNames is Names without those of the covariates.
func (o *Observation) RegressionNames() []string {
	return Names(Layout{Shape: o.Shape, Latent: []bool{o.Count.Latent()}}.Drawn())
}

// Write lays the parameters out in the order of Shape.Names and returns the
// number written.
func (p *Params) Write(dst []float64) int {
	i := copy(dst, p.Theta)
	dst[i] = p.Population()
	i++
	return i + p.WriteCovariates(dst[i:])
}

// WriteLinked is Write without σ², which a response of a Family has not.
func (p *Params) WriteLinked(dst []float64) int {
	i := copy(dst, p.Theta)
	return i + p.WriteCovariates(dst[i:])
}

// WriteCovariates writes μ_x and T alone.
func (p *Params) WriteCovariates(dst []float64) int {
	i, n := copy(dst, p.MuX), len(p.MuX)
	for j := range n {
		i += copy(dst[i:], p.Tau[j*n+j:(j+1)*n])
	}
	return i + copy(dst[i:], p.Cells)
}

// Read is the reverse of Write; a row that ends with σ² leaves what follows as it is.
func (p *Params) Read(row []float64) {
	i := copy(p.Theta, row)
	p.Sigma2 = row[i]
	if i++; i == len(row) {
		return
	}
	p.readCovariates(row[i:])
}

// ReadLinked is the reverse of WriteLinked.
func (p *Params) ReadLinked(row []float64) {
	p.readCovariates(row[copy(p.Theta, row):])
}

func (p *Params) readCovariates(row []float64) {
	row = row[copy(p.MuX, row):]
	n := len(p.MuX)
	Expand(p.Tau, row, n)
	copy(p.Cells, row[n*(n+1)/2:])
}

// Expand writes a symmetric n×n matrix, of which the upper triangle is given row by row.
func Expand(dst, upper []float64, n int) {
	at := 0
	for j := range n {
		for k := j; k < n; k++ {
			dst[j*n+k], dst[k*n+j] = upper[at], upper[at]
			at++
		}
	}
}
