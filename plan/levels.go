package plan

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/ssp"
)

// levelSums draws sums by the levels of a factor, and has them as statistics of all columns.
type levelSums struct {
	sums
	m, k int
	told []float64
}

// newLevelSums is the law of sums by the levels of k dummies, or of all rows.
func newLevelSums(f *Forecast, k int) sums {
	shape := shapeOf(f.Design)
	counts := 0
	if k > 0 {
		counts = release.LevelCounts(k, release.ReplaceOne)
	}
	levels := model.NewLevelLaw(shape, k, counts, nil)
	law := levelSums{levels, shape.M(), k, make([]float64, len(levels.Entries))}
	if f.Family != model.Normal {
		law.sums = model.NewFamilyLaw(f.Family, levels, f.Design.Response.Upper)
	}
	if k == 0 {
		return law.sums
	}
	return law
}

func (l levelSums) RandExact(dst []float64, n float64, rng *rand.Rand) {
	l.sums.RandExact(l.told, n, rng)
	_, s := release.ByLevels("", l.m, l.k, int64(n), l.told)
	copy(dst, s.Vector())
}

// byLevels takes the columns of the factor first, by whose levels sums are to be.
func (o *Options) byLevels() (err error) {
	if o.ByLevel == "" {
		return nil
	}
	first, k, err := release.LevelsFirst(o.Design, o.ByLevel)
	if err != nil {
		return err
	}
	if len(first.Covariates) > 0 && first.Covariates[0].Term != nil {
		return fmt.Errorf("sums by the levels of several factors, %s, are not foreseen: foresee those of one that has as many levels as they have cells, %d", o.ByLevel, k+1)
	}
	o.dummies, o.responds = k, first.Response.Name != o.Design.Response.Name
	if o.responds && o.Family == model.Normal {
		return fmt.Errorf("sums by the levels of the response %q (--by-level) are foreseen of a family: say --family binomial or probit", o.ByLevel)
	}
	if !o.responds {
		o.Design = first
	}
	return nil
}

// publish makes a release, as ordered, of rows with these sums.
func (s *simulation) publish(ctx context.Context, order *order, exact *ssp.Statistics, rng *rand.Rand) (r *release.Release, err error) {
	f, first := s.forecast, exact
	if s.responds {
		r := release.Release{Schema: *f.Design, Levels: &release.Levels{Factor: f.ByLevel}, Statistics: release.StatisticsFromVector(len(f.Design.Columns()), exact.Vector())}
		statistics := r.FactorFirst().Statistics
		if first, err = ssp.FromVector(len(f.Design.Columns()), exact.N, statistics.Vector()); err != nil {
			return nil, err
		}
	}
	switch {
	case order.Steps > 1:
		r, err = order.publish(first.Vector(), s.dummies, s.standard, rng)
	case s.dummies > 0:
		r, err = ssp.PublishLevels(ctx, first, order.Design, f.ByLevel, order.Privacy, order.Mechanism, mechanisms.Simulated(rng))
	default:
		r, err = ssp.Publish(ctx, exact, f.Design, order.Privacy, order.Mechanism, ssp.Exact, mechanisms.Simulated(rng))
	}
	if err == nil && s.responds {
		r = r.FactorLast()
	}
	return r, err
}

// takeLevels makes the first k columns of T those of a factor's dummies ±1, of which at most one is 1, with means as
// assumed. Other columns j have about their mean means in levels
//
//	δ_lj = ρ sd_j (s_lj − Σ_l π_ls_lj)/√(1 − (Σ_l π_ls_lj)²),   s_lj = ±1 by turns,
//
// so that levels explain the share ρ² of their variance, ρ what is assumed of any two covariates.
func takeLevels(x *model.Params, k int, correlation float64) {
	p := len(x.MuX)
	share := []float64{1}
	for _, mean := range x.MuX[:k] {
		share = append(share, 0.5*(1+mean))
		share[0] -= 0.5 * (1 + mean)
	}
	set := func(i, j int, v float64) { x.Tau[i*p+j], x.Tau[j*p+i] = v, v }
	for j := range p {
		mean := 0.0
		for l, s := range share {
			mean += s * turn(l+j)
		}
		for c := range k {
			switch own := share[c+1]; {
			case j >= k:
				set(c, j, 2*own*correlation*math.Sqrt(x.Tau[j*p+j]/(1-mean*mean))*(turn(c+1+j)-mean))
			case j == c:
				set(c, j, 4*own*(1-own))
			default:
				set(c, j, -4*own*share[j+1])
			}
		}
	}
}

// turn is 1 or −1.
func turn(i int) float64 { return float64(1 - 2*(i%2)) }
