package model

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dpreg/dpreg/schema"
)

// Statement is one line of a prior in words, in data units:
//
//	educ ~ normal(4000, 2000)       a coefficient, by its name in summaries: mean, sd
//	educ ~ student_t(3, 0, 2000)    degrees of freedom, centre, scale
//	(Intercept) ~ normal(3e4, 1e5)  the line at the centre of x, which Prior.Words names
//	sigma ~ half_t(3, 5000)         degrees of freedom, scale; or half_normal(s), half_cauchy(s)
//	kurtosis ~ log_uniform(3, 100)  of the residuals, see Kurtosis; from 3 to 3: normal ones
//	sd(educ) ~ half_t(2, 10)        of a covariate
//	spread(race) ~ inv_chi(1, 800)  sd of the effects of a factor's levels: s/|Z|, Z ~ N(0, 1)
//
// A name that could be read as one of these forms stands in backquotes, as in a formula.
type Statement struct {
	Text string // as it was given

	target target
	name   string  // of a column or factor; else empty
	a, b   float64 // mean and sd, or degrees of freedom and scale, or the least and the most
	dof    float64 // of a coefficient; 0: its law is normal
}

// target is what a statement is of.
type target string

const (
	ofCoefficient target = "a coefficient"
	ofIntercept   target = "(Intercept)"
	ofSigma       target = "sigma"
	ofKurtosis    target = "kurtosis"
	ofSD          target = "sd"
	ofSpread      target = "spread"
)

// fits are the laws that a target can have, how they are written, and the degrees of freedom
// of those that have some.
var fits = map[target]struct {
	laws, form  string
	least, most float64
	why         string
}{
	ofCoefficient: {laws: "normal student_t", form: "normal(mean, sd) or student_t(degrees of freedom, centre, scale)"},
	ofIntercept:   {laws: "normal", form: "normal(mean, sd)"},
	ofSigma:       {"half_t half_normal half_cauchy", "half_t(degrees of freedom, scale), half_normal(scale) or half_cauchy(scale)", 1, mostDof, betweenDof},
	ofKurtosis:    {"log_uniform", "log_uniform(least, most)", 3, reach, "kurtoses are from 3, that of a normal law"},
	ofSD:          {"half_t", "half_t(2, scale)", 2, 2, "sds of covariates have 2 degrees of freedom, with which each correlation is uniform"},
	ofSpread:      {"inv_chi", "inv_chi(1, scale)", 1, 1, "spreads have 1 degree of freedom"},
}

const (
	mostDof    = 1000
	betweenDof = "degrees of freedom are from 1 to 1000"
)

// implied are the degrees of freedom of laws that are written by a scale alone, 0 of the
// others; 200 stand for a half-normal law.
var implied = map[string]float64{"normal": 0, "student_t": 0, "half_t": 0, "inv_chi": 0, "log_uniform": 0, "half_normal": 200, "half_cauchy": 1}

// ParseStatement reads a line of a prior in words. Errors name the text and the character,
// counted from 1, at which it goes wrong.
func ParseStatement(text string) (Statement, error) {
	s := Statement{Text: text}
	at, err := s.parse(text)
	return s, misread(text, at, err)
}

func misread(text string, at int, err error) error {
	if err != nil {
		err = fmt.Errorf("%q, character %d: %w", text, utf8.RuneCountInString(text[:at])+1, err)
	}
	return err
}

// ParsePriorSD reads NAME=SD, the sd of a coefficient about 0.
func ParsePriorSD(text string) (s Statement, err error) {
	at := strings.LastIndexByte(text, '=')
	if at < 0 {
		return s, fmt.Errorf("%q has no '=': name a coefficient and its sd, as in educ=5000", text)
	}
	s = Statement{Text: text, target: ofCoefficient, name: schema.Trim(text[:at])}
	if s.name == "" {
		return s, misread(text, 0, errors.New("a coefficient's name is missing before the '='"))
	}
	if s.name == string(ofIntercept) {
		s.target, s.name = ofIntercept, ""
	}
	if s.b, err = schema.ParseNumber(text[at+1:]); err != nil || !(s.b > 0) {
		return s, misread(text, at+1, errors.New("an sd is needed here, a number above 0"))
	}
	return s, nil
}

