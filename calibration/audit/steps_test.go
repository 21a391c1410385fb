package audit

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/adaptive"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/ssp"
	"github.com/dpreg/dpreg/table"
)

// stepPlant is a path of several steps of its own, in which faults can be planted.
type stepPlant struct {
	*Audit
	budget ssp.Budget
	sums   float64        // share of the budget that noise on sums is drawn with, over the one stated
	radii  float64        // likewise on counts of radii
	plan   *adaptive.Plan // worked out once
	reach  float64        // radius to which rows are clipped, over the one stated
	twice  bool           // rows that go to a frame are there already
}

func (p *stepPlant) path(_ context.Context, text string) (publisher, error) {
	var rows [][]float64
	for row, err := range (table.Options{}).CSV(strings.NewReader(text), "pair", p.design()) {
		if err != nil {
			return nil, err
		}
		rows = append(rows, slices.Clone(row))
	}
	return func(_ context.Context, trial int) (*release.Release, error) { return p.publish(rows, trial) }, nil
}

func (p *stepPlant) publish(rows [][]float64, trial int) (*release.Release, error) {
	m, n, e, plan := p.Columns, float64(len(rows)), seeded(9)(trial), p.plan
	frame := adaptive.First(m)
	var looks []release.Look
	for t := range p.Steps {
		if t > 0 {
			frame = adaptive.Next(&looks[t-1], n, m)
		}
		ball, err := ssp.NewBall(ssp.RoundFrame(frame), m)
		if err != nil {
			return nil, err
		}
		counts := ball.Radii()
		if err := counts.AddRows(slices.Concat(rows...)); err != nil {
			return nil, err
		}
		radii, _, err := p.budget.PublishRadii(counts, plan.Radii[t], e)
		if err != nil {
			return nil, err
		}
		if p.radii != 1 {
			drawn, _, err := p.budget.PublishRadii(counts, p.radii*plan.Radii[t], e)
			if err != nil {
				return nil, err
			}
			radii.Counts = drawn.Counts
		}
		frame = ssp.RoundFrame(plan.Radius(t, frame, radii, n, func(f *release.Frame) release.Noise {
			noise, _ := p.budget.Noise(m, f, plan.Looks[t])
			return noise
		}))
		look, err := p.look(rows, frame, plan.Looks[t], e)
		if err != nil {
			return nil, err
		}
		look.Radii = radii
		looks = append(looks, look)
	}
	last := looks[p.Steps-1]
	return &release.Release{
		Schema: *p.design(), Privacy: &p.Privacy, N: last.N, NNoise: last.NNoise, Noise: last.Noise,
		Statistics: last.Statistics, Frame: last.Frame, Radii: last.Radii, Steps: looks[:p.Steps-1],
	}, nil
}

// look is the look of a step; its noise is stated as it ought to be.
func (p *stepPlant) look(rows [][]float64, f *release.Frame, share float64, e *mechanisms.Entropy) (release.Look, error) {
	wide, budget := *f, p.budget
	wide.Radius *= p.reach
	if p.reach != 1 { // an ε for which the noise is as large as stated
		more := p.Privacy
		square := func(x float64) float64 { return x * x }
		more.Epsilon *= (square(f.Weight) + square(wide.Radius)) / (square(f.Weight) + square(f.Radius))
		var err error
		if budget, err = ssp.NewBudget(more); err != nil {
			return release.Look{}, err
		}
	}
	ball, err := ssp.NewBall(&wide, p.Columns)
	if err != nil {
		return release.Look{}, err
	}
	sums := ball.NewAccumulator()
	u := slices.Concat(rows...)
	if p.twice {
		for i, v := range rows {
			place(u[i*p.Columns:(i+1)*p.Columns], v, f)
		}
		for j := range u {
			u[j] = min(max(u[j], -1), 1)
		}
	}
	if err := sums.AddRows(u); err != nil {
		return release.Look{}, err
	}
	look, err := budget.PublishLook(sums, &wide, p.sums*share, e)
	if err != nil {
		return look, err
	}
	lattice := look.Noise.Lattice
	look.Noise, err = p.budget.Noise(p.Columns, f, share)
	look.Frame, look.Noise.Lattice = f, lattice
	return look, err
}

// Every planted fault is found, by each of the bounds and checks named, and the same path
// passes without one. The faults are of a size that is not missed.
func TestFaultsOfSteps(t *testing.T) {
	testsize.Full(t, "TestReleased has a sound path, and TestFaultsAreFound faults of one look")
	gaussian := release.Privacy{Epsilon: 2, Delta: 0.1, Neighbours: release.ReplaceOne}
	ball := release.Privacy{Epsilon: 2, Neighbours: release.AddRemove}
	for name, fault := range map[string]struct {
		privacy release.Privacy
		sow     func(*stepPlant)
		found   []string
	}{
		"none, gaussian":                    {gaussian, func(*stepPlant) {}, nil},
		"none, ball":                        {ball, func(*stepPlant) {}, nil},
		"a frame is applied twice":          {gaussian, func(p *stepPlant) { p.twice = true }, []string{"law"}},
		"noise on sums is off by √2":        {gaussian, func(p *stepPlant) { p.sums = 0.5 }, []string{"law"}},
		"noise on counts is too small by 3": {ball, func(p *stepPlant) { p.radii = 3 }, []string{"law"}},
		"rows are not clipped":              {ball, func(p *stepPlant) { p.reach = 8 }, []string{"epsilon", "law"}},
	} {
		a := &Audit{Columns: 2, Steps: 2, Privacy: fault.privacy, Noise: ssp.Auto, Releases: MinReleases, Seed: 3, Workers: 2}
		must.Do(t, a.Settle())
		b := must.Get(ssp.NewBudget(a.Privacy))(t)
		plan := adaptive.NewPlan(a.Columns, commonRows, a.Privacy, a.Steps)
		p := &stepPlant{Audit: a, budget: b, plan: &plan, sums: 1, radii: 1, reach: 1}
		fault.sow(p)
		r, err := a.Run(t.Context(), p.path)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		failed := foundBy(t, name, r, fault.found)
		if fault.found == nil && failed != nil {
			t.Errorf("%s: %v", name, r.Failures())
		}
	}
}
