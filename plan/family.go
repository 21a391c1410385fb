package plan

import (
	"fmt"
	"math"

	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/schema"
)

// assumedFamily is what is assumed of the linear predictor η ~ N(η̄, s²) of a response w in [0, 1] of a
// family, such that with the moments of model.Along
//
//	E w = M_0 = mean,   M_1²/(S_0 − M_0²) = R²:
//
// Cov(w, v) = M_1, so that R² is the share of w's variance that a line of the covariates explains, as
// of a normal response.
type assumedFamily struct {
	of   model.Family
	most float64 // 1, or the bound of counts
	mean float64
	sd   float64 // s
}

// farthestSD is the largest s, from which on a response hangs on the sign of η alone.
const farthestSD = 8

// take finds s, and the response's sd.
func (a *Assumption) take(f model.Family, y schema.Column, sds map[string]float64) error {
	if _, ok := sds[y.Name]; ok {
		return fmt.Errorf("%s: the sd of a response of family %s follows from its mean and R2: leave it out", y.Name, f)
	}
	at := &a.Columns[len(a.Columns)-1]
	own := &assumedFamily{of: f, most: y.Upper, mean: at.Mean / y.Upper}
	a.family = own
	if most, _ := own.explained(farthestSD); most < a.R2 {
		return fmt.Errorf("an R2 of %v: a line explains at most a share of %.2g of the variance of %s, of family %s and mean %v", a.R2, most, y.Name, f, at.Mean)
	}
	low, high := number.Bisect(0, farthestSD, func(s float64) bool {
		share, _ := own.explained(s)
		return share < a.R2
	})
	own.sd = 0.5 * (low + high)
	_, variance := own.explained(own.sd)
	at.SD = y.Upper * math.Sqrt(variance)
	return nil
}

// middle returns η̄ of an s, and the moments there.
func (f *assumedFamily) middle(s float64) (eta float64, at *model.Along) {
	at = model.NewAlong(f.of.Moments(f.most), f.most)
	reach := 40 + farthestSD*s
	low, high := number.Bisect(-reach, reach, func(eta float64) bool {
		at.Set(eta, s)
		return at.M[0] < f.mean
	})
	eta = 0.5 * (low + high)
	at.Set(eta, s)
	return eta, at
}

// explained is R² of an s, and the response's variance.
func (f *assumedFamily) explained(s float64) (share, variance float64) {
	_, at := f.middle(s)
	variance = at.S[0] - at.M[0]*at.M[0]
	return at.M[1] * at.M[1] / variance, variance
}
