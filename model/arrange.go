package model

import "slices"

// Arrange returns the problem with its covariates in another order: covariate i is the one that was at
// order[i]. Draws are in that order too; see Params.Place.
func (p *Problem) Arrange(order []int) *Problem {
	out := *p
	out.Prior, out.Releases = p.Prior.arrange(order), nil
	for _, r := range p.Releases {
		d := r.Schema
		d.Covariates = nil
		for _, j := range order {
			d.Covariates = append(d.Covariates, r.Schema.Covariates[j])
		}
		out.Releases = append(out.Releases, r.Arrange(&d))
	}
	return &out
}

// arrange is Problem.Arrange of the prior.
func (p *Prior) arrange(order []int) *Prior {
	out, first := p.clone(), p.Theta.Dim()-len(order) // 1 with an intercept
	theta, at := []int(nil), make([]int, len(order))
	for k := range first {
		theta = append(theta, k)
	}
	for i, j := range order {
		theta = append(theta, first+j)
		at[j] = i
	}
	out.Theta.Mean, out.Theta.Precision = taken(p.Theta.Mean, theta), takenSquare(p.Theta.Precision, theta)
	out.Covariates.Mean, out.Covariates.Scale = taken(p.Covariates.Mean, order), takenSquare(p.Covariates.Scale, order)
	if p.MeanSD != nil {
		out.MeanSD = taken(p.MeanSD, order)
	}
	for _, s := range out.Scales {
		for i, j := range s.Covariates {
			s.Covariates[i] = at[j]
		}
		for i, k := range s.Coefficients {
			s.Coefficients[i] = slices.Index(theta, k)
		}
	}
	return out
}

// Place writes parameters in the order that Problem.Arrange took to p, in the order that was before.
func (p *Params) Place(arranged *Params, order []int) {
	p.Sigma2, p.LogW = arranged.Sigma2, arranged.LogW
	n, first := len(order), len(p.Theta)-len(order)
	copy(p.Theta[:first], arranged.Theta)
	for i, j := range order {
		p.Theta[first+j], p.MuX[j] = arranged.Theta[first+i], arranged.MuX[i]
		for k, l := range order {
			p.Tau[j*n+l] = arranged.Tau[i*n+k]
		}
	}
}

// taken is v at places, and takenSquare a square matrix.
func taken(v []float64, places []int) (out []float64) {
	for _, j := range places {
		out = append(out, v[j])
	}
	return out
}

func takenSquare(a []float64, places []int) (out []float64) {
	n := len(places)
	for _, j := range places {
		out = append(out, taken(a[j*n:(j+1)*n], places)...)
	}
	return out
}
