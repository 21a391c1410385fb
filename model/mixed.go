package model

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/dpreg/dpreg/internal/dense"
)

// Mixed are moments of rows and of a response of a family, by the general location model, see location: groups of columns are 0
// or 1, coded ±1.
type Mixed struct {
	along  *Along
	p      int
	groups [][]int
	on     [][]int     // of each u, of each group the column that is 1; −1: none
	Rest   []int       // columns that are not
	share  []float64   // P(u)
	mean   [][]float64 // E[(1, x) | u]
	within []float64   // Σ, p×p, of the rest

	probability [][]float64 // p_0, p_1, … of a group
	apart       []int       // the columns of all groups
	middle      []float64   // their means
	v, by       []float64   // T_uu, and a row of B

	S      float64   // the sd of η within a group's values, where At was last
	Square float64   // E y²
	M      []float64 // E[(1, x)y]
	steep  float64   // E g′
	bent   float64   // E g′v = S E g″
	toward []float64 // (0, Σβ)
	slope  []float64 // the derivative of M
}

// NewMixed allocates it of p columns, of which groups, by number, are 0 or 1, and of a response between 0 and most.
func NewMixed(f Family, most float64, p int, groups [][]int) *Mixed {
	l := &Mixed{along: NewAlong(f.Moments(most), most), p: p, groups: groups, on: [][]int{nil}, within: make([]float64, p*p),
		toward: make([]float64, p+1), M: make([]float64, p+1), slope: make([]float64, (p+1)*(p+1))}
	for _, g := range groups {
		var next [][]int
		for _, before := range l.on {
			for _, column := range append([]int{-1}, g...) {
				next = append(next, append(slices.Clone(before), column))
			}
		}
		l.on, l.apart = next, append(l.apart, g...)
		l.probability = append(l.probability, make([]float64, len(g)+1))
	}
	for j := range p {
		if !slices.Contains(l.apart, j) {
			l.Rest = append(l.Rest, j)
		}
	}
	l.share, l.v, l.by = make([]float64, len(l.on)), make([]float64, len(l.apart)*len(l.apart)), make([]float64, len(l.apart))
	for range l.on {
		l.mean = append(l.mean, make([]float64, p+1))
	}
	return l
}

// rarest is the least probability of what noise leaves next to none.
const rarest = 1e-4

// Set takes μ_x and T of all columns, p and p×p, in the box. It reports false where noise has left no law.
func (l *Mixed) Set(mu, tau []float64) bool {
	l.middle = l.middle[:0]
	for i, g := range l.groups {
		of := l.probability[i]
		of[0] = 1
		for k, j := range g {
			of[k+1] = max(0.5*(1+mu[j]), rarest)
			of[0] -= of[k+1]
		}
		of[0] = max(of[0], rarest)
		floats.Scale(1/floats.Sum(of), of)
		for _, p := range of[1:] {
			l.middle = append(l.middle, 2*p-1)
		}
	}
	l.setShares(tau)
	return l.setRest(mu, tau)
}

// setShares takes P(u); a is half as large for ±1, as C is four times.
func (l *Mixed) setShares(tau []float64) {
	score := func(i, place, on int) float64 {
		of := l.probability[i]
		switch {
		case on < 0:
			return -0.5 / of[0]
		case on == l.groups[i][place]:
			return 0.5 / of[place+1]
		}
		return 0
	}
	for at, u := range l.on {
		share, tilt := 1.0, 1.0
		for i, on := range u {
			share *= l.probability[i][1+slices.Index(l.groups[i], on)]
			for h := range i {
				for a, j := range l.groups[i] {
					for b, k := range l.groups[h] {
						tilt += score(i, a, on) * score(h, b, u[h]) * tau[j*l.p+k] * l.spreadOf(i, a) * l.spreadOf(h, b) / math.Sqrt(tau[j*l.p+j]*tau[k*l.p+k])
					}
				}
			}
		}
		l.share[at] = share * max(tilt, 0)
	}
	floats.Scale(1/floats.Sum(l.share), l.share)
}

// spreadOf is the sd of a column of a group.
func (l *Mixed) spreadOf(group, place int) float64 {
	p := l.probability[group][place+1]
	return 2 * math.Sqrt(p*(1-p))
}