// token is a number, a word or a mark of what stands behind the '~'.
var token = regexp.MustCompile(`[\pL\p{Nd}_.+-]+|\S`)

// parse reads a statement from left to right, and says at which byte it goes wrong. No law
// has a '~', but a name may.
func (s *Statement) parse(text string) (at int, err error) {
	end := strings.LastIndexByte(text, '~')
	if end < 0 {
		return len(text), fmt.Errorf("a '~' is missing: write NAME ~ %s", fits[ofCoefficient].form)
	}
	left := strings.TrimLeftFunc(text[:end], unicode.IsSpace)
	if at = end - len(left); left == "" {
		return at, errors.New("a name is missing before the '~'")
	}
	if err := s.read(strings.TrimSpace(left)); err != nil {
		return at, err
	}
	tokens := token.FindAllStringIndex(text[end+1:], -1)
	next := func() string {
		if at = len(text); len(tokens) == 0 {
			return ""
		}
		from, to := end+1+tokens[0][0], end+1+tokens[0][1]
		at, tokens = from, tokens[1:]
		return text[from:to]
	}
	law, fit := next(), fits[s.target]
	degrees, known := implied[law]
	if !known {
		return at, fmt.Errorf("a law is needed here: %s", fit.form)
	}
	var args []float64
	var places []int
	of := at
	if degrees > 0 {
		args, places = []float64{degrees}, []int{of}
	}
	if next() != "(" {
		return at, errors.New("a '(' is needed here")
	}
	for closed := false; !closed; {
		v, err := schema.ParseNumber(next())
		if err != nil {
			return at, errors.New("a number is needed here")
		}
		args, places = append(args, v), append(places, at)
		switch next() {
		case ",":
		case ")":
			closed = true
		default:
			return at, errors.New("a ',' or a ')' is needed here")
		}
	}
	dof := 0.0
	if law == "student_t" {
		dof, args = args[0], args[1:]
	}
	switch {
	case next() != "":
		return at, errors.New("nothing may follow the ')'")
	case !slices.Contains(strings.Fields(fit.laws), law) || len(args) != 2:
		return of, fmt.Errorf("the prior of %s can be stated as %s", s.of(), fit.form)
	case !(args[1] > 0):
		return places[len(places)-1], errors.New("an sd or a scale must be above 0")
	case law == "student_t" && !(dof >= 1 && dof <= mostDof):
		return places[0], errors.New(betweenDof)
	case fit.why != "" && !(args[0] >= fit.least && args[0] <= fit.most):
		return places[0], errors.New(fit.why)
	case s.target == ofKurtosis && !(args[1] >= args[0] && args[1] <= reach):
		return places[1], errors.New("the most must not be below the least, nor above 1e10")
	}
	s.a, s.b, s.dof = args[0], args[1], dof
	return 0, nil
}

// read takes what a statement is of, as it is typed.
func (s *Statement) read(left string) error {
	s.target, s.name = ofCoefficient, left
	if t := target(left); t == ofSigma || t == ofKurtosis || t == ofIntercept {
		s.target, s.name = t, ""
		return nil
	}
	for _, t := range []target{ofSD, ofSpread} {
		if inside, ok := strings.CutPrefix(left, string(t)+"("); ok && strings.HasSuffix(inside, ")") {
			s.target, s.name = t, strings.TrimSpace(strings.TrimSuffix(inside, ")"))
		}
	}
	if inside, ok := strings.CutPrefix(s.name, "`"); ok {
		if inside, ok = strings.CutSuffix(inside, "`"); !ok {
			return errors.New("a backquote is not closed")
		}
		s.name = strings.NewReplacer("\\\\", "\\", "\\`", "`").Replace(inside)
	}
	return nil
}

