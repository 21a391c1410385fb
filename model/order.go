package model

import (
	"slices"

	"github.com/dpreg/dpreg/conjugate"
)

// InOrder is the same problem with its covariates in another order: the j-th is the one that is order[j] here. Its law of
// x is not stated (Prior.X).
func (p *Problem) InOrder(order []int) *Problem {
	out := *p
	d := p.Releases[0].Schema
	d.Covariates = taken(d.Covariates, order)
	out.Prior = p.Prior.inOrder(order)
	out.Releases = nil
	for _, r := range p.Releases {
		out.Releases = append(out.Releases, r.Arrange(&d))
	}
	return &out
}

// inOrder is the prior of the covariates in another order.
func (p *Prior) inOrder(order []int) *Prior {
	out, first := p.Within(order), p.first()
	theta := make([]int, first)
	for _, from := range order {
		theta = append(theta, first+from)
	}
	t := out.Theta
	t.Mean, t.Precision = taken(t.Mean, theta), block(t.Precision, len(theta), theta)
	for _, s := range out.Scales {
		for i, k := range s.Coefficients {
			if k >= first {
				s.Coefficients[i] = first + slices.Index(order, k-first)
			}
		}
	}
	return out
}

// Within is the prior of some of the covariates, in this order: T has the marginal law of its block. That of θ is as it is.
func (p *Prior) Within(columns []int) *Prior {
	out, x := p.Clone(), p.Covariates
	out.Covariates = &conjugate.NIW{Mean: taken(x.Mean, columns), Kappa: x.Kappa, Scale: block(x.Scale, x.Dim(), columns), Dof: x.Dof - float64(x.Dim()-len(columns))}
	if p.MeanSD != nil {
		out.MeanSD = taken(p.MeanSD, columns)
	}
	for i := range out.Scales {
		s := &out.Scales[i]
		s.Covariates = slices.DeleteFunc(s.Covariates, func(j int) bool { return !slices.Contains(columns, j) })
		for k, j := range s.Covariates {
			s.Covariates[k] = slices.Index(columns, j)
		}
	}
	out.drop(Scale.empty)
	return out
}

// InOrder are the columns of draws from the problem in this order, as they are named here.
func (l Layout) InOrder(order []int) []Parameter {
	all := l.Drawn()
	for i := range all {
		k, j := &all[i].K, &all[i].L
		for _, at := range []*int{k, j} {
			if *at > 0 {
				*at = 1 + order[*at-1]
			}
		}
		if all[i].Kind == Tau || all[i].Kind == Omega {
			*k, *j = min(*k, *j), max(*k, *j)
		}
	}
	return all
}

// taken are the elements at these places.
func taken[T any](from []T, at []int) (all []T) {
	for _, i := range at {
		all = append(all, from[i])
	}
	return all
}

// block are the rows and columns at these places of an n×n matrix.
func block(a []float64, n int, at []int) (out []float64) {
	for _, i := range at {
		out = append(out, taken(a[i*n:(i+1)*n], at)...)
	}
	return out
}
