package model

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
	out, first := p.clone(), p.first()
	theta := make([]int, first)
	to := make([]int, len(order)) // where covariates are in the new order
	for j, from := range order {
		theta = append(theta, first+from)
		to[from] = j
	}
	t, x := out.Theta, out.Covariates
	t.Mean, t.Precision = taken(t.Mean, theta), block(t.Precision, theta)
	x.Mean, x.Scale = taken(x.Mean, order), block(x.Scale, order)
	if p.MeanSD != nil {
		out.MeanSD = taken(p.MeanSD, order)
	}
	for _, s := range out.Scales {
		for i, j := range s.Covariates {
			s.Covariates[i] = to[j]
		}
		for i, k := range s.Coefficients {
			if k >= first {
				s.Coefficients[i] = first + to[k-first]
			}
		}
	}
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

// block are the rows and columns at these places of a square matrix.
func block(a []float64, at []int) (out []float64) {
	n := len(at)
	for _, i := range at {
		out = append(out, taken(a[i*n:(i+1)*n], at)...)
	}
	return out
}
