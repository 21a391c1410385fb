package plan

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/ssp"
)

// levelSums draws sums by the levels of a factor, and has them as statistics of all columns.
type levelSums struct {
	sums
	m, levels int
	coding    [][]float64
	told      []float64
}

// newLevelSums is the law of sums by the levels of factors, or of all rows.
func newLevelSums(f *Forecast) sums {
	shape, counts, k := f.shape(), 0, f.factors
	if k > 0 {
		counts = release.LevelCounts(shape.Levels(k)-1, release.ReplaceOne)
	}
	law := model.NewLevelLaw(shape, k, counts, nil)
	all := sums(law)
	if f.Family != model.Normal {
		all = model.NewFamilyLaw(f.Family, law, f.Design.Response.Upper)
	}
	if k == 0 {
		return all
	}
	return &levelSums{all, shape.M(), shape.Levels(k), f.coding, make([]float64, len(law.Entries))}
}

func (l *levelSums) RandExact(dst []float64, n float64, rng *rand.Rand) {
	l.sums.RandExact(l.told, n, rng)
	copy(dst, l.statistics(l.m, l.coding, n))
}

// statistics are those of m columns, the factors' of this coding; of nil each level but the first has one.
func (l *levelSums) statistics(m int, coding [][]float64, n float64) []float64 {
	r := release.Release{N: int64(n), Schema: schema.Design{Covariates: make([]schema.Column, m-1), Intercept: true}}
	r.TakeLevels(&release.Levels{Sums: make([][]float64, l.levels), Coding: coding}, l.told)
	return r.Statistics.Vector()
}

// released are the statistics of a release's columns, where sums are drawn: those of the model, but of several factors.
func (l *levelSums) released(exact *ssp.Statistics) (*ssp.Statistics, error) {
	if l.coding == nil {
		return exact, nil
	}
	m := l.m - len(l.coding[0]) + l.levels - 1
	return ssp.FromVector(m, exact.N, l.statistics(m, nil, float64(exact.N)))
}

// TakeLevels takes the columns of the factors first, by whose levels sums are to be: by those of all covariates where
// these are categories alone and the number of looks is open, as fit does. Errors: those of release.LevelsFirst, and a
// response of two levels without a family.
func (o *Options) TakeLevels() (err error) {
	if o.Design != nil && o.ByLevel == "" && (o.Steps == 0 || o.Steps == custody.AutoSteps) {
		o.ByLevel = o.Design.Categorical()
	}
	if o.ByLevel == "" {
		return nil
	}
	first, k, err := release.LevelsFirst(o.Design, o.ByLevel)
	if err != nil {
		return err
	}
	answers, coding, err := release.OfCells(first, o.ByLevel, o.Design.Formula().String())
	if err != nil {
		return err
	}
	if answers != nil {
		first, k = answers, len(coding[0])
	}
	o.dummies, o.coding, o.responds = k, coding, first.Response.Name != o.Design.Response.Name
	if o.responds && o.Family == model.Normal {
		return fmt.Errorf("sums by the levels of the response %q (--by-level) are foreseen of a family: say --family binomial or probit", o.ByLevel)
	}
	if !o.responds {
		o.Design = first
	}
	return nil
}

// publish makes a release, as ordered, of rows with these sums.
func (s *simulation) publish(ctx context.Context, order *custody.Settled, law sums, exact *ssp.Statistics, rng *rand.Rand) (r *release.Release, err error) {
	f, first := s.forecast, exact
	switch by, ofLevels := law.(*levelSums); {
	case s.responds:
		r := release.Release{Schema: *f.Design, Levels: &release.Levels{Factor: f.ByLevel}, Statistics: release.StatisticsFromVector(len(f.Design.Columns()), exact.Vector())}
		statistics := r.FactorFirst().Statistics
		first, err = ssp.FromVector(len(f.Design.Columns()), exact.N, statistics.Vector())
	case ofLevels:
		first, err = by.released(exact)
	}
	if err != nil {
		return nil, err
	}
	switch {
	case order.Steps > 1:
		r, err = publishSteps(order, first, s.standard, rng)
	case f.ByLevel != "":
		r, err = ssp.PublishLevels(ctx, first, order.Design, f.ByLevel, order.Privacy, order.Mechanism, mechanisms.Simulated(rng))
	default:
		r, err = ssp.Publish(ctx, exact, f.Design, order.Privacy, order.Mechanism, ssp.Exact, mechanisms.Simulated(rng))
	}
	switch {
	case err != nil:
		return nil, err
	case s.responds:
		return r.FactorLast(), nil
	}
	return order.Answer(r)
}

// takeLevels makes the first columns of T those of factors, with means as assumed: of several factors each level of one has
// the same share in all of another. Other columns j have about their mean means in levels
//
//	δ_lj = ρ sd_j (s_lj − Σ_l π_ls_lj)/√(1 − (Σ_l π_ls_lj)²),   s_lj = ±1 by turns,
//
// so that levels explain the share ρ² of their variance, ρ what is assumed of any two covariates.
func (s *simulation) takeLevels(x *model.Params) {
	shape, k, p := s.forecast.shape(), s.forecast.factors, len(x.MuX)
	if k == 0 {
		return
	}
	share := s.shares(x.MuX)
	set := func(i, j int, v float64) { x.Tau[i*p+j], x.Tau[j*p+i] = v, v }
	along := func(of func(l int) float64) (sum float64) {
		for l, v := range share {
			sum += v * of(l)
		}
		return sum
	}
	for c := range k {
		x.MuX[c] = along(func(l int) float64 { return shape.Sign(l, c) })
	}
	means := make([][]float64, len(share))
	for j := k; j < p; j++ {
		mean := along(func(l int) float64 { return turn(l + j) })
		for l := range means {
			means[l] = append(means[l], s.forecast.Assumed.Correlation*math.Sqrt(x.Tau[j*p+j]/(1-mean*mean))*(turn(l+j)-mean))
		}
	}
	for c := range k {
		for j := range p {
			if j < k {
				set(c, j, along(func(l int) float64 { return shape.Sign(l, c) * shape.Sign(l, j) })-x.MuX[c]*x.MuX[j])
			} else {
				set(c, j, along(func(l int) float64 { return shape.Sign(l, c) * means[l][j-k] }))
			}
		}
	}
	if len(x.Cells) > 0 {
		cells := x.Cells[copy(x.Cells, share):]
		for l, own := range means {
			for j, v := range own {
				cells[l*len(own)+j] = x.MuX[k+j] + v
			}
		}
	}
}

// shares are those of the levels, of several factors of their cells, of which the first varies fastest.
func (s *simulation) shares(mean []float64) []float64 {
	factors := schema.Crossed(s.forecast.ByLevel)
	if s.forecast.coding == nil {
		factors = []string{s.forecast.ByLevel}
	}
	all := []float64{1}
	for _, name := range factors {
		own := []float64{1}
		for j, c := range s.forecast.Design.Covariates {
			if c.Term == nil && c.FactorName() == name {
				own = append(own, 0.5*(1+mean[j]))
				own[0] -= own[len(own)-1]
			}
		}
		var next []float64
		for _, v := range own {
			for _, of := range all {
				next = append(next, v*of)
			}
		}
		all = next
	}
	return all
}

// turn is 1 or −1.
func turn(i int) float64 { return float64(1 - 2*(i%2)) }
