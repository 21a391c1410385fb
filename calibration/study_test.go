package calibration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/posterior"
)

// toy is a subject whose posterior is its prior, and which fails in some trials.
type toy struct{ failing float64 }

func (s toy) Trial(_ context.Context, data, sampler *rand.Rand) (*Sample, error) {
	truth := data.NormFloat64()
	if data.Float64() < s.failing {
		return nil, errors.New("no posterior")
	}
	chain := make([]float64, 2*Ranked)
	for i := range chain {
		chain[i] = sampler.NormFloat64()
	}
	d := &posterior.Draws{Names: []string{"a"}, Chains: [][]float64{chain}}
	return &Sample{Names: d.Names, Truth: []float64{truth}, Draws: d, Reference: d}, nil
}

func toyStudy(trials int) *Study {
	return &Study{Trials: trials, Seed: 3, Uniform: true, Cells: []Cell{
		{Setting{N: 10, Method: "one"}, toy{}}, {Setting{N: 10, Method: "two"}, toy{0.3}},
	}}
}

func run(t *testing.T, s *Study, o Options) []*Trial {
	t.Helper()
	return must.Get(s.Run(context.Background(), o))(t)
}

// written is all of a study's results that are to be the same.
func written(t *testing.T, s *Study, trials []*Trial) string {
	t.Helper()
	var b bytes.Buffer
	sum := s.Results(trials)
	must.Do(t, errors.Join(s.WriteTrials(&b, trials), sum.WriteCSV(&b), sum.WriteJSON(&b)))
	return b.String()
}

// Results depend neither on the number of workers nor on the order of trials.
func TestRunIsDeterministic(t *testing.T) {
	s := toyStudy(40)
	one := run(t, s, Options{Workers: 1})
	want := written(t, s, one)
	if got := written(t, s, run(t, s, Options{Workers: 7})); got != want {
		t.Error("seven workers have other results than one")
	}
	other := toyStudy(40)
	other.Seed++
	if written(t, other, run(t, other, Options{})) == want {
		t.Error("another seed has the same results")
	}
	// Cells of the same data have the same truths, and a cell does not depend on which
	// others there are.
	if a, b := one[0].Scores[0].Truth, one[40].Scores; len(b) > 0 && b[0].Truth != a {
		t.Errorf("truths %v and %v", a, b[0].Truth)
	}
	alone := toyStudy(40)
	alone.Cells = alone.Cells[1:]
	if a, b := run(t, alone, Options{})[5], one[45]; fmt.Sprint(a.Scores, a.Error) != fmt.Sprint(b.Scores, b.Error) {
		t.Errorf("%+v alone, %+v with another cell", a, b)
	}
}

// No trial is dropped: what fails is counted.
func TestFailedTrialsAreKept(t *testing.T) {
	s := toyStudy(100)
	trials := run(t, s, Options{})
	if len(trials) != 200 {
		t.Fatalf("%d trials", len(trials))
	}
	cells := s.Summarise(trials).Cells
	if c := cells[0]; c.Failed != 0 || !c.Sound || c.Error != "" || *c.Quantities[0].KS <= 0 {
		t.Errorf("%+v", c)
	}
	if c := cells[1]; c.Failed < 15 || c.Failed > 45 || c.Sound || c.Error != "no posterior" || c.Quantities[0].Coverage[0].Of != 100-c.Failed {
		t.Errorf("%+v", c)
	}
}

// More than one capped trial in a hundred, and the cell is not sound.
func TestCapped(t *testing.T) {
	trials := make([]*Trial, 200)
	for i := range trials {
		trials[i] = &Trial{Trial: i, Capped: i < 2, ESS: 400, Draws: 1000}
	}
	if c := summariseCell(Setting{}, trials, nil); !c.Sound || c.Capped != 2 || c.ESSMedian != 400 {
		t.Errorf("%+v", c)
	}
	trials[2].Capped, trials[3].ESS = true, Ranked-1
	if c := summariseCell(Setting{}, trials, nil); c.Sound || c.Short != 1 || c.ESSLeast != Ranked-1 {
		t.Errorf("%+v", c)
	}
}

func TestRunStops(t *testing.T) {
	full := errors.New("full")
	kept := 0
	_, err := toyStudy(40).Run(context.Background(), Options{Workers: 1, Keep: func(*Trial) error {
		if kept++; kept == 5 {
			return full
		}
		return nil
	}})
	if err != full || kept != 5 {
		t.Errorf("%v after %d", err, kept)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := toyStudy(4).Run(ctx, Options{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	last := 0
	run(t, toyStudy(4), Options{Progress: func(done, total int) {
		if last++; done != last || total != 8 {
			t.Errorf("%d of %d", done, total)
		}
	}})
}

func TestStudyValidate(t *testing.T) {
	for name, s := range map[string]*Study{
		"no cells":  {Trials: 1},
		"no trials": {Cells: toyStudy(1).Cells},
		"twice":     {Trials: 1, Cells: append(toyStudy(1).Cells, toyStudy(1).Cells[0])},
		"none":      {Trials: 1, Cells: []Cell{{}}},
	} {
		if _, err := s.Run(context.Background(), Options{}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