// of names what the statement is of, as it is typed.
func (s *Statement) of() string {
	switch s.target {
	case ofCoefficient:
		return quoteName(s.name)
	case ofSD, ofSpread:
		return fmt.Sprintf("%s(%s)", s.target, quoteName(s.name))
	}
	return string(s.target)
}

// quoteName writes a name as a Statement holds it.
func quoteName(name string) string {
	var read Statement
	if name != "" && !strings.ContainsAny(name, "~`") && read.read(name) == nil && read.target == ofCoefficient {
		return name
	}
	return "`" + strings.NewReplacer("\\", "\\\\", "`", "\\`").Replace(name) + "`"
}

// State returns the prior p, in scaled units of a design, with statements in place of what it
// says of the same. A coefficient that is stated is independent of the others, which keep
// their marginal law: it leaves a free scale that it had, as a dummy does its factor's. Where
// a spread and a dummy of the same factor are stated, the dummy has what is stated of it.
//
// Errors: a name that the design has not, with a list of what can be stated; something
// stated twice; a prior file's law that has no such part.
func (p *Prior) State(d *schema.Design, statements ...Statement) (*Prior, error) {
	out := p.Clone()
	isSpread := func(s Statement) bool { return s.target == ofSpread }
	dummies := slices.DeleteFunc(slices.Clone(statements), isSpread)
	spreads := slices.DeleteFunc(slices.Clone(statements), func(s Statement) bool { return !isSpread(s) })
	ordered := append(spreads, dummies...)
	for i, s := range ordered {
		s.name = spelt(d, s.name)
		ordered[i] = s
		err := out.state(d, s)
		for _, other := range ordered[:i] {
			if other.target == s.target && other.name == s.name {
				err = fmt.Errorf("the prior of %s is stated twice", s.of())
			}
		}
		if err == nil {
			err = out.valid()
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", s.Text, err)
		}
	}
	return out, nil
}

// spelt is the name of the term that a text names with other spaces, or the text.
func spelt(d *schema.Design, text string) string {
	for _, c := range d.Covariates {
		if c.Term != nil && text != "" && schema.Begins(text, c.Name) == len(text) {
			return c.Name
		}
	}
	return text
}

func (p *Prior) state(d *schema.Design, s Statement) error {
	frame := d.Frame()
	n := len(d.Covariates)
	y := frame.Half[n]
	if !p.Unscaled && (s.target == ofCoefficient || s.target == ofIntercept || s.target == ofSpread) {
		return errors.New(`the prior file states coefficients relative to σ, and words do not: state all of them in one way, or say "unscaled": true in the file's theta`)
	}
	switch s.target {
	case ofSigma:
		if p.Linked {
			return errors.New("the response of a family has no sigma: its variance follows from its mean; leave this line out")
		}
		scale := s.b / y
		if err := reachable(scale); err != nil {
			return err
		}
		p.Theta.Shape, p.Theta.Scale = s.a/2, s.a*scale*scale
		p.drop(func(s Scale) bool { return s.Sigma })
		p.Scales = slices.Insert(p.Scales, 0, Scale{SD: 1, Sigma: true})
		return nil
	case ofKurtosis:
		if p.Linked {
			return errors.New("the response of a family has no residuals: leave this line out")
		}
		p.Kurtosis = newKurtosis(s.a, s.b)
		return nil
	case ofSpread:
		for _, g := range groups(d) {
			if g.factor == s.name {
				p.spread(d, g, s.b/y)
				return reachable(s.b / y)
			}
		}
		return p.unknown(d, s)
	case ofIntercept:
		if !d.Intercept {
			return errors.New("the model has no intercept")
		}
		t := p.apart()
		t.alpha, t.variance = (s.a-frame.Centre[n])/y, s.b/y*(s.b/y)
		p.join(t)
		return reachable(t.alpha, s.b/y)
	}
	j := schema.Index(d.Covariates, s.name)
	if j < 0 {
		return p.unknown(d, s)
	}
	if s.target == ofSD {
		if err := reachable(s.b / frame.Half[j]); err != nil {
			return err
		}
		return p.stateSD(j, s.b/frame.Half[j])
	}
	t, unit := p.apart(), frame.Half[j]/y
	t.leave(p, j)
	t.beta[j], t.precision[j*n+j] = s.a*unit, 1/(s.b*unit*s.b*unit)
	if s.dof > 0 {
		p.Scales = append(p.Scales, t.student(j, s.dof))
	}
	p.join(t)
	return reachable(s.a*unit, s.b*unit)
}

