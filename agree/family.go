package agree

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/dpreg/dpreg/internal/dense"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
)

// line is what sums of a response of a family are residuals of at a draw: the best line through E[y | x],
//
//	λ = E[(1, x)(1, x)ᵀ]⁻¹E[(1, x)y],   of which y varies by E y² − λᵀE[(1, x)y],
//
// moments of y by model.Mixed, the law of x as z of the release tells it, as XX and XY are.
type line struct {
	family model.Family
	law    *model.Mixed
	mean   []float64 // E(1, x)
	root   []float64 // of E[(1, x)(1, x)ᵀ]
	lambda []float64
	turn   []float64 // what model.Doubt's sd adds to λ: slopes that turn about the means of x
	shift  float64   // and to its intercept, where slopes turn about
	pivot  []float64 // the means over all releases
}

// newLine returns that of statistics z of n rows, projected, whose sums are xx; nil where noise hides the covariates.
func newLine(of Response, obs *model.Observation, z, xx []float64, n float64) *line {
	m, p, q := obs.Shape.M(), obs.Shape.P, obs.Shape.Q()
	scatter, tau := make([]float64, m*m), make([]float64, p*p)
	if model.Scatter(scatter, z, m, n); !told(of, obs, scatter) {
		return nil
	}
	l := &line{family: of.Family, law: model.NewMixed(of.Family, of.Most, p, of.Apart), lambda: make([]float64, q), turn: make([]float64, q)}
	for i, v := range xx {
		if l.root = append(l.root, v/n); i < q {
			l.mean = append(l.mean, v/n)
		}
	}
	for j := range p {
		for k := range p {
			tau[j*p+k] = scatter[j*m+k] / n
		}
	}
	if l.pivot = l.mean; !l.law.Set(l.mean[1:], tau) || !dense.Cholesky(l.root, q) {
		return nil
	}
	return l
}

// at returns the line at θ, and the variance of y about it, of counts of a dispersion, y being in [−1, 1].
func (l *line) at(theta []float64, dispersion float64) (lambda []float64, variance float64, ok bool) {
	l.law.Disperse(dispersion)
	l.law.At(theta)
	doubt, q := l.family.Doubt(l.law.S, l.law.Bend()), len(theta)
	for k, v := range l.law.M {
		l.lambda[k] = 2*v - l.mean[k]
	}
	variance = 4*l.law.Square - 4*l.law.M[0] + 1
	dense.SolveLower(l.root, q, l.lambda)
	variance -= floats.Dot(l.lambda, l.lambda)
	dense.SolveLowerT(l.root, q, l.lambda)
	l.shift = 0
	clear(l.turn)
	for _, j := range l.law.Rest {
		l.turn[1+j] = doubt * l.lambda[1+j]
		l.turn[0] -= l.turn[1+j] * l.mean[1+j]
		l.shift += l.turn[1+j] * (l.mean[1+j] - l.pivot[1+j])
	}
	return l.lambda, variance, variance > 0
}

// pivot finds the mean of x over all releases, about which model.Doubt has slopes turn: releases whose x lie elsewhere see that
// in their sums of y, as slopes between releases, which do not hang on the law of x, are not those within.
func pivot(all []*residualSite) {
	var common []float64
	rows := 0.0
	for _, s := range all {
		rows += s.rows()
		common = append(common, make([]float64, len(s.line.mean)-1-len(common))...)
		for j, mean := range s.line.mean[1:] {
			common[j] += s.rows() * (mean - s.own.Centre[j]) / s.own.Half[j]
		}
	}
	for _, s := range all {
		s.line.pivot = make([]float64, 1+len(common))
		for j, sum := range common {
			s.line.pivot[1+j] = s.own.Centre[j] + s.own.Half[j]*sum/rows
		}
	}
}

// told tells whether noise leaves open how x is spread and groups are filled, by two of its sds.
func told(of Response, obs *model.Observation, scatter []float64) bool {
	m, apart := obs.Shape.M(), make(map[int]bool)
	for _, g := range of.Apart {
		rows, variance := obs.N, 0.0 // of none
		for _, j := range g {
			apart[j] = true
			own := 0.5 * (obs.N + obs.Z[j])
			rows, variance = rows-own, variance+0.25*obs.Variance(j)
			if !(own > math.Sqrt(obs.Variance(j))) {
				return false
			}
		}
		if !(rows > 2*math.Sqrt(variance)) {
			return false
		}
	}
	for j := range obs.Shape.P {
		if !apart[j] && !(scatter[j*m+j] > 2*math.Sqrt(obs.Variance(release.Index(m, j, j)))) {
			return false
		}
	}
	return true
}