// setRest takes means given u, and Σ.
func (l *Mixed) setRest(mu, tau []float64) bool {
	q := len(l.apart)
	for a, j := range l.apart {
		for b, k := range l.apart {
			l.v[a*q+b] = tau[j*l.p+k]
		}
	}
	if !dense.Cholesky(l.v, q) {
		return false
	}
	for at, u := range l.on {
		l.mean[at][0] = 1
		for _, j := range l.apart {
			l.mean[at][1+j] = -1
		}
		for _, j := range u {
			if j >= 0 {
				l.mean[at][1+j] = 1
			}
		}
		for _, j := range l.Rest {
			l.mean[at][1+j] = mu[j]
		}
	}
	for _, j := range l.Rest {
		for a, k := range l.apart {
			l.by[a] = tau[j*l.p+k]
		}
		dense.Solve(l.v, q, l.by)
		for _, k := range l.Rest {
			l.within[j*l.p+k] = tau[j*l.p+k]
			for a, c := range l.apart {
				l.within[j*l.p+k] -= l.by[a] * tau[k*l.p+c]
			}
		}
		for at := range l.on {
			for a, c := range l.apart {
				l.mean[at][1+j] += l.by[a] * (l.mean[at][1+c] - l.middle[a])
			}
		}
	}
	return true
}

// spread takes Σβ and s.
func (l *Mixed) spread(theta []float64) {
	clear(l.toward)
	square := 0.0
	for _, j := range l.Rest {
		for _, k := range l.Rest {
			l.toward[1+j] += l.within[j*l.p+k] * theta[1+k]
		}
		square += theta[1+j] * l.toward[1+j]
	}
	l.S = math.Sqrt(max(square, 0))
}

// At takes moments at θ, M and its derivative among them: with a = E[(1, x) | u] and w = (0, Σβ)/s, v ~ N(0, 1) along w,
//
//	E[(1, x)y | u] = aM_0 + swN_0,   E[(1, x)(1, x)ᵀg′ | u] = (aaᵀ + Σ − wwᵀ)N_0 + (awᵀ + waᵀ)N_1 + wwᵀN_2.
func (l *Mixed) At(theta []float64) {
	l.spread(theta)
	clear(l.M)
	clear(l.slope)
	l.steep, l.bent, l.Square = 0, 0, 0
	for at, share := range l.share {
		if share == 0 {
			continue
		}
		l.along.Set(floats.Dot(theta, l.mean[at]), l.S)
		g, steep := share*l.along.M[0], share*l.along.N[0]
		l.Square += share * l.along.S[0]
		l.steep, l.bent = l.steep+steep, l.bent+share*l.along.N[1]
		for i, a := range l.mean[at] {
			l.M[i] += g*a + steep*l.toward[i]
		}
		l.add(l.slope, at, share, l.along.N[:3])
	}
}

// add adds to a lower triangle share E[(1, x)(1, x)ᵀf | u] of f with such moments E[fv^j].
func (l *Mixed) add(dst []float64, at int, share float64, f []float64) {
	n, even, bent, curved := l.p+1, share*f[0], 0.0, 0.0
	if l.S > 1e-9 {
		bent, curved = share*f[1]/l.S, share*(f[2]-f[0])/(l.S*l.S)
	}
	mean := l.mean[at]
	for i, a := range mean {
		for j, b := range mean[:i+1] {
			dst[i*n+j] += even*a*b + bent*(a*l.toward[j]+l.toward[i]*b) + curved*l.toward[i]*l.toward[j]
		}
	}
	for _, i := range l.Rest {
		for _, j := range l.Rest {
			dst[(1+i)*n+1+j] += even * l.within[i*l.p+j]
		}
	}
}

// Bend is E g″/E g′ where At was last.
func (l *Mixed) Bend() float64 {
	if l.S < 1e-9 {
		return 0
	}
	return l.bent / (l.S * l.steep)
}

// derivative is that of M where At was last, symmetric.
func (l *Mixed) derivative() *mat.Dense {
	q := l.p + 1
	dense.Symmetrise(l.slope, q)
	return mat.NewDense(q, q, l.slope)
}

// Disperse makes counts vary φ times as much as Poisson's.
func (l *Mixed) Disperse(phi float64) { l.along.Dispersion = phi }

// chance is W where At was last at theta. Of a response that is 0 or 1 Var(y | x) is taken to be in proportion to g′, which is
// exact of logit.
func (l *Mixed) chance(f Family, theta []float64, dispersion float64) []float64 {
	w := make([]float64, len(l.slope))
	if f == Poisson {
		for at, share := range l.share {
			l.along.Set(floats.Dot(theta, l.mean[at]), l.S)
			l.add(w, at, share*dispersion, l.along.Excess[:])
		}
		return w
	}
	l.along.Set(0, 0)
	floats.AddScaled(w, 0.25/l.along.N[0], l.slope)
	return w
}

// change is how far a step moves η of any row that is within an sd.
func (l *Mixed) change(step []float64) (most float64) {
	square := 0.0
	for _, j := range l.Rest {
		for _, k := range l.Rest {
			square += step[1+j] * l.within[j*l.p+k] * step[1+k]
		}
	}
	for at, share := range l.share {
		if share == 0 {
			continue
		}
		most = max(most, math.Abs(floats.Dot(step, l.mean[at])))
	}
	return most + math.Sqrt(max(square, 0))
}
