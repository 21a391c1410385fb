package model

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dpreg/dpreg/schema"
)

// State returns the prior p, in scaled units of a design, with statements in place of what it
// says of the same. A coefficient that is stated is independent of the others, which keep
// their marginal law: it leaves a free scale that it had, as a dummy does its factor's. Where
// a spread and a dummy of the same factor are stated, the dummy has what is stated of it.
//
// Errors: a name that the design has not, with a list of what can be stated; something
// stated twice; a prior file's law that has no such part.
func (p *Prior) State(d *schema.Design, statements ...Statement) (*Prior, error) {
	out := p.clone()
	ordered := slices.Clone(statements)
	slices.SortStableFunc(ordered, func(a, b Statement) int { return rank(a.target) - rank(b.target) })
	for i, s := range ordered {
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

// rank puts spreads of factors before their dummies.
func rank(t target) int {
	if t == ofSpread {
		return 0
	}
	return 1
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
		scale := s.b / y
		if err := reachable(scale); err != nil {
			return err
		}
		p.Theta.Shape, p.Theta.Scale = s.a/2, s.a*scale*scale
		p.drop(func(s Scale) bool { return s.Sigma })
		p.Scales = slices.Insert(p.Scales, 0, Scale{SD: 1, Sigma: true})
		return nil
	case ofSpread:
		for _, g := range groups(d) {
			if g.factor == s.name {
				p.spread(d, g, s.b/y)
				return reachable(s.b / y)
			}
		}
		return unknown(d, s)
	case ofIntercept:
		if !d.Intercept {
			return errors.New("the model has no intercept")
		}
		t := p.apart()
		t.alpha, t.variance = (s.a-frame.Centre[n])/y, s.b/y*(s.b/y)
		p.join(t)
		return reachable(t.alpha, s.b/y)
	}
	j := slices.IndexFunc(d.Covariates, func(c schema.Column) bool { return c.Name == s.name })
	if j < 0 {
		return unknown(d, s)
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

// empty tells of a free scale that is of nothing.
func (s Scale) empty() bool { return !s.Sigma && len(s.Covariates) == 0 && len(s.Coefficients) == 0 }

// unknown says what can be stated in place of a name that is not there.
func unknown(d *schema.Design, s Statement) error {
	for _, f := range d.Factors {
		switch at := slices.IndexFunc(f.Levels, func(level string) bool { return f.Name+level == s.name }); {
		case s.target == ofCoefficient && f.Name == s.name:
			return fmt.Errorf("%q is a factor: state the spread of its levels, spread(%s) ~ %s, or the coefficient of a level; %s", f.Name, quoteName(f.Name), fits[ofSpread].form, statable(d))
		case s.target == ofSpread && f.Name == s.name:
			return fmt.Errorf("factor %q has one coefficient, and no spread: state that; %s", f.Name, statable(d))
		case s.target == ofCoefficient && at >= 0:
			return fmt.Errorf("%q is the level of %q with which the others are compared, and has no coefficient; %s", f.Levels[at], f.Name, statable(d))
		}
	}
	return fmt.Errorf("there is no %s; %s", s.of(), statable(d))
}

// maxStatable is how many names of a kind an error lists.
const maxStatable = 30

// statable lists what a prior in words can be of.
func statable(d *schema.Design) string {
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
	names = append(append(append(names, coefficients...), string(ofSigma)), sds...)
	for _, g := range groups(d) {
		names = append(names, fmt.Sprintf("spread(%s)", quoteName(g.factor)))
	}
	return "the priors that can be stated are of " + strings.Join(names, ", ")
}