// Statements in scaled units beyond this, or sds below its inverse, leave no digits to others.
const reach = 1e10

// reachable checks numbers, the last of which is an sd, in scaled units.
func reachable(v ...float64) error {
	for i, x := range v {
		if !(math.Abs(x) <= reach) || i == len(v)-1 && x < 1/reach {
			return fmt.Errorf("in units of the bounds that is %.3g, too far from 1 to compute with: is it in the data's units?", x)
		}
	}
	return nil
}

// stateSD gives the sd of covariate j a half-t law of 2 degrees of freedom.
func (p *Prior) stateSD(j int, scale float64) error {
	x := p.Covariates
	if x.Dof != float64(x.Dim()+1) || (Scale{Covariates: []int{j}}).checkCovariates(x) != nil {
		return errors.New("the prior file states an inverse Wishart law of all covariates, of which no single sd can be changed: leave covariates.scale and covariates.dof out of it")
	}
	for i := range p.Scales {
		p.Scales[i].Covariates = slices.DeleteFunc(p.Scales[i].Covariates, func(k int) bool { return k == j })
	}
	p.drop(Scale.empty)
	x.Scale[j*x.Dim()+j] = 4 * scale * scale
	p.Scales = append(p.Scales, Scale{SD: 1, Covariates: []int{j}})
	return nil
}

// unknown says what can be stated in place of a name that is not there.
func (p *Prior) unknown(d *schema.Design, s Statement) error {
	for _, f := range d.Factors {
		switch at := slices.IndexFunc(f.Levels, func(level string) bool { return f.Name+level == s.name }); {
		case s.target == ofCoefficient && f.Name == s.name:
			return fmt.Errorf("%q is a factor: state the spread of its levels, spread(%s) ~ %s, or the coefficient of a level; %s", f.Name, quoteName(f.Name), fits[ofSpread].form, p.statable(d))
		case s.target == ofSpread && f.Name == s.name:
			return fmt.Errorf("factor %q has one coefficient, and no spread: state that; %s", f.Name, p.statable(d))
		case s.target == ofCoefficient && at >= 0:
			return fmt.Errorf("%q is the level of %q with which the others are compared, and has no coefficient; %s", f.Levels[at], f.Name, p.statable(d))
		}
	}
	return fmt.Errorf("there is no %s; %s", s.of(), p.statable(d))
}

// maxStatable is how many names of a kind an error lists.
const maxStatable = 30

// statable lists what a prior in words can be of.
func (p *Prior) statable(d *schema.Design) string {
	var coefficients, sds, names []string
	for i, c := range d.Covariates {
		if i == maxStatable {
			more := fmt.Sprintf("%d more", len(d.Covariates)-i)
			coefficients, sds = append(coefficients, more), append(sds, more)
			break
		}
		coefficients, sds = append(coefficients, quoteName(c.Name)), append(sds, fmt.Sprintf("sd(%s)", quoteName(c.Name)))
	}
	if d.Intercept {
		names = append(names, string(ofIntercept))
	}
	names = append(names, coefficients...)
	if !p.Linked {
		names = append(names, string(ofSigma), string(ofKurtosis))
	}
	names = append(names, sds...)
	for _, g := range groups(d) {
		names = append(names, fmt.Sprintf("spread(%s)", quoteName(g.factor)))
	}
	return "the priors that can be stated are of " + strings.Join(names, ", ")
}
