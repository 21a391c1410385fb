package predict

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/posterior"
	"github.com/dpreg/dpreg/schema"
)

// source is where a Predictor takes parameters from.
type source struct {
	draws *posterior.Draws
	units dpreg.Units
	frame schema.Frame
	shape model.Shape
}

// names lists what predicts: θ or a custodian's θ_j, σ² or a custodian's σ_j and, for a new
// custodian of several that are pooled partially, the whole of Ω, and υ. Draws of earlier
// versions, in which all custodians had one σ², have neither υ nor σ_j.
func (s *source) names(custodian int) (names []string, pooled bool, err error) {
	q := s.shape.Q()
	first := s.shape.First()
	names = s.shape.RegressionNames()
	at := func(c, k int) string {
		return model.Parameter{Kind: model.ThetaAt, Custodian: c, K: k + first}.Name()
	}
	pooled = s.draws.Index(at(1, 0)) >= 0
	switch {
	case custodian != 0 && !pooled:
		return nil, false, fmt.Errorf("custodian %d: without partial pooling the draws have no coefficients of a custodian's own", custodian)
	case custodian != 0:
		for k := range q {
			if names[k] = at(custodian, k); s.draws.Index(names[k]) < 0 {
				return nil, false, fmt.Errorf("there is no custodian %d among the draws", custodian)
			}
		}
		if own := (model.Parameter{Kind: model.SigmaAt, Custodian: custodian}).Name(); s.draws.Index(own) >= 0 {
			names[q] = own
		}
		return names, false, nil
	case pooled:
		for k := range q {
			for l := range q {
				names = append(names, model.Parameter{Kind: model.Omega, K: min(k, l) + first, L: max(k, l) + first}.Name())
			}
		}
		if v := (model.Parameter{Kind: model.SpreadLogSigma}).Name(); s.draws.Index(v) >= 0 {
			names = append(names, v)
		}
	}
	return names, pooled, nil
}

// rows takes the parameters of these names in scaled units, draw by draw, chain after
// chain; a σ_j as σ_j².
func (s *source) rows(names []string) ([]float64, error) {
	places, q := make([]int, len(names)), s.shape.Q()
	for i, name := range names {
		if places[i] = s.draws.Index(name); places[i] < 0 {
			return nil, fmt.Errorf("the draws have no parameter %s", name)
		}
	}
	n, width, h := s.draws.NumDraws(), len(s.draws.Names), s.frame.Half[s.shape.P]
	if n == 0 {
		return nil, errors.New("there are no draws")
	}
	linear, rows := s.differences(), make([]float64, 0, s.draws.NumChains()*n*len(names))
	for _, chain := range s.draws.Chains {
		for i := range n {
			for k, at := range places {
				v := chain[i*width+at]
				if math.IsNaN(v) || math.IsInf(v, 0) || k == q && v <= 0 {
					return nil, fmt.Errorf("a draw of %s is %v", names[k], v)
				}
				rows = append(rows, v)
			}
			row := rows[len(rows)-len(names):]
			if names[q] != "sigma2" {
				row[q] *= row[q]
			}
			if s.units == dpreg.Original {
				s.frame.ThetaToScaled(row[:q], row[:q])
				row[q] /= h * h
				spreadToScaled(row[q+1:], linear, q)
			}
		}
	}
	return rows, nil
}

// differences is the frame whose maps of θ are linear, those of differences.
func (s *source) differences() schema.Frame {
	f := s.frame
	f.Centre = slices.Clone(f.Centre)
	f.Centre[s.shape.P] = 0
	return f
}

// spreadToScaled maps Ω, q×q, as f maps differences of θ: rows, then columns. An empty
// Ω it leaves, and what stands behind it.
func spreadToScaled(omega []float64, f schema.Frame, q int) {
	for range min(2, len(omega)) {
		for k := range q {
			f.ThetaToScaled(omega[k*q:k*q+q], omega[k*q:k*q+q])
		}
		for k := range q { // transposes
			for l := range k {
				omega[k*q+l], omega[l*q+k] = omega[l*q+k], omega[k*q+l]
			}
		}
	}
}
